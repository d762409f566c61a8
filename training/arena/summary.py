"""Figures of battles and of game pairs, for programs and for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thud_env import Termination
from thud_env.command import counted
from thud_env.outcome import SIDES, Side
from thud_env.rulesets import get_ruleset
from training.arena.battles import Battles, GamePairs
from training.arena.intervals import (
    Interval,
    decimals,
    difference_bounds,
    mean_interval,
    negated,
    wilson,
)
from training.arena.strikes import strike_names


class Won(NamedTuple):
    """How often a player won."""

    wins: int
    share: Interval
    """Of all battles or game pairs, drawn ones too."""

    @classmethod
    def of(cls, wins: NDArray[np.bool_]) -> Won:
        """Of N games, given which were won, [N]."""
        won = int(wins.sum())
        return cls(won, wilson(won, len(wins)))

    def as_json(self) -> dict[str, Any]:
        """As ``--json`` has it."""
        return {"wins": self.wins, **_with_interval("win_rate", self.share)}

    def __str__(self) -> str:
        """In words."""
        value, low, high = self.share
        return f"won {self.wins} ({value:.1%}, 95% interval {low:.1%} to {high:.1%})"


@dataclass(frozen=True)
class SideFigures:
    """How one side's battles went."""

    won: Won
    strikes: dict[str, float]
    """Hurls, for example, a battle: see ``strike_names``."""
    captures: float
    """A battle."""

    def as_json(self) -> dict[str, Any]:
        """As ``--json`` has it."""
        strikes = {f"{name}_per_battle": often for name, often in self.strikes.items()}
        return {**self.won.as_json(), **strikes, "captures_per_battle": self.captures}

    def __str__(self) -> str:
        """In words."""
        struck = "".join(f"{often:.2f} {name} and " for name, often in self.strikes.items())
        return f"{self.won}, {struck}{self.captures:.2f} captures a battle"


@dataclass(frozen=True)
class BattleFigures:
    """How the battles of two players went."""

    games: int
    draws: int
    margin: Interval
    """The mean at the end, from the dwarfs' view."""
    turns: float
    """The mean."""
    sides: dict[Side, SideFigures]
    endings: dict[str, int]
    """How many battles ended in which way."""

    @classmethod
    def of(cls, battles: Battles) -> BattleFigures:
        """The figures of battles.

        Raises:
            TypeError: if they are game pairs, or anything else.
        """
        _check_kind(battles, Battles, "play_battles")
        ruleset, margins = get_ruleset(battles.rules), battles.margins
        names = strike_names(ruleset)
        won = {"dwarfs": margins > 0, "trolls": margins < 0}
        captured = {"dwarfs": battles.trolls_lost, "trolls": battles.dwarfs_lost}
        ways = (Termination(int(value)).name.lower() for value in battles.terminations)
        return cls(
            games=len(margins),
            draws=int((margins == 0).sum()),
            margin=mean_interval(margins, ruleset.margins),
            turns=float(battles.turns.mean()),
            sides={
                side: SideFigures(
                    Won.of(won[side]),
                    {names[side]: float(battles.strikes[side].mean())} if side in names else {},
                    float(captured[side].mean()),
                )
                for side in SIDES
            },
            endings=dict(Counter(ways)),
        )

    def as_json(self) -> dict[str, Any]:
        """As ``--json`` has it."""
        return {
            "games": self.games,
            "draws": self.draws,
            **_with_interval("mean_margin", self.margin),
            "mean_turns": self.turns,
            **{side: figures.as_json() for side, figures in self.sides.items()},
            "endings": self.endings,
        }


@dataclass(frozen=True)
class PairFigures:
    """How the game pairs of two players went, from the first one's view."""

    games: int
    """Game pairs."""
    draws: int
    total: Interval
    """The mean of the sums of both margins."""
    margins: dict[Side, Interval]
    """The mean margins as dwarfs and as trolls."""
    first: Won
    """The first player's game pairs."""
    second: Won
    first_battles: BattleFigures
    """In which the first player had the dwarfs; margins are from the dwarfs' view."""
    second_battles: BattleFigures

    @classmethod
    def of(cls, pairs: GamePairs) -> PairFigures:
        """The figures of game pairs.

        Raises:
            TypeError: if they are battles, or anything else.
        """
        _check_kind(pairs, GamePairs, "play_pairs")
        totals = pairs.totals
        bounds = get_ruleset(pairs.first.rules).margins
        return cls(
            games=len(totals),
            draws=int((totals == 0).sum()),
            total=mean_interval(totals, difference_bounds(bounds)),
            margins={
                "dwarfs": mean_interval(pairs.first.margins, bounds),
                "trolls": mean_interval(-pairs.second.margins, negated(bounds)),
            },
            first=Won.of(totals > 0),
            second=Won.of(totals < 0),
            first_battles=BattleFigures.of(pairs.first),
            second_battles=BattleFigures.of(pairs.second),
        )

    def as_json(self) -> dict[str, Any]:
        """As ``--json`` has it."""
        parts = {f"mean_as_{side}": margin for side, margin in self.margins.items()}
        means = (_with_interval(*one) for one in {"mean_total": self.total, **parts}.items())
        return {
            "games": self.games,
            "draws": self.draws,
            **{key: value for mean in means for key, value in mean.items()},
            "first_player": self.first.as_json(),
            "second_player": self.second.as_json(),
            "first_battles": self.first_battles.as_json(),
            "second_battles": self.second_battles.as_json(),
        }


def figures_of(played: Battles | GamePairs) -> BattleFigures | PairFigures:
    """The figures of battles, or of game pairs."""
    return BattleFigures.of(played) if isinstance(played, Battles) else PairFigures.of(played)


def _check_kind(played: object, kind: type, made_by: str) -> None:
    if not isinstance(played, kind):
        raise TypeError(
            f"a {type(played).__name__} is not {kind.__name__}, which {made_by} returns: "
            "figures_of takes Battles and GamePairs"
        )


def _with_interval(name: str, interval: Interval) -> dict[str, Any]:
    return {name: interval.value, f"{name}_95": (interval.low, interval.high)}


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


def print_battles(dwarfs: str, trolls: str, rules: str, figures: BattleFigures) -> None:
    """The figures of battles, for people."""
    print(f"{counted(figures.games, 'battle')} of {rules}: dwarfs {dwarfs}, trolls {trolls}")
    for side, own in figures.sides.items():
        print(f"  {side}: {own}")
    print(
        f"  drawn {figures.draws}; mean margin for the dwarfs {_mean(figures.margin)}; "
        f"mean length {figures.turns:.1f} turns"
    )
    endings = ", ".join(f"{name} {count}" for name, count in sorted(figures.endings.items()))
    print(f"  ended by: {endings}")


def print_pairs(first: str, second: str, rules: str, figures: PairFigures) -> None:
    """The figures of game pairs, for people."""
    print_battles(first, second, rules, figures.first_battles)
    print_battles(second, first, rules, figures.second_battles)
    print(f"{counted(figures.games, 'game pair')}, first player {first}, second {second}")
    print(f"  first player: {figures.first}")
    print(f"  second player: {figures.second}")
    print(f"  drawn {figures.draws}")
    print(f"  mean total for the first player {_mean(figures.total)}")
    for side, margin in figures.margins.items():
        print(f"  its mean margin as {side} {_mean(margin)}")
    if figures.games == 1:
        as_dwarfs, as_trolls, game = (
            _in_words(one.value) for one in (*figures.margins.values(), figures.total)
        )
        print(f"  {first}: {as_dwarfs} as dwarfs, {as_trolls} as trolls: {game} in all")


def table_of_pairs(opponents: list[str], results: list[PairFigures], rules: str) -> Iterator[str]:
    """The figures of game pairs with several opponents, as a Markdown table's lines."""
    places = decimals(get_ruleset(rules).largest_margin)
    headings = ["opponent", "game pairs", "margin", "as dwarfs", "won", "as trolls", "won"]
    rows = []
    for opponent, figures in zip(opponents, results, strict=True):
        cells = [opponent, str(figures.games), figures.total.text(places)]
        played = figures.first_battles, figures.second_battles
        for (side, margin), battles in zip(figures.margins.items(), played, strict=True):
            cells += [margin.text(places), f"{battles.sides[side].won.share.value:.0%}"]
        rows.append(cells)
    yield from markdown_table(headings, rows)


def markdown_table(headings: list[str], rows: list[list[str]]) -> Iterator[str]:
    """The lines of a Markdown table whose columns are as wide as their widest cell."""
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    for cells in (headings, ["-" * width for width in widths], *rows):
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        yield f"| {' | '.join(padded)} |"


def _mean(interval: Interval) -> str:
    value, low, high = (f"{part:+z.2f}" for part in interval)
    return f"{value} (95% interval {low} to {high})"


def _in_words(margin: float) -> str:
    if margin == 0:
        return "drew"
    return f"{'won' if margin > 0 else 'lost'} by {abs(margin):g}"
