"""Afterstate features: what each legal decision brings about, as input of a network.

What a decision is worth shows in the state that it leads to, the *afterstate* (Sutton and Barto,
"Reinforcement Learning", 2018, section 6.8): whether trolls can capture then, whether dwarfs can
strike back, whether the stone wins. A network that sees only the state before has to compute all
this for each of some 200 decisions. Here each is played, and looked at. Planes cannot show it: a
decision is a pair of squares.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.stone import wins_by_stone
from agents.search.strikes import captures_at_hand, is_cornered, struck_trolls
from thud_env.actions import NUM_ACTIONS
from thud_env.batch.states import legal_lists
from thud_env.jit.bits import count_ones
from thud_env.jit.compile import compiled, compiled_with_arrays
from thud_env.rules.check import as_rows
from thud_env.rules.play import apply, margin
from thud_env.rules.row import (
    DWARFS,
    NO_QUESTION,
    NUM_DWARFS,
    NUM_TROLLS,
    ONGOING,
    PENDING,
    ROW_SIZE,
    TERMINATION,
    TO_MOVE,
    copy_row,
)


class Feature(NamedTuple):
    """One feature of an afterstate. Its number is its place in the table."""

    name: str
    shows: str


AFTERSTATE_FEATURES = (
    Feature("capturable", "the most dwarfs that a troll could capture in a turn / 4"),
    Feature("unanswered", "the same while no other troll can be struck, nor it after that / 4"),
    Feature("strikable", "how many trolls could be struck, that is captured by a dwarf / 4"),
    Feature("cornered", "1 if two could, or one that could be wherever it goes"),
    Feature("captured", "pieces that the decision itself captured / 4"),
    Feature("won", "1 if it ended the battle, and the side that decided has won"),
    Feature("stone_lost", "1 if the other side could end it by the stone in its turn"),
    Feature("stone_won", "1 if the side that decided could, if it were its turn again"),
)
"""In the midst of a turn, those of the board as it stands then, and none of the next turn's stone;
of a battle that is over, ``captured`` and ``won``. Of a trample four jumps are looked at
(``search/strikes.py``)."""
NUM_AFTERSTATE_FEATURES = len(AFTERSTATE_FEATURES)

(
    _CAPTURABLE,
    _UNANSWERED,
    _STRIKABLE,
    _CORNERED,
    _CAPTURED,
    _WON,
    _STONE_LOST,
    _STONE_WON,
) = range(NUM_AFTERSTATE_FEATURES)


@compiled
def _show(row, side, pieces, features):
    """Write what is to be seen in an afterstate.

    Args:
        row: [432] the afterstate; changed and restored.
        side: who decided, 0 dwarfs, 1 trolls.
        pieces: dwarfs and trolls on the board before.
        features: [8] zeros; written.
    """
    features[_CAPTURED] = (pieces - row[NUM_DWARFS] - row[NUM_TROLLS]) / 4
    if row[TERMINATION] != ONGOING:
        own_margin = margin(row) if side == DWARFS else -margin(row)
        if own_margin > 0:
            features[_WON] = 1
        return
    struck = struck_trolls(row, 0)
    unanswered, most = captures_at_hand(row, struck, 0)
    features[_CAPTURABLE] = most / 4
    features[_UNANSWERED] = unanswered / 4
    features[_STRIKABLE] = count_ones(struck) / 4
    if is_cornered(row, struck, 0):
        features[_CORNERED] = 1
    if row[PENDING] == NO_QUESTION:
        if wins_by_stone(row, 1 - side):
            features[_STONE_LOST] = 1
        if wins_by_stone(row, side):
            features[_STONE_WON] = 1


@compiled
def show_afterstate(row, decision, afterstate, features):
    """Play a decision, and write the features of the state after it.

    Args:
        row: [432] a state row.
        decision: legal in it.
        afterstate: [432] overwritten.
        features: [8] float32, overwritten.
    """
    for number in range(NUM_AFTERSTATE_FEATURES):
        features[number] = 0
    copy_row(afterstate, row)
    apply(afterstate, decision)
    _show(afterstate, row[TO_MOVE], row[NUM_DWARFS] + row[NUM_TROLLS], features)


@compiled_with_arrays
def _show_each(rows, game, decisions, afterstate, features):
    """See ``features_of``; ``afterstate``: [432] overwritten."""
    for number in range(decisions.shape[0]):
        show_afterstate(rows[game[number]], decisions[number], afterstate, features[number])


def features_of(
    rows: NDArray[np.int16], game: NDArray[np.int64], decisions: NDArray[np.int64]
) -> NDArray[np.float32]:
    """The features of L afterstates, [L, 8] float32.

    Args:
        rows: [N, 432] state rows.
        game: [L] the row of each decision.
        decisions: [L] legal decisions.
    """
    features = np.empty((len(decisions), NUM_AFTERSTATE_FEATURES), dtype=np.float32)
    _show_each(rows, game, decisions, np.empty(ROW_SIZE, dtype=np.int16), features)
    return features


def afterstate_features(rows: NDArray[np.int16]) -> NDArray[np.float32]:
    """The features after every action in [N, 432] state rows of battles that are not over,
    [N, 6470, 8] float32; zeros for actions that are not legal.

    Raises:
        RowError: if they are no integers of that shape. What they hold is not looked at.
    """
    rows = as_rows(rows)
    decisions, starts = legal_lists(rows)
    game = np.repeat(np.arange(len(rows)), np.diff(starts))
    features = np.zeros((len(rows), NUM_ACTIONS, NUM_AFTERSTATE_FEATURES), dtype=np.float32)
    features[game, decisions] = features_of(rows, game, decisions.astype(np.int64))
    return features
