"""Sets of squares as four words of bits, so that whole sets move, meet and are counted at once.

Bit b of the set is cell ``16 + b`` of a state row (``thud_env/board.py`` draws the cells): the
border's first row is left out, and the border's column catches what is shifted off a row.
"""

from __future__ import annotations

import numpy as np

from thud_env.bits import count_ones
from thud_env.board import CELL_OF_SQUARE, STRIDE
from thud_env.compile import compiled

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
"""How far a step shifts a set upwards; the four other directions shift it down as far."""
_W = np.uint64(_WORD)


@compiled
def set_of(row, first, count, piece):
    """The set of those cells in a list of pieces that hold ``piece``.

    Args:
        row: [432] a state row.
        first, count: the stretch of it that lists the cells.
        piece: what to keep.
    """
    a = b = c = d = np.uint64(0)
    for i in range(first, first + count):
        cell = int(row[i])
        if row[cell] != piece:
            continue
        place = cell - FIRST_CELL
        bit = BIT_OF_CELL[place & 63]
        word = place >> 6
        if word == 0:
            a |= bit
        elif word == 1:
            b |= bit
        elif word == 2:
            c |= bit
        else:
            d |= bit
    return a, b, c, d


@compiled
def up(s, n):
    """The set moved ``n`` cells on: 1 is east, 15 south-west, 16 south, 17 south-east."""
    m = _W - n
    return (
        s[0] << n,
        (s[1] << n) | (s[0] >> m),
        (s[2] << n) | (s[1] >> m),
        (s[3] << n) | (s[2] >> m),
    )


@compiled
def down(s, n):
    """The set moved ``n`` cells back: 1 is west, 15 north-east, 16 north, 17 north-west."""
    m = _W - n
    return (
        (s[0] >> n) | (s[1] << m),
        (s[1] >> n) | (s[2] << m),
        (s[2] >> n) | (s[3] << m),
        s[3] >> n,
    )


@compiled
def both(s, t):
    """Intersection."""
    return s[0] & t[0], s[1] & t[1], s[2] & t[2], s[3] & t[3]


@compiled
def either(s, t):
    """Union."""
    return s[0] | t[0], s[1] | t[1], s[2] | t[2], s[3] | t[3]


@compiled
def without(s, t):
    """Those of ``s`` that are not in ``t``."""
    return s[0] & ~t[0], s[1] & ~t[1], s[2] & ~t[2], s[3] & ~t[3]


@compiled
def size(s):
    """How many squares are in the set."""
    return count_ones(s[0]) + count_ones(s[1]) + count_ones(s[2]) + count_ones(s[3])


@compiled
def beside(s):
    """Everything adjacent to a square of ``s``, border cells included."""
    sides = either(up(s, EAST), down(s, EAST))
    band = either(s, sides)
    return either(sides, either(up(band, SOUTH), down(band, SOUTH)))
