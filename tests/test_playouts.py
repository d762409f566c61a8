"""Playing on from a leaf: by the rules, to the end or for so many turns."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import decide, place

from agents.mcts import WHOLE_BATTLE
from agents.search.deepening import Searcher, SearchOptions
from agents.search.evaluation import WIN
from agents.search.evaluator import read_evaluator
from agents.search.judge import judging
from agents.search.playouts import (
    BY_EVALUATION,
    BY_RANDOM_PLAY,
    BY_SEARCH,
    LEAF_DEPTH,
    evaluated_value,
    leaf_value,
)
from agents.search.scale import as_share, in_hundredths
from agents.search.weights import published_weights
from agents.search.workspace import Workspace
from thud_env import RULESETS, Position, Termination
from thud_env.jit.rng import seed_generators
from thud_env.rules.row import (
    MAX_DECISIONS_AT_ONCE,
    NO_QUESTION,
    NUM_DWARFS,
    ONGOING,
    PENDING,
    TERMINATION,
    TO_MOVE,
    TURNS,
    Row,
    ruleset_of,
)
from thud_env.rules.traits import scored_by_points
from training.arena.openings import read_openings

WEIGHTS = published_weights()
EACH_RULESET = pytest.mark.parametrize("rules", RULESETS)


def judge_of(row: Row) -> Workspace:
    return judging(read_evaluator("features"), ruleset_of(row))


def judge(position: Position, how: int, length: int, seed: int = 0) -> tuple[float, Row]:
    row = position.row.copy()
    decisions = np.empty(MAX_DECISIONS_AT_ONCE, dtype=np.int32)
    rng = seed_generators(1, seed)
    return leaf_value(row, how, length, judge_of(row), decisions, rng), row


@EACH_RULESET
def test_a_whole_battle_is_worth_its_score(rules: str) -> None:
    start = Position.start(rules, agreement=True, offer_after=1, max_turns=300)
    for seed in range(5):
        value, row = judge(start, BY_RANDOM_PLAY, WHOLE_BATTLE, seed)
        outcome = Position(row).outcome
        assert outcome is not None
        assert outcome.termination != Termination.AGREEMENT, "it makes no offers"
        assert value == outcome.margin / (32 if rules.startswith("classic") else 1)


@EACH_RULESET
def test_a_playout_is_cut_off_and_evaluated(rules: str) -> None:
    value, row = judge(Position.start(rules), BY_RANDOM_PLAY, 7)
    assert row[TERMINATION] == ONGOING
    assert row[TURNS] == 7
    assert value == evaluated_value(row, judge_of(row))
    assert -1 <= value <= 1


@EACH_RULESET
def test_without_a_playout_the_position_is_evaluated_at_once(rules: str) -> None:
    value, row = judge(Position.start(rules), BY_EVALUATION, 7)
    assert np.array_equal(row, Position.start(rules).row)
    assert value == evaluated_value(row, judge_of(row))


@pytest.mark.parametrize("how", [BY_EVALUATION, BY_RANDOM_PLAY])
def test_a_turn_that_is_pending_is_finished_by_any_capture(how: int) -> None:
    pending = decide(place("classic", "G6 H6 J6 A8", "H4", "t"), "H4-H5")
    rows = [judge(pending, how, 0, seed)[1] for seed in range(20)]
    assert {int(row[PENDING]) for row in rows} == {NO_QUESTION}
    assert {int(row[NUM_DWARFS]) for row in rows} == {3}
    assert len({row.tobytes() for row in rows}) == 3


@EACH_RULESET
def test_a_leaf_is_searched(rules: str) -> None:
    rows = read_openings(rules).rows(4)
    decisions = np.empty(MAX_DECISIONS_AT_ONCE, dtype=np.int32)
    work = judging(read_evaluator(), ruleset_of(rows[0]))
    values = [leaf_value(row, BY_SEARCH, 0, work, decisions, seed_generators(1, 1)) for row in rows]
    searcher = Searcher(seed_generators(1, 1))
    options = SearchOptions(read_evaluator(), depth=LEAF_DEPTH, use_table=False)
    assert values == [
        as_share(searcher.value(row, options), scored_by_points(row)) * (1 - 2 * row[TO_MOVE])
        for row in rows
    ]
    assert values != [evaluated_value(row, work) for row in rows]


@EACH_RULESET
def test_a_share_is_turned_back_into_hundredths_of_a_point(rules: str) -> None:
    row = Position.start(rules).row
    by_points = scored_by_points(row)
    for value in (0, 7, -40, 250, -1000, 3100, *(() if by_points else (WIN, -WIN))):
        assert in_hundredths(as_share(float(value), by_points), row) == value
    most = 3200 if by_points else WIN
    assert [in_hundredths(share, row) for share in (1.0, -1.0)] == [most, -most]
