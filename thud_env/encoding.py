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

from thud_env.board import CELL_OF_SQUARE, NUM_SQUARES, SIZE, SQUARE_POSITIONS, STRIDE
from thud_env.compile import compiled_with_arrays
from thud_env.rules.row import (
    ANSWER_OFFER,
    DWARF,
    MAX_QUIET_TURNS,
    MAX_TURNS,
    NO_QUESTION,
    OFFER_AFTER,
    OFFER_WAIT,
    PENDING,
    PENDING_CELL,
    QUIET_TURNS,
    TAKE_ONE,
    TAKE_SOME,
    TO_MOVE,
    TURNS,
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
    Plane("quiet_turns", "all: turns without a capture / max_quiet_turns"),
    Plane("turns", "all: turns played / max_turns"),
    Plane("offer", "all 1 if an offer to end the battle awaits its answer"),
    Plane("dwarfs_wait", "all: own turns before the dwarfs may offer again / offer_after"),
    Plane("trolls_wait", "all: own turns before the trolls may offer again / offer_after"),
)
NUM_PLANES = len(PLANES)
OBSERVATION_SHAPE = (NUM_PLANES, SIZE, SIZE)

_ON_BOARD: NDArray[np.float32] = np.zeros((SIZE, SIZE), dtype=np.float32)
for _row, _col in SQUARE_POSITIONS:
    _ON_BOARD[_row, _col] = 1


@compiled_with_arrays
def encode(row, planes):
    """Write the observation of a state row.

    Args:
        row: [432] a state row.
        planes: [C, 15, 15] float32, overwritten.
    """
    for plane in range(3):
        planes[plane] = 0
    planes[3] = _ON_BOARD
    for square in range(NUM_SQUARES):
        cell = CELL_OF_SQUARE[square]
        piece = row[cell]
        if piece != 0:
            planes[piece - DWARF, cell // STRIDE - 1, cell % STRIDE] = 1
    planes[4] = row[TO_MOVE]
    planes[5] = 0
    pending = row[PENDING]
    if pending != NO_QUESTION and pending != ANSWER_OFFER:
        cell = row[PENDING_CELL]
        planes[5, cell // STRIDE - 1, cell % STRIDE] = 1
    planes[6] = 1 if pending == TAKE_ONE else 0
    planes[7] = 1 if pending == TAKE_SOME else 0
    planes[8] = np.float32(row[QUIET_TURNS] / row[MAX_QUIET_TURNS])
    planes[9] = np.float32(row[TURNS] / row[MAX_TURNS])
    planes[10] = 1 if pending == ANSWER_OFFER else 0
    planes[11] = np.float32(row[OFFER_WAIT] / row[OFFER_AFTER])
    planes[12] = np.float32(row[OFFER_WAIT + 1] / row[OFFER_AFTER])


@compiled_with_arrays
def _encode_each(rows, planes):
    for game in range(rows.shape[0]):
        encode(rows[game], planes[game])


def encode_rows(rows: NDArray[np.int16]) -> NDArray[np.float32]:
    """The observations of [N, 432] state rows, [N, C, 15, 15] float32."""
    planes = np.empty((len(rows), *OBSERVATION_SHAPE), dtype=np.float32)
    _encode_each(rows, planes)
    return planes
