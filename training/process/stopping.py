"""Signals that ask a run to stop."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from rich.console import Console

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that ask a run to stop: Ctrl-C, a scheduler, a terminal that is closed."""


@contextlib.contextmanager
def asked_to_stop(console: Console) -> Iterator[list[str]]:
    """The names of signals that came: the first asks the run to stop, the second stops it.

    Args:
        console: where the run is shown. It falls silent if its terminal is closed.
    """
    asked: list[str] = []
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def ask(number: int, frame: FrameType | None) -> None:
        asked.append(signal.Signals(number).name)
        signal.signal(number, before[signal.Signals(number)])
        if number == signal.SIGHUP:
            console.quiet = True  # the terminal is gone, and writing to it fails

    before = {number: signal.getsignal(number) for number in STOPPING}
    if before[signal.SIGHUP] == signal.SIG_IGN:  # by nohup
        del before[signal.SIGHUP]
    for number in before:
        signal.signal(number, ask)
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
