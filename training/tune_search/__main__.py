"""Tune options of a searching player, one at a time, against several opponents.

::

    python -m training.tune_search classic mcts:sims=100 c=0.4,1.5 fpu=0.2 temperature=15,60
    python -m training.tune_search koom-valley alphabeta:depth=2 quiescence=2,6

Each value is a *candidate*: the base with this one option changed. Candidates and base play the
same opponents from the same starts of the book, in both seats. A candidate's gain is its margins
less the base's, start by start. After every round of starts, a candidate is dropped if the interval
of its gain is below 0. After ``--pairs`` starts from the front of the book, the best one left plays
again from the back, which had no part in its selection. It is recommended only if its interval
there is above 0.

All battles are kept in ``runs/tune-RULES-PLAYER.jsonl``. After a stop the same command goes on from
there. The result is ``runs/tune-RULES-PLAYER.json``. Candidates are not compared at
equal time: the result also gives the ratio of CPU times.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from agents.durable import make_folder, replace_flushed
from agents.specs import Spec
from thud_env.command import Command, bounded
from thud_env.rulesets import get_ruleset
from training.arena.games import try_players
from training.arena.openings import read_openings
from training.commands.console import CommandConsole
from training.pages import check_writable
from training.tune_search.rounds import Plan, Rounds
from training.tune_search.tournament import Tuning

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
    add("--out", type=Path, metavar="FILE", help="the result (beside --games)")
    add("--games", type=Path, metavar="FILE", help="the battles (runs/tune-...)")
    return command.run(_tune, words)


def _tune(arguments: argparse.Namespace) -> None:
    ruleset = get_ruleset(arguments.rules)
    rules = ruleset.spec
    book = read_openings(rules)
    plan = Plan(
        rules,
        arguments.base,
        tuple(candidates(arguments.base, arguments.options)),
        tuple(arguments.opponents),
        arguments.pairs,
        arguments.batch,
        book.digest,
    )
    if 2 * plan.pairs > len(book.starts):
        raise ValueError(f"--pairs {plan.pairs}: {len(book.starts) // 2} at most would be right")
    name = f"{ruleset.name}-{Spec.of(plan.base).name}"
    games = arguments.games or Path("runs") / f"tune-{name}.jsonl"
    out = arguments.out or games.with_suffix(".json")
    if out.resolve() == games.resolve():
        raise ValueError(f"--games {games}: the battles cannot be where the result is: --out FILE")
    check_writable(out)
    # They compile first, too: times are of play.
    try_players((plan.base, *plan.candidates, *plan.opponents), rules, CommandConsole())
    make_folder(out.parent)
    with Rounds(plan, games) as rounds:
        for note in rounds.notes:
            print(f"note: {note}", flush=True)
        result = Tuning(plan, rounds, book).run()
    replace_flushed(out, f"{json.dumps(result, indent=1)}\n".encode())
    print(f"recommended: {', '.join(result['recommended']) or 'the base'}; all of it: {out}")


def candidates(base: str, options: list[str]) -> list[str]:
    """The specs of the base with one option changed, or added.

    Raises:
        ValueError: naming an option that has no values.
    """
    specs = []
    for option in options:
        name, _, values = option.partition("=")
        if not values:
            raise ValueError(f"{option}: {name}=VALUE,VALUE would be right")
        specs += [str(Spec.of(base).given(name, value)) for value in values.split(",")]
    return specs


if __name__ == "__main__":
    sys.exit(main())
