"""An observation hides nothing: states with the same planes are the same.

A state is read back from its planes, by what docs/environment.md says of them. Where that gives
the same state every time, no two different states can have the same planes.
"""

from __future__ import annotations

import re
from functools import cache
from random import Random

import numpy as np
import pytest
from reference import BOARD, name

from thud_env import RULESETS, Position
from thud_env.actions import ACCEPT, CAPTURE
from thud_env.rules.row import PENDING, TAKEN
from thud_env.views.encoding import PLANES

NAMES = [plane.name for plane in PLANES]
LIMITS = {"max_quiet_turns": 60, "max_turns": 400, "offer_after": 3, "agreement": True}
CLOCKS = {
    "quiet_turns": "max_quiet_turns",
    "turns": "max_turns",
    "dwarfs_wait": "offer_after",
    "trolls_wait": "offer_after",
}
PIECES = {"dwarfs": "d", "trolls": "T", "stone": "R"}
QUESTIONS = {"classic-all": "all", "koom-valley": "trample"}
"""What is asked where no plane says what; by the other rulesets it is "any"."""


def read_back(planes: np.ndarray, rules: str) -> Position:
    """The position that planes show."""
    shown = dict(zip(NAMES, planes, strict=True))
    level = {word: float(plane[0, 0]) for word, plane in shown.items()}
    rows = [""] * 15
    for row, column in sorted(BOARD):
        letters = [PIECES[piece] for piece in PIECES if shown[piece][row, column]]
        rows[row] += "".join(letters) or " "
    pending = "offer" if level["offer"] else "-"
    for row, column in np.argwhere(shown["deciding_troll"]).tolist():
        question = QUESTIONS.get(rules, "any")
        question = "one" if level["one_capture"] else question
        question = "some" if level["capture_owed"] else question
        pending = f"{name((row, column))}:{question}" + "+1" * bool(level["has_captured"])
    quiet, turns, *waits = (round(level[clock] * LIMITS[limit]) for clock, limit in CLOCKS.items())
    side = "t" if level["trolls_to_move"] else "d"
    board = re.sub(" +", lambda run: str(len(run.group())), "/".join(rows))
    text = f"{board} {side} {pending} {quiet} {turns} {waits[0]},{waits[1]}"
    return Position.from_text(text, rules, **LIMITS)


def taken_once_or_not(position: Position) -> np.ndarray:
    """A position's row, in which a troll that has captured several dwarfs has captured one."""
    row = position.row.copy()
    row[TAKEN] = min(row[TAKEN], 1)
    return row


def is_read_back(position: Position, planes: np.ndarray, rules: str) -> bool:
    try:
        read = read_back(planes, rules)
    except ValueError:  # there is no such position
        return False
    return np.array_equal(taken_once_or_not(read), taken_once_or_not(position))


@cache
def played_at_random(rules: str) -> tuple[Position, ...]:
    """States of random battles, in which what is not a move is often decided."""
    random = Random(7)
    met: list[Position] = []
    while len(met) < 2500:
        position = Position.start(rules, **LIMITS)
        while position.outcome is None:
            met.append(position)
            legal = position.legal_actions()
            legal = legal[legal != ACCEPT]  # the battles would be short
            words = legal[legal >= CAPTURE]
            among = words if len(words) and random.random() < 0.4 else legal
            position = position.apply(int(random.choice(among)))
    return tuple(met)


@pytest.mark.parametrize("rules", RULESETS)
def test_two_states_that_look_alike_are_alike(rules: str) -> None:
    positions = played_at_random(rules)
    assert sum(position.row[PENDING] != 0 for position in positions) > 20
    for position in positions:
        assert is_read_back(position, position.observation(), rules), position.text


@pytest.mark.parametrize("missing", [plane for plane in NAMES if plane != "board"])
def test_without_any_one_plane_some_would_look_alike_that_are_not(missing: str) -> None:
    """The test above finds each plane that could be forgotten. (The board never changes.)"""
    found = False
    for rules in RULESETS:
        for position in played_at_random(rules):
            planes = position.observation()
            if planes[NAMES.index(missing)].any():
                planes[NAMES.index(missing)] = 0
                found = found or not is_read_back(position, planes, rules)
        if found:
            return
    pytest.fail(f"the plane {missing} says nothing that the others do not say")


@pytest.mark.parametrize("rules", RULESETS)
def test_nothing_depends_on_how_many_dwarfs_a_troll_has_captured_in_its_turn(rules: str) -> None:
    asked = 0
    for position in played_at_random(rules):
        if position.row[TAKEN] == 0:
            continue
        asked += 1
        other = position.row.copy()
        other[TAKEN] += 1
        several = Position.unchecked(other)  # more than can have been captured, perhaps
        for action in position.legal_actions().tolist():
            after, after_several = position.apply(action), several.apply(action)
            assert np.array_equal(taken_once_or_not(after), taken_once_or_not(after_several))
            assert after.outcome == after_several.outcome
    assert (asked > 0) == (rules in ("classic", "classic-any", "koom-valley"))


def test_a_troll_that_has_captured_looks_unlike_one_that_has_not() -> None:
    """If both stop here, one battle is over by the quiet limit, and the other goes on."""
    board = "5/7/9/11/5d7/6T8/15/6TR7/15/d14/13/11/9/7/5"
    not_yet, captured = (
        Position.from_text(f"{board} t {pending} 199 300", "classic")
        for pending in ("G6:any", "G6:any+1")
    )
    assert not np.array_equal(not_yet.observation(), captured.observation())
    (stop,) = (action for action in not_yet.legal_actions() if action >= CAPTURE + 165)
    assert not_yet.apply(stop).outcome is not None
    assert captured.apply(stop).outcome is None
