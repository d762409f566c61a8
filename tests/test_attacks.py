"""Attack planes: what each side could reach, strike and lose."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import place

from agents.networks.attacks import ATTACK_PLANES, attack_planes
from agents.networks.inputs import planes_read
from thud_env import BatchedGame, Position
from thud_env.actions import MOVE_DISTANCE, MOVE_FROM, MOVE_TO, NUM_MOVES
from thud_env.board import CELL_OF_SQUARE, NUM_CELLS, SQUARE_BY_NAME, SQUARE_POSITIONS
from thud_env.rules.row import (
    DWARF,
    EMPTY,
    NO_QUESTION,
    ONGOING,
    PENDING,
    STONE,
    TERMINATION,
    TO_MOVE,
    TROLL,
    index_row,
)
from thud_env.rulesets import RULESETS
from thud_env.symmetry import map_observation, map_position, symmetries_of

NAMES = [plane.name for plane in ATTACK_PLANES]


def plane(name: str, row: np.ndarray) -> np.ndarray:
    """[165] one plane by square."""
    shown = attack_planes(row[None])[0, NAMES.index(name)]
    return shown[tuple(np.array(SQUARE_POSITIONS).T)]


def some_rows(rules: str, seed: int = 1) -> list[np.ndarray]:
    """Starts of turns from random play, with captures behind them."""
    games = BatchedGame(6, rules, seed=seed, observations=False)
    rows = []
    for step in range(160):
        games.step(games.sample_actions())
        if step % 40 == 39:
            rows += [row.copy() for row in games.rows]
    return [row for row in rows if row[PENDING] == NO_QUESTION and row[TERMINATION] == ONGOING]


def moves_of(row: np.ndarray, side: int) -> tuple[Position, np.ndarray]:
    """The position with a side to move, and its legal moves."""
    row = row.copy()
    row[TO_MOVE] = side
    position = Position.unchecked(row)  # it may have one dwarf more than a battle starts with
    actions = position.legal_actions()
    return position, actions[actions < NUM_MOVES]


def targets(row: np.ndarray, side: int, piece: int | None = None) -> np.ndarray:
    """[165] how many legal moves of a side, or of a piece of its, end on each square."""
    _, moves = moves_of(row, side)
    if piece is not None:
        moves = moves[row[MOVE_FROM[moves]] == piece]
    return np.array([(MOVE_TO[moves] == cell).sum() for cell in CELL_OF_SQUARE])


def beside(row: np.ndarray, square: int, piece: int) -> list[int]:
    """The squares beside a square that hold a piece."""
    row_, col = SQUARE_POSITIONS[square]
    return [
        other
        for other, (r, c) in enumerate(SQUARE_POSITIONS)
        if max(abs(r - row_), abs(c - col)) == 1 and row[CELL_OF_SQUARE[other]] == piece
    ]


@pytest.mark.parametrize("rules", RULESETS)
def test_planes_of_moves_count_the_legal_moves(rules: str) -> None:
    for row in some_rows(rules):
        assert np.array_equal(plane("dwarf_moves", row) * 8, targets(row, 0, DWARF))
        assert np.array_equal(plane("troll_moves", row) * 8, targets(row, 1, TROLL))
        stones = targets(row, 0, STONE) if RULESETS[rules].stone_moves else 0 * targets(row, 0)
        assert np.array_equal(plane("stone_moves", row), stones)


@pytest.mark.parametrize("rules", ["classic", "classic-all"])
def test_a_square_is_struck_if_a_troll_there_could_be_captured(rules: str) -> None:
    for row in some_rows(rules)[::3]:
        row[CELL_OF_SQUARE[np.argmax(row[CELL_OF_SQUARE] == TROLL)]] = EMPTY  # room for another
        index_row(row)
        strikes, struck = plane("dwarf_strikes", row), plane("trolls_struck", row)
        for square, cell in enumerate(CELL_OF_SQUARE):
            if row[cell] not in (EMPTY, TROLL):
                assert strikes[square] == struck[square] == 0
                continue
            with_troll = row.copy()
            with_troll[cell] = TROLL
            index_row(with_troll)
            assert strikes[square] * 4 == targets(with_troll, 0)[square]
            assert struck[square] == (strikes[square] if row[cell] == TROLL else 0)


@pytest.mark.parametrize("rules", ["classic", "classic-any"])
def test_what_trolls_would_land_beside(rules: str) -> None:
    for row in some_rows(rules):
        landings = np.flatnonzero(targets(row, 1))
        captures, struck, unsafe = np.zeros((3, 165))
        for square in landings:
            dwarfs = beside(row, square, DWARF)
            captures[square] = len(dwarfs)
            struck[dwarfs] += 1
        for square in {*landings, *np.flatnonzero(plane("troll_leaps", row))}:
            unsafe[beside(row, square, EMPTY)] += 1
        assert np.array_equal(plane("troll_captures", row) * 8, captures)
        assert np.array_equal(plane("dwarfs_struck", row) * 8, struck)
        assert np.array_equal(plane("dwarfs_unsafe", row) * 8, unsafe)


def test_a_line_of_trolls_leaps_as_far_as_it_is_long() -> None:
    row = place("classic", "A8", "H4 H5 H6", "t").row
    leaps = np.flatnonzero(plane("troll_leaps", row))
    along = {"H3", "H2", "H1", "H7"}  # the stone is on H8
    aside = {f"{column}{number}" for column in "GJ" for number in range(3, 8)}
    assert along | aside == {name for name, square in SQUARE_BY_NAME.items() if square in leaps}
    unsafe = plane("dwarfs_unsafe", row)
    assert unsafe[SQUARE_BY_NAME["G1"]] > 0  # a shove to H2 or H1 would land beside it
    assert unsafe[SQUARE_BY_NAME["P8"]] == 0


def test_sandwiches_and_tramples() -> None:
    row = place("koom-valley", "F6 H1 A8", "G6 H10", "d").row
    assert plane("dwarf_strikes", row)[SQUARE_BY_NAME["H6"]] == 0.25
    assert plane("trolls_struck", row)[SQUARE_BY_NAME["G6"]] == 0.25
    assert plane("dwarfs_struck", row)[SQUARE_BY_NAME["F6"]] == 0.125
    assert plane("troll_captures", row)[SQUARE_BY_NAME["E6"]] == 0.125


def sandwiches(row: np.ndarray) -> set[tuple[int, int]]:
    """The squares that a dwarf could move to, with the square of a troll that it captures so."""
    position, moves = moves_of(row, 0)
    return {
        (int(MOVE_TO[move]), cell)
        for move in moves.tolist()
        for cell in np.flatnonzero(row[:NUM_CELLS] == TROLL).tolist()
        if position.apply(move).row[cell] != TROLL
    }


def jumps(row: np.ndarray) -> list[tuple[int, int]]:
    """The dwarfs that trolls can jump, each with where the troll lands."""
    _, moves = moves_of(row, 1)
    over = (MOVE_FROM[moves] + MOVE_TO[moves]) // 2
    are_jumps = (MOVE_DISTANCE[moves] == 2) & (row[over] == DWARF)
    return list(zip(over[are_jumps].tolist(), MOVE_TO[moves[are_jumps]].tolist(), strict=True))


def counted(cells: list[int]) -> np.ndarray:
    """[165] how often the cell of each square is named."""
    return np.bincount(cells, minlength=NUM_CELLS)[CELL_OF_SQUARE]


def test_what_could_be_sandwiched_and_trampled() -> None:
    """A dwarf on a free square is unsafe if it could be jumped there."""
    seen = np.zeros(3)
    for row in some_rows("koom-valley")[::3]:
        struck, jumped = [troll for _, troll in sandwiches(row)], jumps(row)
        assert np.array_equal(plane("trolls_struck", row) * 4, counted(struck))
        assert np.array_equal(plane("dwarfs_struck", row) * 8, counted([x for x, _ in jumped]))
        assert np.array_equal(plane("troll_captures", row) * 8, counted([to for _, to in jumped]))
        unsafe = plane("dwarfs_unsafe", row) * 8
        for square, cell in enumerate(CELL_OF_SQUARE):
            with_dwarf = row.copy()
            with_dwarf[cell] = DWARF
            index_row(with_dwarf)
            is_free = row[cell] == EMPTY
            assert unsafe[square] == (is_free and [x for x, _ in jumps(with_dwarf)].count(cell))
        seen += len(struck), len(jumped), unsafe.sum()
    assert (seen > 0).all()


@pytest.mark.parametrize("rules", ["classic", "koom-valley", "koom-valley-football"])
def test_planes_turn_with_the_board(rules: str) -> None:
    for row in some_rows(rules)[::4]:
        for symmetry in symmetries_of(rules):
            image = map_position(symmetry, Position(row)).row
            expected = map_observation(symmetry, attack_planes(row[None]))
            assert np.array_equal(attack_planes(image[None]), expected)


def test_every_plane_has_a_name_of_its_own() -> None:
    names = [plane.name for plane in planes_read(attacks=True)]
    assert len(set(names)) == len(names) > len(planes_read(attacks=False))
