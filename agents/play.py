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
from thud_env.command import Command, bounded
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


def main(words: list[str] | None = None, ask: Callable[[str], str] = input) -> int:
    """The command line; returns the exit code. ``ask`` prints a prompt and reads an answer."""
    command = Command("agents.play", __doc__)
    for side in SIDES:
        command.add_argument(f"--{side}", metavar="SPEC", help=f"an agent, or {HUMAN}: you")
    command.add_rules()
    command.add_argument(
        "--seed", type=bounded(int, 0), metavar="N", help="repeats the agents' choices (drawn anew)"
    )
    command.add_argument("--position", metavar="TEXT", help="where to begin (the ruleset's start)")
    command.add_argument("--agreement", action="store_true", help="the battle may end by agreement")
    command.add_argument("--record", metavar="FILE", type=Path, help="a new file for the battle")
    return command.run(lambda arguments: _play(arguments, ask), words)


def _play(arguments: argparse.Namespace, ask: Callable[[str], str]) -> None:
    names = seats(arguments.dwarfs, arguments.trolls)
    seed = random.randrange(2**16) if arguments.seed is None else arguments.seed
    rules, agreement = arguments.rules, arguments.agreement
    start = Position.start(rules, agreement=agreement)
    if arguments.position is not None:
        start = Position.from_text(arguments.position, rules, agreement=agreement)
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
    if arguments.record is not None:
        reserve(arguments.record)
    try:
        table.play()
    finally:
        if arguments.record is not None:
            tags = {side.title(): name for side, name in names.items()}
            write_record(arguments.record, Record(start, tuple(table.turns), tags))


if __name__ == "__main__":
    with contextlib.suppress(ImportError):  # arrow keys at the prompt, where the system has them
        import readline  # noqa: F401
    sys.exit(main())
