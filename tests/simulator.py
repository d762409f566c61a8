"""Numba's simulator of a GPU, without a thread of the host for each of the device.

It starts one for each, by the hundred thousand a test, in case they wait for each other. Most of
ours never do. Those run one after the other, in an order of no meaning, as a GPU's do.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from random import Random
from typing import Any

from numba.cuda.simulator import kernel
from numba.cuda.simulator.cudadrv.devicearray import FakeWithinKernelCUDAArray as FakeArray
from numba.cuda.simulator.kernelapi import Dim3

Point = tuple[int, int, int]
_AllAtOnce = kernel.BlockManager


class _OneByOne:
    """Runs the threads of a block, in the place of Numba's ``BlockManager``."""

    def __init__(
        self, function: Callable[..., None], _grid: Point, block: Point, _debug: bool
    ) -> None:
        self._function = function
        self._threads = list(itertools.product(*map(range, block)))
        Random(0).shuffle(self._threads)

    def run(self, block: Point, *arguments: Any) -> None:
        """Run every thread of a block; a kernel asks the host's thread which it is."""
        here: Any = threading.current_thread()
        here.blockIdx = Dim3(*block)
        for thread in self._threads:
            here.threadIdx = Dim3(*thread)
            self._function(*arguments)


def _manager(function: Callable[..., None], grid: Point, block: Point, debug: bool) -> Any:
    waits = "syncthreads" in function.__code__.co_names
    return (_AllAtOnce if waits else _OneByOne)(function, grid, block, debug)


def run_one_by_one() -> None:
    """Let the simulator, which must have been chosen, run all kernels that can be run so."""
    kernel.BlockManager = _manager
    # It would look through all names of NumPy's arrays for this one, each time.
    FakeArray.shape = property(lambda array: array._item.shape)
