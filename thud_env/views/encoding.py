"""Observations: one table of planes that is both the documentation and the code.

An observation is [C, 15, 15] float32, the board as printed (row 0 at the top, column A on
the left), every value in [0, 1]. It shows the same to both sides: the sides are different
enough that nothing is gained by turning the board round. Planes that speak of the whole game
are constant over the 15 x 15 grid.

In the published rulesets it shows the whole state but for ``agreement``, which is one for a
whole battle. It does not show whether a question is for all or none, which in rulesets of
one's own with ``step_captures`` "all" and ``shove_captures`` "any" depends on how the troll came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thud_env.board import CELL_OF_SQUARE, NUM_CELLS, NUM_SQUARES, SIZE, SQUARE_POSITIONS, STRIDE
from thud_env.jit.bits import natural, trailing_zeros
from thud_env.jit.compile import compiled, compiled_with_arrays
from thud_env.jit.lanes import differing
from thud_env.rules.check import as_rows, check_rows
from thud_env.rules.row import (
    ANSWER_OFFER,
    DWARF,
    DWARFS,
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
    STONE,
    TAKE_ONE,
    TAKE_SOME,
    TAKEN,
    TO_MOVE,
    TROLL,
    TROLLS,
    TURNS,
    copy_row,
)

WHERE, SQUARES, AT, IS, IS_NOT, SHARE, OTHER = range(7)
"""How a plane follows from a row, by its fields ``of`` and ``by``:

=======  ==================================================================
WHERE    1 on the cells that hold the piece ``of``
SQUARES  1 on the squares
AT       1 on the cell that the row's field ``of`` names, if it names one
IS       all 1 if the row's field ``of`` is ``by``, else all 0
IS_NOT   all 0 if the row's field ``of`` is ``by``, else all 1
SHARE    all: the row's field ``of`` divided by its field ``by``
OTHER    does not follow from the row: the environment writes it
=======  ==================================================================
"""


@dataclass(frozen=True)
class Plane:
    """One plane of an observation. Its number is its place in the table."""

    name: str
    shows: str
    kind: int = OTHER
    of: int = 0
    by: int = 0


PLANES = (
    Plane("dwarfs", "1 where a dwarf stands", WHERE, DWARF),
    Plane("trolls", "1 where a troll stands", WHERE, TROLL),
    Plane("stone", "1 where the Thudstone, the Rock or the ball stands", WHERE, STONE),
    Plane("board", "1 on the 165 squares, 0 on the cut corners", SQUARES),
    Plane(
        "trolls_to_move",
        "all 1 if the trolls decide next, all 0 if the dwarfs do",
        IS,
        TO_MOVE,
        TROLLS,
    ),
    Plane(
        "deciding_troll",
        "1 on the troll that may now capture or trample on",
        AT,
        PENDING_CELL,
    ),
    Plane(
        "one_capture",
        "all 1 if that troll may capture one dwarf at most",
        IS,
        PENDING,
        TAKE_ONE,
    ),
    Plane(
        "capture_owed",
        "all 1 if that troll must still capture a dwarf",
        IS,
        PENDING,
        TAKE_SOME,
    ),
    Plane(
        "has_captured",
        "all 1 if that troll has captured a dwarf in this turn",
        IS_NOT,
        TAKEN,
        0,
    ),
    Plane(
        "quiet_turns",
        "all: turns without a capture or a move of the stone / max_quiet_turns",
        SHARE,
        QUIET_TURNS,
        MAX_QUIET_TURNS,
    ),
    Plane("turns", "all: turns played / max_turns", SHARE, TURNS, MAX_TURNS),
    Plane(
        "offer",
        "all 1 if an offer to end the battle awaits its answer",
        IS,
        PENDING,
        ANSWER_OFFER,
    ),
    Plane(
        "dwarfs_wait",
        "all: own turns before the dwarfs may offer again / offer_after",
        SHARE,
        OFFER_WAIT + DWARFS,
        OFFER_AFTER,
    ),
    Plane(
        "trolls_wait",
        "all: own turns before the trolls may offer again / offer_after",
        SHARE,
        OFFER_WAIT + TROLLS,
        OFFER_AFTER,
    ),
)
"""All that a row's observation shows. Nothing below names a plane: a new one is a line here.

``has_captured`` is seen because it decides whether the turn, if it stops here, starts the quiet
count anew (docs/rules.md, section 2c). How many dwarfs were captured decides nothing.
"""

NUM_PLANES = len(PLANES)
OBSERVATION_SHAPE = (NUM_PLANES, SIZE, SIZE)

NUM_POINTS = SIZE * SIZE
CHANGING_PLANES = tuple(
    number
    for number, plane in enumerate(PLANES)
    if plane.kind in (IS, SHARE) and plane.of in (TO_MOVE, QUIET_TURNS, TURNS)
)
"""The planes that nearly every decision changes in whole: who decides, and the clocks."""
BYTE_UNIT = 255.0
"""What stands for 1 in uint8 planes."""

PLANE_POINT: NDArray[np.int16] = np.zeros(NUM_CELLS, dtype=np.int16)
PLANE_POINT[CELL_OF_SQUARE] = [SIZE * row + col for row, col in SQUARE_POSITIONS]
"""[272] the point of the 15 x 15 grid, row * 15 + col, of each cell that is a square."""
_BOARD_POINTS: NDArray[np.int16] = PLANE_POINT[CELL_OF_SQUARE]

NOTHING_SHOWN: NDArray[np.int16] = np.zeros(ROW_SIZE, dtype=np.int16)
"""[432] the row that ``clear_planes`` shows: an empty board and all clocks at 0."""
NOTHING_SHOWN[:NUM_CELLS] = OFF_BOARD
NOTHING_SHOWN[CELL_OF_SQUARE] = EMPTY
NOTHING_SHOWN[[MAX_QUIET_TURNS, MAX_TURNS, OFFER_AFTER]] = 1

# The table as the compiled code reads it.
_KIND: NDArray[np.int16] = np.array([plane.kind for plane in PLANES], dtype=np.int16)
_OF: NDArray[np.int16] = np.array([plane.of for plane in PLANES], dtype=np.int16)
_BY: NDArray[np.int16] = np.array([plane.by for plane in PLANES], dtype=np.int16)


def _planes_of_kind(*kinds: int) -> NDArray[np.int16]:
    return np.flatnonzero(np.isin(_KIND, kinds)).astype(np.int16)


_SQUARES, _AT, _LEVELS = (
    _planes_of_kind(SQUARES),
    _planes_of_kind(AT),
    _planes_of_kind(IS, IS_NOT, SHARE),
)
_PLANE_OF_PIECE: NDArray[np.int16] = np.zeros(OFF_BOARD, dtype=np.int16)
_PLANE_OF_PIECE[_OF[_planes_of_kind(WHERE)]] = _planes_of_kind(WHERE)


@compiled
def _level(row, plane):
    """The value of a plane that is constant over the board."""
    field, by = row[natural(_OF[plane])], _BY[plane]
    if _KIND[plane] == SHARE:
        return field / row[natural(by)]
    return 1.0 if (field == by) == (_KIND[plane] == IS) else 0.0


_FIRST_CELL = STRIDE
"""Before it, and after 256 cells more, there is only border."""


@compiled
def _in_units(level, unit):
    """A level as the planes hold it: uint8 ones round to the nearest of 256."""
    return level if unit == 1.0 else float(int(level * unit + 0.5))


@compiled
def _update_points(row, shown, planes, unit):
    """Bring the planes that mark single points up to date."""
    for start in range(_FIRST_CELL, NUM_CELLS, 64):
        changed = differing(row, shown, start)
        while changed != 0:
            cell = start + trailing_zeros(changed)
            point = natural(PLANE_POINT[cell])
            if shown[cell] != EMPTY:
                planes[natural(_PLANE_OF_PIECE[shown[cell]]), point] = 0
            if row[cell] != EMPTY:
                planes[natural(_PLANE_OF_PIECE[row[cell]]), point] = unit
            changed &= changed - 1
    for plane in _AT:
        now, before = row[natural(_OF[plane])], shown[natural(_OF[plane])]
        if now != before:
            if before != 0:
                planes[plane, PLANE_POINT[before]] = 0
            if now != 0:
                planes[plane, PLANE_POINT[now]] = unit


@compiled
def clear_planes(planes, unit):
    """Show ``NOTHING_SHOWN`` in [C, 225] planes; see ``update_planes``."""
    for plane in range(NUM_PLANES):
        for point in range(NUM_POINTS):
            planes[plane, point] = 0
    for plane in _SQUARES:
        for square in range(NUM_SQUARES):
            planes[plane, _BOARD_POINTS[square]] = unit


@compiled
def update_planes(row, shown, planes, unit):
    """Bring planes up to date, writing only what changed.

    Args:
        row: [432] the state row to show.
        shown: [432] the state row that the planes show so far; overwritten with ``row``.
        planes: [C, 225] float32 or uint8, the planes flattened; overwritten.
        unit: what stands for 1: 1.0 for float32, ``BYTE_UNIT`` for uint8.
    """
    _update_points(row, shown, planes, unit)
    same_limits = True
    for field in range(MAX_QUIET_TURNS, OFFER_AFTER + 1):
        same_limits = same_limits and row[field] == shown[field]
    for plane in _LEVELS:
        field = natural(_OF[plane])
        if not (same_limits and row[field] == shown[field]):
            level = _in_units(_level(row, plane), unit)
            for point in range(NUM_POINTS):
                planes[plane, point] = level
    copy_row(shown, row)


@compiled
def level_at(row, plane, unit):
    """What a plane shows at every point, or where it shows something: see ``value_at``."""
    return _in_units(_level(row, plane), unit) if _KIND[plane] >= IS else unit


@compiled
def value_at(row, plane, point, level):
    """One value of a row's observation: what ``update_planes`` writes, seen from one point.

    Args:
        row: [432] a state row.
        plane: 0 .. C-1.
        point: 15 * row + column, 0 .. 224.
        level: the plane's ``level_at``.
    """
    kind = _KIND[plane]
    if kind >= IS:
        return level
    cell = STRIDE * (point // SIZE + 1) + point % SIZE
    if kind == SQUARES:
        marked = row[cell] != OFF_BOARD
    elif kind == AT:
        marked = row[natural(_OF[plane])] == cell
    else:
        marked = row[cell] == _OF[plane]
    return level if marked else 0.0


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


def encode_rows(rows: NDArray[np.integer[Any]], *, check: bool = True) -> NDArray[np.float32]:
    """The observations of [N, 432] state rows of any rulesets, [N, C, 15, 15] float32.

    Args:
        rows: any integers.
        check: whether to look at them first. Pass False for rows that are known to be sound, as a
            batch's are: what others give means nothing, and reading them may end the process.

    Raises:
        RowError: if no play leads to one of them; the message names the row and the entry.
    """
    sound = check_rows(rows) if check else as_rows(rows)
    planes = np.empty((len(sound), NUM_PLANES, NUM_POINTS), dtype=np.float32)
    _encode_each(sound, planes)
    return planes.reshape(len(sound), *OBSERVATION_SHAPE)
