"""List the best turns of a position, what each is worth, and the turns that follow.

::

    python -m agents.analyse
    python -m agents.analyse --rules koom-valley --agent alphabeta:depth=3 --best 10
    python -m agents.analyse --position "5/7/9/11/13/8T2d3/15/7R3d3/5d9/4d10/2d10/7T3/9/7/5 d - 0 0"
    python -m agents.analyse --json

The agent judges the position after every turn, and plays on from the best. So its limit, such as
time=0.1, is one a turn: there are 656 at the start of a Classic battle.

Margins are those that it expects at the end, from the dwarfs' view: in points or, in the Koom
Valley games, 1 for a win of the dwarfs and -1 for one of the trolls.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys

from agents.analysis import RankedTurn, best_turns
from agents.asking import rules_learnt
from agents.findings import ADVISER
from agents.registry import make
from agents.threads import use_one_thread
from agents.words import standing
from thud_env import Position
from thud_env.command import Command, bounded
from thud_env.rulesets import get_ruleset


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    command = Command("agents.analyse", __doc__)
    command.add_rules("as the agent learnt, or classic")
    command.add_argument("--position", metavar="TEXT", help="position text (the ruleset's start)")
    command.add_argument("--agreement", action="store_true", help="the battle may end by agreement")
    command.add_argument(
        "--agent",
        default=ADVISER,
        metavar="SPEC",
        help=f"who judges: a search or a policy ({ADVISER})",
    )
    command.add_argument(
        "--best", type=bounded(int, 1), default=5, metavar="N", help="the most turns to list (5)"
    )
    command.add_argument("--json", action="store_true", help="print one JSON object")
    return command.run(_analyse, words)


def _analyse(arguments: argparse.Namespace) -> None:
    use_one_thread()
    rules = get_ruleset(arguments.rules or rules_learnt([make(arguments.agent)]))
    text, agreement = arguments.position, arguments.agreement
    position = Position.start(rules, agreement=agreement)
    if text is not None:
        position = Position.from_text(text, rules, agreement=agreement)
    best = best_turns(position, arguments.agent, arguments.best)
    if arguments.json:
        told = {
            "rules": position.rules.spec,
            "position": position.text,
            "to_move": position.to_move,
            "margin": position.margin,
            "agent": arguments.agent,
            "turns": [dataclasses.asdict(one) for one in best],
        }
        print(json.dumps(told, indent=2))
        return
    print(standing(position))
    print(_table(best))


def _table(best: list[RankedTurn]) -> str:
    """A line for each turn, under a heading."""
    width = max(len("turn"), *(len(one.turn) for one in best))
    lines = [f"{'turn':{width}}  margin  line"]
    for one in best:
        line = " ".join(one.line) or "the battle ends"
        lines.append(f"{one.turn:{width}}  {one.margin:+z6.2f}  {line}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
