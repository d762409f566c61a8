"""Seeing battles turned and mirrored: each one in a frame of its own, drawn when it begins.

A network that sees every battle in one of the board's symmetries learns from each what it would
have to learn again for every other. The rows that it decides in, and what it decided, are both
kept in the frame; only what is played is mapped back.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thud_env.actions import ACTION_SYMMETRY
from thud_env.board import CELL_OF_SQUARE, NUM_CELLS, SQUARE_SYMMETRY
from thud_env.jit.compile import compiled, compiled_with_arrays
from thud_env.rules.row import PENDING_CELL, copy_row, index_row
from thud_env.symmetry import INVERSE, NUM_SYMMETRIES

CELL_IMAGES = np.zeros((NUM_SYMMETRIES, NUM_CELLS), dtype=np.int64)
"""[8, 272] where each symmetry takes each cell of the board."""
for _symmetry in range(NUM_SYMMETRIES):
    CELL_IMAGES[_symmetry, CELL_OF_SQUARE] = CELL_OF_SQUARE[SQUARE_SYMMETRY[_symmetry]]
_INVERSE = np.array(INVERSE)


@compiled
def map_row(row, frame, images, cells, target):
    """One row as a frame shows it.

    Args:
        row: [432].
        frame: 0 .. 7.
        images: ``CELL_IMAGES``.
        cells: ``CELL_OF_SQUARE``.
        target: [432], overwritten.
    """
    copy_row(target, row)
    if frame == 0:
        return
    for i in range(cells.shape[0]):
        target[images[frame, cells[i]]] = row[cells[i]]
    index_row(target)
    if row[PENDING_CELL] != 0:
        target[PENDING_CELL] = images[frame, row[PENDING_CELL]]


@compiled_with_arrays
def _map_each(rows, frames, images, cells, mapped):
    for game in range(rows.shape[0]):
        map_row(rows[game], frames[game], images, cells, mapped[game])


def map_rows(frames: NDArray[np.int64], rows: NDArray[np.int16]) -> NDArray[np.int16]:
    """[N, 432] state rows, each as its frame shows it.

    Args:
        frames: [N] symmetries, 0 .. 7, 0 being the identity.
        rows: [N, 432].
    """
    mapped = np.empty_like(rows)
    _map_each(rows, frames, CELL_IMAGES, CELL_OF_SQUARE, mapped)
    return mapped


def into_frames(frames: NDArray[np.int64], actions: NDArray[np.int32]) -> NDArray[np.int32]:
    """[N] actions as their frames show them."""
    return ACTION_SYMMETRY[frames, actions].astype(np.int32)


def out_of_frames(frames: NDArray[np.int64], actions: NDArray[np.int32]) -> NDArray[np.int32]:
    """[N] actions as they are played, from what was decided in the frames."""
    return into_frames(_INVERSE[frames], actions)
