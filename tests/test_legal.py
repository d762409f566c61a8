"""Which decisions are legal, listed, as a mask and asked one by one: three ways to one answer."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
from by_hand import place
from positions import constructed, position_of

from thud_env import RULESETS, Position
from thud_env.actions import NUM_ACTIONS, NUM_MOVES
from thud_env.board import CELL_STEP, NUM_DIRECTIONS
from thud_env.rules import row as fields
from thud_env.rules.legal import NUM_WORDS, is_legal, legal_words
from thud_env.rules.moves import faced_by

MOVES_TRIED = 100
"""Of the moves that are not legal, which are many and alike."""


def turns_under_way(position: Position, random: Random) -> Iterator[Position]:
    """A position and, if a first decision raises a question, one in which it is open, and so on."""
    yield position
    further = [
        successor
        for action in position.legal_actions()
        if (successor := position.apply(int(action))).row[fields.PENDING] != fields.NO_QUESTION
    ]
    if further:
        yield from turns_under_way(random.choice(further), random)


def check(position: Position, random: Random) -> None:
    """Every legal decision, all others that are no moves, and some that are."""
    legal = position.legal_actions().tolist()
    listed = set(legal)
    assert legal == sorted(listed)
    tried = {*listed, *range(NUM_MOVES, NUM_ACTIONS), *random.sample(range(NUM_MOVES), MOVES_TRIED)}
    assert {action for action in tried if is_legal(position.row, action)} == listed
    assert set(np.flatnonzero(position.action_mask()).tolist()) == listed
    words, scratch = np.empty(NUM_WORDS + 1, np.int64), np.empty(fields.MAX_ANSWERS, np.int32)
    assert legal_words(position.row, words, scratch) == len(legal)


@pytest.mark.parametrize("rules", RULESETS)
def test_one_decision_is_legal_if_it_is_among_all_that_are(rules: str) -> None:
    random = Random(f"legal {rules}")
    questions = set()
    for state in constructed(rules, 40, random):
        position = position_of(state)
        if position.outcome is None:
            for here in turns_under_way(position, random):
                check(here, random)
                questions.add(int(here.row[fields.PENDING]))
    raises_questions = rules != "koom-valley-football"
    assert (len(questions) > 1) == raises_questions


@pytest.mark.parametrize("rules", RULESETS)
def test_the_pieces_that_may_move_are_those_on_the_board(rules: str) -> None:
    random = Random(f"pieces {rules}")
    for state in constructed(rules, 20, random):
        row = position_of(state).row
        theirs = [fields.TROLL]
        if row[fields.TO_MOVE] == fields.DWARFS:
            theirs = [fields.DWARF, *([fields.STONE] if fields.stone_moves(row) else [])]
        first, count = fields.movable_pieces(row)
        (cells,) = np.isin(row[: fields.NUM_CELLS], theirs).nonzero()
        assert sorted(row[first : first + count].tolist()) == cells.tolist()


def test_nothing_is_legal_once_a_battle_is_over() -> None:
    before = place("classic", "A8", "H4", max_quiet_turns=1)
    after = before.play("dA8-A9")
    assert after.outcome is not None
    assert not any(is_legal(after.row, action) for action in range(-1, NUM_ACTIONS + 1))
    check(after, Random(1))


def near_or_supported(row: np.ndarray, cell: int, step: int) -> bool:
    """Whether the first piece from a cell is a dwarf beside it, or with another behind it."""
    front = cell + step
    while row[front] == fields.EMPTY:
        front += step
    near = front == cell + step
    return row[front] == fields.DWARF and (near or row[front + step] == fields.DWARF)


@pytest.mark.parametrize("rules", RULESETS)
def test_trolls_are_faced_from_where_they_may_be_hurled_at(rules: str) -> None:
    random = Random(f"faced {rules}")
    seen = set()
    for state in constructed(rules, 20, random):
        row = position_of(state).row
        for troll in row[fields.TROLL_CELLS :][: row[fields.NUM_TROLLS]].tolist():
            faced = faced_by(row, troll)
            seen |= {d for d in range(NUM_DIRECTIONS) if faced >> d & 1}
            for direction, step in enumerate(CELL_STEP.tolist()):
                assert faced >> direction & 1 == near_or_supported(row, troll, step)
    assert seen == set(range(NUM_DIRECTIONS))


def test_an_open_offer_is_answered_before_anything_else() -> None:
    position = Position.start("classic", agreement=True, offer_after=1).play("dA6-B6")
    check(position, Random(1))
    offered = position.play("offer")
    assert offered.row[fields.PENDING] == fields.ANSWER_OFFER
    check(offered, Random(1))
