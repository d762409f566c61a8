"""Work in several threads that an interrupt ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, CancelledError, ThreadPoolExecutor, wait
from threading import Event
from typing import Any, TypeVar

from thud_env.batch.cpu import available_cores

Item = TypeVar("Item")
Result = TypeVar("Result")
Watch = Callable[..., None]
"""Called now and then, with anything; raises once the work is no longer wanted."""


def at_once(
    work: Callable[[Item, Watch], Result], items: Iterable[Item], threads: int | None = None
) -> list[Result]:
    """What ``work`` returns for each item, in their order, with any number of threads.

    Args:
        work: called with an item and what to call now and then.
        items: what to work on.
        threads: how many; None: one a core.

    Raises:
        whatever ``work`` raises first, or Ctrl-C; the rest is given up then.
    """
    interrupted = Event()

    def watch(*_: Any) -> None:
        if interrupted.is_set():
            raise CancelledError

    with ThreadPoolExecutor(threads or available_cores()) as pool:
        begun = [pool.submit(work, item, watch) for item in items]
        try:
            for one in wait(begun, return_when=FIRST_EXCEPTION).done:
                one.result()
            return [one.result() for one in begun]
        finally:
            interrupted.set()
            for one in begun:
                one.cancel()
