"""The scores of legal decisions from queries, keys and biases: what a policy is made of.

A move's score is the inner product of the query of its from-point and the key of its to-point
(as in the attention policy of Leela Chess Zero), a capture's that of its square's two, each with
a bias that all moves of its direction and distance share. The decisions that concern no square
have a score each. On the CPU all that is one compiled loop over the legal decisions, forwards and
backwards: gathering L queries and keys as tensors takes longer than the convolutions.
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
from thud_env.board import CELL_OF_SQUARE, SIZE, STRIDE
from thud_env.compile import compiled_with_arrays

NUM_POINTS = SIZE * SIZE
_CAPTURE_BIAS = 8 * (SIZE - 1)
_WORD_BIAS = _CAPTURE_BIAS + 1
NUM_BIASES = _WORD_BIAS + NUM_ACTIONS - CAPTURE_ALL
NUM_WORDS = NUM_ACTIONS - CAPTURE_ALL
"""Decisions that concern no square: capture all, done, and the three of agreement."""


def _points(cells: np.ndarray) -> np.ndarray:
    """Points of the 15 x 15 grid, row * 15 + col, of cells of a state row."""
    return (cells // STRIDE - 1) * SIZE + cells % STRIDE


def _decision_tables() -> np.ndarray:
    """For each action: from-point, to-point, and which bias it shares, [3, 6470]."""
    tables = np.zeros((3, NUM_ACTIONS), dtype=np.int64)
    start, end, bias = tables
    start[:CAPTURE], end[:CAPTURE] = _points(MOVE_FROM), _points(MOVE_TO)
    bias[:CAPTURE] = MOVE_DIRECTION.astype(np.int64) * (SIZE - 1) + MOVE_DISTANCE - 1
    start[CAPTURE:CAPTURE_ALL] = end[CAPTURE:CAPTURE_ALL] = _points(CELL_OF_SQUARE)
    bias[CAPTURE:CAPTURE_ALL] = _CAPTURE_BIAS
    bias[CAPTURE_ALL:] = _WORD_BIAS + np.arange(NUM_WORDS)
    return tables


TABLES = _decision_tables()
"""[3, 6470] int64: each action's from-point, to-point and the bias that it shares."""


@compiled_with_arrays
def _score_each(pairs, bias, words, decisions, game, tables, scale, scores):
    size = pairs.shape[2] // 2
    whole = size - size % 4
    for i in range(decisions.shape[0]):
        decision = decisions[i]
        if decision >= CAPTURE_ALL:
            score = words[game[i], decision - CAPTURE_ALL]
        else:
            query = pairs[game[i], tables[0, decision]]
            key = pairs[game[i], tables[1, decision], size:]
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
        scores[i] = score + bias[tables[2, decision]]


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


class _Scores(torch.autograd.Function):
    """``legal_scores`` on the CPU, in float32."""

    @staticmethod
    def forward(
        context: Any, pairs: Tensor, bias: Tensor, words: Tensor, decisions: Tensor, game: Tensor
    ) -> Tensor:
        kept = [tensor.detach().float().contiguous() for tensor in (pairs, bias, words)]
        context.save_for_backward(kept[0], decisions, game)
        context.types = [tensor.dtype for tensor in (pairs, bias, words)]
        context.scale = np.float32(1 / math.sqrt(pairs.shape[2] // 2))
        scores = torch.empty(len(decisions))
        _score_each(
            *(tensor.numpy() for tensor in kept),
            *(decisions.numpy(), game.numpy(), TABLES, context.scale, scores.numpy()),
        )
        return scores

    @staticmethod
    def backward(context: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        pairs, decisions, game = context.saved_tensors
        spread = (
            torch.zeros_like(pairs),
            torch.zeros(NUM_BIASES),
            torch.zeros(len(pairs), NUM_WORDS),
        )
        _spread_each(
            *(grads[0].contiguous().numpy(), pairs.numpy(), decisions.numpy(), game.numpy()),
            *(TABLES, context.scale),
            *(tensor.numpy() for tensor in spread),
        )
        given = (one.to(kind) for one, kind in zip(spread, context.types, strict=True))
        return (*given, None, None)


@cache
def _tables_on(device: torch.device) -> Tensor:
    """``TABLES``, sent to a device once."""
    return torch.from_numpy(TABLES).to(device)


def gathered_scores(
    pairs: Tensor, bias: Tensor, words: Tensor, decisions: Tensor, game: Tensor
) -> Tensor:
    """The same as ``legal_scores`` by gathering tensors, on any device."""
    start, end, shared = _tables_on(decisions.device)
    queries, keys = pairs.flatten(0, 1).chunk(2, dim=1)
    origin = game * NUM_POINTS
    match = queries[origin + start[decisions]] * keys[origin + end[decisions]]
    on_squares = match.float().sum(1) / math.sqrt(queries.shape[1])
    word = (decisions - CAPTURE_ALL).clamp(min=0)
    off_squares = words.float().flatten()[game * NUM_WORDS + word]
    score = torch.where(decisions < CAPTURE_ALL, on_squares, off_squares)
    return score + bias.float()[shared[decisions]]


def legal_scores(
    pairs: Tensor, bias: Tensor, words: Tensor, decisions: Tensor, game: Tensor
) -> Tensor:
    """Score the legal decisions of N games.

    Args:
        pairs: [N, 225, 2 * K], the query of every point, then its key.
        bias: [118] by direction and distance, for captures, and for each word.
        words: [N, 5] of the decisions that concern no square.
        decisions: [L] int64, the legal decisions of all games.
        game: [L] int64, the game of each.

    Returns:
        [L] float32.
    """
    if pairs.is_cpu:
        score_on_cpu: Any = _Scores.apply
        scores: Tensor = score_on_cpu(pairs, bias, words, decisions, game)
        return scores
    return gathered_scores(pairs, bias, words, decisions, game)
