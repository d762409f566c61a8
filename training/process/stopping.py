"""Signals that ask a run to stop."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

import numpy as np
from rich.console import Console

from training.process.ranks import Ranks

_HANG_UP: signal.Signals | None = getattr(signal, "SIGHUP", None)  # Windows has none
STOPPING = (signal.SIGINT, signal.SIGTERM, *([_HANG_UP] if _HANG_UP else []))
"""The signals that ask a run to stop: Ctrl-C, a scheduler, a terminal that is closed."""

_STOPPING_SOON = b"\nstopping after this update; once more: at once, without a checkpoint\n"

TIME = "time"
"""The reason to stop of a run whose time is up."""


def reason_of_all(asked: list[str], ranks: Ranks) -> str:
    """Why the processes of a run stop together: one that is asked stops them all.

    Args:
        asked: why this one is asked to stop: names of signals, and ``TIME``.
        ranks: all of them.

    Returns:
        the same reason in all processes; empty if none is asked.
    """
    reasons = (*(one.name for one in STOPPING), TIME)
    counts = ranks.total(np.array([asked.count(reason) for reason in reasons], dtype=np.float64))
    return next((reason for reason, count in zip(reasons, counts, strict=True) if count), "")


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
        if number == _HANG_UP:
            console.quiet = True  # the terminal is gone, and writing to it fails
        elif not console.quiet:
            with contextlib.suppress(OSError):  # its reader may be gone: the run saves first
                os.write(2, _STOPPING_SOON)  # a signal may come while a stream is written to

    before = {number: signal.getsignal(number) for number in STOPPING}
    if _HANG_UP and before[_HANG_UP] == signal.SIG_IGN:  # by nohup
        del before[_HANG_UP]
    for number in before:
        signal.signal(number, ask)
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
