"""The features of afterstates on an NVIDIA GPU: a thread for every few decisions."""

from __future__ import annotations

from typing import Any

from numba import cuda

from agents.networks.afterstates import show_afterstate
from thud_env.batch.cuda import launch
from thud_env.jit.gpu import kernel

THREADS = 65_536
"""The most threads that share the decisions. Each has room for a state row, 57 MB in all."""


@kernel
def _show_afterstates(rows, game, decisions, copies, features):
    first, threads = cuda.grid(1), copies.shape[0]
    if first < threads:
        for number in range(first, decisions.shape[0], threads):
            row = rows[game[number]]
            show_afterstate(row, decisions[number], copies[first], features[number])


def show_afterstates_of(rows: Any, game: Any, decisions: Any, copies: Any, features: Any) -> None:
    """Write the features of L afterstates. All arguments have ``__cuda_array_interface__``.

    Args:
        rows: [N, 432] int16.
        game: [L] int64, the row of each decision.
        decisions: [L] int64, legal ones.
        copies: [T, 432] int16, overwritten: room for T threads, ``THREADS`` at most.
        features: [L, 8] float32, overwritten.
    """
    arrays = map(cuda.as_cuda_array, (rows, game, decisions, copies, features))
    launch(_show_afterstates, len(copies), *arrays)
