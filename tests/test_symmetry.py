"""The rules do not know left from right: a position and its image allow the same, mapped."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from positions import constructed, from_play, position_of
from reference import CLASSIC_RULES, VALLEY_RULES

from thud_env import Position
from thud_env.actions import ACTION_SYMMETRY
from thud_env.board import CELL_OF_SQUARE, MIRROR_LEFT_RIGHT, SQUARE_OF_CELL, SQUARE_SYMMETRY
from thud_env.rules.row import PENDING, PENDING_CELL, index_row


def image_of(position: Position, symmetry: int) -> Position:
    """The position turned or mirrored: its board and the cells that it remembers."""
    row = position.row.copy()
    squares = SQUARE_SYMMETRY[symmetry]
    row[CELL_OF_SQUARE[squares]] = position.row[CELL_OF_SQUARE]
    index_row(row)
    if row[PENDING_CELL] != 0:
        row[PENDING_CELL] = CELL_OF_SQUARE[squares[SQUARE_OF_CELL[row[PENDING_CELL]]]]
    return Position(row)


def check(position: Position, symmetry: int, random: Random) -> None:
    """Legal decisions map to legal decisions, and what follows from one to what follows."""
    image = image_of(position, symmetry)
    mapped = np.sort(ACTION_SYMMETRY[symmetry][position.legal_actions()])
    assert np.array_equal(mapped, image.legal_actions()), (position, symmetry)
    if len(mapped):
        action = random.choice(position.legal_actions().tolist())
        after = position.apply(action)
        assert image.apply(ACTION_SYMMETRY[symmetry][action]) == image_of(after, symmetry)
        if after.row[PENDING]:
            check(after, symmetry, random)


@pytest.mark.parametrize("rules", CLASSIC_RULES)
def test_classic_thud_has_all_eight_symmetries(rules: str) -> None:
    random = Random(f"symmetry {rules}")
    states = [*constructed(rules, 120, random), *from_play(rules, 60, random)]
    for state in states:
        for symmetry in range(8):
            check(position_of(state), symmetry, random)


@pytest.mark.parametrize("rules", VALLEY_RULES)
def test_koom_valley_has_the_left_right_mirror(rules: str) -> None:
    random = Random(f"symmetry {rules}")
    states = [*constructed(rules, 300, random), *from_play(rules, 150, random)]
    for state in states:
        check(position_of(state), MIRROR_LEFT_RIGHT, random)


@pytest.mark.parametrize("rules", VALLEY_RULES)
def test_the_goal_breaks_the_other_symmetries(rules: str) -> None:
    start = Position.start(rules)
    same = [symmetry for symmetry in range(8) if image_of(start, symmetry) == start]
    assert same == [0, MIRROR_LEFT_RIGHT]


@pytest.mark.parametrize("rules", CLASSIC_RULES)
def test_the_classic_start_is_its_own_image(rules: str) -> None:
    start = Position.start(rules)
    assert all(image_of(start, symmetry) == start for symmetry in range(8))
