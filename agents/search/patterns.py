"""Evaluates a position by its patterns: a sum of table values, of which a move changes few.

The evaluation adds up, for each square of the board, a value of the 3 x 3 *pattern* around it, of
the four *lines* through it (``lines.py``) if the tables have any, and of the piece on it, by its
place on the board and its place beside the stone. It adds a value of the numbers of dwarfs and of
trolls. There is a table for each side to move. ``training/fit_evaluation`` fits the tables to
self-play.

A pattern's code has a trinary digit for each of its nine squares, counted from the top left::

    code of the centre = sum of 3**k * piece(k),  piece: 0 empty, 1 dwarf, 2 troll        0 1 2
                                                                                          3 4 5
                                                                                          6 7 8

The stone and what is off the board count as empty, and a pattern whose centre is on the perimeter,
off the board or the stone has codes of its own (``CODE_OF_CELL``, ``AT_STONE``).

A piece that moves changes at most 18 patterns and 40 lines. So the value of a position is updated
from move to move, and all quiet moves of a position are evaluated without playing one
(``judge_moves``): most take a few additions. Efficiently updatable evaluations are an idea of
Nasu's ("NNUE", 2018), tables of patterns one of Buro's ("Experiments with Multi-ProbCut and a new
high-quality evaluation function for Othello", 1997).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.lines import (
    CODES_SIZE,
    LINE_REACH,
    judge_lines,
    put_in_lines,
    value_of,
    would_put_in_line,
)
from thud_env.actions import MOVE_DIRECTION, MOVE_DISTANCE, MOVE_FROM, MOVE_TO
from thud_env.board import (
    CELL_OF_SQUARE,
    CELL_STEP,
    IS_GOAL_CELL,
    IS_PERIMETER_CELL,
    NUM_AXES,
    NUM_CELLS,
    NUM_DIRECTIONS,
    STRIDE,
)
from thud_env.jit.bits import natural, trailing_zeros
from thud_env.jit.compile import compiled, inlined
from thud_env.jit.lanes import differing
from thud_env.rules.moves import count_adjacent
from thud_env.rules.row import (
    DWARF,
    DWARF_CELLS,
    DWARFS,
    EMPTY,
    NUM_DWARFS,
    NUM_TROLLS,
    STONE,
    STONE_CELL,
    TO_MOVE,
    TROLL,
    TROLL_CELLS,
    TROLLS,
    num_dwarf_cells,
)
from thud_env.rules.traits import stone_wins, trolls_keep_off_edge
from thud_env.rulesets import TROLLS_TO_SURROUND

NUM_PATTERNS = 3**9
NUM_PIECES = 4
"""Empty, dwarf, troll and stone, as in a state row."""
NUM_PLACES = 32 * 32
"""Places beside the stone, its own in the middle: 32 rows by 32 columns, more than needed."""

PATTERN_STEP = np.array(
    [STRIDE * row + column for row in (-1, 0, 1) for column in (-1, 0, 1)], dtype=np.int64
)
"""[9] the steps from a pattern's centre to its squares."""
DIGIT = np.array([3**k for k in range(9)], dtype=np.int64)
INNER, RIM, AT_STONE, OUTSIDE = (region * NUM_PATTERNS for region in range(4))
"""Where the codes of the four kinds of centre begin. Those of OUTSIDE have the value 0."""
NUM_CODES = 4 * NUM_PATTERNS

CODE_OF_CELL: NDArray[np.int32] = np.full(NUM_CELLS, OUTSIDE, dtype=np.int32)
"""[272] the code of an empty pattern with this centre."""
CODE_OF_CELL[CELL_OF_SQUARE] = np.where(IS_PERIMETER_CELL[CELL_OF_SQUARE], RIM, INNER)
ROW_AND_COLUMN = np.array([32 * (c // STRIDE) + c % STRIDE for c in range(NUM_CELLS)])
"""[272] row and column in one number, so that equal steps are equal differences."""
SAME_PLACE = 32 * 16 + 16

UNKNOWN = 1 << 30
"""The value of a move that was not evaluated."""


class Tables(NamedTuple):
    """The evaluation of one ruleset, in hundredths of a point from the dwarfs' view. The last
    index is the side to move.
    """

    patterns: NDArray[np.int16]
    """[2 * 78732] by code and side: of a code c at 2 * c and 2 * c + 1."""
    lines: NDArray[np.int16]
    """[2 * 2048] likewise, or [0]: lines do not count."""
    pieces: NDArray[np.int16]
    """[4, 272, 2] by piece and cell."""
    beside_stone: NDArray[np.int16]
    """[4, 1024, 2] by piece and ``place_beside``."""
    counts: NDArray[np.int16]
    """[33, 9, 2] by the number of dwarfs and of trolls."""
    constant: NDArray[np.int64]
    """[2]."""


@inlined
def place_beside(cell, stone):
    """The place of ``cell`` beside the stone's: 0 .. 1023."""
    return SAME_PLACE + ROW_AND_COLUMN[natural(cell)] - ROW_AND_COLUMN[natural(stone)]


@inlined
def _alone(tables, piece, cell, stone, side):
    """The value of a piece by its place on the board and beside the stone."""
    return int(tables.pieces[piece, cell, side]) + int(
        tables.beside_stone[piece, natural(place_beside(cell, stone)), side]
    )


@inlined
def _by_counts(row, tables, side):
    """What it is worth that there are so many pieces."""
    return int(tables.counts[natural(row[NUM_DWARFS]), natural(row[NUM_TROLLS]), side])


@inlined
def _put(codes, patterns, cell, piece, sign, side):
    """Add a piece to the patterns that its cell is in or, with a ``sign`` of -1, remove it. Returns
    the change of value for one side to move.
    """
    change = 0
    for k in range(9):
        centre = natural(cell - PATTERN_STEP[k])
        old = natural(codes[centre])
        new = natural(old + sign * piece * DIGIT[k])
        codes[centre] = new
        change += value_of(patterns, new, side) - value_of(patterns, old, side)
    return change


@inlined
def _would_put(codes, patterns, cell, piece, side):
    """The change of value if a piece were added."""
    change = 0
    for k in range(9):
        old = natural(codes[natural(cell - PATTERN_STEP[k])])
        new = natural(old + piece * DIGIT[k])
        change += value_of(patterns, new, side) - value_of(patterns, old, side)
    return change


@inlined
def _have_lines(tables):
    """Whether lines count."""
    return tables.lines.shape[0] > 0


@compiled
def copy_codes(target, source, tables):
    """Overwrite one position's codes with another's."""
    for i in range(CODES_SIZE if _have_lines(tables) else NUM_CELLS):
        target[i] = source[i]


@compiled
def has_replies(row):
    """Whether the battle certainly goes on after any quiet move of a piece other than the stone, if
    no limit is near: the opponent's pieces have two squares to step to, of which a move takes at
    most one, and the stone cannot be won or lost at once.
    """
    side = row[TO_MOVE]
    off_edge = stone_wins(row) or trolls_keep_off_edge(row)
    if stone_wins(row):
        stone = row[STONE_CELL]
        if side == DWARFS and IS_GOAL_CELL[stone]:
            return False
        if side == TROLLS and count_adjacent(row, stone, TROLL) >= TROLLS_TO_SURROUND - 1:
            return False
    first, count = TROLL_CELLS, int(row[NUM_TROLLS])
    if side == TROLLS:
        first, count = DWARF_CELLS, num_dwarf_cells(row)
    found = -1
    for i in range(first, first + count):
        cell = int(row[i])
        if row[cell] == STONE:
            continue
        for direction in range(NUM_DIRECTIONS):
            target = cell + int(CELL_STEP[direction])
            if row[target] != EMPTY or target == found:
                continue
            if side == DWARFS and off_edge and IS_PERIMETER_CELL[target]:
                continue  # trolls may be barred from it
            if found >= 0:
                return True
            found = target
    return False


@compiled
def judge_afresh(row, tables, codes, sums):
    """Compute the codes of a position, and its value for each side to move.

    Args:
        row: [432] a state row.
        tables: of its ruleset.
        codes: [1360] int32, written.
        sums: [2] int64, written; from the dwarfs' view.
    """
    stone = int(row[STONE_CELL])
    for cell in range(NUM_CELLS):
        codes[cell] = CODE_OF_CELL[cell]
    for side in range(2):
        sums[side] = tables.constant[side] + _by_counts(row, tables, side)
    codes[stone] = AT_STONE
    for cell in range(STRIDE, NUM_CELLS - STRIDE):
        piece = natural(row[cell])
        if piece == EMPTY or piece > STONE:
            continue
        for side in range(2):
            sums[side] += _alone(tables, piece, cell, stone, side)
        if piece != STONE:
            for k in range(9):
                codes[cell - PATTERN_STEP[k]] += piece * DIGIT[k]
    for cell in range(STRIDE, NUM_CELLS - STRIDE):
        code = natural(codes[cell])
        sums[0] += value_of(tables.patterns, code, 0)
        sums[1] += value_of(tables.patterns, code, 1)
    if _have_lines(tables):
        judge_lines(row, tables.lines, codes, sums)


@compiled
def judge_change(before, after, tables, codes, sums):
    """Update codes and sums from one position to the next.

    Args:
        before, after: [432] state rows.
        tables: of their ruleset.
        codes, sums: those of ``before``; become those of ``after``.
    """
    stone = int(after[STONE_CELL])
    if before[STONE_CELL] != stone:
        judge_afresh(after, tables, codes, sums)
        return
    for side in range(2):
        sums[side] += _by_counts(after, tables, side) - _by_counts(before, tables, side)
    for first in range(0, NUM_CELLS - 63, 64):
        changed = differing(before, after, first)
        while changed != 0:
            cell = natural(first + trailing_zeros(changed))
            changed &= changed - 1
            old, new = natural(before[cell]), natural(after[cell])
            step = new - old
            for side in range(2):
                sums[side] += _alone(tables, new, cell, stone, side)
                sums[side] -= _alone(tables, old, cell, stone, side)
            for k in range(9):
                centre = natural(cell - PATTERN_STEP[k])
                was = natural(codes[centre])
                now = natural(was + step * DIGIT[k])
                codes[centre] = now
                sums[0] += value_of(tables.patterns, now, 0) - value_of(tables.patterns, was, 0)
                sums[1] += value_of(tables.patterns, now, 1) - value_of(tables.patterns, was, 1)
            if _have_lines(tables):
                dwarfs, trolls = put_in_lines(codes, tables.lines, cell, step)
                sums[DWARFS] += dwarfs
                sums[TROLLS] += trolls


@compiled
def judge_moves(row, decisions, count, tables, codes, sums, arrivals, values):
    """Evaluate the position after each move that captures nothing, for the side that moves.

    Args:
        row: [432] a state row at the start of a turn.
        decisions: [count] int32 its legal moves, those of a piece together.
        count: how many.
        tables: of its ruleset.
        codes, sums: its own; ``codes`` is changed and restored.
        arrivals: [1360] int32, scratch space.
        values: [count] int32, written: hundredths of a point with the opponent to move; UNKNOWN for
            moves of the stone and hurls. Other captures are not counted.
    """
    side = int(row[TO_MOVE])
    other = 1 - side
    mine = DWARF if side == DWARFS else TROLL
    sign = 1 if side == DWARFS else -1
    stone = int(row[STONE_CELL])
    patterns, lines = tables.patterns, tables.lines
    with_lines = _have_lines(tables)
    base = sums[other]
    for i in range(CODES_SIZE if with_lines else NUM_CELLS):
        arrivals[i] = UNKNOWN
    start = -1
    leaving = 0
    for i in range(count):
        action = natural(decisions[i])
        if MOVE_FROM[action] != start:
            if start >= 0 and row[start] != STONE:
                _put(codes, patterns, start, mine, 1, other)
                if with_lines:
                    put_in_lines(codes, lines, start, mine)
            start = natural(MOVE_FROM[action])
            if row[start] != STONE:
                leaving = _put(codes, patterns, start, mine, -1, other)
                leaving -= _alone(tables, mine, start, stone, other)
                if with_lines:
                    leaving += put_in_lines(codes, lines, start, -mine)[other]
        target = natural(MOVE_TO[action])
        if row[start] == STONE or row[target] != EMPTY:
            values[i] = UNKNOWN
            continue
        change = leaving
        # What is far from the start is changed alike by all moves to this target.
        if MOVE_DISTANCE[action] <= 2:
            change += _would_put(codes, patterns, target, mine, other)
            change += _alone(tables, mine, target, stone, other)
        else:
            if arrivals[target] == UNKNOWN:
                arrivals[target] = _would_put(codes, patterns, target, mine, other) + _alone(
                    tables, mine, target, stone, other
                )
            change += arrivals[target]
        if with_lines:
            along = MOVE_DIRECTION[action] % NUM_AXES
            for axis in range(NUM_AXES):
                if axis == along and MOVE_DISTANCE[action] <= 2 * LINE_REACH:
                    change += would_put_in_line(codes, lines, axis, target, mine, other)
                    continue
                known = natural((1 + axis) * NUM_CELLS + target)
                if arrivals[known] == UNKNOWN:
                    arrivals[known] = would_put_in_line(codes, lines, axis, target, mine, other)
                change += arrivals[known]
        values[i] = sign * (base + change)
    if start >= 0 and row[start] != STONE:
        _put(codes, patterns, start, mine, 1, other)
        if with_lines:
            put_in_lines(codes, lines, start, mine)
