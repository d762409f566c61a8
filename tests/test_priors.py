"""What decisions look worth before they are tried, and what checking them finds."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from by_hand import decide, place
from positions import from_play, position_of

from agents.search.captures import capturing_moves, keep_hungry_answers
from agents.search.evaluation import final_value
from agents.search.evaluator import read_evaluator
from agents.search.judge import judge_position, judging
from agents.search.priors import NUM_CHECKED, check_best, judge_decisions
from agents.search.workspace import STOP, Workspace
from thud_env import RULESETS, Position
from thud_env.jit.rng import seed_generators
from thud_env.rules.legal import legal_actions
from thud_env.rules.play import apply
from thud_env.rules.row import (
    MAX_DECISIONS_AT_ONCE,
    NO_QUESTION,
    ONGOING,
    PENDING,
    ROW_SIZE,
    TAKEN,
    TERMINATION,
    TO_MOVE,
    Row,
    ruleset_of,
)

EACH_RULESET = pytest.mark.parametrize("rules", RULESETS)
QUIESCENCE = 4


def decisions_of(row: Row) -> list[int]:
    decisions = np.empty(MAX_DECISIONS_AT_ONCE, dtype=np.int32)
    return decisions[: legal_actions(row, decisions)].tolist()


def positions_of(rules: str, count: int) -> list[Row]:
    """Rows at the start of a turn in which no decision leaves a choice of captures open."""
    found: list[Row] = []
    for state in from_play(rules, 10**9, Random(rules)):
        position = position_of(state)
        row = position.row.copy()  # one that may be written, as a search's: less is compiled
        if position.outcome is None and all(
            after(row, decision)[PENDING] == NO_QUESTION for decision in decisions_of(row)
        ):
            found.append(row)
        if len(found) == count:
            break
    return found


def after(row: Row, decision: int) -> Row:
    child = row.copy()
    apply(child, decision)
    return child


def values_of(row: Row, work: Workspace, checked: bool, stopped: int = 0) -> dict[int, int]:
    """The values of the decisions, in the order in which they are left."""
    decisions = np.array(decisions_of(row), dtype=np.int32)
    values = np.zeros(len(decisions), dtype=np.int32)
    child = np.zeros(ROW_SIZE, dtype=np.int16)
    scratch = np.empty(MAX_DECISIONS_AT_ONCE, dtype=np.int32)
    rest = (row, decisions, len(decisions), values, work, child, scratch, seed_generators(1, 1))
    judge_decisions(*rest)
    if checked:
        work.control[STOP] = stopped
        check_best(*rest)
    return dict(zip(decisions.tolist(), values.tolist(), strict=True))


def standing_pat(row: Row, turns: int, work: Workspace) -> int:
    """The value for the side to move, who may capture or leave it at that."""
    if row[TERMINATION] != ONGOING:
        return int(final_value(row))
    decisions = np.empty(MAX_DECISIONS_AT_ONCE, dtype=np.int32)
    if row[PENDING] != NO_QUESTION:
        best = -(10**9)
        count = keep_hungry_answers(decisions, legal_actions(row, decisions), row[TAKEN])
    else:
        best = int(judge_position(row, work))
        count = capturing_moves(row, decisions) if turns > 0 else 0
    for decision in decisions[:count].tolist():
        child = after(row, decision)
        left = turns - (1 if child[PENDING] == NO_QUESTION else 0)
        value = standing_pat(child, left, work)
        best = max(best, value if child[TO_MOVE] == row[TO_MOVE] else -value)
    return best


AWKWARD = {
    "the last turn": place("classic", "D6 E6 A9", "J6 P8", max_turns=1),
    "the last quiet turn": place("classic", "D6 E6 A9", "J6 P8", quiet=199, played=199),
    "a troll that D8-B8 shuts in": place("classic", "A7 A9 B7 B9 D8", "A8"),
    "a choice of captures": decide(place("classic", "G6 H6 J6 A8", "H4", "t"), "H4-H5"),
}


@pytest.mark.parametrize("position", AWKWARD.values(), ids=AWKWARD)
def test_decisions_that_end_battles_and_answers_are_worth_what_they_come_to(
    position: Position,
) -> None:
    row = position.row.copy()
    work = judging(read_evaluator(), position.rules, QUIESCENCE)
    for turns, checked, count in ((0, False, None), (QUIESCENCE, True, NUM_CHECKED)):
        for decision, value in list(values_of(row, work, checked).items())[:count]:
            child = after(row, decision)
            worth = standing_pat(child, turns, work)
            assert value == (worth if child[TO_MOVE] == row[TO_MOVE] else -worth)


@pytest.mark.parametrize("learned", [False, True], ids=["features", "patterns"])
@EACH_RULESET
def test_decisions_are_worth_the_positions_after_them(rules: str, learned: bool) -> None:
    for row in positions_of(rules, 6):
        ruleset = ruleset_of(row)
        work = judging(read_evaluator("learned" if learned else "features"), ruleset)
        for decision, value in values_of(row, work, checked=False).items():
            child = after(row, decision)
            over = child[TERMINATION] != ONGOING
            worth = final_value(child) if over else judge_position(child, work)
            assert value == (worth if child[TO_MOVE] == row[TO_MOVE] else -worth)


@EACH_RULESET
def test_the_most_promising_are_worth_what_is_left_after_captures(rules: str) -> None:
    changed = 0
    for row in positions_of(rules, 3):
        ruleset = ruleset_of(row)
        work = judging(read_evaluator(), ruleset, QUIESCENCE)
        plain, checked = values_of(row, work, checked=False), values_of(row, work, checked=True)
        assert sorted(checked) == sorted(plain)
        best, rest = list(checked)[:NUM_CHECKED], list(checked)[NUM_CHECKED:]
        assert [plain[one] for one in best] == sorted(plain.values(), reverse=True)[: len(best)]
        assert all(checked[one] == plain[one] for one in rest)
        for decision in best:
            child = after(row, decision)
            worth = standing_pat(child, QUIESCENCE, work)
            assert checked[decision] == (worth if child[TO_MOVE] == row[TO_MOVE] else -worth)
            changed += checked[decision] != plain[decision]
        assert values_of(row, work, checked=True, stopped=1) == plain
    assert (changed > 0) == (rules != "koom-valley-football")  # which has no captures
