"""The rules against the slow reference, and round trips of all that a battle is written as."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from random import Random
from unittest import mock

import numpy as np
import reference
from numpy.typing import NDArray
from positions import constructed, from_play
from test_fuzz import LIMITS
from test_rules_reference import compare

from reliability.row import Row
from thud_env import RULESETS, Position, Record
from thud_env.notation.positions import position_text
from thud_env.rules.row import QUIET_TURNS


def _without_quiet_turns(row: NDArray[np.int16]) -> str:
    forgotten = row.copy()
    forgotten[QUIET_TURNS] = 0
    return position_text(forgotten)


_SHARE = 0.6
"""Of positions that are constructed, rather than come of play."""


def check_reference(size: int, random: Random, folder: Path) -> int:
    """Turns, successors, ends and scores, by every ruleset."""
    checked, each = 0, -(-size // len(reference.RULES))
    for rules in reference.RULES:
        made = round(_SHARE * each)
        checked += compare(constructed(rules, made, random), random)
        checked += compare(from_play(rules, each - made, random), random)
    return checked


def check_round_trips(size: int, random: Random, folder: Path) -> int:
    """Text, row, pickle, copy, turns and their decisions, a record of the battle so far."""
    checked = 0
    while checked < size:
        rules = random.choice(list(RULESETS))
        start = position = Position.start(rules, **LIMITS)
        turns: list[str] = []
        while position.outcome is None and len(turns) < 40:
            turn = random.choice(position.turns())
            played = position
            for decision in position.decisions(turn):
                played = played.apply(decision)
            assert played == position.play(turn)
            turns.append(turn)
            position = played
            for other in (
                Position.from_text(position.text, rules, **LIMITS), Position(position.row),
                pickle.loads(pickle.dumps(position)), copy.deepcopy(position),
            ):  # fmt: skip
                assert other == position
                assert hash(other) == hash(position)
            checked += 1
        record = Record(start, tuple(turns))
        assert Record.from_text(record.text) == record
        assert record.final == position
    return checked


ROWS = [
    Row(
        "positions against the reference", "The rules are those of the independent reference",
        "positions", check_reference, 2_000, 1_000_000,
        {
            "a troll counts 3": lambda: mock.patch.object(
                reference, "margin", lambda state: len(state.dwarfs) - 3 * len(state.trolls)
            ),
            "no shoves": lambda: mock.patch.object(reference, "shoves", lambda _state: iter(())),
        },
        with_fault=200,
    ),
    Row(
        "round trips", "What is written is read as it was", "positions", check_round_trips,
        2_000, 1_000_000,
        {
            "the quiet count is not written": lambda: mock.patch(
                "thud_env.position.position_text", _without_quiet_turns
            )
        },
    ),
]  # fmt: skip
