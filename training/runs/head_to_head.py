"""The table at the end of a run: the trained pair against scripted players and each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import agents
from agents.strict_json import parse_json
from thud_env.outcome import SIDES
from thud_env.rules.row import limits_of, new_row
from thud_env.rulesets import TROLL_VALUE, Ruleset, get_ruleset
from training.arena.battles import play_battles
from training.arena.intervals import ENOUGH_PAIRS, decimals
from training.arena.limits import unlike_the_rules
from training.arena.summary import BattleFigures
from training.commands.at_once import Watch, at_once

TABLE = "head_to_head.json"
"""The file of a run with its figures."""
OPPONENTS = ("random", "greedy")
_WIDEST = 200
"""Characters of the table at most: on a narrower terminal its lines break, but no figure is left
out."""


def pairings(policy: str) -> list[tuple[str, str]]:
    """The pairings, (dwarfs, trolls) specs, the untrained one first."""
    met = [("random", "random")]
    for opponent in OPPONENTS:
        met += [(policy, opponent), (opponent, policy)]
    return [*met, (policy, policy)]


def is_of(path: Path, checkpoint: Path, games: int) -> bool:
    """Whether a file has the figures of these policies, from so many battles of each pairing."""
    try:
        told = parse_json(path.read_bytes())
        return [(one["dwarfs_agent"], one["trolls_agent"], one["games"]) for one in told] == [
            (*players, games) for players in pairings(f"policy:{checkpoint}")
        ]
    except (OSError, ValueError, TypeError, KeyError):  # there is none, or it is damaged
        return False


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

    def play(number: int, watch: Watch) -> BattleFigures:
        dwarfs, trolls = (
            agents.make(spec, seed=2 * number + side) for side, spec in enumerate(met[number])
        )
        battles = play_battles(dwarfs, trolls, games, rules, watch=watch, **limits)
        return BattleFigures.of(battles)

    with console.status(f"playing {games} battles of each pairing ..."):
        played = at_once(play, range(len(met)))
    found = dict(zip(met, played, strict=True))
    for (dwarfs, trolls), figures in found.items():
        players = {"dwarfs_agent": dwarfs, "trolls_agent": trolls}
        own_limits = {"limits": limits_of(new_row(ruleset, **limits))}
        results.append({**players, **own_limits, **figures.as_json()})
        table.add_row(
            _short(dwarfs),
            _short(trolls),
            *(f"{figures.sides[side].won.share.value:.0%}" for side in SIDES),
            figures.margin.text(decimals(ruleset.largest_margin)),
            f"{figures.turns:.0f}",
        )
    table.width = console.measure(table, options=console.options.update(width=_WIDEST)).maximum
    console.print(table, crop=False)
    for line in verdicts(found, policy):
        console.print(line)
    return results


def caption(ruleset: Ruleset) -> str:
    """What the margins of a ruleset mean, and how large they can be."""
    if ruleset.reward == "outcome":
        return "result: 1 if the dwarfs won, 0 for a draw, -1 if the trolls won"
    return (
        f"margin: dwarfs left less {TROLL_VALUE} for each troll left, "
        f"{ruleset.margins[0]} to +{ruleset.margins[1]}; the dwarfs want it high"
    )


def verdicts(found: dict[tuple[str, str], BattleFigures], policy: str) -> list[str]:
    """State for each role whether it beats ``random`` by more than ``random`` itself does, with
    95% intervals apart; nothing by fewer than ``ENOUGH_PAIRS`` battles.
    """
    if min(figures.games for figures in found.values()) < ENOUGH_PAIRS:
        return []
    base = found["random", "random"].margin
    dwarfs, trolls = found[policy, "random"].margin, found["random", policy].margin
    return [
        f"the trained dwarfs {_beat(dwarfs.low > base.high)} random dwarfs against random trolls",
        f"the trained trolls {_beat(trolls.high < base.low)} random trolls against random dwarfs",
    ]


def _beat(apart: bool) -> str:
    return "do better than" if apart else "are not shown to do better than"


def _short(spec: str) -> str:
    return "trained" if spec.startswith("policy:") else spec
