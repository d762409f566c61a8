"""Captures, quiet moves and threats that the search lists, compared with the rules."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from by_hand import decide, place
from positions import constructed, from_play, learn, position_of

from agents.search.captures import (
    capturable_by,
    capturing_moves,
    keep_hungry_answers,
    quiet_moves,
    threatens,
)
from thud_env import RULESETS, Position
from thud_env.actions import NUM_MOVES, OFFER, describe_action
from thud_env.rules.moves import count_adjacent
from thud_env.rules.play import apply
from thud_env.rules.row import (
    DWARF,
    MAX_DECISIONS_AT_ONCE,
    NUM_DWARFS,
    NUM_TROLLS,
    PENDING,
    PENDING_CELL,
    TAKE_ALL,
    TAKE_ANY,
    TAKE_ONE,
    TAKE_SOME,
    TAKEN,
    TO_MOVE,
    Row,
)
from thud_env.rulesets import get_ruleset

EACH_RULESET = pytest.mark.parametrize("rules", RULESETS)
ONLY_SHOVES = get_ruleset("classic:name=only-shoves,step_captures=none")
learn(ONLY_SHOVES)


def taken_by(row: Row, action: int) -> int:
    """How many pieces a move captures at once or lets its side capture."""
    child = row.copy()
    apply(child, action)
    taken = row[[NUM_DWARFS, NUM_TROLLS]].sum() - child[[NUM_DWARFS, NUM_TROLLS]].sum()
    if child[PENDING] in (TAKE_ONE, TAKE_ANY, TAKE_SOME, TAKE_ALL):
        taken += count_adjacent(child, child[PENDING_CELL], DWARF)
    return int(taken)


@pytest.mark.parametrize("rules", [*RULESETS, ONLY_SHOVES.spec])
def test_captures_are_found_where_the_rules_make_them(rules: str) -> None:
    random = Random(5)
    states = [*from_play(rules, 150, random), *constructed(rules, 600, random)]
    out = np.empty(MAX_DECISIONS_AT_ONCE, dtype=np.int32)
    total = 0
    for position in map(position_of, states):
        if position.outcome is not None:
            continue
        row = position.row.copy()
        taken = {action: taken_by(row, action) for action in position.legal_actions().tolist()}
        found = out[: capturing_moves(row, out)].tolist()
        assert len(set(found)) == len(found)
        wanted = {action: pieces for action, pieces in taken.items() if pieces > 0}
        assert {action: capturable_by(row, action) for action in found} == wanted, position
        total += len(found)
    assert (total > 0) is (rules != "koom-valley-football")


@pytest.mark.parametrize("rules", [*RULESETS, ONLY_SHOVES.spec])
def test_quiet_moves_are_all_the_others(rules: str) -> None:
    random = Random(6)
    out = np.empty(MAX_DECISIONS_AT_ONCE, dtype=np.int32)
    states = [*from_play(rules, 150, random), *constructed(rules, 600, random)]
    for position in map(position_of, states):
        if position.outcome is None:
            captures = set(out[: capturing_moves(position.row, out)].tolist())
            left_out = {OFFER, *captures}
            others = [a for a in position.legal_actions().tolist() if a not in left_out]
            assert out[: quiet_moves(position.row, out)].tolist() == others


@pytest.mark.parametrize(
    ("position", "kept"),
    [
        (decide(place("classic", "G6 H6", "H4", "t"), "H4-H5"), ["capture G6", "capture H6"]),
        (decide(place("classic-any", "G6 H6", "H4", "t"), "H4-H5"), ["capture all"]),
        (decide(place("koom-valley", "H6 H8", "H5", "t", rock="D3"), "H5-H7"), ["H7-H9", "done"]),
    ],
)
def test_a_hungry_troll_captures_what_it_can_but_may_stop_trampling(
    position: Position, kept: list[str]
) -> None:
    decisions = position.legal_actions().astype(np.int32)
    count = keep_hungry_answers(decisions, len(decisions), position.row[TAKEN])
    assert [describe_action(action) for action in decisions[:count].tolist()] == kept


@EACH_RULESET
def test_a_threat_is_a_capture_of_the_side_that_is_not_to_move(rules: str) -> None:
    out = np.empty(MAX_DECISIONS_AT_ONCE, dtype=np.int32)
    seen = set()
    for position in map(position_of, constructed(rules, 300, Random(9))):
        if position.outcome is not None:
            continue
        row = position.row.copy()
        other = row.copy()
        other[TO_MOVE] = 1 - row[TO_MOVE]
        wanted = any(
            capturable_by(other, action) > 0
            for action in Position.unchecked(other).legal_actions().tolist()
            if action < NUM_MOVES
        )
        assert bool(threatens(row, out)) is wanted, position
        np.testing.assert_array_equal(row, position.row, "it is left as it was")
        seen.add(wanted)
    assert seen == ({False} if rules == "koom-valley-football" else {False, True})
