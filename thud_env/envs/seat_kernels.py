"""Compiled loops for some of many games: those in which it is one player's turn."""

from __future__ import annotations

from thud_env.batch.kernels import reward_for_dwarfs
from thud_env.jit.compile import compiled_with_arrays
from thud_env.rules.legal import is_legal
from thud_env.rules.play import apply, margin


@compiled_with_arrays
def judge(rows, games, actions, legal):
    """Whether actions are legal.

    Args:
        rows: [B, 432] the games.
        games: [N] int64, which of them are asked about.
        actions: [N] int32.
        legal: [N] bool, written.
    """
    for i in range(games.shape[0]):
        legal[i] = is_legal(rows[games[i]], actions[i])


@compiled_with_arrays
def play(rows, games, actions, by_outcome, paid):
    """Play one legal decision in each of some games.

    Args:
        rows: [B, 432] the games.
        games: [N] int64, which of them are played.
        actions: [N] int32, legal.
        by_outcome: whether rewards are by outcome or by margin.
        paid: [B] float64; what the decision pays the dwarfs is added.
    """
    for i in range(games.shape[0]):
        row = rows[games[i]]
        margin_before = margin(row)
        apply(row, actions[i])
        paid[games[i]] += reward_for_dwarfs(row, margin_before, by_outcome)
