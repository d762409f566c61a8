"""Counts battles or games that are played: a bar in a terminal, plain lines elsewhere."""

from __future__ import annotations

import time

from rich import progress as bars
from rich.console import Console

PLAIN_EVERY_S = 15.0
"""Seconds between two plain lines."""


def bar(console: Console, units: str) -> bars.Progress:
    """A bar with a description, how many of how many ``units``, and how long is left."""
    return bars.Progress(
        bars.TextColumn("{task.description}", style="bold", markup=False),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TextColumn(f"{units},"),
        bars.TimeRemainingColumn(),
        bars.TextColumn("left"),
        console=console,
        disable=not console.is_terminal,
    )


class PlainLines:
    """When a plain line is due, and how long is left.

    Args:
        total: how many there are to be.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._started = self._printed = time.monotonic()
        self._first: tuple[float, int] | None = None

    @property
    def has_printed(self) -> bool:
        """Whether a line has been due."""
        return self._printed > self._started

    def is_due(self, ends: bool) -> bool:
        """Whether to print a line now: after ``PLAIN_EVERY_S``, and at the end."""
        now = time.monotonic()
        if now - self._printed < PLAIN_EVERY_S and not ends:
            return False
        self._printed = now
        return True

    def words(self, done: int, units: str) -> list[str]:
        """How many are done, and how long is left at the pace since the first line. The first
        names no time: much is compiled before it.
        """
        words = [f"{done:,} of {self._total:,} {units}"]
        now = time.monotonic()
        since, before = self._first = self._first or (now, done)
        if done > before:
            minutes = (now - since) * max(0, self._total - done) / (done - before) / 60
            words.append(f"{minutes:.1f} min left")
        return words


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
        self._lines = PlainLines(total)
        self._bar = bar(console, units)
        self._task = self._bar.add_task(name, total=total)

    def advance(self, more: int = 1) -> None:
        """Count more of them."""
        self._done += more
        self._bar.advance(self._task, more)
        ends = self._done == self._total and self._lines.has_printed
        if self._console.is_terminal or not self._lines.is_due(ends):
            return
        self._console.print(", ".join(self._lines.words(self._done, self._units)))

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
