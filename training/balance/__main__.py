"""Play agents against themselves, and report what each game is worth to each side.

::

    python -m training.balance
    python -m training.balance --rules classic classic-all --games 40
    python -m training.balance --publish docs/balance.md

Every agent of a ladder's field plays both sides of battles from the book of openings, ruleset by
ruleset. Between equals, a margin is the game's own. Stop it at any time: the same command goes on
where it was.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from thud_env.batch.cpu import available_cores
from thud_env.command import Command, bounded
from thud_env.rulesets import RULESETS, get_ruleset
from training.arena.field import Field, Game
from training.arena.games import try_players
from training.balance.figures import Balance, balance_of
from training.balance.page import check_page, publish, tables
from training.commands.console import CommandConsole
from training.ladder.fields import read_field
from training.ladder.tournament import missing, play_missing
from training.usage import ALLOW_PYTHON

FIELD = Path(__file__).resolve().parents[2] / "configs" / "ladder" / "balance.yaml"


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    command = Command("training.balance", __doc__)
    add = command.add_argument
    add("--field", type=Path, default=FIELD, metavar="FILE", help="the agents (balance.yaml)")
    add("--rules", nargs="+", default=list(RULESETS), metavar="R", help="the rulesets (all five)")
    battles = "each agent plays N / 2 battles against itself (N: games in FILE)"
    add("--games", type=bounded(int), metavar="N", help=battles)
    add("--out", type=Path, default=Path("runs", "balance"), metavar="DIR", help="(runs/balance)")
    add("--workers", type=bounded(int, 1), metavar="N", help="processes (one a core)")
    add("--publish", type=Path, metavar="FILE", help="write a page of the docs, too")
    add("--allow-python", action="store_true", help=ALLOW_PYTHON)
    return command.run(
        _balance,
        words,
        stopped="stopped; the same command goes on from here",
    )


def _balance(arguments: argparse.Namespace) -> None:
    console = CommandConsole()
    workers = arguments.workers or available_cores()
    if arguments.publish is not None:
        check_page(arguments.publish)
    fields = [
        read_field(
            arguments.field,
            allow_python=arguments.allow_python,
            rules=rules,
            games=arguments.games,
        )
        for rules in arguments.rules
    ]
    folders = [arguments.out / get_ruleset(field.rules).name for field in fields]
    for field, folder in zip(fields, folders, strict=True):
        if missing(mirrors(field), folder):  # all, before the first is played for hours
            try_players(field.agents, field.rules, console)
    found = [
        play_mirrors(field, folder, workers, console)
        for field, folder in zip(fields, folders, strict=True)
    ]
    console.print("\n".join(tables(found)), soft_wrap=True)
    if arguments.publish is not None:
        publish(found, arguments.publish)


def mirrors(field: Field) -> Iterator[Game]:
    """The games of a field in which an agent meets itself, start by start."""
    return (game for game in field.games() if game.dwarfs == game.trolls)


def play_mirrors(field: Field, folder: Path, workers: int, console: Console) -> Balance:
    """Play the mirrors of a field that a folder does not hold yet, and return what they show."""
    wanted = set(mirrors(field))
    results = play_missing(field, mirrors(field), folder, workers, console)
    return balance_of(field, [result for result in results if result.game in wanted])


if __name__ == "__main__":
    sys.exit(main())
