"""The attack planes on an NVIDIA GPU: a thread for each piece of a state, then for each square, and
for every few squares of the threat planes, with a copy of the row.
"""

from __future__ import annotations

from typing import Any

from numba import cuda

from agents.networks.attacks import (
    NUM_ATTACK_PLANES,
    NUM_PIECES,
    has_threats,
    show_landing,
    show_piece,
    show_threats_at,
    show_valley_strikes,
)
from thud_env.batch.cuda import launch, launch_blocks
from thud_env.board import CELL_OF_SQUARE, NUM_SQUARES
from thud_env.jit.bits import natural
from thud_env.jit.gpu import kernel
from thud_env.rules.row import copy_row
from thud_env.rules.traits import trolls_capture_beside
from thud_env.views.encoding import NUM_POINTS

COPIES = 33
"""Threads that share the squares of a state's threat planes, five each."""


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
def _show_threats(rows, copies, planes):
    index = cuda.grid(1)
    game, first = index // COPIES, index % COPIES
    if game < rows.shape[0] and has_threats(rows[game]):
        copy_row(copies[index], rows[game])
        for square in range(first, NUM_SQUARES, COPIES):
            show_threats_at(copies[index], square, planes[game])


@kernel
def _show_valley_strikes(rows, planes):
    game = cuda.grid(1)
    if game < rows.shape[0]:
        show_valley_strikes(rows[game], planes[game])


def show_attacks_of(rows: Any, planes: Any, copies: Any) -> None:
    """Write the attack planes of N states. All arguments have ``__cuda_array_interface__``.

    Args:
        rows: [N, 432] int16.
        planes: [N, 9, 225] float32, overwritten; [N, 13, 225] for the threat planes, too.
        copies: [N * COPIES, 432] int16, overwritten; of any length without threat planes.
    """
    given, shown, scratch = map(cuda.as_cuda_array, (rows, planes, copies))
    launch_blocks(_clear, len(rows), shown)
    launch(_show_pieces, len(rows) * NUM_PIECES, given, shown)
    launch(_show_landings, len(rows) * NUM_SQUARES, given, shown)
    if planes.shape[1] > NUM_ATTACK_PLANES:
        launch(_show_threats, len(rows) * COPIES, given, scratch, shown)
    launch(_show_valley_strikes, len(rows), given, shown)
