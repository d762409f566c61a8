"""How pieces move (docs/rules.md, sections 2 to 4). Everything follows from ``piece_moves``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thud_env.actions import MOVE_OFFSET
from thud_env.board import (
    CELL_OF_SQUARE,
    CELL_STEP,
    IS_PERIMETER_CELL,
    LINE_OF_CELL,
    NUM_AXES,
    NUM_CELLS,
    NUM_DIRECTIONS,
    POINT_OF_CELL,
    RAY_LENGTH,
)
from thud_env.jit.bits import choose, count_ones, leading_zeros, natural, trailing_zeros
from thud_env.jit.compile import compiled, inlined
from thud_env.jit.lanes import neighbours
from thud_env.rules.row import DWARF, EMPTY, TAKEN_LINES, TROLL
from thud_env.rules.traits import (
    dwarfs_hurl,
    stone_goes_far,
    trolls_capture_beside,
    trolls_keep_off_edge,
    trolls_trample,
)

TROLL_REACH = 3
"""Squares that a troll goes at most where it does not capture beside (section 3)."""

_SQUARES_BEFORE_EDGE: NDArray[np.int16] = np.zeros((NUM_CELLS, NUM_DIRECTIONS), dtype=np.int16)
"""[272, 8] how many squares lie beyond a square in each direction, before one on the edge."""
_STEPS_OFF_EDGE: NDArray[np.int16] = np.zeros(NUM_CELLS, dtype=np.int16)
"""[272] the directions in which there is such a square, a bit each."""
for _cell, _rays in zip(CELL_OF_SQUARE, RAY_LENGTH, strict=True):
    for _direction, (_step, _length) in enumerate(zip(CELL_STEP, _rays, strict=True)):
        _ray = [bool(IS_PERIMETER_CELL[_cell + i * _step]) for i in range(1, _length + 1)]
        _inside = _ray.index(True) if True in _ray else len(_ray)
        _SQUARES_BEFORE_EDGE[_cell, _direction] = _inside
        _STEPS_OFF_EDGE[_cell] |= (_inside > 0) << _direction


@inlined
def _run_up(line, point):
    """How many squares of a line are free next above a point."""
    return trailing_zeros(line >> (point + 1))


@inlined
def _run_down(line, point):
    """How many squares of a line are free next below a point."""
    return min(leading_zeros((line << (63 - point)) << 1), point)


@inlined
def empty_run(row, cell, direction):
    """How many empty squares lie next to ``cell`` in a row, in one direction."""
    axis = direction % NUM_AXES
    line = int(row[TAKEN_LINES + natural(LINE_OF_CELL[cell, axis])])
    point = natural(POINT_OF_CELL[cell, axis])
    return choose(direction < NUM_AXES, _run_up(line, point), _run_down(line, point))


@compiled
def line_length(row, cell, step):
    """N: the unbroken line of like pieces of which the one on ``cell`` is the front."""
    piece = row[natural(cell)]
    length = 1
    cell -= step
    while row[natural(cell)] == piece:
        length += 1
        cell -= step
    return length


@inlined
def count_adjacent(row, cell, piece):
    """How many of the eight neighbours of ``cell`` hold ``piece``."""
    return count_ones(neighbours(row, cell, piece))


@inlined
def _troll_reach(row, cell, direction, reach):
    """How many of the next ``reach`` squares a troll may go to.

    Ruling, section 4: trolls keep off the edge.
    """
    if trolls_keep_off_edge(row):
        return min(reach, int(_SQUARES_BEFORE_EDGE[cell, direction]))
    return reach


@inlined
def can_trample(row, cell, direction):
    """Whether a troll on ``cell`` can jump a dwarf onto the square behind it."""
    step = CELL_STEP[direction]
    if row[natural(cell + step)] != DWARF or row[natural(cell + 2 * step)] != EMPTY:
        return False
    return _troll_reach(row, cell, direction, 2) == 2


@compiled
def _troll_slides(row, cell, direction, run):
    """Up to three squares; or one jump over a dwarf, where trolls trample (section 3)."""
    if trolls_trample(row) and can_trample(row, cell, direction):
        return 0b10
    return (1 << _troll_reach(row, cell, direction, min(run, TROLL_REACH))) - 1


@compiled
def _stone_ray(row, cell, direction, run):
    """The Rock goes one square (section 3), the ball any distance (section 4), from beside a
    dwarf to beside a dwarf.

    Ruling, section 4: the ball goes from dwarf to dwarf.
    """
    step = int(CELL_STEP[direction])
    if count_adjacent(row, cell, DWARF) == 0:
        return 0
    moves = 0
    for distance in range(1, (run if stone_goes_far(row) else min(run, 1)) + 1):
        if count_adjacent(row, cell + distance * step, DWARF) > 0:
            moves |= 1 << (distance - 1)
    return moves


@inlined
def _faces(row, cell, run, step):
    """Whether the piece across ``run`` empty squares is a dwarf, and beside ``cell`` or with
    another behind it.
    """
    front = cell + (run + 1) * step
    is_dwarf = row[natural(front)] == DWARF
    behind = natural(front + step * is_dwarf)
    return is_dwarf & ((run == 0) | (row[behind] == DWARF))


@inlined
def faced_by(row, cell):
    """The directions in which a dwarf is the first piece that is seen from a troll's cell, and so
    near or so well supported that it may be hurled at it. A set of directions.
    """
    found = 0
    for axis in range(NUM_AXES):
        line = int(row[TAKEN_LINES + natural(LINE_OF_CELL[cell, axis])])
        point = natural(POINT_OF_CELL[cell, axis])
        step = int(CELL_STEP[axis])
        found |= _faces(row, cell, _run_up(line, point), step) << axis
        found |= _faces(row, cell, _run_down(line, point), -step) << (axis + NUM_AXES)
    return found


@inlined
def _opposite(directions):
    """The set of the directions opposite to those of a set of bits."""
    return (directions << 4 | directions >> 4) & 0xFF


@inlined
def glides(row, cell):
    """Any distance over empty squares, in every direction; and the directions in which a troll
    is what ends them.
    """
    moves = 0
    trolls = 0
    for axis in range(NUM_AXES):
        line = int(row[TAKEN_LINES + natural(LINE_OF_CELL[cell, axis])])
        point = natural(POINT_OF_CELL[cell, axis])
        up = _run_up(line, point)
        down = _run_down(line, point)
        moves |= ((1 << up) - 1) << natural(MOVE_OFFSET[cell, axis])
        moves |= ((1 << down) - 1) << natural(MOVE_OFFSET[cell, axis + NUM_AXES])
        step = int(CELL_STEP[axis])
        trolls |= (row[natural(cell + (up + 1) * step)] == TROLL) << axis
        trolls |= (row[natural(cell - (down + 1) * step)] == TROLL) << (axis + NUM_AXES)
    return moves, trolls


@inlined
def _glides_and_hurls(row, cell):
    """Any distance over empty squares; or hurled, as far as the line behind is long, onto a
    troll (section 2). The squares up to the troll are empty, so its distance is one more than
    theirs.
    """
    moves, targets = glides(row, cell)
    # A line of one reaches a neighbour, and a longer one has a dwarf behind.
    targets &= neighbours(row, cell, TROLL) | _opposite(neighbours(row, cell, DWARF))
    while targets != 0:
        direction = trailing_zeros(targets)
        run = empty_run(row, cell, direction)
        if line_length(row, cell, int(CELL_STEP[direction])) > run:
            moves |= 1 << (run + natural(MOVE_OFFSET[cell, direction]))
        targets &= targets - 1
    return moves


@inlined
def troll_steps(row, cell):
    """One square in any direction (sections 2 and 3). A set of directions."""
    steps = neighbours(row, cell, EMPTY)
    return steps & natural(_STEPS_OFF_EDGE[cell]) if trolls_keep_off_edge(row) else steps


@inlined
def _where_shove_has_two_trolls(row, cell):
    """The directions in which a troll has another behind it.

    Ruling, section 2: a shove needs two trolls.
    """
    return _opposite(neighbours(row, cell, TROLL))


@inlined
def troll_shoves(row, cell):
    """Two squares or more for the front of a line of trolls (section 2). A word of moves. A shove
    by one square moves as a step does.
    """
    moves = 0
    shoved = neighbours(row, cell, EMPTY) & _where_shove_has_two_trolls(row, cell)
    while shoved != 0:
        direction = trailing_zeros(shoved)
        moves |= _shoves(row, cell, direction) << natural(MOVE_OFFSET[cell, direction])
        shoved &= shoved - 1
    return moves


@inlined
def _steps_and_shoves(row, cell):
    moves = troll_shoves(row, cell)
    steps = troll_steps(row, cell)
    for direction in range(NUM_DIRECTIONS):
        moves |= ((steps >> direction) & 1) << natural(MOVE_OFFSET[cell, direction])
    return moves


@compiled
def _shoves(row, cell, direction):
    """Along one direction: as far as the line of trolls is long, onto squares next to a dwarf."""
    step = int(CELL_STEP[direction])
    moves = 0
    reach = min(empty_run(row, cell, direction), line_length(row, cell, step))
    for distance in range(2, _troll_reach(row, cell, direction, reach) + 1):
        if count_adjacent(row, cell + distance * step, DWARF) > 0:
            moves |= 1 << (distance - 1)
    return moves


@compiled
def _moves_by_ray(row, cell):
    """The moves of the stone, or of a troll that slides, one direction after the other."""
    moves = 0
    for direction in range(NUM_DIRECTIONS):
        run = empty_run(row, cell, direction)
        if row[cell] == TROLL:
            reach = _troll_slides(row, cell, direction, run)
        else:
            reach = _stone_ray(row, cell, direction, run)
        moves |= reach << natural(MOVE_OFFSET[cell, direction])
    return moves


@compiled
def piece_moves(row, cell):
    """All legal moves of the piece on ``cell``, at the start of a turn: bit b of the result is
    the action ``MOVE_BASE[cell, 0] + b``. The side to move is not looked at (see ``may_move``).
    ``draw.py`` draws from the same moves without listing them.
    """
    cell = natural(cell)
    piece = row[cell]
    if piece == DWARF:
        if dwarfs_hurl(row):
            return _glides_and_hurls(row, cell)
        return glides(row, cell)[0]
    if piece == TROLL and trolls_capture_beside(row):
        return _steps_and_shoves(row, cell)
    return _moves_by_ray(row, cell)


@inlined
def may_step(row, cell):
    """Whether a dwarf or a troll can go one square. It may have other moves."""
    if row[cell] == TROLL:
        return troll_steps(row, cell) != 0
    return row[cell] == DWARF and neighbours(row, cell, EMPTY) != 0
