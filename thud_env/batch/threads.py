"""Running a compiled loop over slices of a batch on several threads.

Compiled loops release the interpreter lock, so plain threads use all cores. They start
at once, take any number of callers, survive a fork and need no global setting: none of
which holds for Numba's own parallel loops.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class SlicedLoop:
    """Calls ``loop(*arguments, first, last)`` so that every item falls in one slice.

    Args:
        num_items: how many items the loops run over.
        num_threads: how many threads share the work; None for one a core, as far as each gets
            its ``worthwhile`` share.
        worthwhile: how many items a thread should have: with fewer, waking it costs more than
            it saves.

    Raises:
        ValueError: if ``num_threads`` is below 1.
    """

    def __init__(self, num_items: int, num_threads: int | None = None, worthwhile: int = 1) -> None:
        if num_threads is None:
            num_threads = min(available_cores(), num_items // worthwhile)
        elif num_threads < 1:
            raise ValueError(f"num_threads must be 1 or more, not {num_threads}")
        self.num_threads = max(1, min(num_threads, num_items))
        edges = [num_items * i // self.num_threads for i in range(self.num_threads + 1)]
        self._slices = list(pairwise(edges))
        self._num_items = num_items
        self._pool: ThreadPoolExecutor | None = None
        self._pool_process = 0
        """The process that the pool's threads are in: a fork copies the pool without them."""

    def __call__(self, loop: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Run the loop over all items; the slices' results, in order."""
        if self.num_threads == 1:
            return [loop(*arguments, 0, self._num_items)]
        if self._pool is None or self._pool_process != os.getpid():
            self._pool_process = os.getpid()
            self._pool = ThreadPoolExecutor(self.num_threads - 1, thread_name_prefix="thud")
        others = [self._pool.submit(loop, *arguments, *part) for part in self._slices[1:]]
        results = [loop(*arguments, *self._slices[0])]
        return results + [other.result() for other in others]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pool": None}
