"""The scripted players without a search: ``random`` and ``greedy``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.agent import DrawingAgent, read_rows
from thud_env.jit.compile import compiled, compiled_with_arrays
from thud_env.jit.rng import random_below
from thud_env.rules.legal import legal_actions
from thud_env.rules.play import apply, margin
from thud_env.rules.row import (
    DWARFS,
    MAX_DECISIONS_AT_ONCE,
    NUM_DWARFS,
    NUM_TROLLS,
    ONGOING,
    ROW_SIZE,
    TERMINATION,
    TO_MOVE,
)
from thud_env.rules.traits import scored_by_points
from thud_env.rules.turns import MAX_TRAMPLES, most_captures, random_turn_decision

WIN = 1000
"""The value of a won battle to greedy, in captures. Only the Koom Valley games can be won by other
means than captures."""


@compiled_with_arrays
def _play_random_turns(rows, rng, actions):
    decisions = np.empty(MAX_DECISIONS_AT_ONCE, dtype=np.int32)
    scratch = np.empty((MAX_TRAMPLES + 2, ROW_SIZE), dtype=np.int16)
    for game in range(rows.shape[0]):
        actions[game] = random_turn_decision(rows[game], rng, 0, decisions, scratch)


class RandomAgent(DrawingAgent):
    """Plays random turns: each distinct complete turn is equally likely."""

    def act_rows(self, rows: NDArray[np.int16]) -> NDArray[np.int32]:
        """See ``BatchPolicy``."""
        rows = read_rows(rows)
        actions = np.empty(len(rows), dtype=np.int32)
        _play_random_turns(rows, self._rng, actions)
        return actions


@compiled
def _value(before, after, scratch):
    """Greedy's value of the decision that led from ``before`` to ``after``: the captures that the
    turn can reach, or a battle won or lost at once.
    """
    if after[TERMINATION] != ONGOING and not scored_by_points(after):
        won = margin(after)
        return WIN * (won if before[TO_MOVE] == DWARFS else -won)
    if before[TO_MOVE] == DWARFS:
        return int(before[NUM_TROLLS]) - int(after[NUM_TROLLS])
    return int(before[NUM_DWARFS]) - int(after[NUM_DWARFS]) + most_captures(after, scratch)


@compiled_with_arrays
def _act_greedily(rows, rng, actions):
    decisions = np.empty(MAX_DECISIONS_AT_ONCE, dtype=np.int32)
    scratch = np.empty((MAX_TRAMPLES + 2, ROW_SIZE), dtype=np.int16)
    child = np.empty(ROW_SIZE, dtype=np.int16)
    for game in range(rows.shape[0]):
        best = -2 * WIN
        ties = 0
        for i in range(legal_actions(rows[game], decisions)):
            child[:] = rows[game]
            apply(child, decisions[i])
            value = _value(rows[game], child, scratch)
            if value > best:
                best = value
                ties = 0
            if value == best:
                # Keep the n-th of the ties with probability 1/n: in the end each is equally likely.
                ties += 1
                if random_below(rng, 0, ties) == 0:
                    actions[game] = decisions[i]


class GreedyAgent(DrawingAgent):
    """Plays the turn with the most captures; ties are drawn at random."""

    def act_rows(self, rows: NDArray[np.int16]) -> NDArray[np.int32]:
        """See ``BatchPolicy``."""
        rows = read_rows(rows)
        actions = np.empty(len(rows), dtype=np.int32)
        _act_greedily(rows, self._rng, actions)
        return actions
