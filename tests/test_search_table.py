"""The transposition table by itself: keys, entries, which of them is replaced, and clocks."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray
from positions import from_play, position_of

from agents.search.evaluation import INFINITE, WIN
from agents.search.table import (
    AT_LEAST,
    AT_MOST,
    BUCKET,
    EXACT,
    LAST_GENERATION,
    clocks_matter,
    entry_bound,
    entry_depth,
    entry_move,
    entry_value,
    key_after,
    look_up,
    position_key,
    store,
)
from agents.search.workspace import MAX_DEPTH
from thud_env import RULESETS, Position
from thud_env.actions import NUM_ACTIONS
from thud_env.rules.play import apply
from thud_env.rules.row import TO_MOVE

Table = tuple[NDArray[np.uint64], NDArray[np.int64]]


def a_table() -> Table:
    """Four buckets: a key's is its rest by 4."""
    return np.zeros((4, BUCKET), dtype=np.uint64), np.zeros((4, BUCKET), dtype=np.int64)


@pytest.mark.parametrize("rules", RULESETS)
def test_a_key_that_follows_a_decision_is_that_of_the_position_after_it(rules: str) -> None:
    for state in from_play(rules, 30, Random(2)):
        row = position_of(state).row.copy()
        key, other = np.uint64(position_key(row)), row.copy()
        other[TO_MOVE] = 1 - row[TO_MOVE]
        assert position_key(other) != key
        for decision in Position.unchecked(row).legal_actions()[::9].tolist():
            child = row.copy()
            apply(child, decision)
            assert key_after(row, child, key) == position_key(child)


@pytest.mark.parametrize("bound", [EXACT, AT_LEAST, AT_MOST])
def test_an_entry_holds_what_was_stored(bound: int) -> None:
    for value in (0, -1, WIN, -WIN, INFINITE, -INFINITE):
        for depth, move in ((1, -1), (MAX_DEPTH, NUM_ACTIONS - 1)):
            table, key = a_table(), np.uint64(2**64 - 1)
            store(*table, key, LAST_GENERATION, value, depth, bound, move)
            entry = look_up(*table, key, LAST_GENERATION)
            assert (entry_value(entry), entry_depth(entry)) == (value, depth)
            assert (entry_move(entry), entry_bound(entry)) == (move, bound)


def test_an_entry_is_found_by_its_own_search_and_key_only() -> None:
    table = a_table()
    store(*table, np.uint64(5), 7, 100, 2, EXACT, 3)
    found = [look_up(*table, np.uint64(key), search) for key, search in ((9, 7), (5, 8), (5, 6))]
    assert found == [0, 0, 0]
    assert look_up(*table, np.uint64(5), 7) != 0


def test_of_a_full_bucket_older_searches_are_replaced_and_then_the_least_deep() -> None:
    table = a_table()

    def put(key: int, search: int, depth: int, value: int = 0) -> None:
        store(*table, np.uint64(key), search, value, depth, EXACT, 0)

    for key in (1, 5, 9, 13):
        put(key, search=7, depth=6)
    depths = {17: 4, 21: 2, 25: 3, 29: 5}
    for key, depth in depths.items():
        put(key, search=8, depth=depth)
    assert all(look_up(*table, np.uint64(key), 8) != 0 for key in depths)
    put(33, search=8, depth=1)
    assert [key for key in (*depths, 33) if look_up(*table, np.uint64(key), 8)] == [17, 25, 29, 33]
    put(29, search=8, depth=1, value=50)
    assert table[0][1].tolist().count(29) == 1
    assert entry_value(look_up(*table, np.uint64(29), 8)) == 50


@pytest.mark.parametrize("limit", ["max_quiet_turns", "max_turns"])
def test_clocks_matter_if_a_limit_may_end_the_battle_within_so_many_turns(limit: str) -> None:
    row = Position.start(**{limit: 3}).row  # type: ignore[arg-type]
    assert [bool(clocks_matter(row, turns)) for turns in range(5)] == [False] * 3 + [True] * 2
