"""Attack planes: what each side could reach, strike and lose, as input of a network.

A network of a few 3 x 3 convolutions cannot see along a line of seven dwarfs to the troll that they
aim at. These planes, computed from a state row, show it. They add no information: all of it follows
from the observation and the rules.

All that is added up is a multiple of 1/8, so sums are exact in any order: on a GPU a thread each
shows what a piece does (``attacks_cuda.py``).

Both sides' planes show the moves that the side would have if it were to move.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.networks.threats import NUM_THREAT_PLANES, point_of, show_threats
from thud_env.actions import MOVE_BASE, MOVE_TO
from thud_env.board import (
    CELL_OF_SQUARE,
    CELL_STEP,
    NUM_DIRECTIONS,
    NUM_SQUARES,
    SIZE,
)
from thud_env.jit.atomic import add
from thud_env.jit.bits import natural, trailing_zeros
from thud_env.jit.compile import compiled, compiled_with_arrays
from thud_env.rules.check import as_rows
from thud_env.rules.moves import count_adjacent, empty_run, line_length, piece_moves
from thud_env.rules.row import (
    DWARF,
    DWARF_CELLS,
    EMPTY,
    NUM_TROLLS,
    OFF_BOARD,
    STONE,
    TROLL,
    TROLL_CELLS,
    num_dwarf_cells,
)
from thud_env.rules.traits import (
    dwarfs_hurl,
    dwarfs_sandwich,
    trolls_capture_beside,
    trolls_trample,
)
from thud_env.rulesets import MAX_DWARFS, MAX_TROLLS
from thud_env.views.encoding import NUM_POINTS, Plane

ATTACK_PLANES = (
    Plane("dwarf_moves", "dwarfs that could move there / 8"),
    Plane("dwarf_strikes", "where a dwarf could strike, a troll there or not / 4"),
    Plane("trolls_struck", "strikes that would capture the troll there / 4"),
    Plane("troll_moves", "trolls that could move there / 8"),
    Plane("troll_leaps", "how far lines of trolls could be shoved, onto dwarfs or not"),
    Plane("troll_captures", "dwarfs that a troll moving there would be beside / 8"),
    Plane("dwarfs_struck", "moves of trolls that would end beside the dwarf there / 8"),
    Plane("dwarfs_unsafe", "free squares beside such ends, where a dwarf would be struck / 8"),
    Plane("stone_moves", "where the stone could be moved"),
)
"""Classic strikes are hurls; in Koom Valley, sandwiches and tramples."""
NUM_ATTACK_PLANES = len(ATTACK_PLANES)
NUM_PIECES = MAX_DWARFS + MAX_TROLLS

(
    _DWARF_MOVES,
    _DWARF_STRIKES,
    _TROLLS_STRUCK,
    _TROLL_MOVES,
    _TROLL_LEAPS,
    _TROLL_CAPTURES,
    _DWARFS_STRUCK,
    _DWARFS_UNSAFE,
    _STONE_MOVES,
) = range(NUM_ATTACK_PLANES)


@compiled
def _show_moves(row, cell, planes, plane, share):
    """Add ``share`` wherever the piece on ``cell`` may move."""
    first = MOVE_BASE[cell, 0]
    moves = piece_moves(row, cell)
    while moves != 0:
        add(planes, plane, point_of(MOVE_TO[first + trailing_zeros(moves)]), share)
        moves &= moves - 1


@compiled
def _show_hurls(row, front, planes):
    """Along each direction, the squares that the line behind ``front`` is long enough for."""
    for direction in range(NUM_DIRECTIONS):
        step = int(CELL_STEP[direction])
        length = line_length(row, front, step)
        run = empty_run(row, front, direction)
        for distance in range(1, min(length, run) + 1):
            add(planes, _DWARF_STRIKES, point_of(front + distance * step), 0.25)
        if length > run and row[front + (run + 1) * step] == TROLL:
            point = point_of(front + (run + 1) * step)
            add(planes, _DWARF_STRIKES, point, 0.25)
            add(planes, _TROLLS_STRUCK, point, 0.25)


@compiled
def _show_leaps(row, cell, planes):
    """Classic: where the troll on ``cell`` could be shoved, if it landed beside a dwarf there."""
    for direction in range(NUM_DIRECTIONS):
        step = int(CELL_STEP[direction])
        reach = min(empty_run(row, cell, direction), line_length(row, cell, step))
        for distance in range(1, reach + 1):
            planes[_TROLL_LEAPS, point_of(cell + distance * step)] = 1.0


@compiled
def show_landing(row, cell, planes):
    """Classic: the dwarfs beside a square that trolls can move to, and the unsafe free squares."""
    point = point_of(cell)
    moves = planes[_TROLL_MOVES, point] > 0
    if moves:
        planes[_TROLL_CAPTURES, point] = count_adjacent(row, cell, DWARF) / 8
    if not moves and planes[_TROLL_LEAPS, point] == 0:
        return
    for direction in range(NUM_DIRECTIONS):
        beside = natural(cell + CELL_STEP[direction])
        if row[beside] == DWARF and moves:
            add(planes, _DWARFS_STRUCK, point_of(beside), 0.125)
        if row[beside] == EMPTY:
            add(planes, _DWARFS_UNSAFE, point_of(beside), 0.125)


@compiled
def show_valley_strikes(row, planes):
    """Koom Valley: sandwiches, with the free square that lacks the second dwarf; and tramples, with
    the free square that a troll would land on. After all pieces.
    """
    sandwich, trample = dwarfs_sandwich(row), trolls_trample(row)
    if not (sandwich or trample):
        return
    for i in range(TROLL_CELLS, TROLL_CELLS + int(row[NUM_TROLLS])):
        troll = int(row[i])
        for direction in range(NUM_DIRECTIONS):
            step = int(CELL_STEP[direction])
            near, across = natural(troll + step), natural(troll - step)
            if sandwich and row[near] == EMPTY and row[across] == DWARF:
                add(planes, _DWARF_STRIKES, point_of(near), 0.25)
                if planes[_DWARF_MOVES, point_of(near)] > 0:
                    add(planes, _TROLLS_STRUCK, point_of(troll), 0.25)
            beyond = natural(near + step) if row[near] != OFF_BOARD else near
            if trample and row[near] == DWARF and row[beyond] == EMPTY:
                add(planes, _TROLL_CAPTURES, point_of(beyond), 0.125)
                add(planes, _DWARFS_STRUCK, point_of(near), 0.125)
            if trample and row[near] == EMPTY and row[beyond] == EMPTY:
                add(planes, _DWARFS_UNSAFE, point_of(near), 0.125)


@compiled
def show_piece(row, number, planes):
    """What one piece shows: the n-th of those that the dwarfs may move, or, from ``MAX_DWARFS`` on,
    of the trolls.
    """
    if number < MAX_DWARFS:
        if number >= num_dwarf_cells(row):
            return
        cell = natural(row[DWARF_CELLS + number])
        if row[cell] == STONE:
            _show_moves(row, cell, planes, _STONE_MOVES, 1.0)
            return
        _show_moves(row, cell, planes, _DWARF_MOVES, 0.125)
        if dwarfs_hurl(row):
            _show_hurls(row, cell, planes)
    elif number - MAX_DWARFS < row[NUM_TROLLS]:
        cell = natural(row[TROLL_CELLS + number - MAX_DWARFS])
        _show_moves(row, cell, planes, _TROLL_MOVES, 0.125)
        if trolls_capture_beside(row):
            _show_leaps(row, cell, planes)


@compiled
def has_threats(row):
    """Whether there are threat planes in a row's game."""
    return dwarfs_hurl(row) and trolls_capture_beside(row)


@compiled
def show_threats_at(row, square, planes):
    """Classic: the threat planes at one square, after all pieces. Changes and restores the row."""
    cell = natural(CELL_OF_SQUARE[square])
    threats = planes[NUM_ATTACK_PLANES:]
    show_threats(row, cell, planes[_DWARF_MOVES], planes[_TROLL_MOVES], threats)


@compiled
def show_attacks(row, planes):
    """Write the attack planes of one state row.

    Args:
        row: [432] a state row.
        planes: [9, 225] float32, overwritten; [13, 225] with the threat planes, for which the row
            is changed and restored.
    """
    for plane in range(planes.shape[0]):
        for point in range(NUM_POINTS):
            planes[plane, point] = 0
    for number in range(NUM_PIECES):
        show_piece(row, number, planes)
    if trolls_capture_beside(row):
        for square in range(NUM_SQUARES):
            show_landing(row, natural(CELL_OF_SQUARE[square]), planes)
    if planes.shape[0] > NUM_ATTACK_PLANES and has_threats(row):
        for square in range(NUM_SQUARES):
            show_threats_at(row, square, planes)
    show_valley_strikes(row, planes)


@compiled_with_arrays
def _show_each(rows, planes):
    for game in range(rows.shape[0]):
        show_attacks(rows[game], planes[game])


def attack_planes(rows: NDArray[np.int16], threats: bool = False) -> NDArray[np.float32]:
    """The attack planes of [N, 432] state rows, [N, 9, 15, 15] float32; with the threat planes
    (``threats.py``) after them [N, 13, 15, 15].

    Raises:
        RowError: if they are no integers of that shape. What they hold is not looked at.
    """
    rows = as_rows(rows)
    count = NUM_ATTACK_PLANES + NUM_THREAT_PLANES * threats
    planes = np.empty((len(rows), count, NUM_POINTS), dtype=np.float32)
    _show_each(rows.copy(), planes)  # threats change and restore them
    return planes.reshape(len(rows), count, SIZE, SIZE)
