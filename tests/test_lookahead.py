"""Short searches that value leaves: for the dwarfs, each position alone."""

from __future__ import annotations

import numpy as np
import pytest

from agents.alphabeta import Searcher, SearchOptions
from agents.search.lookahead import Lookahead, exact_search
from agents.search.playouts import as_share
from agents.search.weights import published_weights
from thud_env import RULESETS
from thud_env.rules.row import TO_MOVE, Row, ruleset_of
from thud_env.rules.traits import scored_by_points
from training.arena.openings import read_openings


@pytest.mark.parametrize("rules", RULESETS)
def test_a_value_is_that_of_a_search_that_knows_nothing_yet(rules: str) -> None:
    rows = read_openings(rules).rows(6)
    assert len(set(rows[:, TO_MOVE])) == 2
    options = SearchOptions(depth=3, learned=True, reductions=1, use_table=False)

    def expected(row: Row) -> float:
        searcher = Searcher(published_weights(), np.ones(1, dtype=np.uint64))
        value = as_share(searcher.value(row, options), scored_by_points(row))
        return float(value) * (1 - 2 * int(row[TO_MOVE]))

    found = Lookahead(ruleset_of(rows[0]).spec, 3).values(rows)
    assert found.tolist() == [expected(row) for row in rows]


def test_no_decision_has_refuted_anything_before_a_search() -> None:
    assert (exact_search("classic").killers == -1).all()  # 0 is the number of a decision


def test_a_value_does_not_depend_on_what_was_valued_before() -> None:
    rows = read_openings("classic").rows(12)
    search = Lookahead("classic", 3)
    values = search.values(rows)
    assert len(set(values)) > 6
    assert search.values(rows[::-1].copy()).tolist() == values[::-1].tolist()
