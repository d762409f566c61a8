"""Play agents against each other, all against all, and report the results.

::

    python -m training.ladder random greedy --games 400
    python -m training.ladder --field configs/ladder/classic.yaml
    python -m training.ladder --report runs/ladder/field-classic --publish docs/strength.md

Stop it at any time: the same command continues, also with more agents or games.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection
from pathlib import Path

from rich.console import Console

from thud_env.batch.cpu import available_cores
from thud_env.command import BATTLE_LIMITS, Command, bounded
from thud_env.errors import ThudError
from thud_env.rulesets import get_ruleset
from training.arena.field import Field
from training.arena.intervals import half_width
from training.commands.console import CommandConsole
from training.ladder.fields import GAMES, RULES, make_field, read_field
from training.ladder.publish import check_page, publish
from training.ladder.report import NUMBERS, PICTURE, REPORT, write_report
from training.ladder.store import read_games, refuse_others
from training.ladder.tournament import play_missing
from training.usage import ALLOW_PYTHON, near_name

_SETTINGS = ("games", "rules", "seed", *BATTLE_LIMITS)
"""The options that a field may set, too."""


def games_help() -> str:
    """The help text of ``--games``."""
    known = ", ".join(f"{games}: {100 * half_width(games // 2):.0f}" for games in (100, 400, 1000))
    return (
        f"games of every two agents ({GAMES}): N / 2 starts, each in both seats, which is N / 2 "
        "game pairs; an agent plays itself once from each; a share of pairs won, near one half, is "
        f"known to so many percentage points either way: {known}"
    )


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    command = Command("training.ladder", __doc__)
    add = command.add_argument
    add("specs", nargs="*", metavar="SPEC", help="an agent, such as greedy")
    add("--field", type=Path, metavar="FILE", help="the agents and all else")
    add("--games", type=bounded(int), metavar="N", help=games_help())
    add("--rules", metavar="R", help=f"the ruleset ({RULES})")
    add("--seed", type=bounded(int), metavar="N", help="seeds all agents in all games (1)")
    command.add_limits(least=1)
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="where the games are kept (runs/ladder/RULES, or runs/ladder/field-FILE)",
    )
    add("--workers", type=bounded(int, 1), metavar="N", help="processes (one a core)")
    add("--report", type=Path, metavar="DIR", help="play nothing, write the report of DIR anew")
    add("--publish", type=Path, metavar="FILE", help="write the report as a page of the docs, too")
    add("--allow-python", action="store_true", help=ALLOW_PYTHON)
    return command.run(
        _ladder,
        words,
        stopped="stopped; the same command goes on from here",
    )


def _ladder(arguments: argparse.Namespace) -> None:
    console = CommandConsole()
    if arguments.report is not None:
        for name in ("specs", "field", "out", "workers", *_SETTINGS):
            if getattr(arguments, name) not in (None, []):
                word = "SPEC" if name == "specs" else f"--{name.replace('_', '-')}"
                raise ThudError(f"--report DIR plays nothing: without {word} it is right")
        if arguments.publish is not None:
            check_page(arguments.publish, read_games(arguments.report).header)
        _report(arguments.report, arguments.publish, console)
        return
    field = _field(arguments)
    if arguments.publish is not None:
        check_page(arguments.publish, field)
    of_file = arguments.field is not None
    name = f"field-{arguments.field.stem}" if of_file else get_ruleset(field.rules).name
    folder = arguments.out or Path("runs") / "ladder" / name
    refuse_others(folder, REPORT, NUMBERS, PICTURE)
    workers = arguments.workers or available_cores()
    play_missing(field, field.games(), folder, workers, console)
    _report(folder, arguments.publish, console)


def _field(options: argparse.Namespace) -> Field:
    given = {name: getattr(options, name) for name in _SETTINGS}
    if options.field is None:
        for spec in options.specs:
            if spec.endswith(".yaml") and ":" not in spec:  # after one, it is an option's value
                raise ThudError(f"{spec} is no agent: --field {spec} would be right")
        _check_two(options.specs)
        known = {name: value for name, value in given.items() if value is not None}
        return make_field(options.specs, **known)
    if options.specs:
        raise ThudError("agents are named either on the command line or by --field")
    if not options.field.exists():
        right = near_name(options.field) or "configs/ladder/classic.yaml would be right"
        raise ThudError(f"--field {options.field}: there is no such file: {right}")
    field = read_field(options.field, allow_python=options.allow_python, **given)
    _check_two(field.agents)
    return field


def _check_two(agents: Collection[str]) -> None:
    if len(agents) < 2:
        raise ThudError("a ladder needs two agents or more")


def _report(folder: Path, page: Path | None, console: Console) -> None:
    console.print(write_report(folder), soft_wrap=True)
    if page is not None:
        publish(folder, page)
    console.print(f"\nall of it: {folder / REPORT}, {folder / PICTURE}", soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
