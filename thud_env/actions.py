"""Actions: one index for every decision of every game.

======================  =======================================================  =====
index                   decision                                                 count
======================  =======================================================  =====
0 .. 6299               move the piece on a square along a direction by a        6,300
                        distance: moves, hurls, steps, shoves, tramples, and
                        the moves of the Rock or ball
6300 .. 6464            capture the dwarf on this square                         165
6465                    capture all that may be captured, and end the turn       1
6466                    done: end the turn                                       1
6467, 6468, 6469        offer to end the battle, accept, decline                 3
======================  =======================================================  =====

Moves are numbered by from-square in row-major order, then by direction clockwise from
north, then by distance. The moves along one ray are therefore consecutive, and a piece
that can go up to k squares makes a run of k set bits in a mask.

The table above is held against the constants below by ``tests/test_actions.py``.
"""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from thud_env.arguments import as_count, shown
from thud_env.board import (
    CELL_OF_SQUARE,
    CELL_STEP,
    DIRECTIONS,
    LINE_OF_CELL,
    NUM_AXES,
    NUM_CELLS,
    NUM_DIRECTIONS,
    NUM_SQUARES,
    POINT_OF_CELL,
    RAY_LENGTH,
    SQUARE_NAMES,
    SQUARE_OF_CELL,
    SQUARE_SYMMETRY,
    SYMMETRIES,
)
from thud_env.errors import IllegalMove, ThudError

NUM_MOVES = int(RAY_LENGTH.sum())
CAPTURE = NUM_MOVES
"""Index of the capture of the dwarf on square 0; square s is ``CAPTURE + s``."""
CAPTURE_ALL = CAPTURE + NUM_SQUARES
DONE = CAPTURE_ALL + 1
OFFER = DONE + 1
ACCEPT = OFFER + 1
DECLINE = ACCEPT + 1
NUM_ACTIONS = DECLINE + 1

_SQUARE = np.repeat(np.arange(NUM_SQUARES), RAY_LENGTH.sum(axis=1))
_DIRECTION = np.repeat(np.tile(np.arange(NUM_DIRECTIONS), NUM_SQUARES), RAY_LENGTH.ravel())
_FIRST = np.cumsum(RAY_LENGTH.ravel()) - RAY_LENGTH.ravel()

MOVE_FROM: NDArray[np.int16] = CELL_OF_SQUARE[_SQUARE]
"""[6300] the cell a move starts from."""
MOVE_DIRECTION: NDArray[np.int16] = _DIRECTION.astype(np.int16)
"""[6300] a move's direction, 0 .. 7."""
MOVE_DISTANCE: NDArray[np.int16] = (
    np.arange(NUM_MOVES) - np.repeat(_FIRST, RAY_LENGTH.ravel()) + 1
).astype(np.int16)
"""[6300] how many squares a move goes, 1 .. 14."""
MOVE_TO: NDArray[np.int16] = (MOVE_FROM + CELL_STEP[MOVE_DIRECTION] * MOVE_DISTANCE).astype(
    np.int16
)
"""[6300] the cell a move ends on."""

MOVE_LINE: NDArray[np.int16] = LINE_OF_CELL[MOVE_FROM, MOVE_DIRECTION % NUM_AXES]
"""[6300] the line a move goes along."""
_HIGHEST_PASSED = np.where(
    MOVE_DIRECTION < NUM_AXES,
    POINT_OF_CELL[MOVE_FROM, MOVE_DIRECTION % NUM_AXES] + MOVE_DISTANCE,
    POINT_OF_CELL[MOVE_FROM, MOVE_DIRECTION % NUM_AXES],
)
MOVE_PASSES: NDArray[np.int16] = (
    (1 << _HIGHEST_PASSED) - (1 << (_HIGHEST_PASSED - MOVE_DISTANCE + 1))
).astype(np.int16)
"""[6300] the squares of that line strictly between its ends, a bit a point."""

MOVE_BASE: NDArray[np.int16] = np.full((NUM_CELLS, NUM_DIRECTIONS), -1, dtype=np.int16)
"""[272, 8] index of the one-square move from a cell in a direction: distance k is ``base + k - 1``.
On the border, and where a ray has no square, the entry must not be used."""
MOVE_BASE[CELL_OF_SQUARE] = _FIRST.reshape(NUM_SQUARES, NUM_DIRECTIONS)

MOVE_OFFSET: NDArray[np.int16] = (MOVE_BASE - MOVE_BASE[:, :1]).astype(np.int16)
"""[272, 8] how far into its square's moves each ray begins. A square has at most 56 moves, so
its legal ones fit into one word of bits: bit ``MOVE_OFFSET[cell, direction] + distance - 1``."""
MAX_MOVES_OF_SQUARE = int(RAY_LENGTH.sum(axis=1).max())
NUM_MOVES_OF_CELL: NDArray[np.int16] = np.zeros(NUM_CELLS, dtype=np.int16)
"""[272] how many moves start from each square's cell."""
NUM_MOVES_OF_CELL[CELL_OF_SQUARE] = RAY_LENGTH.sum(axis=1)


def move_action(square: int, direction: int, distance: int) -> int:
    """The action that moves the piece on ``square`` by ``distance`` in ``direction``.

    Args:
        square: the number of a square, 0 .. 164 (``board.square_named``).
        direction: 0 .. 7, clockwise from north.
        distance: how many squares.

    Raises:
        ThudError: if that leaves the board, there is no such square or direction, or one of them
            is not an integer.
    """
    square = as_count("square", square, least=0, most=NUM_SQUARES - 1)
    direction = as_count("direction", direction, least=0, most=NUM_DIRECTIONS - 1)
    distance = as_count("distance", distance)
    farthest = RAY_LENGTH[square, direction]
    if distance > farthest:
        what = f"{distance} squares {DIRECTIONS[direction]} of {SQUARE_NAMES[square]}"
        right = f"1 to {farthest} would be" if farthest else "no square is, in that direction"
        raise ThudError(f"{what} is not on the board: {right}")
    return int(MOVE_BASE[CELL_OF_SQUARE[square], direction]) + distance - 1


_WORDS = {
    CAPTURE_ALL: "capture all",
    DONE: "done",
    OFFER: "offer",
    ACCEPT: "accept",
    DECLINE: "decline",
}


def as_action(action: Any) -> int:
    """An action as an int in 0 .. 6469. Refuses a bool, which would be action 0 or 1.

    Raises:
        IllegalMove: if it is out of range.
        TypeError: if it is not one integer.
    """
    # The name of a dtype is slow to make (docs/log.md), and integers come with every step.
    dtype = "" if isinstance(action, np.integer) else str(getattr(action, "dtype", ""))
    is_bool = isinstance(action, bool) or dtype.endswith("bool")
    try:
        if is_bool:
            raise TypeError
        index = operator.index(action)
    except TypeError:
        what = "a bool" if is_bool else "not one integer"
        raise TypeError(
            f"action {shown(action)} is {what}: an int in 0 .. {NUM_ACTIONS - 1} would be right"
        ) from None
    if not 0 <= index < NUM_ACTIONS:
        raise IllegalMove(
            f"action {shown(index)} is out of range: actions are 0 to {NUM_ACTIONS - 1}"
        )
    return index


def describe_action(action: SupportsIndex) -> str:
    """A decision in words: ``"F1-F5"``, ``"capture E5"``, ``"done"``.

    Raises:
        IllegalMove: if ``action`` is not in 0 .. 6469.
        TypeError: if it is not one integer.
    """
    index = as_action(action)
    if index < CAPTURE:
        start, end = SQUARE_OF_CELL[MOVE_FROM[index]], SQUARE_OF_CELL[MOVE_TO[index]]
        return f"{SQUARE_NAMES[start]}-{SQUARE_NAMES[end]}"
    if index < CAPTURE_ALL:
        return f"capture {SQUARE_NAMES[index - CAPTURE]}"
    return _WORDS[index]


def _symmetric_actions() -> NDArray[np.int16]:
    square_pairs = np.full((NUM_SQUARES, NUM_SQUARES), -1, dtype=np.int16)
    start, end = SQUARE_OF_CELL[MOVE_FROM], SQUARE_OF_CELL[MOVE_TO]
    square_pairs[start, end] = np.arange(NUM_MOVES)
    images = np.tile(np.arange(NUM_ACTIONS, dtype=np.int16), (len(SYMMETRIES), 1))
    for symmetry, square_image in enumerate(SQUARE_SYMMETRY):
        images[symmetry, :NUM_MOVES] = square_pairs[square_image[start], square_image[end]]
        images[symmetry, CAPTURE:CAPTURE_ALL] = CAPTURE + square_image
    return images


ACTION_SYMMETRY: NDArray[np.int16] = _symmetric_actions()
"""[8, 6470] where each board symmetry takes each action."""
