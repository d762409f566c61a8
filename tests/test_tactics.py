"""Positions that two turns of search do not solve: what is in the suite, and who solves it."""

from __future__ import annotations

import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import agents
from thud_env import RULESETS, Position

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "data"))

from make_tactics import (  # noqa: E402 - found through the line above
    FEWEST_TURNS,
    MOST_BEST,
    Examiner,
    read_tactics,
)

SUITE = read_tactics()
OLD = "evaluation=features,reductions=0"
PLAYERS = (
    "greedy2",
    *(f"alphabeta:depth={depth}" for depth in (1, 2, 3)),
    "alphabeta:depth=3,reductions=0",
    "alphabeta:depth=4",
    *(f"alphabeta:depth={depth},{OLD}" for depth in (1, 2, 3)),
    "mcts:sims=1000",
)
HEADINGS = ("player", *RULESETS, "all")


@cache
def solved(spec: str) -> Counter[str]:
    """In how many positions of each ruleset a player finds one of the best turns."""
    player = agents.make(spec, seed=1)
    return Counter(
        tactic.position.rules.name
        for tactic in SUITE
        if player.turn(tactic.position) in tactic.turns
    )


def row(spec: str) -> str:
    found = solved(spec)
    counts = [*(found[rules] for rules in RULESETS), found.total()]
    return f"| `{spec}` | {' | '.join(map(str, counts))} |"


def size() -> str:
    counts = Counter(tactic.position.rules.name for tactic in SUITE)
    return f"| positions | {' | '.join(str(counts[rules]) for rules in RULESETS)} | {len(SUITE)} |"


def test_the_suite_is_as_large_and_as_varied_as_it_says() -> None:
    assert len(SUITE) >= 200
    assert len({(tactic.position.rules.name, tactic.position.text) for tactic in SUITE}) == len(
        SUITE
    )
    by_rules = Counter(tactic.position.rules.name for tactic in SUITE)
    assert set(by_rules) == set(RULESETS)
    assert min(by_rules.values()) >= 20
    movers = Counter(tactic.position.to_move for tactic in SUITE)
    assert min(movers["dwarfs"], movers["trolls"]) >= 50


@pytest.mark.parametrize("rules", RULESETS)
def test_the_best_turns_are_legal_and_few(rules: str) -> None:
    for tactic in SUITE:
        if tactic.position.rules.name == rules:
            legal = tactic.position.turns()
            assert set(tactic.turns) <= set(legal)
            assert len(tactic.turns) <= MOST_BEST < FEWEST_TURNS <= len(legal)


def test_two_turns_by_features_find_next_to_none_and_three_in_full_nine_in_ten() -> None:
    assert solved(f"alphabeta:depth=2,{OLD}").total() < len(SUITE) / 20
    assert solved("alphabeta:depth=3,reductions=0").total() >= 0.9 * len(SUITE)


def test_a_shallow_search_finds_more_by_adding_turns_while_threats_answer_threats(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    by_three = solved("alphabeta:depth=2")
    monkeypatch.setattr("agents.search.deepening.most_extensions", lambda depth, by_patterns: 1)
    by_one = solved.__wrapped__("alphabeta:depth=2")
    assert by_three["classic"] > 1.5 * by_one["classic"]
    assert by_three.total() > 1.1 * by_one.total()


@pytest.mark.slow
@pytest.mark.parametrize("spec", PLAYERS)
def test_the_table_of_the_docs_is_what_players_find(spec: str) -> None:
    page = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    _, _, rest = page.partition("<!-- table: tactics -->\n")
    table = rest.partition("\n\n")[0].splitlines()
    assert [word.strip("` ") for word in re.split(r"\|", table[0])[1:-1]] == list(HEADINGS)
    assert len(table) == 3 + len(PLAYERS)
    assert row(spec) in table
    assert size() == table[-1]


def test_a_position_without_a_best_turn_does_not_belong_to_the_suite() -> None:
    assert Examiner().best_turns(Position.start("classic").row) is None


if __name__ == "__main__":
    print(f"| {' | '.join(HEADINGS)} |\n|---|{'--:|' * (len(HEADINGS) - 1)}")
    for player in PLAYERS:
        print(row(player), flush=True)
    print(size())
