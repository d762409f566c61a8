"""Evaluate two agents head to head.

::

    python -m training.evaluate --dwarfs policy:runs/smoke/checkpoints/latest --trolls random
    python -m training.evaluate --dwarfs greedy --trolls greedy --games 1000 --json
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
from thud_env.rulesets import get_ruleset
from training.cli import fail
from training.match import Battles, play_battles

Z95 = NormalDist().inv_cdf(0.975)
LARGEST_MARGIN = 32.0


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


def summarise(battles: Battles) -> dict[str, Any]:
    """The figures of a head-to-head, for programs; margins are from the dwarfs' view."""
    games = len(battles.margins)
    mean, low, high = mean_interval(battles.margins)
    # One battle alone has an infinite interval, which JSON cannot say; no margin is beyond 32.
    low, high = max(low, -LARGEST_MARGIN), min(high, LARGEST_MARGIN)
    endings = Counter(Termination(int(value)).name.lower() for value in battles.terminations)

    def side(wins: int, strikes: str, per_battle: float, captured: float) -> dict[str, Any]:
        return {
            "wins": wins,
            "win_rate": wins / games,
            "win_rate_95": wilson_interval(wins, games),
            strikes: per_battle,
            "captures_per_battle": captured,
        }

    return {
        "games": games,
        "draws": int((battles.margins == 0).sum()),
        "mean_margin": mean,
        "mean_margin_95": (low, high),
        "mean_turns": float(battles.turns.mean()),
        "dwarfs": side(
            int((battles.margins > 0).sum()),
            "hurls_per_battle",
            float(battles.hurls.mean()),
            float(battles.trolls_lost.mean()),
        ),
        "trolls": side(
            int((battles.margins < 0).sum()),
            "shoves_per_battle",
            float(battles.shoves.mean()),
            float(battles.dwarfs_lost.mean()),
        ),
        "endings": dict(endings),
    }


def _print(dwarfs: str, trolls: str, rules: str, result: dict[str, Any]) -> None:
    low, high = result["mean_margin_95"]
    print(f"{result['games']} battles of {rules}: dwarfs {dwarfs}, trolls {trolls}")
    for role, strikes in (("dwarfs", "hurls"), ("trolls", "shoves")):
        side = result[role]
        share_low, share_high = side["win_rate_95"]
        print(
            f"  {role}: won {side['wins']} ({side['win_rate']:.1%}, 95% interval "
            f"{share_low:.1%} to {share_high:.1%}), {side[f'{strikes}_per_battle']:.2f} {strikes} "
            f"and {side['captures_per_battle']:.2f} captures a battle"
        )
    print(
        f"  drawn {result['draws']}; mean margin for the dwarfs {result['mean_margin']:+.2f} "
        f"(95% interval {low:+.2f} to {high:+.2f}); mean length {result['mean_turns']:.1f} turns"
    )
    endings = ", ".join(f"{name} {count}" for name, count in sorted(result["endings"].items()))
    print(f"  ended by: {endings}")


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m training.evaluate",
        description="Play two agents against each other and report both sides.",
    )
    parser.add_argument("--dwarfs", required=True, metavar="SPEC", help="who plays the dwarfs")
    parser.add_argument("--trolls", required=True, metavar="SPEC", help="who plays the trolls")
    parser.add_argument("--games", type=int, default=200, metavar="N", help="battles (200)")
    parser.add_argument("--rules", default="classic", help="the ruleset (classic)")
    parser.add_argument("--seed", type=int, default=0, help="seeds both agents (0)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    for name, value, least in (("games", options.games, 1), ("seed", options.seed, 0)):
        if value < least:
            return fail("evaluate", f"--{name} {value}: {least} or more would be right")
    try:
        rules = get_ruleset(options.rules).name
        dwarfs = agents.make(options.dwarfs, seed=2 * options.seed)
        trolls = agents.make(options.trolls, seed=2 * options.seed + 1)
        result = summarise(play_battles(dwarfs, trolls, options.games, rules))
    except (ValueError, OSError) as error:
        return fail("evaluate", error)
    if options.json:
        named = {"rules": rules, "dwarfs_agent": options.dwarfs, "trolls_agent": options.trolls}
        print(json.dumps({**named, **result}, indent=2))
    else:
        _print(options.dwarfs, options.trolls, rules, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
