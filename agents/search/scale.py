"""The scale of values that trees and networks share: -1 .. 1, a margin of 32 points being 1, and so
a Koom Valley battle won.
"""

from __future__ import annotations

import math

import numpy as np

from agents.search.evaluation import POINT, WIN
from thud_env.jit.compile import compiled, compiled_with_arrays
from thud_env.rules.play import margin
from thud_env.rules.row import DWARFS, TO_MOVE, Row
from thud_env.rules.traits import scored_by_points
from thud_env.rulesets import MOST_POINTS

EVEN_ODDS = 1000
"""The Koom Valley evaluation at which a battle counts as half won."""


@compiled
def as_share(value, by_points):
    """A search's value, in hundredths of a point, as a share of 32 points or, in Koom Valley, of a
    battle won: -1 .. 1.
    """
    if by_points:
        return min(max(value / (POINT * MOST_POINTS), -1.0), 1.0)
    return value / (abs(value) + EVEN_ODDS)


def in_hundredths(value: float, row: Row) -> int:
    """Convert a value of -1 .. 1 to the scale of the evaluation: the inverse of ``as_share``."""
    if scored_by_points(row):
        return round(value * POINT * MOST_POINTS)
    odds = value / (1 - abs(value)) if abs(value) < 1 else math.copysign(math.inf, value)
    return round(max(-WIN, min(WIN, EVEN_ODDS * odds)))


@compiled
def share_for_dwarfs(row, value):
    """The share of a value for the side to move, in hundredths of a point, for the dwarfs."""
    share = as_share(float(value), scored_by_points(row))
    return share if row[TO_MOVE] == DWARFS else -share


@compiled
def current_score(row):
    """The current score of a state row for the dwarfs."""
    return margin(row) / MOST_POINTS if scored_by_points(row) else float(margin(row))


@compiled_with_arrays
def current_scores(rows):
    """The current scores of [N, 432] state rows for the dwarfs, [N] float64 in -1 .. 1. A network's
    value of a state is what follows, to be added to it.
    """
    scores = np.empty(rows.shape[0])
    for n in range(rows.shape[0]):
        scores[n] = current_score(rows[n])
    return scores
