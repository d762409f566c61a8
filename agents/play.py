"""Play against an agent in the terminal, or watch two of them.

::

    python -m agents.play
    python -m agents.play --trolls human --dwarfs alphabeta:depth=2 --record mine.thud
    python -m agents.play --dwarfs policy:pretrained/classic --trolls mcts:sims=200
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path

from agents.registry import make
from agents.terminal.session import Table
from thud_env import Position, write_record
from thud_env.position import SIDES
from thud_env.record.files import Record

HUMAN, OPPONENT = "human", "greedy"


def seats(dwarfs: str | None, trolls: str | None) -> dict[str, str]:
    """Who plays which side. A side that is left out is a person's, or, against a person, an
    agent's that is easy to beat.
    """
    if dwarfs is None:
        dwarfs = OPPONENT if trolls == HUMAN else HUMAN
    if trolls is None:
        trolls = OPPONENT if dwarfs == HUMAN else HUMAN
    return {"dwarfs": dwarfs, "trolls": trolls}


def reserve(path: Path) -> None:
    """Take a file's name before an hour is spent on what it is to hold.

    Raises:
        FileExistsError: if ``path`` exists; nothing is overwritten.
        OSError: if no file can be made there.
    """
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        raise FileExistsError(f"{path} exists: name another file") from None


def main(arguments: list[str] | None = None, ask: Callable[[str], str] = input) -> int:
    """The command line; returns the exit code. ``ask`` prints a prompt and reads an answer."""
    parser = argparse.ArgumentParser(
        prog="python -m agents.play", description="Play against an agent, or watch two of them."
    )
    for side in SIDES:
        parser.add_argument(f"--{side}", metavar="SPEC", help=f"an agent, or {HUMAN}: you")
    parser.add_argument("--rules", default="classic", help="the ruleset (classic)")
    parser.add_argument("--seed", type=int, help="repeats the agents' choices (drawn anew)")
    parser.add_argument("--position", metavar="TEXT", help="where to begin (the ruleset's start)")
    parser.add_argument("--agreement", action="store_true", help="the battle may end by agreement")
    parser.add_argument("--record", metavar="FILE", type=Path, help="a new file for the battle")
    options = parser.parse_args(arguments)
    names = seats(options.dwarfs, options.trolls)
    try:
        seed = random.randrange(2**16) if options.seed is None else options.seed
        if seed < 0:
            raise ValueError(f"--seed {seed}: 0 or more would be right")
        start = Position.start(options.rules, agreement=options.agreement)
        if options.position is not None:
            start = Position.from_text(options.position, options.rules, agreement=options.agreement)
        players = {
            side: None if names[side] == HUMAN else make(names[side], 2 * seed + number)
            for number, side in enumerate(SIDES)
        }
        on_terminal = sys.stdout.isatty()
        table = Table(
            start,
            players,
            ask=ask,
            color=on_terminal and not os.environ.get("NO_COLOR"),
            boards=on_terminal or None in players.values(),
        )
        if options.record is not None:
            reserve(options.record)
        try:
            table.play()
        finally:
            if options.record is not None:
                tags = {side.title(): name for side, name in names.items()}
                write_record(options.record, Record(start, tuple(table.turns), tags))
    except (ValueError, OSError) as error:
        print(f"play: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    with contextlib.suppress(ImportError):  # arrow keys at the prompt, where the system has them
        import readline  # noqa: F401
    sys.exit(main())
