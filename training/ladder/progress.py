"""Shows the progress of a ladder: a bar in a terminal, plain lines elsewhere."""

from __future__ import annotations

import time

from rich import progress as bars
from rich.console import Console

from training.runs.display import PLAIN_EVERY_S


class Progress:
    """Counts games. A context manager.

    Args:
        console: where to show it.
        games: how many games are to be played.
        held: how many have been played already.
    """

    def __init__(self, console: Console, games: int, held: int) -> None:
        self._console = console
        self._games = games
        self._done = 0
        self._started = self._printed = time.monotonic()
        self._bar = bars.Progress(
            bars.TextColumn("[bold]ladder"),
            bars.BarColumn(),
            bars.MofNCompleteColumn(),
            bars.TextColumn("games,"),
            bars.TimeRemainingColumn(),
            bars.TextColumn("left"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("ladder", total=games)
        kept = f", {held:,} are kept" if held else ""
        console.print(f"{games:,} games to play{kept}", highlight=False)

    def advance(self) -> None:
        """Count one more game."""
        self._done += 1
        self._bar.advance(self._task)
        now = time.monotonic()
        if self._console.is_terminal:
            return
        if now - self._printed >= PLAIN_EVERY_S or self._done == self._games:
            self._printed = now
            left = (now - self._started) * (self._games - self._done) / self._done
            line = f"{self._done:,} of {self._games:,} games, {left / 60:.1f} min left"
            self._console.print(line, highlight=False)

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
