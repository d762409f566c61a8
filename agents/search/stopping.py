"""Stops a search when its time is up."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def stopping_after(seconds: float, stop: Callable[[], None]) -> Iterator[None]:
    """Call ``stop`` in another thread if what happens within takes so many seconds; 0: never."""
    if seconds == 0:
        yield
        return
    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # a call that has begun is not to stop the next search
