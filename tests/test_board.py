"""The board's geometry (docs/rules.md, section 1)."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
import reference

from thud_env import board
from thud_env.board import (
    CELL_OF_SQUARE,
    CELL_STEP,
    COLUMNS,
    DIRECTION_VECTORS,
    DIRECTIONS,
    GOAL_SQUARES,
    IS_GOAL_CELL,
    IS_PERIMETER_CELL,
    MIRROR_LEFT_RIGHT,
    NUM_CELLS,
    NUM_SQUARES,
    PERIMETER,
    RAY_LENGTH,
    SIZE,
    SQUARE_NAMES,
    SQUARE_OF_CELL,
    SQUARE_POSITIONS,
    SQUARE_SYMMETRY,
    SYMMETRIES,
    cell_at,
    is_on_board,
    square_named,
)

CENTRE = SQUARE_POSITIONS.index((7, 7))


def test_the_board_is_the_reference_board() -> None:
    assert set(SQUARE_POSITIONS) == reference.BOARD
    assert {SQUARE_POSITIONS[square] for square in PERIMETER} == reference.PERIMETER
    assert {SQUARE_POSITIONS[square] for square in GOAL_SQUARES} == reference.GOAL
    assert DIRECTION_VECTORS == reference.DIRECTIONS
    assert NUM_SQUARES == 165
    assert len(PERIMETER) == 36


def test_rows_have_the_widths_of_the_rules() -> None:
    widths = [sum(row == y for row, _ in SQUARE_POSITIONS) for y in range(SIZE)]
    assert widths == [5, 7, 9, 11, 13, 15, 15, 15, 15, 15, 13, 11, 9, 7, 5]


def test_squares_are_named_by_column_and_row() -> None:
    assert COLUMNS == "ABCDEFGHJKLMNOP"
    assert SQUARE_NAMES[CENTRE] == "H8"
    assert (SQUARE_NAMES[0], SQUARE_NAMES[-1]) == ("F1", "K15")
    assert list(SQUARE_NAMES) == [reference.name(square) for square in SQUARE_POSITIONS]
    assert [square_named(name) for name in SQUARE_NAMES] == list(range(NUM_SQUARES))


@pytest.mark.parametrize("name", ["I8", "A1", "E1", "H0", "H16", "Q8", "h8", "8H", "", "H08"])
def test_other_names_are_not_squares(name: str) -> None:
    with pytest.raises(ValueError, match=f"no square {name!r}"):
        square_named(name)


def test_squares_are_numbered_row_by_row() -> None:
    assert list(SQUARE_POSITIONS) == sorted(SQUARE_POSITIONS)


def test_cells_and_squares_are_inverse() -> None:
    assert SQUARE_OF_CELL[CELL_OF_SQUARE].tolist() == list(range(NUM_SQUARES))
    assert int((SQUARE_OF_CELL >= 0).sum()) == NUM_SQUARES
    assert [cell_at(row, col) for row, col in SQUARE_POSITIONS] == CELL_OF_SQUARE.tolist()
    assert NUM_CELLS == 272


def test_every_walk_meets_the_border_before_it_leaves_the_array() -> None:
    for square, direction in product(range(NUM_SQUARES), range(8)):
        step = int(CELL_STEP[direction])
        cell = int(CELL_OF_SQUARE[square])
        length = 0
        while SQUARE_OF_CELL[cell + step] >= 0:
            cell += step
            length += 1
        assert 0 <= cell + step < NUM_CELLS
        assert length == RAY_LENGTH[square, direction]
        ray = reference.AHEAD[SQUARE_POSITIONS[square], DIRECTION_VECTORS[direction]]
        assert length == len(ray)
        assert not ray or ray[-1] == SQUARE_POSITIONS[SQUARE_OF_CELL[cell]]


def test_directions_go_clockwise_from_north() -> None:
    assert DIRECTIONS == ("N", "NE", "E", "SE", "S", "SW", "W", "NW")
    for name, (d_row, d_col) in zip(DIRECTIONS, DIRECTION_VECTORS, strict=True):
        assert ("N" in name, "S" in name) == (d_row == -1, d_row == 1)
        assert ("E" in name, "W" in name) == (d_col == 1, d_col == -1)


def test_tables_of_cells_mark_what_the_squares_say() -> None:
    marked = np.flatnonzero(IS_PERIMETER_CELL)
    assert set(SQUARE_OF_CELL[marked].tolist()) == PERIMETER
    assert set(SQUARE_OF_CELL[np.flatnonzero(IS_GOAL_CELL)].tolist()) == set(GOAL_SQUARES)


def test_off_the_board_is_off_the_board() -> None:
    for row, col in product(range(-2, 18), range(-2, 18)):
        assert is_on_board(row, col) is ((row, col) in reference.BOARD)


def test_symmetries_are_a_group_of_permutations() -> None:
    images = {tuple(image) for image in SQUARE_SYMMETRY.tolist()}
    assert len(images) == len(SYMMETRIES) == 8
    for image in images:
        assert sorted(image) == list(range(NUM_SQUARES))
    for first, second in product(SQUARE_SYMMETRY, repeat=2):
        assert tuple(second[first].tolist()) in images


def test_symmetries_keep_neighbours_the_perimeter_and_the_centre() -> None:
    names = [name for name, _ in SYMMETRIES]
    assert names[0] == "identity"
    assert names[MIRROR_LEFT_RIGHT] == "mirror left-right"
    for image in SQUARE_SYMMETRY:
        assert image[CENTRE] == CENTRE
        assert set(image[sorted(PERIMETER)].tolist()) == PERIMETER
        for square, position in enumerate(SQUARE_POSITIONS):
            neighbours = reference.ADJACENT[position]
            mapped = {
                SQUARE_POSITIONS[image[SQUARE_POSITIONS.index(neighbour)]]
                for neighbour in neighbours
            }
            assert mapped == reference.ADJACENT[SQUARE_POSITIONS[image[square]]]


@pytest.mark.parametrize(
    ("symmetry", "corner"),
    [
        ("identity", "F1"),
        ("rotate 90 clockwise", "P6"),
        ("rotate 180", "K15"),
        ("rotate 270 clockwise", "A10"),
        ("mirror left-right", "K1"),
        ("mirror top-bottom", "F15"),
        ("transpose", "A6"),
        ("anti-transpose", "P10"),
    ],
)
def test_symmetries_do_what_they_are_called(symmetry: str, corner: str) -> None:
    image = SQUARE_SYMMETRY[[name for name, _ in SYMMETRIES].index(symmetry)]
    assert SQUARE_NAMES[image[square_named("F1")]] == corner


def test_the_map_of_the_module_numbers_the_squares() -> None:
    """The first and the last square of each row, and the centre, are numbered as they are."""
    lines = (board.__doc__ or "").splitlines()
    first = next(number for number, line in enumerate(lines) if "A B C D E" in line) + 1
    numbered = []
    for row, line in enumerate(lines[first : first + SIZE]):
        drawing = re.split(r" {4,}(?=[a-z])", line)[0]
        label, *numbers = map(int, re.findall(r"\d+", drawing))
        here = [square for square, (y, _) in enumerate(SQUARE_POSITIONS) if y == row]
        assert label == row + 1
        assert {here[0], here[-1]} <= set(numbers) <= set(here)
        numbered += numbers
    assert CENTRE in numbered
