"""Alpha-beta compared with a search that leaves nothing out."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from itertools import islice
from random import Random
from typing import Any

import numpy as np
import pytest
from by_hand import decide, place
from positions import constructed, from_play, position_of, trample_crowd

from agents.search import workspace
from agents.search.deepening import Searcher, SearchOptions
from agents.search.evaluation import (
    INFINITE,
    NUM_FEATURES,
    POINT,
    SEEN_WIN,
    WIN,
    evaluate,
    final_value,
    within_bounds,
)
from agents.search.evaluator import Evaluator, read_evaluator
from agents.search.lines import CODES_SIZE
from agents.search.pattern_files import classes_of
from agents.search.patterns import Tables, judge_afresh
from agents.search.stone import wins_by_stone
from agents.search.table import AT_LEAST, position_key, store
from agents.search.thought import Thought
from agents.search.weights import material_weights, published_weights
from agents.search.workspace import CERTAIN
from thud_env import RULESETS, Position
from thud_env.actions import MOVE_FROM, NUM_MOVES, OFFER
from thud_env.jit.rng import seed_generators
from thud_env.notation.turns import turn_notation
from thud_env.perft import perft
from thud_env.rules.legal import legal_actions
from thud_env.rules.play import apply
from thud_env.rules.row import (
    DWARF,
    DWARFS,
    MAX_DECISIONS_AT_ONCE,
    MAX_TURNS,
    NO_QUESTION,
    ONGOING,
    PENDING,
    TERMINATION,
    TO_MOVE,
    TROLL,
    TURNS,
    Row,
    ruleset_of,
)

WEIGHTS = published_weights()
SCRATCH = np.zeros(NUM_FEATURES, dtype=np.int64)
EACH_RULESET = pytest.mark.parametrize("rules", RULESETS)


Judge = Callable[[Row], int]


def by_features(row: Row) -> int:
    return int(evaluate(row, WEIGHTS.of(ruleset_of(row)), SCRATCH))


@cache
def random_tables(rules: str) -> Tables:
    classes = classes_of(rules)
    values = np.random.default_rng(8).integers(-30, 31, (classes.count, 2), dtype=np.int16)
    return classes.spread(values, np.array([5, -7]))


def by_patterns(row: Row) -> int:
    if wins_by_stone(row, row[TO_MOVE]):
        return SEEN_WIN
    sums = np.zeros(2, dtype=np.int64)
    tables = random_tables(ruleset_of(row).name)
    judge_afresh(row, tables, np.zeros(CODES_SIZE, dtype=np.int32), sums)
    side = row[TO_MOVE]
    return int(within_bounds(row, sums[side] if side == DWARFS else -sums[side]))


def minimax(row: Row, turns: int, judge: Judge = by_features) -> int:
    """The value for the side to move: every decision of every turn tried, nothing cut."""
    if row[TERMINATION] != ONGOING:
        return int(final_value(row))
    if turns == 0 and row[PENDING] == NO_QUESTION:
        return judge(row)
    decisions = np.empty(MAX_DECISIONS_AT_ONCE, dtype=np.int32)
    best = -INFINITE
    for decision in decisions[: legal_actions(row, decisions)].tolist():
        if decision == OFFER:
            continue
        child = row.copy()
        apply(child, decision)
        value = minimax(child, turns - (1 if child[PENDING] == NO_QUESTION else 0), judge)
        best = max(best, value if child[TO_MOVE] == row[TO_MOVE] else -value)
    return best


@cache
def small_positions(rules: str, depth: int, count: int, most: int) -> tuple[Position, ...]:
    """Positions whose tree of ``depth`` turns has 20 to ``most`` leaves: from play or awkward."""
    random = Random(f"{rules} {depth}")
    built = constructed(rules, 10**9, random)
    played = from_play(rules, 10**9, random) if depth == 1 else built
    found: list[Position] = []
    while len(found) < count:
        position = position_of(next(built if len(found) % 2 else played))
        if position.outcome is not None or perft(position, 1) > 2 * most ** (1 / depth):
            continue
        if 20 <= perft(position, depth) <= most:
            found.append(position)
    return tuple(found)


def evaluator(learned: bool) -> Evaluator:
    return Evaluator(WEIGHTS, random_tables if learned else None)


def search(position: Position, learned: bool = False, **options: Any) -> Thought:
    how = SearchOptions(evaluator(learned), **{"quiescence": 0, **options})
    return Searcher(seed_generators(1, 1)).search(position.row, how)


@pytest.mark.parametrize(("depth", "count", "most"), [(1, 40, 1500), (2, 16, 6000), (3, 10, 12000)])
@pytest.mark.parametrize("learned", [False, True], ids=["features", "patterns"])
@EACH_RULESET
def test_alpha_beta_finds_the_minimax_value(
    rules: str, learned: bool, depth: int, count: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Small trees are those of few pieces, which are otherwise hunted by features.
    monkeypatch.setattr("agents.search.evaluator.FEW", -1)
    searcher = Searcher(seed_generators(1, depth))
    for position in small_positions(rules, depth, count, most):
        value = minimax(position.row, depth, by_patterns if learned else by_features)
        for ordered, use_table in ((True, True), (True, False), (False, True), (False, False)):
            options = SearchOptions(
                evaluator(learned), depth, quiescence=0, ordered=ordered, use_table=use_table
            )
            found = searcher.search(position.row, options)
            if abs(found.value) >= WIN:  # seen at a smaller depth already
                assert found.value == value or found.depth < depth, position
            else:
                assert (found.value, found.depth) == (value, depth), position


@EACH_RULESET
def test_the_best_turn_has_the_value_of_the_search(rules: str) -> None:
    for position in small_positions(rules, 2, 16, 6000):
        found = search(position, depth=2)
        row = position.row.copy()
        for decision in found.decisions:
            assert row[TO_MOVE] == position.row[TO_MOVE]
            assert decision in Position(row).legal_actions()
            apply(row, decision)
        assert row[PENDING] == NO_QUESTION
        assert -minimax(row, found.depth - 1) == found.value


@pytest.mark.parametrize("quiet", [196, 197, 198])
def test_the_table_does_not_mix_up_positions_near_a_limit(quiet: int) -> None:
    """By turns in another order the same squares are reached with other clocks."""
    position = place("classic-any", "D6 E8 K9", "F6 G10 K7", "t", quiet=quiet)
    assert search(position, depth=3).value == minimax(position.row, 3)


@pytest.mark.parametrize("rules", ["classic", "classic-any", "classic-all"])
def test_a_turn_that_has_begun_is_finished_at_its_best(rules: str) -> None:
    pending = decide(place(rules, "G6 H6 J6 P8 N8", "H4 H3 A8", "t"), "H4-H5")
    found = search(pending, depth=2)
    assert found.value == minimax(pending.row, 2)
    row = pending.row.copy()
    for decision in found.decisions:
        apply(row, decision)
    assert row[PENDING] == NO_QUESTION


@pytest.mark.parametrize("learned", [False, True], ids=["features", "patterns"])
@EACH_RULESET
def test_quiescence_looks_no_further_than_captures(rules: str, learned: bool) -> None:
    """Quiet moves whose evaluation is too low are dismissed only where the moves are ordered."""
    for state in islice(from_play(rules, 60, Random(4)), 60):
        position = position_of(state)
        if position.outcome is None:
            options = {"depth": 1, "quiescence": 3}
            value = search(position, learned, **options).value
            for ordered, use_table in ((True, False), (False, True)):
                plain = {"ordered": ordered, "use_table": use_table}
                assert search(position, learned, **options, **plain).value == value


@pytest.mark.parametrize("rules", ["classic", "classic-all"])
def test_reductions_change_values_little(rules: str) -> None:
    """By the published tables a dwarf at most; turns added under threat change most."""
    searcher, published = Searcher(seed_generators(1, 1)), read_evaluator()
    nodes = {0: 0, 1: 0}
    errors = []
    for position in map(position_of, islice(from_play(rules, 40, Random(9)), 40)):
        if position.outcome is None:
            full, less = (
                searcher.search(position.row, SearchOptions(published, 3, reductions=reductions))
                for reductions in (0, 1)
            )
            nodes[0] += full.nodes
            nodes[1] += less.nodes
            errors.append(abs(less.value - full.value))
    assert nodes[1] < nodes[0] / 2
    assert np.mean(errors) < POINT


@pytest.mark.parametrize("rules", ["classic", "koom-valley-football"])
def test_of_moves_that_look_too_bad_one_is_searched_at_least(rules: str) -> None:
    """Or a position would have no value: without a table none is known to be tried first."""
    options = SearchOptions(read_evaluator(), 3, reductions=1, use_table=False)
    for position in map(position_of, islice(from_play(rules, 30, Random(4)), 30)):
        if position.outcome is None:
            found = Searcher(seed_generators(1, 1)).search(position.row, options)
            assert abs(found.value) <= WIN


@pytest.mark.parametrize("rules", ["classic", "classic-all"])
def test_what_the_evaluation_says_is_not_trusted_where_a_limit_ends_the_battle(rules: str) -> None:
    searcher, published = Searcher(seed_generators(1, 1)), read_evaluator()
    for position in map(position_of, islice(from_play(rules, 80, Random(3)), 80)):
        row = position.row.copy()
        row[MAX_TURNS] = row[TURNS] + 2
        if position.outcome is None and row[PENDING] == NO_QUESTION:
            full, less = (
                searcher.search(row, SearchOptions(published, 2, reductions=reductions))
                for reductions in (0, 1)
            )
            assert less.value == full.value, position


def test_a_threatened_side_gets_one_more_turn() -> None:
    """The troll may step to where the two dwarfs reach it, which one turn does not show."""
    position = place("classic", "H3 H4", "H7", "t")
    row = position.row
    chosen: dict[int, set[str]] = {0: set(), 1: set()}
    score = Evaluator(material_weights())
    for seed in range(40):
        searcher = Searcher(seed_generators(1, seed))
        for reductions, turns in chosen.items():
            options = SearchOptions(score, 1, quiescence=0, reductions=reductions)
            found = searcher.search(row, options)
            turns.add(turn_notation(row, found.decisions))
    assert chosen[0] - chosen[1] == {"TH7-H6"}


def test_quiescence_sees_the_recapture() -> None:
    """The dwarf at the front may take a troll, and is taken for it."""
    position = place("classic", "H6 A8 B8", "H5 J4 K4 L4")
    assert search(position, depth=1).value - search(position, depth=1, quiescence=4).value > 50


# -- the search's limits -------------------------------------------------------------------


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_win_in_one_is_found_by_a_search_that_does_not_deepen(depth: int) -> None:
    wins = "5/7/1T7/dRTT2T4/9T3/15/2d2d2d6/15/7d7/15/8T4/1d9/2d6/7/d4 t - 2 61"  # by TF4-E5
    options = SearchOptions(read_evaluator(), depth=depth, reductions=1)
    searcher = Searcher(seed_generators(1, 1))
    assert searcher.value(Position.from_text(wins, "koom-valley").row, options) == WIN


def test_a_win_beyond_the_depth_is_seen_and_a_quicker_one_preferred() -> None:
    lost = "5/7/3T5/2TR7/2T10/15/15/2d12/15/15/7d5/2ddd1d4/9/7/5 d - 7 150"
    position = Position.from_text(lost, "koom-valley")
    for options in ({"reductions": 0}, {"reductions": 1}):
        values = [search(position, learned=True, depth=d, **options).value for d in (1, 2)]
        assert values == [-SEEN_WIN, -WIN]
    assert abs(search(position, depth=1).value) < SEEN_WIN, "by features it is not seen"


def test_a_win_is_played_at_once_and_a_loss_put_off() -> None:
    wins = place("koom-valley", "G2 G6 J9", "A8 P8 N8", rock="H2")
    found = search(wins, depth=4)
    assert (found.depth, found.value) == (1, WIN)
    lost = place("koom-valley", "A8 A9", "G7 J7 M8 L9", "d")
    found = search(lost, depth=4)
    assert (found.depth, found.value) == (2, -WIN)


@pytest.mark.parametrize("nodes", [1, 100, 700, 5000])
def test_a_limit_of_nodes_is_kept_and_a_legal_turn_found(nodes: int) -> None:
    found = search(Position.start(), depth=4, nodes=nodes)
    assert found.nodes <= nodes
    assert found.depth == (0 if nodes < 656 else 1 if nodes < 1000 else found.depth)
    assert found.decisions[0] in Position.start().legal_actions()


def test_a_limit_of_time_is_kept() -> None:
    search(Position.start(), depth=1)  # compiled and warm
    started = time.perf_counter()
    found = search(Position.start(), depth=24, seconds=0.1)
    assert 1 <= found.depth < 24
    assert time.perf_counter() - started < 1


def test_one_turn_is_searched_to_its_end_unless_it_may_trample_a_crowd() -> None:
    options = SearchOptions(read_evaluator(), depth=1, nodes=3 * CERTAIN)
    searcher = Searcher(seed_generators(1, 1))
    for position, depth in ((Position.start(), 1), (trample_crowd(), 0)):
        searcher._prepare(position.row, options)
        searcher.stop()
        (found,) = searcher._deepen(position.row, options)
        assert found.depth == depth
        assert found.decisions[0] in position.legal_actions()
    assert found.nodes == CERTAIN


def test_where_points_count_an_end_by_the_stone_is_worth_its_points() -> None:
    """Trolls may surround the stone, or dwarfs capture the troll that stands among them first."""
    rules = "classic:name=ring,stone_wins=yes,trolls=G3+H3+J3+G4+H4+J4+G5+J5"
    text = "5/7/9/11/13/15/5TT1T6/7R7/15/15/13/2Tdddddd2/1ddddddd1/ddddddd/5 {} - 0 0"
    for depth in (1, 2, 3):
        options = SearchOptions(read_evaluator(), depth=depth, reductions=1)
        found = {}
        for side in "td":
            row = Position.from_text(text.format(side), rules).row
            found[side] = Searcher(seed_generators(1, 1)).search(row, options)
        row = Position.from_text(text.format("t"), rules).row
        assert turn_notation(row, found["t"].decisions) == "TF7-G8"
        assert found["t"].value == -4 * POINT
        assert 4 * POINT < found["d"].value < 20 * POINT


@EACH_RULESET
def test_a_move_of_another_position_in_the_table_changes_no_value(
    rules: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a collision of keys; most such moves are not legal."""
    monkeypatch.setattr("agents.search.evaluator.FEW", -1)
    random = Random(3)
    searcher = Searcher(seed_generators(1, 2))
    work = searcher._work
    options = SearchOptions(evaluator(learned=True), 2, quiescence=0)
    for position in small_positions(rules, 2, 16, 6000):
        generation = int(work.control[workspace.GENERATION]) + 1
        for action in position.legal_actions().tolist():
            child = position.row.copy()
            apply(child, action)
            if child[TERMINATION] == ONGOING and child[PENDING] == NO_QUESTION:
                own = child[MOVE_FROM[:NUM_MOVES]] == (DWARF if child[TO_MOVE] == 0 else TROLL)
                move = random.choice(np.flatnonzero(own).tolist())
                key = np.uint64(position_key(child))
                store(work.keys, work.entries, key, generation, 0, 0, AT_LEAST, move)
        assert searcher.value(position.row, options) == minimax(position.row, 2, by_patterns)
