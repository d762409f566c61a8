"""The rules against the slow reference, known counts, symmetries, and all that is written."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from random import Random
from unittest import mock

import numpy as np
import reference
import test_perft
import test_symmetry
from numpy.typing import NDArray
from positions import constructed, from_play, learn, position_of, random_turn
from test_rules_reference import compare
from test_rulesets import every_combination
from test_states_alike import LIMITS, is_read_back

import thud_env.perft
from reliability.row import THE_GAME, Fault, Row
from thud_env import RULESETS, Position, Record
from thud_env.actions import ACTION_SYMMETRY, describe_action, move_action
from thud_env.board import DIRECTION_VECTORS, SQUARE_BY_NAME, SQUARE_POSITIONS
from thud_env.notation.positions import position_text
from thud_env.notation.turns import turn_notation
from thud_env.rules.row import QUIET_TURNS
from thud_env.symmetry import symmetries_of

_PROMISE = "The rules are those of the independent reference"
_SHARE = 0.6
"""Of positions that are constructed, rather than come of play."""


def check_reference(size: int, random: Random, folder: Path) -> int:
    """Turns, successors, ends and scores, by every ruleset."""
    checked, each = 0, -(-size // len(RULESETS))
    for rules in RULESETS:
        made = round(_SHARE * each)
        checked += compare(constructed(rules, made, random), random)
        checked += compare(from_play(rules, each - made, random), random)
    return checked


def check_own_rulesets(size: int, random: Random, folder: Path) -> int:
    """The same by rulesets of one's own, of which there is one for every combination of traits."""
    checked, rulesets = 0, every_combination()
    random.shuffle(rulesets)
    for number in range(-(-size // 10)):
        ruleset = rulesets[number % len(rulesets)]
        learn(ruleset)
        checked += compare(constructed(ruleset.spec, 9, random), random)
        checked += compare(from_play(ruleset.spec, 1, random), random)
    return checked


def check_perft(size: int, random: Random, folder: Path) -> int:
    """The published suite of positions with counts, to every depth that does not take minutes."""
    lines = test_perft.suite()
    for rules, text, counts in lines:
        position = Position.from_text(text, rules)
        for depth, count in counts.items():
            if count < 2_000_000:
                assert thud_env.perft.perft(position, depth) == count, (text, depth)
    return len(lines)


def check_symmetries(size: int, random: Random, folder: Path) -> int:
    """What is legal and what follows, in the images of positions; half of them constructed."""
    checked = 0
    while checked < size:
        for rules in RULESETS:
            for state in (*constructed(rules, 10, random), *from_play(rules, 10, random)):
                position = position_of(state)
                for symmetry in symmetries_of(rules):
                    test_symmetry.check(position, symmetry, random)
                checked += 1
    return checked


# -- round trips ---------------------------------------------------------------------------


_LISTED = 0.2
"""Of turns that are drawn from the list of all, which takes longer than everything else."""


def check_round_trips(size: int, random: Random, folder: Path) -> int:
    """Text, row, planes, pickle, copy, turns and their decisions, a record of the battle so far."""
    checked = 0
    while checked < size:
        rules = random.choice(list(RULESETS))
        start = position = Position.start(rules, **LIMITS)
        turns: list[str] = []
        while position.outcome is None and len(turns) < 40:
            turn, decisions = random_turn(position, random)
            if random.random() < _LISTED:
                turn = random.choice(position.turns())
                decisions = position.decisions(turn)
            played = position
            for decision in decisions:
                played = played.apply(decision)
                assert _number(describe_action(decision)) == decision
            assert played == position.play(turn)
            assert turn_notation(position.row, decisions) == turn
            assert turn_notation(position.row, position.decisions(turn)) == turn
            turns.append(turn)
            position = played
            if position.outcome is None:
                assert is_read_back(position, position.observation(), rules)
            for other in (
                Position.from_text(position.text, rules, **LIMITS),
                Position(position.row),
                pickle.loads(pickle.dumps(position)),
                copy.deepcopy(position),
            ):
                assert other == position
                assert hash(other) == hash(position)
            checked += 1
        record = Record(start, tuple(turns))
        assert Record.from_text(record.text) == record
        assert record.final == position
    return checked


def _number(words: str) -> int:
    """The action that is described so."""
    fixed = {"capture all": 6465, "done": 6466, "offer": 6467, "accept": 6468, "decline": 6469}
    if words in fixed:
        return fixed[words]
    if words.startswith("capture "):
        return 6300 + SQUARE_BY_NAME[words.removeprefix("capture ")]
    start, end = (SQUARE_BY_NAME[name] for name in words.split("-"))
    down, right = np.subtract(SQUARE_POSITIONS[end], SQUARE_POSITIONS[start]).tolist()
    direction = DIRECTION_VECTORS.index((int(np.sign(down)), int(np.sign(right))))
    return move_action(start, direction, max(abs(down), abs(right)))


def _one_too_many(suite: list[tuple[str, str, dict[int, int]]]) -> list[tuple[str, str, dict]]:
    rules, text, counts = suite[-1]
    return [*suite[:-1], (rules, text, {**counts, 2: counts[2] + 1})]


def _without_quiet_turns(row: NDArray[np.int16]) -> str:
    forgotten = row.copy()
    forgotten[QUIET_TURNS] = 0
    return position_text(forgotten)


_ONE_ENTRY_WRONG = ACTION_SYMMETRY.copy()
_ONE_ENTRY_WRONG[1:, 0] = _ONE_ENTRY_WRONG[1:, 1]

ROWS = [
    Row(
        "positions against the reference",
        _PROMISE,
        "positions",
        check_reference,
        10_000,
        1_000_000,
        {
            "a troll counts 3": Fault(
                lambda: mock.patch.object(
                    reference, "margin", lambda state: len(state.dwarfs) - 3 * len(state.trolls)
                ),
                "ending(position) == outcome(state)",
            ),
            "no shoves": Fault(
                lambda: mock.patch.object(reference, "shoves", lambda _state: iter(())),
                "position.turns() == words",
            ),
        },
        with_fault=200,
        proves=THE_GAME,
    ),
    Row(
        "the same by rulesets of one's own",
        _PROMISE,
        "positions",
        check_own_rulesets,
        10_000,
        1_000_000,
        {
            "tramples capture nothing": Fault(
                lambda: mock.patch.object(reference, "tramples", lambda *_: iter(())),
                "position.turns() == words",
            ),
        },
        proves=THE_GAME,
    ),
    Row(
        "perft",
        "Counts of turns are those that were published",
        "positions",
        check_perft,
        200,
        200,
        {
            "the suite has one count too many": Fault(
                lambda: mock.patch.object(
                    test_perft, "suite", lambda suite=test_perft.suite: _one_too_many(suite())
                ),
                "perft(position, depth) == count",
            ),
        },
        proves=THE_GAME,
    ),
    Row(
        "the symmetries of each board",
        "The rules do not know left from right",
        "positions",
        check_symmetries,
        5_000,
        1_000_000,
        {
            "one action has another image": Fault(
                lambda: mock.patch.object(test_symmetry, "ACTION_SYMMETRY", _ONE_ENTRY_WRONG),
                "np.array_equal(mapped, image.legal_actions())",
            ),
        },
        proves=THE_GAME,
    ),
    Row(
        "round trips",
        "What is written is read as it was",
        "positions",
        check_round_trips,
        5_000,
        1_000_000,
        {
            "the quiet count is not written": Fault(
                lambda: mock.patch("thud_env.position.position_text", _without_quiet_turns),
                "other == position",
            ),
        },
        proves=THE_GAME,
    ),
]
