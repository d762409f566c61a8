"""Sets of squares as four 64-bit words, so that a whole set is shifted or counted at once.

Bit b of the set is cell ``16 + b`` of a state row (``thud_env/board.py`` draws the cells): the
border's first row is left out, and the border's column catches what is shifted off a row.
"""

from __future__ import annotations

import numpy as np

from thud_env.board import CELL_OF_SQUARE, DIRECTIONS, LINE_OF_CELL, SIZE, STRIDE, cell_at
from thud_env.jit.bits import count_ones
from thud_env.jit.compile import inlined
from thud_env.rules.row import NUM_TROLLS, STONE_CELL, TAKEN_LINES, TROLL_CELLS

FIRST_CELL = STRIDE
_WORD = 64

BIT_OF_CELL = np.array([1 << (cell % _WORD) for cell in range(_WORD)], dtype=np.uint64)
"""[64] the bit of a cell within its word, by the cell's place in the word."""


def _words(cells: list[int]) -> tuple[np.uint64, ...]:
    whole = sum(1 << (cell - FIRST_CELL) for cell in cells)
    return tuple(np.uint64((whole >> (_WORD * i)) & (2**_WORD - 1)) for i in range(4))


BOARD = _words([int(cell) for cell in CELL_OF_SQUARE])
"""All 165 squares."""

EAST, SOUTH_WEST, SOUTH, SOUTH_EAST = (np.uint64(step) for step in (1, 15, 16, 17))
"""By how many bits a step shifts a set up; the four other directions shift it down as far."""
_W = np.uint64(_WORD)


_FIRST_ROW = TAKEN_LINES + int(LINE_OF_CELL[cell_at(0, SIZE // 2), DIRECTIONS.index("E")])
"""Where a state row keeps the occupied squares of each row of the board, as 16 bits with the first
column lowest: four of them make one word here."""


@inlined
def _four_rows(row, first):
    word = np.uint64(0)
    for i in range(4):
        word |= np.uint64(np.uint16(row[first + i])) << np.uint64(STRIDE * i)
    return word


@inlined
def all_pieces(row):
    """The occupied squares, the stone's included, and some bits off the board."""
    last = np.uint64(0)
    for i in range(12, SIZE):
        last |= np.uint64(np.uint16(row[_FIRST_ROW + i])) << np.uint64(STRIDE * (i - 12))
    return (
        _four_rows(row, _FIRST_ROW),
        _four_rows(row, _FIRST_ROW + 4),
        _four_rows(row, _FIRST_ROW + 8),
        last,
    )


@inlined
def all_trolls(row):
    """The squares that trolls stand on."""
    none = np.uint64(0)
    trolls = (none, none, none, none)
    for i in range(TROLL_CELLS, TROLL_CELLS + int(row[NUM_TROLLS])):
        trolls = either(trolls, _square_of(row[i]))
    return trolls


@inlined
def the_stone(row):
    """The square of the stone."""
    return _square_of(row[STONE_CELL])


@inlined
def _square_of(cell):
    """One square alone."""
    place = int(cell) - FIRST_CELL
    bit = BIT_OF_CELL[place & 63]
    none = np.uint64(0)
    word = place >> 6
    return (
        bit if word == 0 else none,
        bit if word == 1 else none,
        bit if word == 2 else none,
        bit if word == 3 else none,
    )


@inlined
def up(s, n):
    """The set shifted ``n`` cells up: 1 is east, 15 south-west, 16 south, 17 south-east."""
    m = _W - n
    return (
        s[0] << n,
        (s[1] << n) | (s[0] >> m),
        (s[2] << n) | (s[1] >> m),
        (s[3] << n) | (s[2] >> m),
    )


@inlined
def down(s, n):
    """The set shifted ``n`` cells down: 1 is west, 15 north-east, 16 north, 17 north-west."""
    m = _W - n
    return (
        (s[0] >> n) | (s[1] << m),
        (s[1] >> n) | (s[2] << m),
        (s[2] >> n) | (s[3] << m),
        s[3] >> n,
    )


@inlined
def both(s, t):
    """Intersection."""
    return s[0] & t[0], s[1] & t[1], s[2] & t[2], s[3] & t[3]


@inlined
def either(s, t):
    """Union."""
    return s[0] | t[0], s[1] | t[1], s[2] | t[2], s[3] | t[3]


@inlined
def without(s, t):
    """Difference: the squares of ``s`` that are not in ``t``."""
    return s[0] & ~t[0], s[1] & ~t[1], s[2] & ~t[2], s[3] & ~t[3]


@inlined
def size(s):
    """How many squares are in the set."""
    return count_ones(s[0]) + count_ones(s[1]) + count_ones(s[2]) + count_ones(s[3])


@inlined
def beside(s):
    """The cells adjacent to a square of ``s``, border cells included."""
    sides = either(up(s, EAST), down(s, EAST))
    band = either(s, sides)
    return either(sides, either(up(band, SOUTH), down(band, SOUTH)))


@inlined
def steps_between(cell, other):
    """Steps between two cells."""
    rows = abs(cell // STRIDE - other // STRIDE)
    columns = abs(cell % STRIDE - other % STRIDE)
    return max(rows, columns)
