"""The table at the end of a run: the trained pair against scripted players and each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import agents
from thud_env.rules.row import limits_of, new_row
from thud_env.rulesets import TROLL_VALUE, Ruleset, get_ruleset
from training.arena.battles import play_battles
from training.arena.intervals import ENOUGH_PAIRS, decimals
from training.arena.limits import unlike_the_rules
from training.arena.summary import interval_of, summarise
from training.commands.at_once import Watch, at_once

OPPONENTS = ("random", "greedy")


def pairings(policy: str) -> list[tuple[str, str]]:
    """The pairings, (dwarfs, trolls) specs, the untrained one first."""
    met = [("random", "random")]
    for opponent in OPPONENTS:
        met += [(policy, opponent), (opponent, policy)]
    return [*met, (policy, policy)]


def head_to_head(
    checkpoint: Path, rules: str, games: int, console: Console, **limits: Any
) -> list[dict[str, Any]]:
    """Play every pairing, print the table, return its figures.

    Args:
        checkpoint: a folder with both roles' policies.
        rules: the ruleset they were trained for.
        games: battles of each pairing.
        console: where to print.
        **limits: those that the policies were trained with.
    """
    policy = f"policy:{checkpoint}"
    results = []
    ruleset = get_ruleset(rules)
    score = "result" if ruleset.reward == "outcome" else "margin"
    words = unlike_the_rules(rules, **limits)
    title = f"head to head, {games} battles each" + (f", {words}" if words else "")
    table = Table(title=title, caption=caption(ruleset))
    for heading in ("dwarfs", "trolls"):
        table.add_column(heading)
    for heading in (
        "dwarfs\nwon",
        "trolls\nwon",
        f"mean {score}\n(95% interval)",
        "mean\nturns",
    ):
        table.add_column(heading, justify="right")
    met = pairings(policy)

    def play(number: int, watch: Watch) -> dict[str, Any]:
        dwarfs, trolls = (
            agents.make(spec, seed=2 * number + side) for side, spec in enumerate(met[number])
        )
        return summarise(play_battles(dwarfs, trolls, games, rules, watch=watch, **limits))

    with console.status(f"playing {games} battles of each pairing ..."):
        played = at_once(play, range(len(met)))
    for (dwarfs, trolls), result in zip(met, played, strict=True):
        players = {"dwarfs_agent": dwarfs, "trolls_agent": trolls}
        results.append({**players, "limits": limits_of(new_row(ruleset, **limits)), **result})
        table.add_row(
            _short(dwarfs),
            _short(trolls),
            f"{result['dwarfs']['win_rate']:.0%}",
            f"{result['trolls']['win_rate']:.0%}",
            interval_of(result, "mean_margin").text(decimals(ruleset.largest_margin)),
            f"{result['mean_turns']:.0f}",
        )
    console.print(table)
    for line in verdicts(results, policy):
        console.print(line)
    return results


def caption(ruleset: Ruleset) -> str:
    """What the margins of a ruleset mean, and how large they can be."""
    if ruleset.reward == "outcome":
        return "result: 1 if the dwarfs won, 0 for a draw, -1 if the trolls won"
    return (
        f"margin: dwarfs left less {TROLL_VALUE} for each troll left, "
        f"-{TROLL_VALUE * len(ruleset.trolls)} to +{len(ruleset.dwarfs)}; the dwarfs want it high"
    )


def verdicts(results: list[dict[str, Any]], policy: str) -> list[str]:
    """State for each role whether it beats ``random`` by more than ``random`` itself does, with
    95% intervals apart; nothing by fewer than ``ENOUGH_PAIRS`` battles.
    """
    if min(result["games"] for result in results) < ENOUGH_PAIRS:
        return []
    by_pair = {(r["dwarfs_agent"], r["trolls_agent"]): r for r in results}
    base_low, base_high = by_pair["random", "random"]["mean_margin_95"]
    dwarfs_low, _ = by_pair[policy, "random"]["mean_margin_95"]
    _, trolls_high = by_pair["random", policy]["mean_margin_95"]
    return [
        f"the trained dwarfs {_beat(dwarfs_low > base_high)} random dwarfs against random trolls",
        f"the trained trolls {_beat(trolls_high < base_low)} random trolls against random dwarfs",
    ]


def _beat(apart: bool) -> str:
    return "do better than" if apart else "are not shown to do better than"


def _short(spec: str) -> str:
    return "trained" if spec.startswith("policy:") else spec
