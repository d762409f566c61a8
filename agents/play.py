"""Play against an agent in the terminal or in the browser, or watch two agents.

::

    python -m agents.play
    python -m agents.play --web
    python -m agents.play --trolls human --dwarfs alphabeta:depth=2 --record mine.thud
    python -m agents.play --dwarfs policy:pretrained/classic --trolls mcts:sims=200
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import monotonic

from agents.agent import Agent
from agents.asking import check_seat, rules_learnt
from agents.registry import make
from agents.terminal.session import Table
from agents.threads import use_one_thread
from thud_env import Position, write_record
from thud_env.command import BATTLE_LIMITS, Command, bounded
from thud_env.errors import ThudError
from thud_env.outcome import SIDES, Side
from thud_env.record.files import Record
from thud_env.rulesets import CLASSIC, Ruleset, get_ruleset

HUMAN, OPPONENT = "human", "greedy"
KEEP_EVERY = 1.0
"""Seconds between writes of a record: each plays the battle once more."""
_NOT_FOR_THE_PAGE = {
    "seed": "its players always draw anew",
    **dict.fromkeys(BATTLE_LIMITS, "its battles end as their ruleset has it"),
    "record": "the page saves records itself",
}


def seats(dwarfs: str | None, trolls: str | None) -> dict[str, str]:
    """The players by side. A side that is left out is a person's or, against a person, that of an
    agent that is easy to beat.
    """
    if dwarfs is None:
        dwarfs = OPPONENT if trolls == HUMAN else HUMAN
    if trolls is None:
        trolls = OPPONENT if dwarfs == HUMAN else HUMAN
    return {"dwarfs": dwarfs, "trolls": trolls}


@contextlib.contextmanager
def reserved(path: Path | None) -> Iterator[None]:
    """Create the record's file before the battle, so that a bad name fails at once. It goes if
    nothing could be written to it.

    Raises:
        FileExistsError: if ``path`` exists; nothing is overwritten.
        OSError: if no file can be made there.
    """
    if path is None:
        yield
        return
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        raise FileExistsError(f"{path} exists: name another file") from None
    try:
        yield
    finally:
        if path.exists() and path.stat().st_size == 0:
            path.unlink()


def now_and_then(keep: Callable[[list[str]], None]) -> Callable[[list[str]], None]:
    """Keep turns once in ``KEEP_EVERY`` seconds, since the process may be killed. What fails then
    is told at the end, when it is tried again.
    """
    due = 0.0

    def keep_if_due(turns: list[str]) -> None:
        nonlocal due
        if monotonic() >= due:
            with contextlib.suppress(OSError):
                keep(turns)
            due = monotonic() + KEEP_EVERY

    return keep_if_due


def serve_page(arguments: argparse.Namespace) -> None:
    """Serve the page, with the battle that the arguments ask for.

    Raises:
        ThudError: if an argument is wrong or does not go with the page, or the port is taken.
    """
    for name, reason in _NOT_FOR_THE_PAGE.items():
        if getattr(arguments, name) is not None:
            raise ThudError(f"--{name.replace('_', '-')} is not for --web: {reason}")
    try:
        from agents.web.serve import serve
    except ImportError as error:
        raise ThudError(
            f'--web needs {error.name}: pip install ".[web]" in the checkout would be right'
        ) from None
    names = seats(arguments.dwarfs, arguments.trolls)
    players = {side: None if names[side] == HUMAN else make(names[side]) for side in SIDES}
    rules = _checked_rules(arguments.rules, players)
    seated = {side: name for side, name in names.items() if name != HUMAN}
    asked = {}
    chosen = (arguments.dwarfs, arguments.trolls, arguments.position, arguments.agreement)
    if any(chosen) or rules != CLASSIC:
        agreement = "yes" if arguments.agreement else "no"
        position = arguments.position or ""
        asked = {"rules": rules.spec, "position": position, "agreement": agreement, **seated}
    host = arguments.host or "127.0.0.1"
    serve(host, arguments.port or 0, extra=seated.values(), asked=asked)


def _checked_rules(asked: str | None, players: Mapping[Side, Agent | None]) -> Ruleset:
    """The ruleset to play: that asked for, or else the one that the players learnt.

    Raises:
        ThudError: if a player does not play it.
    """
    seated = {side: player for side, player in players.items() if player is not None}
    rules = get_ruleset(asked or rules_learnt(seated.values()))
    for side, player in seated.items():
        check_seat(player, rules, side)
    return rules


def main(words: list[str] | None = None, ask: Callable[[str], str] = input) -> int:
    """The command line; returns the exit code. ``ask`` prints a prompt and reads an answer."""
    command = Command("agents.play", __doc__)
    for side in SIDES:
        command.add_argument(f"--{side}", metavar="SPEC", help=f"an agent, or {HUMAN}: you")
    command.add_rules("as the policies learnt, or classic")
    command.add_argument(
        "--seed", type=bounded(int, 0), metavar="N", help="repeats the agents' choices (drawn anew)"
    )
    command.add_argument("--position", metavar="TEXT", help="where to begin (the ruleset's start)")
    command.add_argument("--agreement", action="store_true", help="the battle may end by agreement")
    command.add_limits()
    command.add_argument("--record", metavar="FILE", type=Path, help="a new file for the battle")
    command.add_argument("--web", action="store_true", help="play in the browser, on a local page")
    command.add_argument("--host", metavar="NAME", help="with --web: where to listen (127.0.0.1)")
    command.add_argument(
        "--port",
        type=bounded(int, 0, 65535),
        metavar="N",
        help="with --web: the port (the first free one from 8015)",
    )
    return command.run(lambda arguments: _play(arguments, ask), words)


def _play(arguments: argparse.Namespace, ask: Callable[[str], str]) -> None:
    use_one_thread()
    if arguments.web:
        serve_page(arguments)
        return
    for name in ("host", "port"):
        if getattr(arguments, name) is not None:
            raise ThudError(f"--{name} is for --web, the page: give that, too")
    names = seats(arguments.dwarfs, arguments.trolls)
    seed = random.randrange(2**16) if arguments.seed is None else arguments.seed
    limits = {name: getattr(arguments, name) for name in ("agreement", *BATTLE_LIMITS)}
    players = {
        side: None if names[side] == HUMAN else make(names[side], 2 * seed + number)
        for number, side in enumerate(SIDES)
    }
    rules = _checked_rules(arguments.rules, players)
    start = Position.start(rules, **limits)
    if arguments.position is not None:
        start = Position.from_text(arguments.position, rules, **limits)
    on_terminal = sys.stdout.isatty()
    tags = {side.title(): name for side, name in names.items()}

    def keep(turns: list[str]) -> None:
        if arguments.record is not None:
            write_record(arguments.record, Record(start, tuple(turns), tags))

    table = Table(
        start,
        players,
        ask=ask,
        color=on_terminal and not os.environ.get("NO_COLOR"),
        boards=on_terminal or None in players.values(),
        after_turn=now_and_then(keep),
    )
    with reserved(arguments.record):
        try:
            table.play()
        finally:
            keep(table.turns)


if __name__ == "__main__":
    with contextlib.suppress(ImportError):  # arrow keys at the prompt, where the system has them
        import readline  # noqa: F401
    sys.exit(main())
