"""Counts battles or games that are played: a bar in a terminal, plain lines elsewhere."""

from __future__ import annotations

import time

from rich import progress as bars
from rich.console import Console

PLAIN_EVERY_S = 15.0
"""Seconds between two plain lines."""


class Progress:
    """A context manager. A command that is done before the first plain line is due prints none.

    Args:
        console: where to show it.
        name: what they are played for.
        units: what they are called.
        total: how many are to be played.
    """

    def __init__(self, console: Console, name: str, units: str, total: int) -> None:
        self._console = console
        self._units = units
        self._total = total
        self._done = 0
        self._started = self._printed = time.monotonic()
        self._bar = bars.Progress(
            bars.TextColumn("{task.description}", style="bold", markup=False),
            bars.BarColumn(),
            bars.MofNCompleteColumn(),
            bars.TextColumn(f"{units},"),
            bars.TimeRemainingColumn(),
            bars.TextColumn("left"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(name, total=total)

    def advance(self, more: int = 1) -> None:
        """Count more of them."""
        self._done += more
        self._bar.advance(self._task, more)
        now = time.monotonic()
        ends = self._done == self._total and self._printed > self._started
        if self._console.is_terminal or (now - self._printed < PLAIN_EVERY_S and not ends):
            return
        self._printed = now
        line = f"{self._done:,} of {self._total:,} {self._units}"
        if self._done:
            left = (now - self._started) * (self._total - self._done) / self._done
            line += f", {left / 60:.1f} min left"
        self._console.print(line)

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
