"""Wins by the stone that are seen before they are played, compared with the rules."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from by_hand import place
from positions import constructed, from_play, position_of

from agents.search.stone import wins_by_stone
from thud_env import RULESETS, Position
from thud_env.actions import NUM_MOVES
from thud_env.board import IS_GOAL_CELL
from thud_env.rules.play import apply
from thud_env.rules.row import (
    DWARFS,
    GOAL,
    NO_QUESTION,
    PENDING,
    STONE_CELL,
    SURROUNDED,
    TERMINATION,
    TO_MOVE,
    TROLLS,
    Row,
)

EACH_RULESET = pytest.mark.parametrize("rules", RULESETS)


def wins_with(row: Row, action: int) -> bool:
    """Whether a turn that begins with an action ends the battle as the stone's object has it."""
    child = row.copy()
    apply(child, action)
    if child[PENDING] == NO_QUESTION:
        return child[TERMINATION] in (GOAL, SURROUNDED)
    return any(wins_with(child, on) for on in Position.unchecked(child).legal_actions().tolist())


@EACH_RULESET
def test_a_win_by_the_stone_is_seen_before_it_is_played(rules: str) -> None:
    seen = set()
    random = Random(10)
    states = [*from_play(rules, 100, random), *constructed(rules, 1500, random)]
    for position in map(position_of, states):
        if position.outcome is not None or IS_GOAL_CELL[position.row[STONE_CELL]]:
            continue
        for side in (DWARFS, TROLLS):
            row = position.row.copy()
            row[TO_MOVE] = side
            moves = [a for a in Position.unchecked(row).legal_actions().tolist() if a < NUM_MOVES]
            wins = any(wins_with(row, action) for action in moves)
            assert wins_by_stone(position.row, side) == wins, (position, side)
            seen.add((side, wins))
    has_object = rules.startswith("koom-valley")
    assert seen == {(side, wins) for side in (0, 1) for wins in {False, has_object}}


def test_a_troll_may_trample_its_way_to_the_stone() -> None:
    position = place("koom-valley", "H4 H6 A10", "H3 G8 J8", "t")
    assert "TH3-H5-H7xH4xH6" in position.turns()
    row = position.row.copy()
    assert wins_by_stone(row, TROLLS)
    assert np.array_equal(row, position.row)
    assert not wins_by_stone(place("koom-valley", "H4 H6 A10", "H3 G8 A11", "t").row, TROLLS)


def test_a_stone_that_never_moves_is_not_brought_to_a_goal() -> None:
    rules = RULESETS["classic"].replace(name="by-the-goal", stone="H2", stone_wins=True)
    assert not wins_by_stone(Position.start(rules).row, DWARFS)
