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
        self._worthwhile = worthwhile
        self._num_items = num_items
        self._slices = _slices(num_items, self.num_threads)
        self._pool: ThreadPoolExecutor | None = None
        self._pool_process = 0
        """The process that the pool's threads are in: a fork copies the pool without them."""

    def threads_for(self, num_items: int) -> int:
        """How many threads share the work on so many items."""
        if num_items == self._num_items:
            return self.num_threads
        return max(1, min(self.num_threads, num_items // self._worthwhile))

    def __call__(
        self, loop: Callable[..., Any], *arguments: Any, num_items: int | None = None
    ) -> list[Any]:
        """Run the loop over all items, or over so many; the slices' results, in order."""
        num_items = self._num_items if num_items is None else num_items
        num_threads = self.threads_for(num_items)
        if num_threads == 1:
            return [loop(*arguments, 0, num_items)]
        whole = num_items == self._num_items
        slices = self._slices if whole else _slices(num_items, num_threads)
        if self._pool is None or self._pool_process != os.getpid():
            self._pool_process = os.getpid()
            self._pool = ThreadPoolExecutor(self.num_threads - 1, thread_name_prefix="thud")
        others = [self._pool.submit(loop, *arguments, *part) for part in slices[1:]]
        results = [loop(*arguments, *slices[0])]
        return results + [other.result() for other in others]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pool": None}


def _slices(num_items: int, num_threads: int) -> list[tuple[int, int]]:
    return list(pairwise(num_items * i // num_threads for i in range(num_threads + 1)))
