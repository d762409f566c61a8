"""Few turns are counted as they are listed: quick even where nothing is compiled."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from test_turns import FEW_TURNS

from thud_env import Position
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


@pytest.mark.parametrize("name", STARTS)
def test_two_turns(name: str) -> None:
    position = STARTS[name]
    after = [position.play(turn) for turn in position.turns()]
    wanted = sum(len(one.turns()) for one in after if one.outcome is None)
    assert perft(position, 1) == len(after)
    assert perft(position, 2) == wanted
