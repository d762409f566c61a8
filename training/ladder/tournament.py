"""Plays games of a field that a folder does not hold yet."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console

from thud_env.command import counted
from training.arena.field import Field, FieldError, Game
from training.arena.games import Result, play_games, try_players
from training.commands.progress import Progress
from training.ladder.store import Store, read_games


def missing(wanted: Iterable[Game], folder: Path) -> list[Game]:
    """The wanted games that a folder does not hold: all, if it cannot be read."""
    try:
        results = read_games(folder).results
    except FieldError:  # it is new, or the store says what is wrong
        results = []
    return _without(wanted, results)


def _without(wanted: Iterable[Game], results: list[Result]) -> list[Game]:
    held = {result.game for result in results}
    return [game for game in wanted if game not in held]


def play_missing(
    field: Field, wanted: Iterable[Game], folder: Path, workers: int, console: Console
) -> list[Result]:
    """Play the wanted games of a field that a folder does not hold yet, and keep them there.

    Returns:
        all games that the folder holds then.

    Raises:
        ThudError: if an agent cannot play by the rules of the field.
        FieldError: if the folder holds results of something else, or is in use.
        ChildProcessError: if a worker was killed; the games played are kept.
    """
    wanted = list(wanted)
    if missing(wanted, folder):  # before the store makes a folder, and keeps the agents' names
        try_players(field.agents, field.rules, console)
    with Store(folder, field) as store:
        for note in store.notes:
            console.print(f"note: {note}", soft_wrap=True)
        games = _without(wanted, store.results)
        if games:
            kept = f", {len(store.results):,} are kept" if store.results else ""
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
