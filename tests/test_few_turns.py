"""Few turns are counted as they are listed: quick even where nothing is compiled."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from positions import text_of
from reference import State, named
from test_turns import FEW_TURNS

from thud_env import CLASSIC, Position
from thud_env.perft import perft
from thud_env.rules.row import NO_QUESTION, NUM_DWARFS, PENDING, ROW_SIZE
from thud_env.rules.turns import MAX_TRAMPLES, count_endings, count_turns, most_captures

SCRATCH = np.empty((MAX_TRAMPLES + 2, ROW_SIZE), dtype=np.int16)
STARTS = {
    name: position for name, position in FEW_TURNS.items() if position.row[PENDING] == NO_QUESTION
}


def middles(position: Position) -> Iterator[Position]:
    """The states in which a turn is pending, after any of its decisions."""
    for action in position.legal_actions().tolist():
        after = position.apply(action)
        if after.row[PENDING] != NO_QUESTION and after.to_move == position.to_move:
            yield after
            yield from middles(after)


@pytest.mark.parametrize("name", STARTS)
def test_complete_turns(name: str) -> None:
    position = STARTS[name]
    assert count_turns(position.row, SCRATCH) == len(position.turns())


@pytest.mark.parametrize("name", STARTS)
def test_endings_and_captures(name: str) -> None:
    position = STARTS[name]
    assert count_endings(position.row, SCRATCH) == 1
    assert most_captures(position.row, SCRATCH) == 0
    for middle in middles(position):
        turns = middle.turns()
        assert count_endings(middle.row, SCRATCH) == len(turns)
        fewest = min(int(middle.play(turn).row[NUM_DWARFS]) for turn in turns)
        assert most_captures(middle.row, SCRATCH) == middle.row[NUM_DWARFS] - fewest


@pytest.mark.parametrize("name", ["hurls", "tramples", "an offer"])
def test_three_turns(name: str) -> None:
    position = STARTS[name]
    after = [position.play(turn) for turn in position.turns()]
    assert perft(position, 3) == sum(perft(one, 2) for one in after if one.outcome is None)


def test_no_turns() -> None:
    assert perft(STARTS["hurls"], 0) == 1


def test_a_troll_that_tramples_all_dwarfs() -> None:
    """One after the other, to and fro: as many jumps as scratch space has been made for."""
    walk = (
        "F1-H1-K1-K3-H3-F3-D3-D5-F5-H5-K5-M5-O5-O7-M7-K7-H7-F7-D7-B7"
        "-B9-D9-F9-H9-K9-M9-O9-O11-M11-K11-H11-F11-D11"
    )
    stops = [named(name) for name in walk.split("-")]
    dwarfs = frozenset(((a + c) // 2, (b + d) // 2) for (a, b), (c, d) in pairwise(stops))
    state = State("classic", dwarfs, frozenset(stops[:1]), named("H8"), "t", 0, 0)
    rules = CLASSIC.replace(name="trampling", trolls_capture="trample")
    position = Position.from_text(text_of(state), rules)
    turns = position.turns()
    assert count_turns(position.row, SCRATCH) == len(turns)
    [all_taken] = [turn for turn in turns if turn.count("x") == MAX_TRAMPLES]
    assert all_taken.startswith(f"T{walk}x")
    first, *later = position.decisions(all_taken)
    trampling = position.apply(first)
    assert count_endings(trampling.row, SCRATCH) == len(later) + 1 == MAX_TRAMPLES
    assert most_captures(trampling.row, SCRATCH) == MAX_TRAMPLES - 1
    assert not position.play(all_taken).row[NUM_DWARFS]


@pytest.mark.parametrize("name", STARTS)
def test_two_turns(name: str) -> None:
    position = STARTS[name]
    after = [position.play(turn) for turn in position.turns()]
    wanted = sum(len(one.turns()) for one in after if one.outcome is None)
    assert perft(position, 1) == len(after)
    assert perft(position, 2) == wanted
