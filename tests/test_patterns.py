"""The evaluation by patterns: updates, symmetry, and files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np
import pytest
from by_hand import place
from positions import constructed, from_play, position_of

from agents.search.captures import capturable_by
from agents.search.lines import CODES_SIZE, DIAGONAL, line_codes
from agents.search.pattern_files import (
    TablesError,
    classes_of,
    published_tables,
    read_tables,
    read_values,
    tables_path,
    tables_with,
    write_tables,
)
from agents.search.patterns import (
    NUM_PATTERNS,
    UNKNOWN,
    Tables,
    has_replies,
    judge_afresh,
    judge_change,
    judge_moves,
)
from thud_env import CLASSIC, RULESETS, Position
from thud_env.actions import MOVE_FROM, MOVE_TO, OFFER
from thud_env.board import (
    CELL_OF_SQUARE,
    MIRROR_LEFT_RIGHT,
    NUM_CELLS,
    SQUARE_SYMMETRY,
    SYMMETRIES,
    square_named,
)
from thud_env.rules.play import apply
from thud_env.rules.row import (
    DWARF,
    DWARFS,
    EMPTY,
    MAX_QUIET_TURNS,
    MAX_TURNS,
    NO_QUESTION,
    ONGOING,
    PENDING,
    QUIET_TURNS,
    STONE,
    TERMINATION,
    TO_MOVE,
    TROLL,
    TURNS,
    Row,
    index_row,
)

EACH_RULESET = pytest.mark.parametrize("rules", RULESETS)
WITH_LINES_OR_NOT = pytest.mark.parametrize("with_lines", [True, False])


def random_tables(rules: str, with_lines: bool = True) -> Tables:
    classes = classes_of(rules)
    count = classes.count if with_lines else classes.without_lines
    values = np.random.default_rng(3).integers(-300, 300, (count, 2), dtype=np.int16)
    return classes.spread(values, np.array([11, -12]))


def afresh(row: Row, tables: Tables) -> tuple[np.ndarray, np.ndarray]:
    codes, sums = np.zeros(CODES_SIZE, dtype=np.int32), np.zeros(2, dtype=np.int64)
    judge_afresh(row, tables, codes, sums)
    return codes, sums


def positions(rules: str) -> Iterator[Position]:
    random = Random(9)
    for state in [*islice(from_play(rules, 40, random), 40), *constructed(rules, 60, random)]:
        position = position_of(state)
        if position.outcome is None:
            yield position


@WITH_LINES_OR_NOT
@EACH_RULESET
def test_updating_after_a_decision_equals_evaluating_afresh(rules: str, with_lines: bool) -> None:
    tables = random_tables(rules, with_lines)
    for position in positions(rules):
        codes, sums = afresh(position.row, tables)
        for action in position.legal_actions()[::3].tolist():
            child = position.row.copy()
            apply(child, action)
            new_codes, new_sums = codes.copy(), sums.copy()
            judge_change(position.row, child, tables, new_codes, new_sums)
            wanted_codes, wanted_sums = afresh(child, tables)
            assert np.array_equal(new_codes, wanted_codes)
            assert np.array_equal(new_sums, wanted_sums)


@WITH_LINES_OR_NOT
@EACH_RULESET
def test_moves_are_evaluated_as_if_they_were_played(rules: str, with_lines: bool) -> None:
    tables = random_tables(rules, with_lines)
    values = np.zeros(2048, dtype=np.int32)
    judged = 0
    for position in positions(rules):
        row = position.row
        if row[PENDING] != NO_QUESTION:
            continue
        moves = position.legal_actions()
        moves = moves[moves < OFFER]
        codes, sums = afresh(row, tables)
        before = codes.copy()
        judge_moves(
            row, moves, len(moves), tables, codes, sums, np.zeros(CODES_SIZE, np.int32), values
        )
        assert np.array_equal(codes, before)
        sign, opponent = (1, 1) if row[TO_MOVE] == DWARFS else (-1, 0)
        for action, value in zip(moves.tolist(), values.tolist(), strict=False):
            child = row.copy()
            apply(child, action)
            if row[MOVE_FROM[action]] == STONE or row[MOVE_TO[action]] == TROLL:
                assert value == UNKNOWN
            elif capturable_by(row, action) == 0:
                assert value == sign * afresh(child, tables)[1][opponent]
                judged += 1
    assert judged > 1000


@EACH_RULESET
def test_the_battle_goes_on_after_a_quiet_move_where_it_is_said_to(rules: str) -> None:
    certain = 0
    for position in positions(rules):
        row = position.row
        near = row[QUIET_TURNS] + 1 >= row[MAX_QUIET_TURNS] or row[TURNS] + 1 >= row[MAX_TURNS]
        if row[PENDING] != NO_QUESTION or near or not has_replies(row):
            continue
        certain += 1
        for action in position.legal_actions().tolist():
            if action == OFFER or row[MOVE_FROM[action]] == STONE or capturable_by(row, action):
                continue
            child = row.copy()
            apply(child, action)
            assert child[TERMINATION] == ONGOING
    assert certain > 20


@EACH_RULESET
def test_a_position_and_its_mirror_image_are_worth_the_same(rules: str) -> None:
    classic = not RULESETS[rules].stone_moves
    tables = random_tables(rules)
    for position in positions(rules):
        wanted = afresh(position.row, tables)[1]
        for symmetry in range(len(SYMMETRIES)) if classic else (MIRROR_LEFT_RIGHT,):
            image = position.row.copy()
            image[CELL_OF_SQUARE[SQUARE_SYMMETRY[symmetry]]] = position.row[CELL_OF_SQUARE]
            index_row(image)
            assert np.array_equal(afresh(image, tables)[1], wanted)


def test_the_code_of_a_pattern_is_what_is_drawn() -> None:
    codes, _ = afresh(place("classic", "D6 E7", "F6").row, random_tables("classic"))
    assert codes[CELL_OF_SQUARE[square_named("E6")]] == 1 * 3**3 + 2 * 3**5 + 1 * 3**7
    assert codes[CELL_OF_SQUARE[square_named("H8")]] == 2 * NUM_PATTERNS


def test_the_code_of_a_line_is_what_is_drawn() -> None:
    codes, _ = afresh(place("classic", "D6 E7", "F6").row, random_tables("classic"))

    def code(square: str, axis: int) -> int:
        return int(codes[(1 + axis) * NUM_CELLS + CELL_OF_SQUARE[square_named(square)]])

    north, northeast, east = 0, 1, 2
    assert code("E6", east) == 1 * 4**1 + 2 * 4**3
    assert code("E6", northeast) == DIAGONAL
    assert code("F6", northeast) == DIAGONAL + 1 * 4**1 + 2 * 4**2
    assert code("H9", north) == 3 * 4**3  # the stone is on H8
    assert code("A6", east) == 3 * 4**0 + 3 * 4**1  # two squares are off the board


@EACH_RULESET
def test_lines_of_the_search_and_of_the_fit_are_the_same(rules: str) -> None:
    for position in positions(rules):
        codes, _ = afresh(position.row, random_tables(rules))
        by_axis = codes[NUM_CELLS:].reshape(4, NUM_CELLS)[:, CELL_OF_SQUARE]
        board = position.row[CELL_OF_SQUARE].astype(np.int64)
        assert np.array_equal(by_axis.ravel(), line_codes(board[np.newaxis])[0])


def test_lines_add_their_values() -> None:
    classes = classes_of("classic")
    values = np.zeros((classes.count, 2), dtype=np.int16)
    values[classes.lines[1 * 4**1 + 1 * 4**2 + 2 * 4**4]] = 30, -20
    constant = np.zeros(2, dtype=np.int64)
    hurl = place("classic", "D6 E6", "G6 P8").row
    assert afresh(hurl, classes.spread(values, constant))[1].tolist() == [30, -20]
    without = classes.spread(values[: classes.without_lines], constant)
    assert afresh(hurl, without)[1].tolist() == [0, 0]


def test_pieces_count_where_they_stand() -> None:
    classes = classes_of("classic")
    values = np.zeros((classes.count, 2), dtype=np.int16)
    for piece, worth in ((DWARF, 100), (TROLL, -400)):
        known = classes.pieces[piece]
        values[known[known >= 0]] = worth
    tables = classes.spread(values, np.zeros(2, dtype=np.int64))
    position = place("classic", "D6 E6 F6", "H6 P8")
    assert afresh(position.row, tables)[1].tolist() == [100 * position.margin] * 2
    assert (classes.pieces[EMPTY] == -1).all()


def test_so_many_pieces_are_worth_more_than_their_sum() -> None:
    classes = classes_of("classic")
    values = np.zeros((classes.count, 2), dtype=np.int16)
    values[classes.counts[3, 2]] = 70, -50
    tables = classes.spread(values, np.array([1, 2]))
    assert afresh(place("classic", "D6 E6 F6", "H6 P8").row, tables)[1].tolist() == [71, -48]
    assert afresh(place("classic", "D6 E6", "H6 P8").row, tables)[1].tolist() == [1, 2]


# -- files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", ["classic", "classic-any", "classic-all"])
def test_a_ruleset_has_tables_of_its_own_or_of_its_kind(rules: str) -> None:
    tables = published_tables(rules)
    assert tables is not None
    assert tables.patterns.any()


def test_a_file_gives_its_ruleset_its_tables_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    classes = classes_of("classic-any")
    values = np.full((classes.count, 2), 3, dtype=np.int16)
    write_tables(path, "classic-any", values, np.array([1, 2]))
    rules, tables = read_tables(path)
    assert rules == "classic-any"
    assert tables.constant.tolist() == [1, 2]
    assert tables.patterns.max() == 3
    chosen = tables_with(str(path))
    own = chosen("classic-any")
    assert own is not None
    assert own.patterns.max() == 3
    assert chosen("classic") is published_tables("classic")


def test_a_file_without_lines_is_read_as_one_in_which_they_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "old.npz"
    values = np.full((classes_of("classic").without_lines, 2), 3, dtype=np.int16)
    write_tables(path, "classic", values, np.array([1, 2]))
    _, tables = read_tables(path)
    assert len(tables.lines) == 0
    assert tables.patterns.max() == 3


def test_a_damaged_file_is_refused_wherever_the_damage_is(tmp_path: Path) -> None:
    path = tmp_path / "damaged.npz"
    values = np.arange(2 * classes_of("classic").count, dtype=np.int16).reshape(-1, 2)
    write_tables(path, "classic", values, np.array([1, 2]))
    good = path.read_bytes()
    random, refused = np.random.default_rng(1), 0
    for _ in range(300):
        damaged = bytearray(good)
        damaged[random.integers(len(good))] ^= 1 << random.integers(8)
        path.write_bytes(damaged)
        try:
            _, read, _ = read_values(path)
        except TablesError:
            refused += 1
        else:
            np.testing.assert_array_equal(read, values, err_msg="some bits have no meaning")
    assert refused > 200


def test_wrong_files_are_named_with_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"

    def said() -> str:
        with pytest.raises(TablesError) as error:
            read_tables(path)
        assert str(path) in str(error.value)
        assert "\n" not in str(error.value)
        return str(error.value)

    assert "cannot be read" in said()
    path.write_text("nonsense")
    assert "cannot be read" in said()
    np.savez(path, values=np.zeros(3))
    assert "not a file of patterns" in said()
    np.savez(path, own=np.zeros(3))
    assert "not a file of patterns" in said()
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    assert "cannot be read" in said()
    write_tables(path, "classic", np.zeros((5, 2), dtype=np.int16), np.zeros(2, dtype=np.int64))
    assert "type int16 would be right" in said()
    write_tables(path, "chess", np.zeros((5, 2), dtype=np.int16), np.zeros(2, dtype=np.int64))
    assert "'chess': no such ruleset" in said()


def test_rulesets_that_play_by_the_same_file_share_its_tables() -> None:
    own = [CLASSIC.replace(name=name, trolls="G7 H7 J7").spec for name in ("three", "few")]
    assert all(published_tables(rules) is published_tables("classic") for rules in own)


@pytest.mark.parametrize("rules", RULESETS)
def test_published_tables_say_how_they_were_made(rules: str) -> None:
    assert read_tables(tables_path(rules))[0] == rules
    report = json.loads(tables_path(rules).with_suffix(".json").read_text(encoding="utf-8"))
    assert report["plan"]["rules"] == rules
    assert {"seed", "positions", "generations"} <= set(report["plan"])
    assert report["commit"]
    assert "features" in report["match"]
    assert report["match"]["pairs"] >= 50


@pytest.mark.parametrize("constant", [[np.nan, np.inf], ["a", "b"], [2**40, 0], [1, 2, 3]])
def test_a_constant_that_is_no_evaluation_is_refused(
    tmp_path: Path, constant: list[object]
) -> None:
    path = tmp_path / "mine.npz"
    with np.load(tables_path("classic")) as file:
        np.savez(path, **{**file, "constant": np.array(constant)})
    with pytest.raises(TablesError, match=re.escape(str(path))):
        read_tables(path)


ENDED_BY_A_QUIET_MOVE = {
    "a third troll comes to the stone": place("koom-valley", "C4 D4 M12 L12", "G8 J8 H5", "t"),
    "the last troll is shut in": place(
        "koom-valley-football", "B7 B9 C7 C8 D9 H3", "B8", rock="H12"
    ),
}


@pytest.mark.parametrize(
    "position", ENDED_BY_A_QUIET_MOVE.values(), ids=list(ENDED_BY_A_QUIET_MOVE)
)
def test_it_is_not_said_to_go_on_where_a_quiet_move_may_end_it(position: Position) -> None:
    assert not has_replies(position.row.copy())
