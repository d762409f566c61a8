"""Positions in which few turns are best by far: looking three turns ahead finds most of them."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest
from by_hand import place

import agents
from thud_env import RULESETS, Position

DATA = Path(__file__).parent / "data"
sys.path.insert(0, str(DATA))

from make_tactics import Prover, Tactic, kind_of, tactics  # noqa: E402 - found through the line above


def suite() -> list[Tactic]:
    found = []
    for line in (DATA / "thud.tactics").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            rules, text, turns, kind = line.split(" | ")
            found.append(Tactic(Position.from_text(text, rules), turns.split(), kind))
    return found


SUITE = suite()


def test_the_suite_is_as_large_and_as_varied_as_it_says() -> None:
    assert len(SUITE) >= 100
    positions = {(tactic.position.rules.name, tactic.position.text) for tactic in SUITE}
    assert len(positions) == len(SUITE)
    by_rules = Counter(tactic.position.rules.name for tactic in SUITE)
    assert set(by_rules) == set(RULESETS)
    assert min(by_rules.values()) >= 12
    kinds = Counter(tactic.kind for tactic in SUITE)
    assert all(kinds[kind] >= 5 for kind in ("hurl", "shove", "save", "bait", "win", "hold"))


@pytest.mark.parametrize("rules", RULESETS)
def test_the_best_turns_are_legal_and_few(rules: str) -> None:
    for tactic in SUITE:
        if tactic.position.rules.name == rules:
            legal = tactic.position.turns()
            assert set(tactic.turns) <= set(legal)
            assert len(tactic.turns) <= 3 < 10 <= len(legal)


def test_alpha_beta_finds_nine_in_ten() -> None:
    missed = [
        str(tactic)
        for tactic in SUITE
        if agents.make("alphabeta:depth=3", seed=1).turn(tactic.position) not in tactic.turns
    ]
    assert len(missed) <= len(SUITE) / 10, "\n".join(missed)


@pytest.mark.parametrize("rules", RULESETS)
def test_the_proof_of_the_smallest_positions_holds(rules: str) -> None:
    """All of them take minutes: see the soak test below."""
    mine = [tactic for tactic in SUITE if tactic.position.rules.name == rules]
    for tactic in sorted(mine, key=lambda tactic: len(tactic.position.turns()))[:3]:
        proof = Prover().best_turns(tactic.position)
        assert proof is not None
        assert set(proof[0]) == set(tactic.turns)
        assert kind_of(tactic.position, tactic.turns[0], proof[1]) == tactic.kind


def test_no_proof_is_found_where_much_is_equally_good() -> None:
    assert Prover().best_turns(place("classic", "D6 E6 A9", "M6 P8")) is None


def test_a_shove_that_takes_four_is_proven() -> None:
    position = place("classic", "F4 G4 E4 E5 A11", "F8 F9 F10 C9 C8", "t")
    proof = Prover().best_turns(position)
    assert proof is not None
    assert proof[0] == ["TF8-F5xE4xE5xF4xG4"]
    assert kind_of(position, proof[0][0], proof[1]) == "shove"


@pytest.mark.soak
@pytest.mark.parametrize("rules", RULESETS)
def test_the_generator_writes_the_published_suite(rules: str) -> None:
    published = [str(tactic) for tactic in SUITE if tactic.position.rules.name == rules]
    assert [str(tactic) for tactic in tactics(rules)] == published
