"""The evaluation by features: its features, its symmetry and its bounds."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from by_hand import place
from positions import from_play, position_of

from agents.search.evaluation import (
    CLASSIC_FEATURES,
    LARGEST_EVALUATION,
    NUM_FEATURES,
    SEEN_WIN,
    VALLEY_FEATURES,
    evaluate,
    features,
    within_bounds,
)
from agents.search.weights import feature_names
from thud_env import RULESETS, Position
from thud_env.board import CELL_OF_SQUARE, SQUARE_SYMMETRY
from thud_env.rules.row import (
    Row,
    index_row,
)
from thud_env.symmetry import symmetries_of

SCRATCH = np.zeros(NUM_FEATURES, dtype=np.int64)
EACH_RULESET = pytest.mark.parametrize("rules", RULESETS)


def turned(row: Row, symmetry: int) -> Row:
    image = row.copy()
    image[CELL_OF_SQUARE[SQUARE_SYMMETRY[symmetry]]] = row[CELL_OF_SQUARE]
    index_row(image)
    return image


@EACH_RULESET
def test_a_position_and_its_mirror_image_are_worth_the_same(rules: str) -> None:
    symmetries = symmetries_of(rules)
    random_weights = np.random.default_rng(6).integers(-100, 100, (2, NUM_FEATURES))
    for state in from_play(rules, 40, Random(7)):
        row = position_of(state).row
        values = {int(evaluate(turned(row, s), random_weights, SCRATCH)) for s in symmetries}
        assert values == {int(evaluate(row, random_weights, SCRATCH))}


def counts(position: Position) -> dict[str, int]:
    out = np.zeros(NUM_FEATURES, dtype=np.int64)
    features(position.row, out)
    names = feature_names(position.rules.name)
    return {name: int(value) for name, value in zip(names, out, strict=False) if value}


def test_features_of_a_classic_position() -> None:
    assert counts(place("classic", "D6 E6 F6 O8", "H6 P8 K12 K13")) == {
        "constant": 1,
        "dwarfs": 4,
        "trolls": 4,
        "dwarf_pairs": 2,
        "lone_dwarfs": 1,
        "dwarfs_in_reach": 2,  # F6 by way of G5 to G7, O8 from N7 to P9
        "trolls_touched": 1,  # P8
        "trolls_aimed_at": 1,  # H6
        "squares_aimed_at": 1,  # B6
        "troll_reach": 22,
        "troll_safe_reach": 15,
        "troll_pairs": 1,
        "dwarf_threes": 1,
    }


def test_features_of_a_valley_position() -> None:
    assert counts(place("koom-valley", "G5 H7 A8", "G6 H4 K5 P8", rock="H6")) == {
        "constant": 1,
        "dwarfs": 3,
        "trolls": 4,
        "stone_row": 5,
        "dwarfs_at_stone": 2,
        "trolls_at_stone": 1,
        "dwarfs_near_stone": 2,
        "trolls_near_stone": 3,
        "dwarfs_ahead": 1,
        "trolls_ahead": 2,
        "way_open": 2,
        "troll_distance": 1 + 2 + 2 + 7,
        "lone_dwarfs": 3,
        "dwarfs_touched": 2,
        "dwarf_distance": 1 + 1 + 7,
    }


def test_features_of_a_valley_position_with_two_trolls_at_the_stone() -> None:
    assert counts(place("koom-valley", "E3 F6 L6 H8", "G6 J7 P8", rock="H6")) == {
        "constant": 1,
        "dwarfs": 4,
        "trolls": 3,
        "stone_row": 5,
        "trolls_at_stone": 2,
        "dwarfs_near_stone": 2,
        "trolls_near_stone": 2,
        "dwarfs_ahead": 1,  # E3, but not those in the stone's own row
        "way_open": 3,
        "troll_distance": 1 + 1 + 7,
        "lone_dwarfs": 4,
        "dwarfs_touched": 2,
        "stone_at_two": 1,
        "dwarf_distance": 3 + 2 + 3 + 2,
    }
    by_three = counts(place("koom-valley", "E3", "G6 H7 J7 P8", "t", rock="H6"))
    assert (by_three["trolls_at_stone"], "stone_at_two" in by_three) == (3, False)


@pytest.mark.parametrize("sign", [1, -1])
def test_no_evaluation_counts_as_a_win_whatever_the_weights(sign: int) -> None:
    """A file of weights may have some of 100,000."""
    weights = np.full((2, NUM_FEATURES), 100_000 * sign)
    assert evaluate(Position.start().row, weights, SCRATCH) == sign * LARGEST_EVALUATION
    assert LARGEST_EVALUATION < SEEN_WIN


def test_where_points_count_two_trolls_may_still_be_worth_more_than_a_draw() -> None:
    """They cannot surround the stone, but may capture."""
    rules = RULESETS["classic"].replace(name="ring-of-two", stone_wins=True, trolls="G3 H3")
    for side, sign in (("d", 1), ("t", -1)):
        text = f"5/7/6TT1/11/13/15/15/7R7/15/15/13/11/9/7/ddddd {side} - 0 0"
        row = Position.from_text(text, rules).row
        for value in (-700, 400):
            assert within_bounds(row, sign * value) == sign * value


def test_every_feature_has_a_place() -> None:
    assert max(len(CLASSIC_FEATURES), len(VALLEY_FEATURES)) <= NUM_FEATURES
