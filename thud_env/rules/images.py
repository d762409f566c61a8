"""State rows turned and mirrored."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thud_env.board import CELL_OF_SQUARE, NUM_CELLS, SQUARE_SYMMETRY, SYMMETRIES
from thud_env.jit.compile import compiled, compiled_with_arrays
from thud_env.rules.row import PENDING_CELL, copy_row, index_row

CELL_IMAGES = np.zeros((len(SYMMETRIES), NUM_CELLS), dtype=np.int64)
"""[8, 272] where each symmetry takes each cell of a row's board."""
for _symmetry in range(len(SYMMETRIES)):
    CELL_IMAGES[_symmetry, CELL_OF_SQUARE] = CELL_OF_SQUARE[SQUARE_SYMMETRY[_symmetry]]


@compiled
def map_row(row, symmetry, images, cells, target):
    """One row mapped.

    Args:
        row: [432].
        symmetry: 0 .. 7.
        images: ``CELL_IMAGES``.
        cells: ``CELL_OF_SQUARE``.
        target: [432], overwritten.
    """
    copy_row(target, row)
    if symmetry == 0:
        return
    for i in range(cells.shape[0]):
        target[images[symmetry, cells[i]]] = row[cells[i]]
    index_row(target)
    if row[PENDING_CELL] != 0:
        target[PENDING_CELL] = images[symmetry, row[PENDING_CELL]]


@compiled_with_arrays
def _map_each(rows, symmetries, images, cells, mapped):
    """``map_row`` for [N, 432] rows, with [N] symmetries."""
    for game in range(rows.shape[0]):
        map_row(rows[game], symmetries[game], images, cells, mapped[game])


def mapped_rows(symmetries: NDArray[np.integer[Any]], rows: NDArray[np.int16]) -> NDArray[np.int16]:
    """[N, 432] new rows: the given ones, which must be sound, each mapped by its symmetry, [N]."""
    given = np.ascontiguousarray(rows)  # or another form of _map_each would be compiled
    mapped = np.empty_like(given)
    _map_each(given, symmetries.astype(np.int64), CELL_IMAGES, CELL_OF_SQUARE, mapped)
    return mapped
