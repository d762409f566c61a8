"""Review a battle from its record: what each turn cost, and what would have been better.

::

    python -m agents.review game.thud
    python -m agents.review game.thud --agent alphabeta:depth=6
    python -m agents.review game.thud --json

A line is a turn, the margin that the agent expects after it, and, if another turn would have been
better, what the turn cost its side, that other turn, and the margin after that one.

Margins are those that it expects at the end, from the dwarfs' view: in points or, in the Koom
Valley games, 1 for a win of the dwarfs and -1 for one of the trolls.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator
from itertools import pairwise

from agents.agent import Agent
from agents.findings import judged, make_judge, margin_expected
from agents.threads import use_one_thread
from thud_env import Position, Record, read_record
from thud_env.command import Command, counted
from thud_env.outcome import SIDES

REVIEWER = "alphabeta:depth=4"
"""The player that reviews: some seconds for a battle."""
_LEAST_SHOWN = 0.005
"""What costs less is shown as nothing."""


@dataclasses.dataclass(frozen=True)
class ReviewedTurn:
    """A turn of a battle, and what a player says of it."""

    number: int
    """Counts the turns of the record, from 1."""
    side: str
    """Who played it."""
    turn: str
    """The turn, in notation."""
    margin: float
    """The margin at the end, from the dwarfs' view, that the player expects after the turn; if the
    turn ends the battle, the margin of its outcome."""
    best: str
    """The turn that the player would have played."""
    best_margin: float
    """The margin after that one, likewise."""

    @property
    def cost(self) -> float:
        """What the turn cost the side that played it, 0 or more: how much better for it the best
        turn is. A turn that turns out no worse than the best cost nothing.
        """
        better = self.best_margin - self.margin
        return max(0.0, better if self.side == SIDES[0] else -better)


def review(record: Record, spec: str | Agent = REVIEWER) -> Iterator[ReviewedTurn]:
    """Judge every turn of a battle, and the turn that a player would have played in its place. Both
    are judged by what the player expects after them, within the limits that it has in play; so
    ``alphabeta:depth=4`` looks five turns ahead.

    Args:
        record: the battle.
        spec: a player with a method ``judge``, a search or a policy; or one at hand.

    Yields:
        The turns, as they are judged.

    Raises:
        ThudError: as ``make`` does; or if the player cannot say what a position is worth, or does
            not play this game, or not both sides.
        AnswerError: if a player of the user's own does not answer with an opinion.
        OwnAgentError: if a player of the user's own fails.
    """
    player = make_judge(spec)
    _, best = _expected(player, record.start)
    pairs = zip(record.turns, pairwise(record.positions()), strict=True)
    for number, (turn, (position, after)) in enumerate(pairs, 1):
        margin, next_best = _expected(player, after)
        best_margin = margin if best == turn else margin_expected(player, position.play(best))
        yield ReviewedTurn(number, position.to_move, turn, margin, best, best_margin)
        best = next_best


def _expected(player: Agent, position: Position) -> tuple[float, str]:
    """The margin at the end, and the turn that a player would play; no turn once it is over."""
    if position.outcome is not None:
        return margin_expected(player, position), ""
    finding = judged(player, position)
    assert finding.margin is not None
    return finding.margin, finding.line[0]


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    command = Command("agents.review", __doc__)
    command.add_argument("record", help="a .thud file")
    command.add_argument(
        "--agent",
        default=REVIEWER,
        metavar="SPEC",
        help=f"who judges: a search or a policy ({REVIEWER})",
    )
    command.add_argument("--rules", metavar="R", help="the ruleset (the record's own)")
    command.add_argument("--json", action="store_true", help="print one JSON object")
    return command.run(_review, words)


def _review(arguments: argparse.Namespace) -> None:
    use_one_thread()
    record = read_record(arguments.record, arguments.rules)
    turns = review(record, arguments.agent)
    if arguments.json:
        told = {
            "rules": record.rules.spec,
            "agent": arguments.agent,
            "turns": [dataclasses.asdict(one) | {"cost": one.cost} for one in turns],
        }
        print(json.dumps(told, indent=2))
        return
    width = max(map(len, record.turns), default=0)
    reviewed = []
    for one in turns:
        print(_line(one, width), flush=True)
        reviewed.append(one)
    for side in SIDES:
        print(_summary(side, [one for one in reviewed if one.side == side]))


def _line(one: ReviewedTurn, width: int) -> str:
    """A turn, its margin and, where another was better, its cost and that turn."""
    line = f"{one.number:4} {one.side} {one.turn:{width}} {one.margin:+z7.2f}"
    if one.cost >= _LEAST_SHOWN:
        line += f"  cost {one.cost:.2f}: {one.best} {one.best_margin:+z.2f}"
    return line


def _summary(side: str, turns: list[ReviewedTurn]) -> str:
    """What the turns of a side cost it on average, and which cost most."""
    if not turns:
        return f"{side}: no turns"
    mean = sum(one.cost for one in turns) / len(turns)
    worst = max(turns, key=lambda one: one.cost)
    line = f"{side}: {counted(len(turns), 'turn')}, a mean cost of {mean:.2f}"
    if worst.cost >= _LEAST_SHOWN:
        line += f"; turn {worst.number} cost most, {worst.cost:.2f}"
    return line


if __name__ == "__main__":
    sys.exit(main())
