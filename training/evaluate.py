"""Evaluate two agents head to head: in battles, or in games of two battles.

::

    python -m training.evaluate --dwarfs policy:runs/smoke/checkpoints/latest --trolls random
    python -m training.evaluate --dwarfs greedy --trolls greedy --games 1000 --json
    python -m training.evaluate --match greedy random --rules koom-valley
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import agents
from thud_env.rulesets import get_ruleset
from training.arena.battles import Battles, Matches, distinct, play_battles, play_matches
from training.arena.openings import OpeningsError, read_openings
from training.arena.summary import (
    print_battles,
    print_matches,
    summarise,
    summarise_matches,
)
from training.cli import fail, stopped


def evaluate(
    players: tuple[agents.Agent, agents.Agent],
    games: int,
    rules: str,
    *,
    match: bool = False,
    openings: bool | None = None,
    **limits: Any,
) -> tuple[Battles | Matches, list[str]]:
    """Play battles, or games of two battles. Two players without chance repeat themselves, so
    that each battle counts once, however often it was played.

    Args:
        players: the dwarfs and the trolls, or the first and the second player of a match.
        games: how many.
        rules: the name of a ruleset.
        match: whether to play games of two battles.
        openings: whether to begin from the starts of the opening book, one after the other; None:
            if both players play without chance, and the book has as many starts.
        **limits: ``max_quiet_turns``, ``max_turns``, ``offer_after``, ``agreement``.

    Returns:
        what was played, and what the user should know of it, a line each.

    Raises:
        OpeningsError: if the book is asked for, and there is none or too few starts in it.
    """
    notes = []
    by_chance = any(player.stochastic for player in players)
    starts = None
    if openings or (openings is None and not by_chance):
        try:
            starts = read_openings(rules).rows(games, **limits)
        except OpeningsError as error:
            if openings:
                raise
            notes.append(f"from the setup alone: {error}")
        else:
            if not openings:
                notes.append(
                    "neither player plays by chance: from the starts of the opening book "
                    "(--no-openings: from the setup)"
                )
    play = play_matches if match else play_battles
    played = play(*players, games, rules, starts=starts, **limits)
    different = distinct(played)
    if len(different) < games:
        kind = "games of two battles" if match else "battles"
        counted = "all are counted" if by_chance else "repeats are not counted"
        notes.append(f"only {len(different)} of {games} {kind} are distinct: {counted}")
    return (played if by_chance else played.chosen(different)), notes


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m training.evaluate",
        description="Play two agents against each other and report both sides.",
        epilog="A SPEC is greedy, policy:PATH or another player of docs/agents.md.",
    )
    parser.add_argument("--dwarfs", metavar="SPEC", help="who plays the dwarfs")
    parser.add_argument("--trolls", metavar="SPEC", help="who plays the trolls")
    parser.add_argument(
        "--match",
        nargs=2,
        metavar=("FIRST", "SECOND"),
        help="instead: games of two battles, in which FIRST has the dwarfs, then the trolls",
    )
    parser.add_argument("--games", type=int, default=200, metavar="N", help="how many (200)")
    parser.add_argument(
        "--openings",
        action=argparse.BooleanOptionalAction,
        help="begin from the starts of the opening book (if neither player plays by chance)",
    )
    parser.add_argument("--rules", default="classic", help="the ruleset (classic)")
    parser.add_argument("--seed", type=int, default=0, help="seeds both agents (0)")
    for limit, meaning in (
        ("max-quiet-turns", "turns without a capture that end a battle"),
        ("max-turns", "turns that end a battle"),
        ("offer-after", "quiet turns before an offer, and own turns between offers"),
    ):
        told = f"{meaning} (as the ruleset)"
        parser.add_argument(f"--{limit}", type=int, metavar="N", help=told)
    parser.add_argument("--agreement", action="store_true", help="battles may end by agreement")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    sides = [options.dwarfs, options.trolls]
    if options.match and any(sides):
        return fail("evaluate", "--dwarfs and --trolls, or else --match: either, not both")
    if not options.match and not all(sides):
        return fail("evaluate", "--dwarfs and --trolls, or else --match FIRST SECOND, are needed")
    for name, value, least in (("games", options.games, 1), ("seed", options.seed, 0)):
        if value < least:
            return fail("evaluate", f"--{name} {value}: {least} or more would be right")
    try:
        rules = get_ruleset(options.rules).name
        one, other = specs = options.match or sides
        players = agents.make(one, 2 * options.seed), agents.make(other, 2 * options.seed + 1)
        limits: dict[str, Any] = {
            "max_quiet_turns": options.max_quiet_turns,
            "max_turns": options.max_turns,
            "offer_after": options.offer_after,
            "agreement": options.agreement,
        }
        played, notes = evaluate(
            players,
            options.games,
            rules,
            match=bool(options.match),
            openings=options.openings,
            **limits,
        )
    except (ValueError, OSError) as error:
        return fail("evaluate", error)
    except KeyboardInterrupt:
        return stopped()
    for note in notes:
        print(f"evaluate: {note}", file=sys.stderr)
    result = summarise(played) if isinstance(played, Battles) else summarise_matches(played)
    if options.json:
        titles = ("first", "second") if options.match else ("dwarfs", "trolls")
        named = {
            "rules": rules,
            **{f"{title}_agent": spec for title, spec in zip(titles, specs, strict=True)},
        }
        print(json.dumps({**named, **result}, indent=2))
    elif options.match:
        print_matches(one, other, rules, result)
    else:
        print_battles(one, other, rules, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
