"""Short searches that value leaves: for the dwarfs, each position alone."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import place

from agents.search import lookahead
from agents.search.deepening import Searcher, SearchOptions
from agents.search.evaluator import read_evaluator
from agents.search.judge import judging
from agents.search.lookahead import Lookahead, begin_afresh
from agents.search.pruning import most_extensions
from agents.search.scale import as_share
from thud_env import RULESETS
from thud_env.notation.turns import turn_notation
from thud_env.rules.row import TO_MOVE, Row, ruleset_of
from thud_env.rules.traits import scored_by_points
from thud_env.rulesets import CLASSIC
from training.arena.openings import read_openings


@pytest.mark.parametrize("rules", RULESETS)
def test_a_value_is_that_of_a_search_that_knows_nothing_yet(rules: str) -> None:
    rows = read_openings(rules).rows(6)
    assert len(set(rows[:, TO_MOVE])) == 2
    options = SearchOptions(read_evaluator(), depth=3, reductions=1, use_table=False)

    def expected(row: Row) -> float:
        searcher = Searcher(np.ones(1, dtype=np.uint64))
        value = as_share(searcher.value(row, options), scored_by_points(row))
        return float(value) * (1 - 2 * int(row[TO_MOVE]))

    found = Lookahead(ruleset_of(rows[0]).spec, 3).search(rows)[0]
    assert found.tolist() == [expected(row) for row in rows]


HUNTS = (
    place("classic", "E4 E3 D5 D7 D9 D11 E13", "H6"),
    place("classic", "E4 E3 D5 D7 D9 D11 E13", "H6 J9 K6"),
    place("classic", "E4 L12", "H6 J9 K6", "t"),
)


def test_the_last_pieces_are_hunted_by_features() -> None:
    """As by ``alphabeta``: in the first and the last of these, but not in the second."""
    rows = np.stack([position.row for position in HUNTS])
    for evaluation, same in (("learned", [True] * 3), ("features", [True, False, True])):
        evaluator = read_evaluator(evaluation)
        options = SearchOptions(evaluator, depth=1, reductions=1, use_table=False)
        searcher = Searcher(np.ones(1, dtype=np.uint64))
        signs = 1 - 2 * rows[:, TO_MOVE].astype(int)
        values = [as_share(searcher.value(row, options), True) for row in rows] * signs
        found, _ = Lookahead("classic", 1).search(rows)
        assert (found == values).tolist() == same


def test_the_last_trolls_of_koom_valley_are_not_hunted() -> None:
    """Its battles are won by the stone, which patterns see."""
    rows = np.stack([place("koom-valley", "E4 L12", "H6 J9", side).row for side in "dt"])
    assert read_evaluator().by_patterns(rows).tolist() == [True, True]
    assert read_evaluator("features").by_patterns(rows).tolist() == [False, False]


def test_no_decision_has_refuted_anything_before_a_search() -> None:
    assert (judging(read_evaluator(), CLASSIC).killers == -1).all()  # 0 is the number of a decision


def test_what_is_found_does_not_depend_on_what_was_searched_before() -> None:
    rows = read_openings("classic").rows(12)
    search = Lookahead("classic", 3)
    values, decisions = search.search(rows)
    assert len(set(values)) > 6
    again = search.search(rows[::-1].copy())
    assert again[0].tolist() == values[::-1].tolist()
    assert again[1].tolist() == decisions[::-1].tolist()


def test_a_search_that_begins_afresh_knows_nothing_of_those_before() -> None:
    """Killers and history seldom change what is found: so this looks at them."""
    work, rng = judging(read_evaluator(), CLASSIC), np.full(1, 7, dtype=np.uint64)
    work.killers[:] = work.history[:] = 7
    begin_afresh(work, True, rng)
    assert (work.killers == -1).all()
    assert not work.history.any()
    assert rng == 1


@pytest.mark.parametrize("rules", RULESETS)
def test_the_best_decision_is_that_of_a_search_that_knows_nothing_yet(
    rules: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookahead, "LOOKAHEAD_EXTENSIONS", most_extensions(1, True))
    rows = read_openings(rules).rows(12)
    options = SearchOptions(read_evaluator(), depth=1, reductions=1, use_table=False)

    def expected(row: Row) -> int:
        searcher = Searcher(np.ones(1, dtype=np.uint64))
        return searcher.search(row, options).decisions[0]

    _, found = Lookahead(ruleset_of(rows[0]).spec, 1).search(rows)
    assert found.tolist() == [expected(row) for row in rows]


def test_the_best_decision_is_the_one_that_takes_a_troll() -> None:
    rows = np.stack([place("classic", dwarfs, "H6 P8", "d").row for dwarfs in ("E6 F6", "F6 G6")])
    _, decisions = Lookahead("classic", 1).search(rows)
    played = [turn_notation(row, [one]) for row, one in zip(rows, decisions.tolist(), strict=True)]
    assert played == ["dF6-H6xH6", "dG6-H6xH6"]
