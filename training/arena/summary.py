"""Figures of battles and of game pairs, for programs and for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from agents.words import counted
from thud_env import Termination
from thud_env.position import SIDES
from thud_env.rulesets import get_ruleset
from training.arena.battles import Battles, GamePairs, strike_names
from training.arena.intervals import Interval, decimals, mean_interval, wilson


def _with_interval(name: str, interval: Interval) -> dict[str, Any]:
    return {name: interval.value, f"{name}_95": (interval.low, interval.high)}


def _share(wins: int, games: int) -> dict[str, Any]:
    return {"wins": wins, **_with_interval("win_rate", wilson(wins, games))}


def summarise(battles: Battles) -> dict[str, Any]:
    """The figures of a head-to-head, for programs; margins are from the dwarfs' view."""
    games = len(battles.margins)
    largest = get_ruleset(battles.rules).largest_margin
    endings = Counter(Termination(int(value)).name.lower() for value in battles.terminations)
    sides = {
        "dwarfs": _share(int((battles.margins > 0).sum()), games),
        "trolls": _share(int((battles.margins < 0).sum()), games),
    }
    for side, name in strike_names(get_ruleset(battles.rules)).items():
        sides[side][f"{name}_per_battle"] = float(battles.strikes[side].mean())
    for side, lost in (("dwarfs", battles.trolls_lost), ("trolls", battles.dwarfs_lost)):
        sides[side]["captures_per_battle"] = float(lost.mean())
    return {
        "games": games,
        "draws": int((battles.margins == 0).sum()),
        **_with_interval("mean_margin", mean_interval(battles.margins, largest)),
        "mean_turns": float(battles.turns.mean()),
        **sides,
        "endings": dict(endings),
    }


def each_battle(played: Battles | GamePairs) -> dict[str, list[int]]:
    """For programs, what each battle, or both of each game pair, came to, in the order of play:
    margins from the view of a battle's dwarfs, or of the pairs' first player; and turns.
    """
    if isinstance(played, Battles):
        return {"margins": played.margins.tolist(), "turns": played.turns.tolist()}
    return {
        "margins_as_dwarfs": played.first.margins.tolist(),
        "margins_as_trolls": (-played.second.margins).tolist(),
        "turns_as_dwarfs": played.first.turns.tolist(),
        "turns_as_trolls": played.second.turns.tolist(),
    }


def summarise_pairs(matches: GamePairs) -> dict[str, Any]:
    """The figures of game pairs, for programs: totals, and margins as dwarfs and as trolls, from
    the first player's view; and both battles, margins from their dwarfs' view.
    """
    totals = matches.totals
    games = len(totals)
    largest = get_ruleset(matches.first.rules).largest_margin
    return {
        "games": games,
        "draws": int((totals == 0).sum()),
        **_with_interval("mean_total", mean_interval(totals, 2 * largest)),
        **_with_interval("mean_as_dwarfs", mean_interval(matches.first.margins, largest)),
        **_with_interval("mean_as_trolls", mean_interval(-matches.second.margins, largest)),
        "first_player": _share(int((totals > 0).sum()), games),
        "second_player": _share(int((totals < 0).sum()), games),
        "first_battles": summarise(matches.first),
        "second_battles": summarise(matches.second),
    }


def print_battles(dwarfs: str, trolls: str, rules: str, result: dict[str, Any]) -> None:
    """What ``summarise`` found, for people."""
    print(f"{counted(result['games'], 'battle')} of {rules}: dwarfs {dwarfs}, trolls {trolls}")
    for role in SIDES:
        side = result[role]
        did = f"{side['captures_per_battle']:.2f} captures a battle"
        strikes = strike_names(get_ruleset(rules)).get(role)
        if strikes is not None:
            did = f"{side[f'{strikes}_per_battle']:.2f} {strikes} and {did}"
        print(f"  {role}: {_won(side)}, {did}")
    print(
        f"  drawn {result['draws']}; mean margin for the dwarfs {_mean(result, 'mean_margin')}; "
        f"mean length {result['mean_turns']:.1f} turns"
    )
    endings = ", ".join(f"{name} {count}" for name, count in sorted(result["endings"].items()))
    print(f"  ended by: {endings}")


def print_pairs(first: str, second: str, rules: str, result: dict[str, Any]) -> None:
    """What ``summarise_pairs`` found, for people."""
    print_battles(first, second, rules, result["first_battles"])
    print_battles(second, first, rules, result["second_battles"])
    print(f"{counted(result['games'], 'game pair')}, first player {first}, second {second}")
    for player in ("first_player", "second_player"):
        print(f"  {player.replace('_', ' ')}: {_won(result[player])}")
    print(f"  drawn {result['draws']}")
    print(f"  mean total for the first player {_mean(result, 'mean_total')}")
    for side in SIDES:
        print(f"  its mean margin as {side} {_mean(result, f'mean_as_{side}')}")
    if result["games"] == 1:
        margins = (result["first_battles"]["mean_margin"], -result["second_battles"]["mean_margin"])
        first_battle, second_battle, game = map(_words, (*margins, result["mean_total"]))
        print(f"  {first}: {first_battle} as dwarfs, {second_battle} as trolls: {game} in all")


def table_of_pairs(
    opponents: list[str], results: list[dict[str, Any]], rules: str
) -> Iterator[str]:
    """What ``summarise_pairs`` found against several opponents, as a Markdown table's lines."""
    places = decimals(get_ruleset(rules).largest_margin)
    headings = ["opponent", "game pairs", "margin", "as dwarfs", "won", "as trolls", "won"]
    rows = []
    for opponent, result in zip(opponents, results, strict=True):
        cells = [opponent, str(result["games"])]
        cells.append(interval_of(result, "mean_total").text(places))
        for side, battles in zip(SIDES, ("first_battles", "second_battles"), strict=True):
            cells.append(interval_of(result, f"mean_as_{side}").text(places))
            cells.append(f"{result[battles][side]['win_rate']:.0%}")
        rows.append(cells)
    yield from markdown_table(headings, rows)


def markdown_table(headings: list[str], rows: list[list[str]]) -> Iterator[str]:
    """The lines of a Markdown table whose columns are as wide as their widest cell."""
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    for cells in (headings, ["-" * width for width in widths], *rows):
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        yield f"| {' | '.join(padded)} |"


def _won(share: dict[str, Any]) -> str:
    low, high = share["win_rate_95"]
    return f"won {share['wins']} ({share['win_rate']:.1%}, 95% interval {low:.1%} to {high:.1%})"


def interval_of(result: dict[str, Any], name: str) -> Interval:
    """A figure of a summary with its interval."""
    return Interval(result[name], *result[f"{name}_95"])


def _mean(result: dict[str, Any], name: str) -> str:
    low, high = result[f"{name}_95"]
    return f"{result[name]:+z.2f} (95% interval {low:+z.2f} to {high:+z.2f})"


def _words(margin: float) -> str:
    if margin == 0:
        return "drew"
    return f"{'won' if margin > 0 else 'lost'} by {abs(margin):g}"
