"""The attack planes on an NVIDIA GPU: one thread for a state."""

from __future__ import annotations

from typing import Any

from numba import cuda

from agents.networks.attacks import show_attacks
from thud_env.batch.cuda import launch
from thud_env.jit.gpu import kernel


@kernel
def _attack(rows, planes):
    game = cuda.grid(1)
    if game < rows.shape[0]:
        show_attacks(rows[game], planes[game])


def show_attacks_of(rows: Any, planes: Any) -> None:
    """Write the attack planes of N states.

    Args:
        rows: [N, 432] int16, with ``__cuda_array_interface__``; threat planes change and restore
            them.
        planes: [N, 9, 225] float32, overwritten; with ``__cuda_array_interface__``. [N, 13, 225]
            for the threat planes, too.
    """
    given, shown = cuda.as_cuda_array(rows), cuda.as_cuda_array(planes)
    launch(_attack, len(rows), given, shown)
