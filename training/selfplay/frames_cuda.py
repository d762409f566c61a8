"""Turning and mirroring rows on an NVIDIA GPU: one thread for a state."""

from __future__ import annotations

from typing import Any

from numba import cuda

from thud_env.batch.cuda import launch
from thud_env.board import CELL_OF_SQUARE
from thud_env.jit.gpu import kernel
from training.selfplay.frames import CELL_IMAGES, map_row


@kernel
def _map(rows, frames, images, cells, mapped):
    game = cuda.grid(1)
    if game < rows.shape[0]:
        map_row(rows[game], frames[game], images, cells, mapped[game])


def map_rows_of(frames: Any, rows: Any, mapped: Any) -> None:
    """``frames.map_rows`` on a GPU.

    Args:
        frames: [N] int64, and
        rows: [N, 432] int16, and
        mapped: [N, 432] int16, overwritten: all with ``__cuda_array_interface__``.
    """
    given, chosen, made = (cuda.as_cuda_array(array) for array in (rows, frames, mapped))
    images, cells = cuda.to_device(CELL_IMAGES), cuda.to_device(CELL_OF_SQUARE)
    launch(_map, len(rows), given, chosen, images, cells, made)
