"""The board: squares, directions, lines and symmetries. No rules.

The board is a 15 x 15 grid less a triangle of 15 squares in each corner: the 165
squares with ``|row - 7| + |col - 7| <= 9``. Rows and columns count from 0, row 0 at
the top. People name a square by its column's letter and its row's number from 1:
``H8`` is the centre, row 7, column 7 (docs/rules.md, section 1).

::

         A B C D E F G H J K L M N O P
       1           0 1 2 3 4
       2         5 . . . . . 11              a *square* is an index 0 .. 164,
       3      12 . . . . . . . 20            row by row from the top left
       4    21 . . . . . . . . . 31
       5  32 . . . . . . . . . . . 44
       6 45. . . . . . . . . . . . . 59
       7 60. . . . . . . . . . . . . 74
       8 75. . . . . . .82 . . . . . . 89
       9 90. . . . . . . . . . . . . 104
      10 105 . . . . . . . . . . . . 119
      11  120. . . . . . . . . . . 132
      12    133. . . . . . . . . 143
      13     144 . . . . . . . 152
      14       153 . . . . . 159
      15         160 . . . 164

Inside a state row the board is kept with a border, so that a walk along a line meets
an off-board square before it can leave the array::

    cell = 16 * (row + 1) + col          17 rows of 16 cells, 272 in all

    row -1   # # # # # # # # # # # # # # # #
    row  0   # # # # # . . . . . # # # # # #     column 15 is the border on the
    row  1   # # # # . . . . . . . # # # # #     right of one row and, by wrapping,
     ...                                         on the left of the next
    row 15   # # # # # # # # # # # # # # # #

Directions are numbered clockwise from north::

    7 NW   0 N   1 NE
    6 W      .   2 E
    5 SW   4 S   3 SE
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from thud_env.arguments import shown
from thud_env.errors import ThudError

SIZE = 15
COLUMNS = "ABCDEFGHJKLMNOP"
STRIDE = SIZE + 1
NUM_CELLS = STRIDE * (SIZE + 2)

DIRECTIONS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")
NUM_DIRECTIONS = len(DIRECTIONS)
DIRECTION_VECTORS = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))


def is_on_board(row: int, col: int) -> bool:
    """Whether (row, col) is one of the 165 squares.

    Ruling, section 1: the corners cut are triangles of side 5.
    """
    return 0 <= row < SIZE and 0 <= col < SIZE and abs(row - 7) + abs(col - 7) <= 9


def cell_at(row: int, col: int) -> int:
    """The cell of (row, col); also defined for the border, rows and columns -1 and 15."""
    return STRIDE * (row + 1) + col


SQUARE_POSITIONS = tuple(
    (row, col) for row in range(SIZE) for col in range(SIZE) if is_on_board(row, col)
)
NUM_SQUARES = len(SQUARE_POSITIONS)

SQUARE_NAMES = tuple(f"{COLUMNS[col]}{row + 1}" for row, col in SQUARE_POSITIONS)
SQUARE_BY_NAME = {name: square for square, name in enumerate(SQUARE_NAMES)}

CELL_OF_SQUARE: NDArray[np.int16] = np.array(
    [cell_at(row, col) for row, col in SQUARE_POSITIONS], dtype=np.int16
)
"""[165] the cell of each square."""

SQUARE_OF_CELL: NDArray[np.int16] = np.full(NUM_CELLS, -1, dtype=np.int16)
"""[272] the square of each cell, -1 on the border."""
SQUARE_OF_CELL[CELL_OF_SQUARE] = np.arange(NUM_SQUARES)

CELL_STEP: NDArray[np.int16] = np.array(
    [STRIDE * d_row + d_col for d_row, d_col in DIRECTION_VECTORS], dtype=np.int16
)
"""[8] what one step in each direction adds to a cell."""


def _ray_length(row: int, col: int, direction: int) -> int:
    d_row, d_col = DIRECTION_VECTORS[direction]
    length = 0
    while is_on_board(row + (length + 1) * d_row, col + (length + 1) * d_col):
        length += 1
    return length


RAY_LENGTH: NDArray[np.int16] = np.array(
    [[_ray_length(row, col, d) for d in range(NUM_DIRECTIONS)] for row, col in SQUARE_POSITIONS],
    dtype=np.int16,
)
"""[165, 8] how many squares lie beyond each square in each direction."""

NUM_AXES = 4
"""Lines run along four axes: N-S, NE-SW, E-W, SE-NW. Direction d runs along axis d % 4, the
directions below 4 upwards and the others downwards."""
NUM_LINES = 15 + 29 + 15 + 29
"""Columns, rising diagonals, rows and falling diagonals, those off the board included."""

LINE_OF_CELL: NDArray[np.int16] = np.zeros((NUM_CELLS, NUM_AXES), dtype=np.int16)
"""[272, 4] which line along each axis a square's cell lies on."""
POINT_OF_CELL: NDArray[np.int16] = np.zeros((NUM_CELLS, NUM_AXES), dtype=np.int16)
"""[272, 4] where on that line it lies, 0 .. 14, counted upwards."""
for _square, (_row, _col) in enumerate(SQUARE_POSITIONS):
    LINE_OF_CELL[CELL_OF_SQUARE[_square]] = (_col, 15 + _row + _col, 44 + _row, 73 + _row - _col)
    POINT_OF_CELL[CELL_OF_SQUARE[_square]] = (14 - _row, _col, _col, _col)

PERIMETER = frozenset(
    square
    for square, (row, col) in enumerate(SQUARE_POSITIONS)
    if any(
        not is_on_board(row + d_row, col + d_col)
        for d_row, d_col in ((-1, 0), (0, 1), (1, 0), (0, -1))
    )
)
"""The 36 squares with a side on the board's edge."""

IS_PERIMETER_CELL: NDArray[np.bool_] = np.zeros(NUM_CELLS, dtype=np.bool_)
"""[272] whether a cell is one of the 36 perimeter squares."""
IS_PERIMETER_CELL[[CELL_OF_SQUARE[square] for square in PERIMETER]] = True

GOAL_SQUARES = tuple(SQUARE_BY_NAME[name] for name in ("F1", "G1", "H1", "J1", "K1"))
"""Where the Rock or ball must go in the Koom Valley games (docs/rules.md, section 3)."""

IS_GOAL_CELL: NDArray[np.bool_] = np.zeros(NUM_CELLS, dtype=np.bool_)
"""[272] whether a cell is one of the five goal squares."""
IS_GOAL_CELL[[CELL_OF_SQUARE[square] for square in GOAL_SQUARES]] = True

SYMMETRIES: tuple[tuple[str, Callable[[int, int], tuple[int, int]]], ...] = (
    ("identity", lambda row, col: (row, col)),
    ("rotate 90 clockwise", lambda row, col: (col, 14 - row)),
    ("rotate 180", lambda row, col: (14 - row, 14 - col)),
    ("rotate 270 clockwise", lambda row, col: (14 - col, row)),
    ("mirror left-right", lambda row, col: (row, 14 - col)),
    ("mirror top-bottom", lambda row, col: (14 - row, col)),
    ("transpose", lambda row, col: (col, row)),
    ("anti-transpose", lambda row, col: (14 - col, 14 - row)),
)
"""The board's eight symmetries: a name, and where (row, col) goes."""
MIRROR_LEFT_RIGHT = 4
"""The one symmetry, besides the identity, that the Koom Valley setup shares."""

SQUARE_SYMMETRY: NDArray[np.int16] = np.array(
    [
        [SQUARE_POSITIONS.index(image(row, col)) for row, col in SQUARE_POSITIONS]
        for _, image in SYMMETRIES
    ],
    dtype=np.int16,
)
"""[8, 165] where each symmetry takes each square."""


def square_named(name: str) -> int:
    """The square called ``name``, for example ``"H8"``.

    Raises:
        ThudError: if the board has no square of that name.
    """
    square = SQUARE_BY_NAME.get(name) if isinstance(name, str) else None
    if square is None:
        raise ThudError(
            f"no square {shown(name)} on the board: columns A-P without I, rows 1-15, corners cut"
        )
    return square
