"""A policy over the legal decisions, from queries, keys and biases.

A move's score is the inner product of the query of its from-point and the key of its to-point, as
in the attention policy of Leela Chess Zero, plus a bias shared by all moves of its direction and
distance. A capture's score is the product of its square's own query and key, plus a bias. The
decisions without a square have a score each. A network may add a score of its own to each decision.
Probabilities are the softmax of a game's scores.

On the CPU the forward and backward passes are compiled loops over the legal decisions: gathering L
queries and keys as tensors takes longer than the convolutions.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from thud_env.actions import (
    CAPTURE,
    CAPTURE_ALL,
    MOVE_DIRECTION,
    MOVE_DISTANCE,
    MOVE_FROM,
    MOVE_TO,
    NUM_ACTIONS,
)
from thud_env.board import CELL_OF_SQUARE, SIZE
from thud_env.jit.compile import compiled_with_arrays
from thud_env.views.encoding import NUM_POINTS, PLANE_POINT

_CAPTURE_BIAS = 8 * (SIZE - 1)
_SQUARELESS_BIAS = _CAPTURE_BIAS + 1
NUM_SQUARELESS = NUM_ACTIONS - CAPTURE_ALL
"""Decisions without a square: capture all, done, and the three of agreement."""
NUM_BIASES = _SQUARELESS_BIAS + NUM_SQUARELESS


def _decision_tables() -> np.ndarray:
    """[3, 6470] each action's from-point, to-point and the number of its bias."""
    tables = np.zeros((3, NUM_ACTIONS), dtype=np.int64)
    start, end, bias = tables
    start[:CAPTURE], end[:CAPTURE] = PLANE_POINT[MOVE_FROM], PLANE_POINT[MOVE_TO]
    bias[:CAPTURE] = MOVE_DIRECTION.astype(np.int64) * (SIZE - 1) + MOVE_DISTANCE - 1
    start[CAPTURE:CAPTURE_ALL] = end[CAPTURE:CAPTURE_ALL] = PLANE_POINT[CELL_OF_SQUARE]
    bias[CAPTURE:CAPTURE_ALL] = _CAPTURE_BIAS
    bias[CAPTURE_ALL:] = _SQUARELESS_BIAS + np.arange(NUM_SQUARELESS)
    return tables


TABLES = _decision_tables()
"""[3, 6470] int64: each action's from-point, to-point and the number of its bias."""


@compiled_with_arrays
def _score_each(pairs, bias, words, decisions, game, tables, scale, scores):
    """Add the scores to those that are there already, less the highest of their game."""
    size = pairs.shape[2] // 2
    whole = size - size % 4
    first = 0
    while first < decisions.shape[0]:
        number = game[first]
        highest = -np.float32(np.inf)
        end = first
        while end < decisions.shape[0] and game[end] == number:
            decision = decisions[end]
            if decision >= CAPTURE_ALL:
                score = words[number, decision - CAPTURE_ALL]
            else:
                query = pairs[number, tables[0, decision]]
                key = pairs[number, tables[1, decision], size:]
                # Four sums at once: the processor need not wait for one addition before the next.
                a = b = c = d = np.float32(0)
                for k in range(0, whole, 4):
                    a += query[k] * key[k]
                    b += query[k + 1] * key[k + 1]
                    c += query[k + 2] * key[k + 2]
                    d += query[k + 3] * key[k + 3]
                for k in range(whole, size):
                    a += query[k] * key[k]
                score = scale * ((a + b) + (c + d))
            scores[end] += score + bias[tables[2, decision]]
            highest = max(highest, scores[end])
            end += 1
        for i in range(first, end):
            scores[i] -= highest
        first = end


@compiled_with_arrays
def _normalise_each(scores, chances, game, entropies):
    """Turn scores into log-probabilities and their exponentials into probabilities, in place."""
    first = 0
    while first < scores.shape[0]:
        number = game[first]
        total = np.float32(0)
        end = first
        while end < scores.shape[0] and game[end] == number:
            total += chances[end]
            end += 1
        log_total, share = np.log(total), np.float32(1) / total
        entropy = np.float32(0)
        for i in range(first, end):
            scores[i] -= log_total
            chances[i] *= share
            entropy -= chances[i] * scores[i]
        entropies[number] = entropy
        first = end


@compiled_with_arrays
def _gradients_of_scores(grads, to_entropies, log_probs, chances, entropies, game, to_scores):
    """The gradient by score s_j of log p_i is [i = j] - p_j, that of H is -p_j (log p_j + H)."""
    first = 0
    while first < grads.shape[0]:
        number = game[first]
        total = np.float32(0)
        end = first
        while end < grads.shape[0] and game[end] == number:
            total += grads[end]
            end += 1
        to_entropy, entropy = to_entropies[number], entropies[number]
        for i in range(first, end):
            through_entropy = to_entropy * (log_probs[i] + entropy)
            to_scores[i] = grads[i] - chances[i] * (total + through_entropy)
        first = end


@compiled_with_arrays
def _spread_each(grads, pairs, decisions, game, tables, scale, to_pairs, to_bias, to_words):
    size = pairs.shape[2] // 2
    for i in range(decisions.shape[0]):
        decision = decisions[i]
        grad = grads[i]
        to_bias[tables[2, decision]] += grad
        if decision >= CAPTURE_ALL:
            to_words[game[i], decision - CAPTURE_ALL] += grad
        else:
            start, end = tables[0, decision], tables[1, decision]
            query, key = pairs[game[i], start], pairs[game[i], end, size:]
            to_query, to_key = to_pairs[game[i], start], to_pairs[game[i], end, size:]
            scaled = scale * grad
            for k in range(size):
                to_query[k] += scaled * key[k]
                to_key[k] += scaled * query[k]


class _LegalPolicy(torch.autograd.Function):
    """``legal_policy`` on the CPU, in float32."""

    @staticmethod
    def forward(
        context: Any,
        pairs: Tensor,
        bias: Tensor,
        words: Tensor,
        decisions: Tensor,
        game: Tensor,
        added: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        kept = [tensor.detach().float().contiguous() for tensor in (pairs, bias, words)]
        scale = np.float32(1 / math.sqrt(pairs.shape[2] // 2))
        scores = torch.zeros(len(decisions)) if added is None else added.detach().clone()
        _score_each(
            *(tensor.numpy() for tensor in kept),
            decisions.numpy(),
            game.numpy(),
            TABLES,
            scale,
            scores.numpy(),
        )
        chances, entropies = scores.exp(), torch.zeros(len(pairs))
        _normalise_each(scores.numpy(), chances.numpy(), game.numpy(), entropies.numpy())
        context.save_for_backward(kept[0], decisions, game, scores, chances, entropies)
        context.types = [tensor.dtype for tensor in (pairs, bias, words)]
        context.scale = scale
        context.adds = added is not None
        return scores, entropies

    @staticmethod
    def backward(context: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        pairs, decisions, game, log_probs, chances, entropies = context.saved_tensors
        to_scores = torch.empty(len(decisions))
        _gradients_of_scores(
            *(grad.contiguous().numpy() for grad in grads),
            *(tensor.numpy() for tensor in (log_probs, chances, entropies, game, to_scores)),
        )
        spread = (
            torch.zeros_like(pairs),
            torch.zeros(NUM_BIASES),
            torch.zeros(len(pairs), NUM_SQUARELESS),
        )
        _spread_each(
            to_scores.numpy(),
            pairs.numpy(),
            decisions.numpy(),
            game.numpy(),
            TABLES,
            context.scale,
            *(tensor.numpy() for tensor in spread),
        )
        given = (one.to(kind) for one, kind in zip(spread, context.types, strict=True))
        return (*given, None, None, to_scores if context.adds else None)


@cache
def _tables_on(device: torch.device) -> Tensor:
    """``TABLES`` on a device, sent there once."""
    return torch.from_numpy(TABLES).to(device)


def gathered_scores(
    pairs: Tensor,
    bias: Tensor,
    words: Tensor,
    decisions: Tensor,
    game: Tensor,
    added: Tensor | None = None,
) -> Tensor:
    """[L] scores by gathering tensors, on any device; the arguments are those of
    ``legal_policy``.
    """
    start, end, shared = _tables_on(decisions.device)
    queries, keys = pairs.flatten(0, 1).chunk(2, dim=1)
    origin = game * NUM_POINTS
    query = queries.index_select(0, origin + start[decisions])
    key = keys.index_select(0, origin + end[decisions])
    on_squares = (query * key).float().sum(1) / math.sqrt(queries.shape[1])
    wordy = (decisions >= CAPTURE_ALL).nonzero().squeeze(1)
    word = game[wordy] * NUM_SQUARELESS + decisions[wordy] - CAPTURE_ALL
    given = words.float().flatten().index_select(0, word)
    # The bias of every action first: in the backward pass all moves of a direction and distance
    # would wait for each other to add to one entry.
    biases = bias.float()[shared].index_select(0, decisions)
    scores = on_squares.index_fill(0, wordy, 0).index_add(0, wordy, given) + biases
    return scores if added is None else scores + added


def log_softmax_by_game(scores: Tensor, game: Tensor, num_games: int) -> Tensor:
    """[L] the log-softmax of [L] scores within each game."""
    highest = scores.new_full((num_games,), -torch.inf).scatter_reduce(
        0, game, scores.detach(), "amax"
    )
    shifted = scores - highest.index_select(0, game)
    total = scores.new_zeros(num_games).index_add(0, game, shifted.exp())
    return shifted - total.log().index_select(0, game)


def policy_of_scores(scores: Tensor, game: Tensor, num_games: int) -> tuple[Tensor, Tensor]:
    """The policy of N games from the scores of their legal decisions, on any device.

    Args:
        scores: [L] float32, of the legal decisions of all games.
        game: [L] int64, the game of each.
        num_games: N.

    Returns:
        log-probabilities [L] float32, and each game's entropy in nats, [N] float32.
    """
    log_probs = log_softmax_by_game(scores, game, num_games)
    terms = -(log_probs.exp() * log_probs)
    return log_probs, terms.new_zeros(num_games).index_add(0, game, terms)


def gathered_policy(
    pairs: Tensor,
    bias: Tensor,
    words: Tensor,
    decisions: Tensor,
    game: Tensor,
    added: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Compute ``legal_policy`` by gathering tensors, on any device."""
    scores = gathered_scores(pairs, bias, words, decisions, game, added)
    return policy_of_scores(scores, game, len(pairs))


def legal_policy(
    pairs: Tensor,
    bias: Tensor,
    words: Tensor,
    decisions: Tensor,
    game: Tensor,
    added: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """A policy over the legal decisions of N games.

    Args:
        pairs: [N, 225, 2 * K], the query of every point, then its key.
        bias: [118] by direction and distance, for captures, for each decision without a square.
        words: [N, 5] scores of the decisions without a square.
        decisions: [L] int64, the legal decisions of all games.
        game: [L] int64, ascending, the game of each.
        added: [L] float32, what is added to the scores; None: nothing.

    Returns:
        log-probabilities [L] float32, and each game's entropy in nats, [N] float32.
    """
    if pairs.is_cpu:
        on_cpu: Any = _LegalPolicy.apply
        log_probs, entropies = on_cpu(pairs, bias, words, decisions, game, added)
        return log_probs, entropies
    return gathered_policy(pairs, bias, words, decisions, game, added)
