"""Play agents against each other, all against all, and tell what that shows.

::

    python -m training.ladder random greedy --games 400
    python -m training.ladder --field configs/ladder/reference.yaml --out runs/ladder/reference
    python -m training.ladder --report runs/ladder/reference --publish docs/strength.md

Stop it at any time: the same command goes on where it was. The field may have grown by then.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from rich.console import Console

from thud_env.batch.threads import available_cores
from training.arena.intervals import resolution
from training.cli import fail
from training.ladder.fields import GAMES, RULES, make_field, read_field
from training.ladder.play import play_games
from training.ladder.progress import Progress
from training.ladder.publish import publish
from training.ladder.report import PICTURE, REPORT, write_report
from training.ladder.schedule import Field
from training.ladder.store import Store


def games_help() -> str:
    """What ``--games`` says of itself."""
    shown = ", ".join(f"{games}: {100 * resolution(games):.0f}" for games in (100, 400, 1000))
    return (
        f"games of every two agents, half of them with the seats swapped ({GAMES}); a share of "
        f"wins can be shown to differ from one half by so many points: {shown}"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m training.ladder",
        description="Play agents against each other, all against all.",
    )
    parser.add_argument("specs", nargs="*", metavar="SPEC", help="an agent, such as greedy")
    parser.add_argument("--field", type=Path, metavar="FILE", help="the agents and all else")
    parser.add_argument("--games", type=int, metavar="N", help=games_help())
    parser.add_argument("--rules", metavar="R", help=f"the ruleset ({RULES})")
    parser.add_argument("--seed", type=int, help="seeds all agents in all games (1)")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="where the games are kept (runs/ladder/NAME)"
    )
    parser.add_argument("--workers", type=int, metavar="N", help="processes (one a core)")
    parser.add_argument(
        "--report", type=Path, metavar="DIR", help="play nothing, write the report of DIR anew"
    )
    parser.add_argument(
        "--publish", type=Path, metavar="FILE", help="write the report as a page of the docs, too"
    )
    return parser


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    options = _parser().parse_args(arguments)
    console = Console()
    try:
        if options.report is not None:
            if options.specs or options.field or options.out:
                raise ValueError("--report DIR stands alone: it plays nothing")
            _report(options.report, options.publish, console)
            return 0
        field = _field(options)
        name = options.field.stem if options.field else field.rules
        folder = options.out or Path("runs") / "ladder" / name
        workers = available_cores() if options.workers is None else options.workers
        if workers < 1:
            raise ValueError(f"--workers {workers}: 1 or more would be right")
        play_ladder(field, folder, workers, console)
        _report(folder, options.publish, console)
    except ValueError as error:
        return fail("ladder", error)
    except BrokenProcessPool:
        return fail("ladder", "a worker was killed; the games played are kept")
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", file=sys.stderr)
        return 130
    return 0


def _field(options: argparse.Namespace) -> Field:
    given = {"games": options.games, "rules": options.rules, "seed": options.seed}
    if options.field is None:
        known = {name: value for name, value in given.items() if value is not None}
        return make_field(options.specs, **known)
    if options.specs:
        raise ValueError("agents are named either on the command line or by --field")
    return read_field(options.field, **given)


def play_ladder(field: Field, folder: Path, workers: int, console: Console) -> None:
    """Play all games of a field that a folder does not hold yet."""
    with Store(folder, field) as store:
        for note in store.notes:
            console.print(f"note: {note}", highlight=False, soft_wrap=True)
        held = {result.game for result in store.results}
        games = [game for game in field.games() if game not in held]
        if not games:
            return
        with (
            Progress(console, len(games), len(held)) as progress,
            # Closed at once on a stop: its workers end with it.
            contextlib.closing(play_games(field, games, workers)) as results,
        ):
            for result in results:
                store.add(result)
                progress.advance()


def _report(folder: Path, page: Path | None, console: Console) -> None:
    console.print(write_report(folder), highlight=False, soft_wrap=True, markup=False)
    if page is not None:
        publish(folder, page)
    console.print(f"\nall of it: {folder / REPORT}, {folder / PICTURE}", highlight=False)


if __name__ == "__main__":
    sys.exit(main())
