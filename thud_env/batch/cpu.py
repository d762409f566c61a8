"""A batch of games on the CPU: NumPy arrays, and compiled loops over slices of them on threads.

Compiled loops release the interpreter lock, so plain threads use all cores. Unlike Numba's own
parallel loops they start at once, take any number of callers, survive a fork and need no global
setting.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thud_env.arguments import as_count, as_integers
from thud_env.batch import kernels
from thud_env.batch.one_game import Modes, Results, View
from thud_env.errors import ThudError
from thud_env.rules.legal import NUM_WORDS
from thud_env.views.encoding import NOTHING_SHOWN, clear_planes

WORTH_A_THREAD = 1024
"""Least number of games a thread, for a step: waking one takes some 100 us."""
BATTLES_WORTH_A_THREAD = 8
"""Least number of games a thread, for whole battles."""
CHECKED_ALONE = 16_384
"""Most games whose actions one thread checks: waking several would take longer."""


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
        ThudError: if ``num_threads`` is not an integer, 1 or more.
    """

    def __init__(self, num_items: int, num_threads: int | None = None, worthwhile: int = 1) -> None:
        if num_threads is None:
            num_threads = min(available_cores(), num_items // worthwhile)
        else:
            num_threads = as_count("num_threads", num_threads)
        self.num_threads = max(1, min(num_threads, num_items))
        self._worthwhile = worthwhile
        self._num_items = num_items
        self._slices = _slices(num_items, self.num_threads)
        self._pool: ThreadPoolExecutor | None = None
        self._pool_process = 0
        """The process that has the pool's threads: a fork copies the pool without them."""

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
        pool = self._pool
        try:
            others = [pool.submit(loop, *arguments, *part) for part in slices[1:]]
            results = [loop(*arguments, *slices[0])]
            return results + [other.result() for other in others]
        except BaseException:  # Ctrl-C, say: no thread may write on once this has returned
            self._pool = None
            pool.shutdown()
            raise

    def close(self) -> None:
        """End the threads, if there are any; another call starts new ones."""
        pool, self._pool = self._pool, None
        if pool is not None and self._pool_process == os.getpid():
            pool.shutdown()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pool": None}


def _slices(num_items: int, num_threads: int) -> list[tuple[int, int]]:
    return list(pairwise(num_items * i // num_threads for i in range(num_threads + 1)))


class CpuDevice:
    """What ``BatchedGame`` needs of the device that its arrays lie on.

    Args:
        num_games: B.
        num_threads: threads that share the work; None for one a core.
    """

    words_per_game = NUM_WORDS
    """Words of bits kept for each game; the first ``NUM_WORDS`` hold the mask."""
    writes_changes = True
    """Whether only the changed parts of observations are written."""

    def __init__(self, num_games: int, num_threads: int | None) -> None:
        self._run = SlicedLoop(num_games, num_threads, WORTH_A_THREAD)
        self._run_battles = SlicedLoop(num_games, num_threads, BATTLES_WORTH_A_THREAD)
        self._actions = np.zeros(num_games, dtype=np.int64)

    def close(self) -> None:
        """End the threads, if there are any; whatever needs them starts new ones."""
        self._run.close()
        self._run_battles.close()

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """A new array of zeros."""
        return np.zeros(shape, dtype=dtype)

    def copy(self, array: NDArray[Any]) -> NDArray[Any]:
        """A NumPy array's values, on the device."""
        return array.copy()

    def to_host(self, array: Any) -> NDArray[Any]:
        """A device array's values, in a NumPy array; what is none as it is."""
        return array

    def assign(self, target: NDArray[Any], source: Any) -> None:
        """Overwrite a whole array."""
        target[...] = source

    def adopt(self, name: str, shape: tuple[int, ...], dtype: Any, given: Any) -> NDArray[Any]:
        """A caller's array to write into.

        Raises:
            ThudError: if it is not what the batch writes.
        """
        fits = isinstance(given, np.ndarray) and given.shape == shape and given.dtype == dtype
        fits = fits and not isinstance(given, np.ma.MaskedArray)  # whose mask nothing would see
        if not fits or not given.flags.c_contiguous or not given.flags.writeable:
            raise ThudError(
                f"buffer {name!r} must be a writeable, contiguous NumPy array of shape {shape} "
                f"and dtype {np.dtype(dtype)}"
            )
        return given

    def take_actions(self, given: Any) -> NDArray[np.int64]:
        """A caller's [B] actions, in an array that is reused.

        Raises:
            ThudError: if they are not [B] integers.
        """
        self._actions[:] = as_integers("actions", given, len(self._actions))
        return self._actions

    def start_view(self, view: View) -> None:
        """Prepare arrays that show nothing yet."""
        view.shown_rows[:] = NOTHING_SHOWN
        for planes in view.planes:
            clear_planes(planes, view.unit)

    def reset(
        self, rows: Any, games: NDArray[np.int64], start_row: NDArray[np.int16], results: Results
    ) -> None:
        """Set some games to the start."""
        rows[games] = start_row
        results.rewards[games] = 0
        results.terminated[games] = False
        results.truncated[games] = False

    def set_rows(self, rows: Any, games: NDArray[np.int64], states: Any) -> None:
        """Set some games to states of their own."""
        rows[games] = states

    def write_ends(
        self,
        rows: Any,
        games: NDArray[np.int64],
        start_row: Any,
        resets_at_once: bool,
        results: Results,
    ) -> None:
        """See ``kernels.write_ends``."""
        arguments = (rows, games, start_row, resets_at_once, *results)
        self._run(kernels.write_ends, *arguments, num_items=len(games))

    def step(
        self,
        rows: Any,
        games: NDArray[np.int64],
        actions: Any,
        start_row: Any,
        modes: Modes,
        results: Results,
        view: View,
        check: bool,
    ) -> int:
        """Play one decision in some games, unless one is illegal: the first such game, or -1.
        See ``kernels.step_games``.
        """
        count = len(games)
        several = self._run.threads_for(count) > 1  # one illegal action stops all
        are_checked = several or not check
        if check and several:
            illegal = self._first_illegal(rows, games, actions, view)
            if illegal >= 0:
                return illegal
        found = self._run(
            kernels.step_games,
            rows,
            games,
            actions,
            start_row,
            are_checked,
            *modes,
            *results,
            *view,
            num_items=count,
        )
        return int(found[0])

    def _first_illegal(self, rows: Any, games: NDArray[np.int64], actions: Any, view: View) -> int:
        count, words, are_ours = len(games), view.words, len(view.byte_words) > 0
        if count <= CHECKED_ALONE:
            return int(kernels.first_illegal(rows, games, actions, words, are_ours, 0, count))
        given = (rows, games, actions, words, are_ours)
        found = self._run(kernels.first_illegal, *given, num_items=count)
        return next((int(game) for game in found if game >= 0), -1)

    def show(self, rows: Any, games: NDArray[np.int64], view: View) -> None:
        """See ``kernels.show_games``."""
        self._run(kernels.show_games, rows, games, *view, num_items=len(games))

    def count(self, rows: Any, legal_counts: Any) -> None:
        """See ``kernels.count_games``."""
        self._run(kernels.count_games, rows, legal_counts)

    def sample(self, rows: Any, rng: Any, actions: Any) -> None:
        """See ``kernels.sample_games``."""
        self._run(kernels.sample_games, rows, rng, actions)

    def play(self, rows: Any, rng: Any, lengths: Any, margins: Any) -> None:
        """See ``kernels.play_games``."""
        self._run_battles(kernels.play_games, rows, rng, lengths, margins)
