"""The attack planes on an NVIDIA GPU: a thread for each piece of a state, then for each square."""

from __future__ import annotations

from typing import Any

from numba import cuda

from agents.networks.attacks import NUM_PIECES, show_landing, show_piece, show_rest
from thud_env.batch.cuda import launch, launch_blocks
from thud_env.board import CELL_OF_SQUARE, NUM_SQUARES
from thud_env.jit.bits import natural
from thud_env.jit.gpu import kernel
from thud_env.rules.traits import trolls_capture_beside
from thud_env.views.encoding import NUM_POINTS


@kernel
def _clear(planes):
    for plane in range(planes.shape[1]):
        for point in range(cuda.threadIdx.x, NUM_POINTS, cuda.blockDim.x):
            planes[cuda.blockIdx.x, plane, point] = 0


@kernel
def _show_pieces(rows, planes):
    index = cuda.grid(1)
    game, number = index // NUM_PIECES, index % NUM_PIECES
    if game < rows.shape[0]:
        show_piece(rows[game], number, planes[game])


@kernel
def _show_landings(rows, planes):
    index = cuda.grid(1)
    game, square = index // NUM_SQUARES, index % NUM_SQUARES
    if game < rows.shape[0] and trolls_capture_beside(rows[game]):
        show_landing(rows[game], natural(CELL_OF_SQUARE[square]), planes[game])


@kernel
def _show_rest(rows, planes):
    game = cuda.grid(1)
    if game < rows.shape[0]:
        show_rest(rows[game], planes[game])


def show_attacks_of(rows: Any, planes: Any) -> None:
    """Write the attack planes of N states.

    Args:
        rows: [N, 432] int16, with ``__cuda_array_interface__``; threat planes change and restore
            them.
        planes: [N, 9, 225] float32, overwritten; with ``__cuda_array_interface__``. [N, 13, 225]
            for the threat planes, too.
    """
    given, shown = cuda.as_cuda_array(rows), cuda.as_cuda_array(planes)
    launch_blocks(_clear, len(rows), shown)
    launch(_show_pieces, len(rows) * NUM_PIECES, given, shown)
    launch(_show_landings, len(rows) * NUM_SQUARES, given, shown)
    launch(_show_rest, len(rows), given, shown)
