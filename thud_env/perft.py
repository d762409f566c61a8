"""Count the sequences of complete turns from a position: move generation's usual test.

    python -m thud_env.perft --rules classic --depth 3
    python -m thud_env.perft --rules koom-valley --depth 2 --divide

prints one ``depth count`` line for each depth up to the one asked for; with ``--divide`` one
``turn count`` line for each turn that the position has, and the last depth's line only. Sequences
in which the battle ends early do not count. Known counts: docs/rules.md, section 7.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NoReturn

from thud_env.position import Position
from thud_env.rules import row as fields
from thud_env.rules import turns
from thud_env.rulesets import RULESETS, get_ruleset


def perft(position: Position, depth: int) -> int:
    """How many sequences of ``depth`` complete turns start in ``position``.

    Raises:
        ValueError: if ``position`` is in the middle of a turn, or ``depth`` is negative. An
            offer to end the battle is a turn, and so is its answer.
    """
    if position.row[fields.PENDING] not in (fields.NO_QUESTION, fields.ANSWER_OFFER):
        raise ValueError(f"{position.text!r} is in the middle of a turn: turns cannot be counted")
    if depth < 0:
        raise ValueError(f"depth {depth}: 0 or more would be right")
    return int(turns.perft(position.row, depth))


def divide(position: Position, depth: int) -> Iterator[tuple[str, int]]:
    """Each turn of ``position``, and how many of the sequences of ``depth`` turns it begins."""
    for turn in position.turns():
        yield turn, perft(position.play(turn), depth - 1)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}\n")


def _rules(text: str) -> str:
    try:
        return get_ruleset(text).name
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _depth(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"{text!r}: a whole number, 1 or more, would be right")
    return int(text)


def main(arguments: list[str] | None = None) -> None:
    """The command: see the module."""
    parser = _Parser(
        prog="python -m thud_env.perft",
        description="Count the sequences of complete turns from a position.",
    )
    parser.add_argument(
        "--rules", type=_rules, default="classic", help=f"{', '.join(RULESETS)} (classic)"
    )
    parser.add_argument("--depth", type=_depth, required=True, help="turns, 1 or more")
    parser.add_argument("--position", metavar="TEXT", help="position text; the start if left out")
    parser.add_argument("--divide", action="store_true", help="count for each turn of the position")
    options = parser.parse_args(arguments)
    try:
        position = (
            Position.start(options.rules)
            if options.position is None
            else Position.from_text(options.position, options.rules)
        )
        perft(position, 0)
    except ValueError as error:
        parser.error(str(error))
    try:
        _count(position, options.depth, options.divide)
    except KeyboardInterrupt:
        parser.exit(130, "stopped\n")


def _count(position: Position, depth: int, by_turn: bool) -> None:
    """Print the counts as they are found."""
    if by_turn:
        total = 0
        for turn, count in divide(position, depth):
            print(turn, count, flush=True)
            total += count
        print(depth, total)
        return
    for turns_played in range(1, depth + 1):
        print(turns_played, perft(position, turns_played), flush=True)


if __name__ == "__main__":
    main()
