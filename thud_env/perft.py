"""Count the sequences of complete turns from a position: move generation's usual test.

::

    python -m thud_env.perft --rules classic --depth 3
    python -m thud_env.perft --rules koom-valley --depth 2 --divide

Prints one ``depth count`` line for each depth up to the one asked for; with ``--divide`` one
``turn count`` line for each turn that the position has, and the last depth's line only. Sequences
in which the battle ends early do not count. Known counts: docs/rules.md, section 7.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from thud_env.arguments import as_count
from thud_env.command import Command, bounded
from thud_env.errors import ThudError
from thud_env.position import Position
from thud_env.rules import row as fields
from thud_env.rules import turns
from thud_env.rulesets import LARGEST_LIMIT


def perft(position: Position, depth: int) -> int:
    """How many sequences of ``depth`` complete turns start in ``position``.

    Raises:
        ThudError: if ``position`` is in the middle of a turn, or ``depth`` is not an integer in
            0 .. 32767. An offer to end the battle is a turn, and so is its answer.
    """
    if not fields.is_between_turns(position.row):
        raise ThudError(f"{position.text!r} is in the middle of a turn: turns cannot be counted")
    return int(turns.perft(position.row, as_count("depth", depth, least=0, most=LARGEST_LIMIT)))


def divide(position: Position, depth: int) -> Iterator[tuple[str, int]]:
    """Each turn of ``position``, and how many of the sequences of ``depth`` turns it begins."""
    for turn in position.turns():
        yield turn, perft(position.play(turn), depth - 1)


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    command = Command("thud_env.perft", __doc__)
    command.add_rules()
    command.add_argument(
        "--depth",
        type=bounded(int, 1, LARGEST_LIMIT),
        required=True,
        metavar="N",
        help="turns, 1 or more",
    )
    command.add_argument("--position", metavar="TEXT", help="position text; the start if left out")
    command.add_argument(
        "--divide", action="store_true", help="count for each turn of the position"
    )
    return command.run(_count, words)


def _count(arguments: argparse.Namespace) -> None:
    """Print the counts as they are found."""
    position = Position.start(arguments.rules)
    if arguments.position is not None:
        position = Position.from_text(arguments.position, arguments.rules)
    depth = arguments.depth
    perft(position, 0)  # refuses the middle of a turn before anything is printed
    if arguments.divide:
        total = 0
        for turn, count in divide(position, depth):
            print(turn, count, flush=True)
            total += count
        print(depth, total)
        return
    for turns_played in range(1, depth + 1):
        # Turn by turn: Ctrl-C is heard between calls of compiled code only.
        print(turns_played, sum(count for _, count in divide(position, turns_played)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
