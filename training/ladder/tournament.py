"""Plays games of a field that a folder does not hold yet."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console

from training.arena.intervals import counted
from training.ladder.play import Result, play_games, try_players
from training.ladder.schedule import Field, Game
from training.ladder.store import Store
from training.process.progress import Progress


def play_missing(
    field: Field, wanted: Iterable[Game], folder: Path, workers: int, console: Console
) -> list[Result]:
    """Play the wanted games of a field that a folder does not hold yet, and keep them there.

    Returns:
        all games that the folder holds then.

    Raises:
        ValueError: if an agent cannot play by the rules of the field.
        LadderError: if the folder holds results of something else, or is in use.
        ChildProcessError: if a worker was killed; the games played are kept.
    """
    with console.status("trying the players ..."):
        try_players(field)  # first: the store makes a folder, and keeps the agents' names
    with Store(folder, field) as store:
        for note in store.notes:
            console.print(f"note: {note}", soft_wrap=True)
        held = {result.game for result in store.results}
        games = [game for game in wanted if game not in held]
        if games:
            kept = f", {len(held):,} are kept" if held else ""
            console.print(f"{counted(len(games), 'game')} to play{kept}")
            with (
                Progress(console, "ladder", "games", len(games)) as progress,
                # Closed at once on a stop, which ends its workers.
                contextlib.closing(play_games(field, games, workers)) as results,
            ):
                try:
                    for result in results:
                        store.add(result)
                        progress.advance()
                except ChildProcessError as error:
                    raise ChildProcessError(f"{error}; the games played are kept") from None
        return store.results
