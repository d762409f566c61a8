"""Observations: one table of planes that is both the documentation and the code.

An observation is [C, 15, 15] float32, the board as printed (row 0 at the top, column A on
the left), every value in [0, 1]. It shows the whole state, the same to both sides: the
sides are different enough that nothing is gained by turning the board round. Planes that
speak of the whole game are constant over the 15 x 15 grid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thud_env.board import CELL_OF_SQUARE, NUM_CELLS, NUM_SQUARES, SIZE, SQUARE_POSITIONS, STRIDE
from thud_env.jit.bits import natural, trailing_zeros
from thud_env.jit.compile import compiled, compiled_with_arrays
from thud_env.jit.lanes import differing
from thud_env.rules.row import (
    ANSWER_OFFER,
    DWARF,
    EMPTY,
    MAX_QUIET_TURNS,
    MAX_TURNS,
    OFF_BOARD,
    OFFER_AFTER,
    OFFER_WAIT,
    PENDING,
    PENDING_CELL,
    QUIET_TURNS,
    ROW_SIZE,
    TAKE_ONE,
    TAKE_SOME,
    TO_MOVE,
    TURNS,
    copy_row,
)


@dataclass(frozen=True)
class Plane:
    """One plane of an observation."""

    name: str
    shows: str


PLANES = (
    Plane("dwarfs", "1 where a dwarf stands"),
    Plane("trolls", "1 where a troll stands"),
    Plane("stone", "1 where the Thudstone, the Rock or the ball stands"),
    Plane("board", "1 on the 165 squares, 0 on the cut corners"),
    Plane("trolls_to_move", "all 1 if the trolls decide next, all 0 if the dwarfs do"),
    Plane("deciding_troll", "1 on the troll that may now capture or trample on"),
    Plane("one_capture", "all 1 if that troll may capture one dwarf at most"),
    Plane("capture_owed", "all 1 if that troll must still capture a dwarf"),
    Plane("quiet_turns", "all: turns without a capture or a move of the stone / max_quiet_turns"),
    Plane("turns", "all: turns played / max_turns"),
    Plane("offer", "all 1 if an offer to end the battle awaits its answer"),
    Plane("dwarfs_wait", "all: own turns before the dwarfs may offer again / offer_after"),
    Plane("trolls_wait", "all: own turns before the trolls may offer again / offer_after"),
)
NUM_PLANES = len(PLANES)
OBSERVATION_SHAPE = (NUM_PLANES, SIZE, SIZE)

NUM_POINTS = SIZE * SIZE
CHANGING_PLANES = (4, 8, 9)
"""The planes that nearly every decision changes in whole: who decides, and the clocks."""
BYTE_UNIT = 255.0
"""What stands for 1 in uint8 planes."""

_POINT_OF_CELL: NDArray[np.int16] = np.zeros(NUM_CELLS, dtype=np.int16)
_POINT_OF_CELL[CELL_OF_SQUARE] = [SIZE * row + col for row, col in SQUARE_POSITIONS]
_BOARD_POINTS: NDArray[np.int16] = _POINT_OF_CELL[CELL_OF_SQUARE]

NOTHING_SHOWN: NDArray[np.int16] = np.zeros(ROW_SIZE, dtype=np.int16)
"""[432] the row that ``clear_planes`` shows: an empty board and all clocks at 0."""
NOTHING_SHOWN[:NUM_CELLS] = OFF_BOARD
NOTHING_SHOWN[CELL_OF_SQUARE] = EMPTY
NOTHING_SHOWN[[MAX_QUIET_TURNS, MAX_TURNS, OFFER_AFTER]] = 1


_SOURCE: NDArray[np.int16] = np.full(NUM_PLANES, -1, dtype=np.int16)
"""[C] the field of a row that a plane constant over the board follows, -1 for the others."""
_SOURCE[[4, 6, 7, 8, 9, 10, 11, 12]] = (
    *(TO_MOVE, PENDING, PENDING, QUIET_TURNS, TURNS, PENDING),
    *(OFFER_WAIT, OFFER_WAIT + 1),
)


@compiled
def _level(row, plane):
    """The value of a plane that is constant over the board."""
    pending = row[PENDING]
    if plane == 4:
        return float(row[TO_MOVE])
    if plane == 6:
        return 1.0 if pending == TAKE_ONE else 0.0
    if plane == 7:
        return 1.0 if pending == TAKE_SOME else 0.0
    if plane == 8:
        return row[QUIET_TURNS] / row[MAX_QUIET_TURNS]
    if plane == 9:
        return row[TURNS] / row[MAX_TURNS]
    if plane == 10:
        return 1.0 if pending == ANSWER_OFFER else 0.0
    return row[OFFER_WAIT + plane - 11] / row[OFFER_AFTER]


_FIRST_CELL = STRIDE
"""Before it, and after 256 cells more, there is only border."""


@compiled
def _in_units(level, unit):
    """A level as the planes hold it: uint8 ones round to the nearest of 256."""
    return level if unit == 1.0 else float(int(level * unit + 0.5))


@compiled
def _update_pieces(row, shown, planes, unit):
    """Bring the planes of dwarfs, trolls, the stone and the deciding troll up to date."""
    for start in range(_FIRST_CELL, NUM_CELLS, 64):
        changed = differing(row, shown, start)
        while changed != 0:
            cell = start + trailing_zeros(changed)
            point = natural(_POINT_OF_CELL[cell])
            if shown[cell] != EMPTY:
                planes[natural(shown[cell] - DWARF), point] = 0
            if row[cell] != EMPTY:
                planes[natural(row[cell] - DWARF), point] = unit
            changed &= changed - 1
    if row[PENDING_CELL] != shown[PENDING_CELL]:
        if shown[PENDING_CELL] != 0:
            planes[5, _POINT_OF_CELL[shown[PENDING_CELL]]] = 0
        if row[PENDING_CELL] != 0:
            planes[5, _POINT_OF_CELL[row[PENDING_CELL]]] = unit


@compiled
def clear_planes(planes, unit):
    """Show ``NOTHING_SHOWN`` in [C, 225] planes; see ``update_planes``."""
    for plane in range(NUM_PLANES):
        for point in range(NUM_POINTS):
            planes[plane, point] = 0
    for square in range(NUM_SQUARES):
        planes[3, _BOARD_POINTS[square]] = unit


@compiled
def update_planes(row, shown, planes, unit):
    """Bring planes up to date, writing only what changed.

    Args:
        row: [432] the state row to show.
        shown: [432] the state row that the planes show so far; overwritten with ``row``.
        planes: [C, 225] float32 or uint8, the planes flattened; overwritten.
        unit: what stands for 1: 1.0 for float32, ``BYTE_UNIT`` for uint8.
    """
    _update_pieces(row, shown, planes, unit)
    same_limits = True
    for field in range(MAX_QUIET_TURNS, OFFER_AFTER + 1):
        same_limits = same_limits and row[field] == shown[field]
    for plane in range(4, NUM_PLANES):
        source = _SOURCE[plane]
        if source >= 0 and not (same_limits and row[source] == shown[source]):
            level = _in_units(_level(row, plane), unit)
            for point in range(NUM_POINTS):
                planes[plane, point] = level
    copy_row(shown, row)


@compiled
def value_at(row, plane, point, unit):
    """One value of a row's observation: what ``update_planes`` writes, seen from one point.

    Args:
        row: [432] a state row.
        plane: 0 .. C-1.
        point: 15 * row + column, 0 .. 224.
        unit: what stands for 1; see ``update_planes``.
    """
    if _SOURCE[plane] >= 0:
        return _in_units(_level(row, plane), unit)
    cell = STRIDE * (point // SIZE + 1) + point % SIZE
    if plane == 3:
        return unit if row[cell] != OFF_BOARD else 0.0
    if plane == 5:
        return unit if row[PENDING_CELL] == cell else 0.0
    return unit if row[cell] == DWARF + plane else 0.0


@compiled_with_arrays
def encode_row(row, planes):
    """Write the observation of one state row, [432], into [>= C, 225] float32 planes."""
    shown = np.empty(ROW_SIZE, dtype=np.int16)
    copy_row(shown, NOTHING_SHOWN)
    clear_planes(planes, 1.0)
    update_planes(row, shown, planes, 1.0)


@compiled_with_arrays
def _encode_each(rows, planes):
    for game in range(rows.shape[0]):
        encode_row(rows[game], planes[game])


def encode_rows(rows: NDArray[np.int16]) -> NDArray[np.float32]:
    """The observations of [N, 432] state rows, [N, C, 15, 15] float32."""
    planes = np.empty((len(rows), NUM_PLANES, NUM_POINTS), dtype=np.float32)
    _encode_each(rows, planes)
    return planes.reshape(len(rows), *OBSERVATION_SHAPE)
