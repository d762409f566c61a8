"""Turning and mirroring rows on an NVIDIA GPU: one thread for a state."""

from __future__ import annotations

from typing import Any

from numba import cuda

from thud_env.batch.cuda import launch
from thud_env.board import CELL_OF_SQUARE
from thud_env.jit.gpu import kernel
from thud_env.rules.images import CELL_IMAGES, map_row


@kernel
def _map(rows, frames, mapped):
    game = cuda.grid(1)
    if game < rows.shape[0]:
        map_row(rows[game], frames[game], CELL_IMAGES, CELL_OF_SQUARE, mapped[game])


def map_rows_of(frames: Any, rows: Any, mapped: Any) -> None:
    """``thud_env.symmetry.map_rows`` on a GPU.

    Args:
        frames: [N] int64, and
        rows: [N, 432] int16, and
        mapped: [N, 432] int16, overwritten: all with ``__cuda_array_interface__``.
    """
    launch(_map, len(rows), *map(cuda.as_cuda_array, (rows, frames, mapped)))
