"""The compiled rules against the reference (``reference.py``), position by position."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest
from positions import constructed, from_play, position_of, state_of, text_of
from reference import RULES, State, after, outcome, turns

from thud_env import Position

FEW = 24
"""In positions with at most this many turns, every successor is compared."""
SAMPLE = 10
"""In other positions, this many successors."""
CONSTRUCTED, PLAYED = 400, 200
"""Positions of each ruleset; 10,000 and more are compared by `make reliability`."""


def ending(position: Position) -> tuple[str, int] | None:
    ended = position.outcome
    return None if ended is None else (ended.termination.name, ended.margin)


def compare(states: Iterable[State], random: Random) -> int:
    """Compare each position's turns, ending and successors with the reference; count them. Of one
    successor the text is compared too."""
    count = 0
    for state in states:
        position = position_of(state)
        expected = turns(state)
        words = sorted(expected)
        assert ending(position) == outcome(state), position
        assert position.turns() == words, position
        for word in words if len(words) <= FEW else random.sample(words, SAMPLE):
            successor = position.play(word)
            wanted = after(state, expected[word])
            assert state_of(successor) == wanted, (position, word)
            assert ending(successor) == outcome(wanted), (position, word)
        if words:
            assert successor.text == text_of(wanted), (position, word)
        count += 1
    return count


@pytest.mark.parametrize("rules", RULES)
def test_constructed_positions_agree_with_the_reference(rules: str) -> None:
    random = Random(f"constructed {rules}")
    assert compare(constructed(rules, CONSTRUCTED, random), random) == CONSTRUCTED


@pytest.mark.parametrize("rules", RULES)
def test_positions_from_play_agree_with_the_reference(rules: str) -> None:
    random = Random(f"play {rules}")
    assert compare(from_play(rules, PLAYED, random), random) == PLAYED


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rules", RULES)
def test_many_positions_agree_with_the_reference(rules: str, seed: int) -> None:
    random = Random(f"soak {rules} {seed}")
    assert compare(constructed(rules, 2_500, random), random) == 2_500
    assert compare(from_play(rules, 1_500, random), random) == 1_500


@pytest.mark.parametrize("rules", RULES)
def test_constructed_positions_cover_the_awkward_cases(rules: str) -> None:
    """The comparison above is only as good as its positions."""
    endings: set[str] = set()
    captures: set[int] = set()
    jumps: set[int] = set()
    returns = False
    for state in constructed(rules, CONSTRUCTED, Random(f"constructed {rules}")):
        ended = outcome(state)
        endings.add(ended[0] if ended else "")
        for turn in turns(state).values():
            captures.add(len(turn.captured))
            jumps.add(len(turn.path) - 1)
            returns |= turn.path[0] == turn.path[-1]
    classic = rules.startswith("classic")
    assert endings >= {"", "NO_LEGAL_TURN", "QUIET_LIMIT", "TURN_LIMIT"}
    assert classic or endings >= {"GOAL", "SURROUNDED"}
    if classic:
        assert captures == set(range(8))
    elif rules == "koom-valley":
        assert captures >= set(range(5))
        assert jumps >= {1, 2, 3, 4}
        assert returns
    else:
        assert captures == {0}
