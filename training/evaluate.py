"""Evaluate two agents head to head: in battles, or in games of two battles.

::

    python -m training.evaluate --dwarfs policy:runs/smoke/checkpoints/latest --trolls random
    python -m training.evaluate --dwarfs greedy --trolls greedy --games 1000 --json
    python -m training.evaluate --match greedy random --rules koom-valley
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from statistics import NormalDist
from typing import Any

import agents
from thud_env import Termination
from thud_env.position import SIDES
from thud_env.rulesets import RULESETS, get_ruleset
from training.arena.battles import STRIKES, Battles, Matches, play_battles, play_matches
from training.cli import fail, stopped

Z95 = NormalDist().inv_cdf(0.975)


def mean_interval(values: Any) -> tuple[float, float, float]:
    """The mean and its 95% confidence interval by the normal approximation."""
    mean = float(values.mean())
    half = Z95 * float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.inf
    return mean, mean - half, mean + half


def wilson_interval(successes: float, trials: int) -> tuple[float, float]:
    """The 95% interval of a share (Wilson 1927)."""
    share, square = successes / trials, Z95 * Z95
    centre = (share + square / (2 * trials)) / (1 + square / trials)
    half = (
        Z95
        * math.sqrt(share * (1 - share) / trials + square / (4 * trials * trials))
        / (1 + square / trials)
    )
    return centre - half, centre + half


def bounded_interval(values: Any, largest: float) -> tuple[float, tuple[float, float]]:
    """``mean_interval`` of values in -largest .. largest.

    A single value has an infinite interval, which JSON cannot say.
    """
    mean, low, high = mean_interval(values)
    return mean, (max(low, -largest), min(high, largest))


def _share(wins: int, games: int) -> dict[str, Any]:
    return {"wins": wins, "win_rate": wins / games, "win_rate_95": wilson_interval(wins, games)}


def summarise(battles: Battles) -> dict[str, Any]:
    """The figures of a head-to-head, for programs; margins are from the dwarfs' view."""
    games = len(battles.margins)
    mean, interval = bounded_interval(battles.margins, RULESETS[battles.rules].largest_margin)
    endings = Counter(Termination(int(value)).name.lower() for value in battles.terminations)
    sides = {
        "dwarfs": _share(int((battles.margins > 0).sum()), games),
        "trolls": _share(int((battles.margins < 0).sum()), games),
    }
    for side, name in STRIKES[battles.rules].items():
        sides[side][f"{name}_per_battle"] = float(battles.strikes[side].mean())
    for side, lost in (("dwarfs", battles.trolls_lost), ("trolls", battles.dwarfs_lost)):
        sides[side]["captures_per_battle"] = float(lost.mean())
    return {
        "games": games,
        "draws": int((battles.margins == 0).sum()),
        "mean_margin": mean,
        "mean_margin_95": interval,
        "mean_turns": float(battles.turns.mean()),
        **sides,
        "endings": dict(endings),
    }


def summarise_matches(matches: Matches) -> dict[str, Any]:
    """The figures of games of two battles, for programs: totals from the first player's view,
    and both battles, margins from their dwarfs' view.
    """
    totals = matches.totals
    games = len(totals)
    largest = 2 * RULESETS[matches.first.rules].largest_margin
    mean, interval = bounded_interval(totals, largest)
    return {
        "games": games,
        "draws": int((totals == 0).sum()),
        "mean_total": mean,
        "mean_total_95": interval,
        "first_player": _share(int((totals > 0).sum()), games),
        "second_player": _share(int((totals < 0).sum()), games),
        "first_battles": summarise(matches.first),
        "second_battles": summarise(matches.second),
    }


def print_battles(dwarfs: str, trolls: str, rules: str, result: dict[str, Any]) -> None:
    """What ``summarise`` found, for people."""
    print(f"{result['games']} battles of {rules}: dwarfs {dwarfs}, trolls {trolls}")
    for role in SIDES:
        side = result[role]
        did = f"{side['captures_per_battle']:.2f} captures a battle"
        if role in STRIKES[rules]:
            strikes = STRIKES[rules][role]
            did = f"{side[f'{strikes}_per_battle']:.2f} {strikes} and {did}"
        print(f"  {role}: {_won(side)}, {did}")
    print(
        f"  drawn {result['draws']}; mean margin for the dwarfs {_mean(result, 'mean_margin')}; "
        f"mean length {result['mean_turns']:.1f} turns"
    )
    endings = ", ".join(f"{name} {count}" for name, count in sorted(result["endings"].items()))
    print(f"  ended by: {endings}")


def print_matches(first: str, second: str, rules: str, result: dict[str, Any]) -> None:
    """What ``summarise_matches`` found, for people."""
    print_battles(first, second, rules, result["first_battles"])
    print_battles(second, first, rules, result["second_battles"])
    print(f"{result['games']} games of two battles, first player {first}, second {second}")
    for player in ("first_player", "second_player"):
        print(f"  {player.replace('_', ' ')}: {_won(result[player])}")
    print(
        f"  drawn {result['draws']}; mean total for the first player {_mean(result, 'mean_total')}"
    )
    if result["games"] == 1:
        margins = (result["first_battles"]["mean_margin"], -result["second_battles"]["mean_margin"])
        first_battle, second_battle, game = map(_words, (*margins, result["mean_total"]))
        print(f"  {first}: {first_battle} as dwarfs, {second_battle} as trolls: {game} in all")


def _won(share: dict[str, Any]) -> str:
    low, high = share["win_rate_95"]
    return f"won {share['wins']} ({share['win_rate']:.1%}, 95% interval {low:.1%} to {high:.1%})"


def _mean(result: dict[str, Any], name: str) -> str:
    low, high = result[f"{name}_95"]
    return f"{result[name]:+.2f} (95% interval {low:+.2f} to {high:+.2f})"


def _words(margin: float) -> str:
    if margin == 0:
        return "drew"
    return f"{'won' if margin > 0 else 'lost'} by {abs(margin):g}"


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
        if options.match:
            result = summarise_matches(play_matches(*players, options.games, rules, **limits))
        else:
            result = summarise(play_battles(*players, options.games, rules, **limits))
    except (ValueError, OSError) as error:
        return fail("evaluate", error)
    except KeyboardInterrupt:
        return stopped()
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
