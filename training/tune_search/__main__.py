"""Tune options of a searching player, one at a time, against several opponents.

::

    python -m training.tune_search classic mcts:sims=100 c=0.4,1.5 fpu=0.2 temperature=15,60
    python -m training.tune_search koom-valley alphabeta:depth=2 quiescence=2,6

Each value is a *candidate*: the base with this one option changed. Candidates and base play the
same opponents from the same starts of the book, in both seats. A candidate's gain is its margins
less the base's, start by start. After every round of starts, from the 20th start on, a candidate is
dropped if the interval of its gain is below 0. After ``--pairs`` starts from the front of the book,
the best one left plays again from the back, which had no part in its selection. It is recommended
only if its interval there is above 0.

All battles are kept in ``runs/tune-search/RULES-PLAYER``, as those of a ladder are. After a stop
the same command goes on from there, also with more options or pairs. The result is ``result.json``
there.
Battles end after 60 quiet turns, or 300 in all, whatever the ruleset has.
Candidates are not compared at equal time: ``time`` in the result is the ratio of a candidate's CPU
time a turn to the base's.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from agents.durable import replace_flushed
from agents.specs import Spec
from thud_env.batch.cpu import available_cores
from thud_env.command import Command, bounded
from thud_env.errors import ThudError
from thud_env.rulesets import get_ruleset
from training.arena.field import Field, Game
from training.arena.games import Result
from training.arena.openings import read_openings
from training.commands.console import CommandConsole
from training.ladder.store import refuse_others
from training.ladder.tournament import play_missing
from training.tune_search.tournament import LIMITS, Plan, Tuning

RESULT = "result.json"
OPPONENTS = ("alphabeta:depth=1", "alphabeta:depth=2", "greedy2")


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    command = Command("training.tune_search", __doc__)
    add = command.add_argument
    add("rules", metavar="RULES", help="the ruleset")
    add("base", metavar="SPEC", help="the player as it is")
    add("options", nargs="+", metavar="OPTION=VALUE,...", help="values to try instead")
    add(
        "--opponents",
        nargs="+",
        default=list(OPPONENTS),
        metavar="SPEC",
        help=f"the opponents ({' '.join(OPPONENTS)})",
    )
    add("--pairs", type=bounded(int, 2), default=40, metavar="N", help="starts each (40)")
    add("--batch", type=bounded(int, 2), default=10, metavar="N", help="starts of a round (10)")
    add("--out", type=Path, metavar="DIR", help="where all is kept (runs/tune-search/RULES-PLAYER)")
    add("--workers", type=bounded(int, 1), metavar="N", help="processes (one a core)")
    return command.run(
        _tune,
        words,
        stopped="stopped; the same command goes on from here",
    )


def _tune(arguments: argparse.Namespace) -> None:
    ruleset = get_ruleset(arguments.rules)
    book = read_openings(ruleset.spec)
    plan = Plan(
        ruleset.spec,
        arguments.base,
        tuple(candidates(arguments.base, arguments.options)),
        tuple(arguments.opponents),
        arguments.pairs,
        arguments.batch,
        book.digest,
    )
    if 2 * plan.pairs > len(book.starts):
        raise ThudError(f"--pairs {plan.pairs}: {len(book.starts) // 2} at most would be right")
    name = f"{ruleset.name}-{Spec.of(plan.base).name}"
    folder = arguments.out or Path("runs") / "tune-search" / name
    refuse_others(folder, RESULT)
    most = dict.fromkeys(plan.players, 2 * len(book.starts))
    field = Field(most, ruleset.spec, book, limits=LIMITS)
    workers, console = arguments.workers or available_cores(), CommandConsole()

    def play(games: list[Game]) -> list[Result]:
        return play_missing(field, games, folder, workers, console)

    result = Tuning(plan, len(book.starts), play).run()
    out = folder / RESULT
    replace_flushed(out, f"{json.dumps(result, indent=1)}\n".encode())
    print(f"recommended: {', '.join(result['recommended']) or 'the base'}; all of it: {out}")


def candidates(base: str, options: list[str]) -> list[str]:
    """The specs of the base with one option changed, or added.

    Raises:
        ThudError: naming an option that has no values.
    """
    specs = []
    for option in options:
        name, _, values = option.partition("=")
        if not values:
            raise ThudError(f"{option}: {name}=VALUE,VALUE would be right")
        specs += [str(Spec.of(base).given(name, value)) for value in values.split(",")]
    return specs


if __name__ == "__main__":
    sys.exit(main())
