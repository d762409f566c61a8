"""The lines of the evaluation by patterns: five squares in a row, two to each side of a centre.

A line's code has two bits for each of its squares::

    code of the centre = sum of 4**k * square(k),  square: 0 empty, 1 dwarf, 2 troll,
                                                           3 the stone or off the board

Lines along ranks and files share their values, and so do diagonal ones. They tell what a 3 x 3
pattern cannot hold: how far dwarfs in line could hurl one of their own, and at whom.

A position has a line along each of the four axes for every square. Their codes follow those of
the 3 x 3 patterns in one array, [1360]: that of a cell along ``axis`` is at ``(1 + axis) * 272 +
cell``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thud_env.board import CELL_OF_SQUARE, CELL_STEP, NUM_AXES, NUM_CELLS, RAY_LENGTH
from thud_env.jit.bits import natural
from thud_env.jit.compile import compiled, inlined
from thud_env.rules.row import DWARFS, EMPTY, TROLLS

LINE_REACH = 2
LINE_LENGTH = 2 * LINE_REACH + 1
CODES_A_KIND = 4**LINE_LENGTH
STRAIGHT, DIAGONAL = 0, CODES_A_KIND
"""Where the codes of the two kinds of lines begin."""
CODES_SIZE = (1 + NUM_AXES) * NUM_CELLS
"""The codes of a position: of the pattern around each cell, then of its line along each axis."""
NO_SQUARE = 3

_BEHIND = np.zeros((NUM_AXES, NUM_CELLS), dtype=np.int64)
_BEHIND[:, CELL_OF_SQUARE] = np.minimum(RAY_LENGTH[:, NUM_AXES:], LINE_REACH).T
_AHEAD = np.zeros((NUM_AXES, NUM_CELLS), dtype=np.int64)
_AHEAD[:, CELL_OF_SQUARE] = np.minimum(RAY_LENGTH[:, :NUM_AXES], LINE_REACH).T

FIRST_CENTRE = np.arange(NUM_CELLS) - _BEHIND * CELL_STEP[:NUM_AXES, np.newaxis]
FIRST_CENTRE += NUM_CELLS * np.arange(1, NUM_AXES + 1)[:, np.newaxis]
"""[4, 272] where the first line along an axis is that holds a cell; the others follow in steps."""
FIRST_DIGIT = 4 ** (LINE_REACH + _BEHIND)
"""[4, 272] what the cell counts in that line; in each that follows a quarter."""
LINES_OF_CELL = _BEHIND + 1 + _AHEAD
"""[4, 272] how many lines along an axis hold a cell."""


def _empty_lines() -> NDArray[np.int32]:
    codes = np.zeros((NUM_AXES, NUM_CELLS), dtype=np.int32)
    for axis in range(NUM_AXES):
        codes[axis, CELL_OF_SQUARE] = DIAGONAL if axis % 2 else STRAIGHT
        for place in range(-LINE_REACH, LINE_REACH + 1):
            beyond = (place < -_BEHIND[axis]) | (place > _AHEAD[axis])
            codes[axis] += np.where(beyond, NO_SQUARE * 4 ** (LINE_REACH + place), 0)
    on_board = np.isin(np.arange(NUM_CELLS), CELL_OF_SQUARE)
    return np.where(on_board, codes, 0)


EMPTY_LINES = _empty_lines()
"""[4, 272] the code of an empty line along each axis with this centre."""


@inlined
def value_of(table, code, side):
    """The value of a code in a table by code and side. Flat, it takes no multiplication by a width
    that is known only when the search runs.
    """
    return int(table[natural(2 * code + side)])


@inlined
def put_in_lines(codes, lines, cell, change):
    """Add ``change`` to what stands on a cell: a piece, less the one that stood there.

    Args:
        codes: [1360] int32, changed.
        lines: [4096] int16, their values: see ``value_of``.
        cell: the cell.
        change: the new piece less the old one.

    Returns:
        the change of value with the dwarfs to move, and with the trolls.
    """
    dwarfs = trolls = 0
    for axis in range(NUM_AXES):
        centre = FIRST_CENTRE[axis, cell]
        digit = change * FIRST_DIGIT[axis, cell]
        for _ in range(LINES_OF_CELL[axis, cell]):
            old = natural(codes[natural(centre)])
            new = natural(old + digit)
            codes[natural(centre)] = new
            dwarfs += value_of(lines, new, DWARFS) - value_of(lines, old, DWARFS)
            trolls += value_of(lines, new, TROLLS) - value_of(lines, old, TROLLS)
            centre += CELL_STEP[axis]
            digit >>= 2
    return dwarfs, trolls


@inlined
def would_put_in_line(codes, lines, axis, cell, piece, side):
    """The change of value, along one axis, if a piece were put on an empty cell."""
    value = 0
    centre = FIRST_CENTRE[axis, cell]
    digit = piece * FIRST_DIGIT[axis, cell]
    for _ in range(LINES_OF_CELL[axis, cell]):
        old = natural(codes[natural(centre)])
        value += value_of(lines, natural(old + digit), side) - value_of(lines, old, side)
        centre += CELL_STEP[axis]
        digit >>= 2
    return value


@compiled
def judge_lines(row, lines, codes, sums):
    """Compute the codes of all lines of a position, and add their values to its ``sums``, [2]."""
    for axis in range(NUM_AXES):
        for cell in range(NUM_CELLS):
            codes[(1 + axis) * NUM_CELLS + cell] = EMPTY_LINES[axis, cell]
    for i in range(len(CELL_OF_SQUARE)):
        cell = natural(CELL_OF_SQUARE[i])
        piece = int(row[cell])
        if piece != EMPTY:
            put_in_lines(codes, lines, cell, piece)
    for i in range(NUM_CELLS, CODES_SIZE):
        sums[0] += value_of(lines, natural(codes[i]), 0)
        sums[1] += value_of(lines, natural(codes[i]), 1)


def line_codes(boards: NDArray[np.int64]) -> NDArray[np.int64]:
    """[N, 660] the codes of the lines through each square of boards, [N, 165]."""
    cells = CELL_OF_SQUARE.astype(np.int64)
    edge = LINE_REACH * int(CELL_STEP.max())
    whole = np.zeros((len(boards), NUM_CELLS + 2 * edge), dtype=np.int64)
    whole[:, cells + edge] = boards
    found = []
    for axis in range(NUM_AXES):
        codes = np.tile(EMPTY_LINES[axis, cells].astype(np.int64), (len(boards), 1))
        for place in range(-LINE_REACH, LINE_REACH + 1):
            on_board = (-_BEHIND[axis, cells] <= place) & (place <= _AHEAD[axis, cells])
            squares = whole[:, cells + edge + place * int(CELL_STEP[axis])]
            codes += np.where(on_board, squares, 0) * 4 ** (LINE_REACH + place)
        found.append(codes)
    return np.concatenate(found, axis=1)


def same_lines() -> NDArray[np.int64]:
    """[2048] for each code, the smaller of it and that of the line read backwards; -1 where no
    piece is in the line.
    """
    codes = np.arange(CODES_A_KIND)
    weights = 4 ** np.arange(LINE_LENGTH)[:, np.newaxis]
    squares = codes // weights % 4
    smallest = np.minimum(codes, (squares[::-1] * weights).sum(axis=0))
    empty = np.isin(squares, (EMPTY, NO_SQUARE)).all(axis=0)
    return np.concatenate([np.where(empty, -1, kind + smallest) for kind in (STRAIGHT, DIAGONAL)])
