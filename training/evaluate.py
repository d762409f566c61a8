"""Evaluate two agents head to head: in battles, or in game pairs (one start, both seats).

::

    python -m training.evaluate --dwarfs policy:runs/smoke --trolls random
    python -m training.evaluate --dwarfs greedy --trolls greedy --games 1000 --json
    python -m training.evaluate --match greedy random --rules koom-valley
    python -m training.evaluate --match policy:runs/smoke random greedy alphabeta:depth=1
    python -m training.evaluate --match greedy2 greedy --starts positions.txt

Several opponents of one player make a table, a line for each.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import agents
from agents.asking import rules_learnt
from agents.threads import use_one_thread
from thud_env import Record
from thud_env.command import Command, bounded, say
from thud_env.errors import ThudError
from thud_env.rules.row import LIMITS, limits_of, new_row
from thud_env.rulesets import get_ruleset
from training.arena.evaluation import Evaluation, evaluate
from training.arena.identity import code_of_play, own_files
from training.arena.limits import unlike_the_rules
from training.arena.openings import Openings, read_own_starts
from training.arena.records import check_records_folder, records_of, write_records
from training.arena.summary import (
    BattleFigures,
    PairFigures,
    each_battle,
    figures_of,
    print_battles,
    print_pairs,
    table_of_pairs,
)
from training.commands.console import CommandConsole
from training.commands.progress import Progress
from training.commands.versions import checkout_commit, versions

GAMES = 200
"""Battles, or game pairs, unless another number is asked for."""


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    command = Command(
        "training.evaluate",
        __doc__,
        lambda: "A SPEC is greedy, policy:PATH or another player of docs/agents.md.",
    )
    add = command.add_argument
    add("--dwarfs", metavar="SPEC", help="who plays the dwarfs")
    add("--trolls", metavar="SPEC", help="who plays the trolls")
    add(
        "--match",
        nargs="+",
        metavar=("FIRST", "SECOND"),
        help="instead: game pairs of FIRST, as dwarfs and then as trolls, with each SECOND",
    )
    add(
        "--games",
        type=bounded(int, 1),
        metavar="N",
        help="battles; with --match game pairs, of two battles each, with each SECOND "
        f"({GAMES}; with --starts one from each)",
    )
    add(
        "--openings",
        action=argparse.BooleanOptionalAction,
        help="each from another start of the opening book (by default from the book, repeated, if "
        "there is one)",
    )
    add(
        "--starts",
        type=Path,
        metavar="FILE",
        help="begin from starts of your own instead, one after the other: a position text a line",
    )
    command.add_rules("as the policies learnt, or classic")
    add("--seed", type=bounded(int, 0), default=0, metavar="N", help="seeds both agents (0)")
    command.add_limits()
    add(
        "--offer-after",
        type=bounded(int),
        metavar="N",
        help="quiet turns before an offer, and own turns between offers (as the ruleset)",
    )
    add("--agreement", action="store_true", help="battles may end by agreement")
    add(
        "--json",
        action="store_true",
        help="print JSON, with what each battle came to: an object, or a list of several",
    )
    add(
        "--records",
        type=Path,
        metavar="DIR",
        help="write each battle counted as a .thud file into DIR, which must be new or empty",
    )
    return command.run(_evaluate, words)


class _Request(NamedTuple):
    """What a command line asks for."""

    one: str
    """The dwarfs' player, or the first of a match."""
    others: list[str]
    """Whom it meets: one, or several in a match."""
    players: list[tuple[agents.Agent, agents.Agent]]
    """Both players, for each of them."""
    match: bool
    games: int
    rules: str
    limits: dict[str, int | bool]
    """Those of the ruleset too."""
    openings: bool | Openings | None
    """As ``evaluate`` takes them."""
    seed: int

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> _Request:
        """Make the players, and read the starts.

        Raises:
            ThudError: if they do not fit together.
        """
        sides = [arguments.dwarfs, arguments.trolls]
        if arguments.match and any(sides):
            raise ThudError("--dwarfs and --trolls, or else --match: either, not both")
        if not (all(sides) or len(arguments.match or ()) > 1):
            raise ThudError("--dwarfs and --trolls, or else --match FIRST SECOND, are needed")
        if arguments.starts and arguments.openings is not None:
            word = "--openings" if arguments.openings else "--no-openings"
            raise ThudError(f"{word} or --starts: either, not both")
        one, *others = arguments.match or sides
        seed = arguments.seed  # alike for all: no one's figures depend on who else is met
        players = [
            (agents.make(one, 2 * seed), agents.make(other, 2 * seed + 1)) for other in others
        ]
        rules = arguments.rules or rules_learnt([players[0][0], *(other for _, other in players)])
        given = {name: getattr(arguments, name) for name in LIMITS}
        limits = limits_of(new_row(get_ruleset(rules), **given))
        own = arguments.starts
        starts = read_own_starts(own, rules, **limits) if own else None
        games = arguments.games or (len(starts.starts) if starts else GAMES)
        openings = starts or arguments.openings
        match = bool(arguments.match)
        return cls(one, others, players, match, games, rules, limits, openings, seed)


def _evaluate(arguments: argparse.Namespace) -> None:
    if arguments.records:
        check_records_folder(arguments.records)
    use_one_thread()
    asked = _Request.of(arguments)
    # Before the battles: a run that goes on replaces its policies.
    origins = [_origin((asked.one, other), asked.rules) for other in asked.others if arguments.json]
    battles = len(asked.others) * asked.games * (2 if asked.match else 1)
    console = CommandConsole(stderr=True)
    with Progress(console, "evaluate", "battles", battles) as progress:
        found = [_played(asked, number, progress) for number in range(len(asked.others))]
    _print_notes(asked.others, found)
    results = [figures_of(evaluation.played) for evaluation in found]
    if arguments.json:
        told = [
            _report(asked, *of_one)
            for of_one in zip(asked.others, found, results, origins, strict=True)
        ]
        print(json.dumps(told if len(told) > 1 else told[0], indent=2))
    else:
        _print_figures(asked, found, results)
    if arguments.records:
        sys.stdout.flush()  # the figures first: a disk may be full
        tags = {"Seed": str(asked.seed)}
        records: list[Record] = []
        with console.status("writing the records ..."):
            for other, evaluation in zip(asked.others, found, strict=True):
                records += records_of(evaluation.played, asked.one, other, tags)
            write_records(arguments.records, records)


def _report(
    asked: _Request,
    other: str,
    evaluation: Evaluation,
    figures: BattleFigures | PairFigures,
    origin: dict[str, Any],
) -> dict[str, Any]:
    """What ``--json`` prints of one opponent."""
    first, second = ("first", "second") if asked.match else ("dwarfs", "trolls")
    return {
        "rules": asked.rules,
        f"{first}_agent": asked.one,
        f"{second}_agent": other,
        "seed": asked.seed,
        "limits": asked.limits,
        "openings": evaluation.openings,
        "starts": evaluation.starts,
        "notes": evaluation.notes,
        **figures.as_json(),
        "each": each_battle(evaluation.played),
        **origin,
    }


def _origin(specs: tuple[str, str], rules: str) -> dict[str, Any]:
    """What two players' battles are played with: versions, and hashes of code and of policies."""
    return {
        "versions": versions(),
        "commit": checkout_commit(),
        "code": code_of_play(),
        "own_code": own_files(specs, rules),
    }


def _print_figures(
    asked: _Request, found: list[Evaluation], results: list[BattleFigures | PairFigures]
) -> None:
    """Print the figures for people, after the limits that are not the ruleset's, and the starts if
    they were not asked for.
    """
    one, others, rules = asked.one, asked.others, asked.rules
    if words := unlike_the_rules(rules, **asked.limits):
        print(f"limits: {words}")
    if asked.openings is None and found[0].openings:
        print("starts: the opening book's (--no-openings: the setup)")
    pairs = [figures for figures in results if isinstance(figures, PairFigures)]
    if len(others) > 1:
        print(f"{one}, {rules}\n")
        print("\n".join(table_of_pairs(others, pairs, rules)))
    elif pairs:
        print_pairs(one, others[0], rules, pairs[0])
    else:
        (battles,) = results
        assert isinstance(battles, BattleFigures)
        print_battles(one, others[0], rules, battles)


def _played(asked: _Request, number: int, progress: Progress) -> Evaluation:
    """The battles or game pairs with one of those who are met."""
    return evaluate(
        asked.players[number],
        asked.games,
        asked.rules,
        match=asked.match,
        openings=asked.openings,
        watch=progress.advance,
        **asked.limits,
    )


def _print_notes(others: list[str], found: list[Evaluation]) -> None:
    """Print each note once on the standard error, after whom it is about, if it is not all."""
    about: dict[str, list[str]] = {}
    for other, evaluation in zip(others, found, strict=True):
        for note in evaluation.notes:
            about.setdefault(note, []).append(other)
    for note, met in about.items():
        against = f"against {', '.join(met)}: " if len(met) < len(others) else ""
        say(f"evaluate: {against}{note}", 0)


if __name__ == "__main__":
    sys.exit(main())
