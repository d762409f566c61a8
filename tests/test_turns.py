"""Complete turns: counting them, and drawing one uniformly (``thud_env/rules/turns.py``)."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest
from by_hand import place
from positions import constructed, from_play, position_of
from reference import RULES

from thud_env import Position
from thud_env.actions import CAPTURE
from thud_env.jit.rng import seed_generators
from thud_env.rules.play import apply, margin
from thud_env.rules.row import (
    ANSWER_OFFER,
    MAX_DECISIONS_AT_ONCE,
    NO_QUESTION,
    ONGOING,
    PENDING,
    ROW_SIZE,
    TERMINATION,
    TURNS,
    Row,
)
from thud_env.rules.turns import MAX_TRAMPLES, count_endings, count_turns, random_turn_decision


class Draw:
    """Draws the decisions of uniformly drawn turns; holds the scratch space that this takes."""

    def __init__(self, seed: int) -> None:
        self.rng = seed_generators(1, seed)
        self.decisions = np.empty(MAX_DECISIONS_AT_ONCE, dtype=np.int32)
        self.rows = np.empty((MAX_TRAMPLES + 2, ROW_SIZE), dtype=np.int16)

    def __call__(self, row: Row) -> int:
        return int(random_turn_decision(row, self.rng, 0, self.decisions, self.rows))


@pytest.mark.parametrize("rules", RULES)
def test_turns_are_counted_as_they_are_listed(rules: str) -> None:
    random = Random(f"count {rules}")
    scratch = np.empty((MAX_TRAMPLES + 2, ROW_SIZE), dtype=np.int16)
    for state in [*constructed(rules, 200, random), *from_play(rules, 100, random)]:
        position = position_of(state)
        assert count_turns(position.row, scratch) == len(position.turns()), position


@pytest.mark.parametrize("rules", RULES[:-1])
def test_endings_are_counted_as_they_are_listed(rules: str) -> None:
    """In the middle of a turn; Football has none."""
    random = Random(f"endings {rules}")
    scratch = np.empty((MAX_TRAMPLES + 2, ROW_SIZE), dtype=np.int16)
    middles = 0
    for state in constructed(rules, 200, random):
        position = position_of(state)
        for action in position.legal_actions().tolist():
            middle = position.apply(action)
            if middle.row[PENDING] != NO_QUESTION:
                middles += 1
                assert count_endings(middle.row, scratch) == len(middle.turns()), middle
    assert middles > 50


FEW_TURNS = {
    "captures of one or none": place("classic", "G6 H6 J6 A8", "H4", "t"),
    "captures of any": place("classic-any", "G6 H6 J6 A8", "H4", "t"),
    "captures from the first square on": place("classic-any", "F1 H1 A8", "H3", "t"),
    "captures of any of five": place("classic-any", "G4 J4 G5 H5 J5 A8", "H3", "t"),
    "a shove that captures some": place("classic", "G7 H7 J7 A8", "H4 H3", "t"),
    "all or none": place("classic-all", "G6 H6 J6 G7 J7 A8", "H4 H3", "t"),
    "hurls": place("classic", "F1 F2", "F4 P8"),
    "tramples": place("koom-valley", "H6 J7 K6 J5 A8 H8", "H5", "t", rock="P8"),
    "tramples that branch": place("koom-valley", "H4 G5 J5 K6 F6 G8", "H3", "t", rock="P8"),
    "sandwiches and the Rock": place("koom-valley", "G1 J3", "H2", rock="F1"),
    "the ball": place("koom-valley-football", "H14 F2", "A8", rock="H13"),
    "an offer": place("classic", "F1", "P8", quiet=9, offer_after=3, agreement=True),
    "some, in the middle": place("classic", "G7 H7 J7 A8", "H4 H3", "t").apply(
        place("classic", "G7 H7 J7 A8", "H4 H3", "t").decisions("TH4-H6xG7")[0]
    ),
    "an answer": place("classic", "F1", "P8", quiet=9, offer_after=3, agreement=True).play("offer"),
}

Drawn = tuple[tuple[int, ...], bytes]
"""A turn by its moves and the state after it: captures are a set, and have no order."""


def carry_out(row: Row, decisions: list[int]) -> Drawn:
    row = row.copy()
    for decision in decisions:
        apply(row, decision)
    return tuple(decision for decision in decisions if decision < CAPTURE), row.tobytes()


def draw_turn(position: Position, draw: Draw) -> Drawn:
    row = position.row.copy()
    decisions: list[int] = []
    while not decisions or row[PENDING] not in (NO_QUESTION, ANSWER_OFFER):
        decisions.append(draw(row))
        apply(row, decisions[-1])
    return carry_out(position.row, decisions)


@pytest.mark.parametrize("name", FEW_TURNS)
def test_turns_are_drawn_uniformly(name: str) -> None:
    position = FEW_TURNS[name]
    turns = {carry_out(position.row, position.decisions(turn)) for turn in position.turns()}
    assert len(turns) == len(position.turns())
    expected = 400
    draw = Draw(seed=2001)
    drawn = Counter(draw_turn(position, draw) for _ in range(expected * len(turns)))
    assert set(drawn) == turns
    chi_square = sum((drawn[turn] - expected) ** 2 / expected for turn in turns)
    freedom = len(turns) - 1
    # Mean and four standard deviations of the chi-square distribution.
    assert chi_square < freedom + 4 * (2 * freedom) ** 0.5


@pytest.mark.slow
def test_random_battles_have_the_documented_means() -> None:
    """docs/rules.md, section 7: uniform over turns, classic-all, limits 200 and 800."""
    draw = Draw(seed=1)
    start = Position.start("classic-all", max_quiet_turns=200, max_turns=800)
    margins, lengths = [], []
    for _ in range(250):
        row = start.row.copy()
        while row[TERMINATION] == ONGOING:
            apply(row, draw(row))
        margins.append(margin(row))
        lengths.append(row[TURNS])
    assert np.mean(margins) == pytest.approx(-26.6, abs=1.0)
    assert np.mean(lengths) == pytest.approx(343, abs=15)
