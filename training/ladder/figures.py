"""Computes every number of a report from the games.

Margins are in points of the ruleset, from the dwarfs' view unless stated. A *game pair* is one
start played twice by two agents with the seats swapped (docs/rules.md, section 6). Its score is the
sum of an agent's two margins.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thud_env.outcome import SIDES
from training.arena.field import FieldError
from training.arena.games import Cells, Result, into_cells, paired_margins
from training.arena.intervals import (
    Bounds,
    Interval,
    difference_bounds,
    negated,
    wilson,
)
from training.ladder.bootstrap import (
    percentile_interval,
    resample_weights,
    resampled_interval,
    resampled_means,
)
from training.ladder.rating import Ratings, rate

_LIMIT_ENDINGS = ("quiet_limit", "turn_limit")
"""The endings caused by a limit."""


@dataclass(frozen=True)
class Effort:
    """The average cost of a turn, as dwarfs and as trolls."""

    seconds: tuple[float, float]
    nodes: tuple[float | None, float | None]
    """None where the agent does not count them."""


@dataclass(frozen=True)
class Cell:
    """The games of one agent's dwarfs against one agent's trolls."""

    dwarfs: str
    trolls: str
    wins: int
    """Games won by the dwarfs."""
    draws: int
    losses: int
    distinct: int
    """Games that differ in their start or a turn."""
    margin: Interval
    """The mean, with its bootstrap interval."""
    limited: float
    """The share of games ended by a limit."""
    moves: float
    """Mean turns in a game, of both sides."""
    effort: Effort

    @property
    def games(self) -> int:
        """How many games there are."""
        return self.wins + self.draws + self.losses

    @property
    def won(self) -> Interval:
        """The share that the dwarfs won."""
        return wilson(self.wins, self.games)

    @property
    def lost(self) -> Interval:
        """The share that the trolls won."""
        return wilson(self.losses, self.games)


@dataclass(frozen=True)
class PairScore:
    """The results of the game pairs of two agents, from the first one's view."""

    first: str
    second: str
    wins: int
    """Pairs that the first won on the sum of its margins."""
    draws: int
    losses: int
    score: Interval
    """The mean score of a pair, with its bootstrap interval; the second's is the negative."""

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return self.wins + self.draws + self.losses

    @property
    def won(self) -> Interval:
        """The share of pairs that the first won."""
        return wilson(self.wins, self.pairs)


@dataclass(frozen=True)
class Figures:
    """All figures of a ladder of K agents, in the order in which they were named."""

    agents: list[str]
    cells: list[Cell]
    """[K * K] by dwarfs, then trolls."""
    pair_scores: list[PairScore]
    """[K * (K - 1) / 2]"""
    scores: list[Interval]
    """[K] the mean score of a pair over its K - 1 opponents."""
    margins: tuple[list[Interval], list[Interval]]
    """[K] the mean margin as dwarfs and as trolls, from its view, over all K agents."""
    ratings: Ratings
    effort: list[Effort]
    """[K]"""
    pairs: list[int]
    """[K] the fewest game pairs that it played with any other agent."""
    distinct: int
    """Games of all cells together that differ in their start or a turn."""

    @property
    def games(self) -> int:
        """How many games there are in all cells together."""
        return sum(cell.games for cell in self.cells)

    def cell(self, dwarfs: int, trolls: int) -> Cell:
        """The cell of two agents, by their numbers."""
        return self.cells[dwarfs * len(self.agents) + trolls]


def that_have_met(agents: list[str], results: list[Result]) -> list[str]:
    """Those of the agents, in their order, who have played a game with themselves and a game pair
    with each other: one who joins a ladder has at first met few. Who has played most counts first.
    """
    by_cell = into_cells(results)
    games = Counter(name for result in results for name in (result.dwarfs, result.trolls))
    met: set[str] = set()
    for agent in sorted(agents, key=lambda name: -games[name]):
        with_others = (len(paired_margins(by_cell, agent, other)[0]) for other in met)
        if by_cell[agent, agent] and all(with_others):
            met.add(agent)
    return [agent for agent in agents if agent in met]


def compute_figures(agents: list[str], results: list[Result], bounds: Bounds) -> Figures:
    """The figures of a ladder.

    Args:
        agents: who played.
        results: their games.
        bounds: of a battle's margin: the ruleset's ``margins``.

    Raises:
        FieldError: if two agents have played no game pair yet.
    """
    by_cell, weights = cells_by_place(results)
    cells = []
    for dwarfs in agents:
        for trolls in agents:
            games = by_cell[dwarfs, trolls]
            if not games:
                raise FieldError(f"there is no game of {dwarfs} against {trolls} yet")
            cells.append(cell_of(dwarfs, trolls, games, weights, bounds))
    pair_scores, scores, pairs = _pair_scores(agents, by_cell, weights, difference_bounds(bounds))
    return Figures(
        agents=agents,
        cells=cells,
        pair_scores=pair_scores,
        scores=scores,
        margins=_side_margins(agents, by_cell, weights, bounds),
        ratings=rate(*_points(agents, by_cell, weights.shape[1])),
        effort=[
            _effort(
                [result for result in results if result.dwarfs == agent],
                [result for result in results if result.trolls == agent],
            )
            for agent in agents
        ],
        pairs=pairs,
        distinct=_count_distinct(results),
    )


def cells_by_place(results: list[Result]) -> tuple[Cells, NDArray[np.int64]]:
    """Results by cell, with each start numbered by its place among those that were played, and the
    weights of these starts in bootstrap samples: what is drawn for each start grows with the games
    at hand, whichever starts a file names.
    """
    starts = sorted({result.start for result in results})
    places = {start: place for place, start in enumerate(starts)}
    placed: Cells = defaultdict(dict)
    for cell, games in into_cells(results).items():
        placed[cell] = {places[start]: result for start, result in games.items()}
    return placed, resample_weights(len(starts))


def _points(
    agents: list[str], by_cell: Cells, num_starts: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The points and the games of every cell by start, as ``rate`` takes them."""
    points = np.zeros((num_starts, len(agents), len(agents)))
    games = np.zeros_like(points)
    for i, dwarfs in enumerate(agents):
        for j, trolls in enumerate(agents):
            results = by_cell[dwarfs, trolls]
            starts = list(results)
            points[starts, i, j] = (np.sign(_margins(results)) + 1) / 2
            games[starts, i, j] = 1
    return points, games


def _count_distinct(results: list[Result]) -> int:
    """Count distinct games; the same turns from two starts of the book are two games."""
    return len({(result.start, result.turns) for result in results})


def cell_of(
    dwarfs: str,
    trolls: str,
    games: dict[int, Result],
    weights: NDArray[np.int64],
    bounds: Bounds,
) -> Cell:
    """The figures of one agent's dwarfs against one agent's trolls.

    Args:
        dwarfs: the dwarfs' agent.
        trolls: the trolls' agent.
        games: one or more, by start.
        weights: what ``resample_weights`` drew, for these starts or more.
        bounds: of a battle's margin: the ruleset's ``margins``.
    """
    results = list(games.values())
    margins = _margins(games)
    endings = Counter(result.ending for result in results)
    return Cell(
        dwarfs,
        trolls,
        wins=int((margins > 0).sum()),
        draws=int((margins == 0).sum()),
        losses=int((margins < 0).sum()),
        distinct=_count_distinct(results),
        margin=resampled_interval(margins, np.array(list(games)), weights, bounds),
        limited=sum(endings[limit] for limit in _LIMIT_ENDINGS) / len(results),
        moves=sum(sum(result.moves) for result in results) / len(results),
        effort=_effort(results, results),
    )


def _pair_scores(
    agents: list[str],
    by_cell: Cells,
    weights: NDArray[np.int64],
    bounds: Bounds,
) -> tuple[list[PairScore], list[Interval], list[int]]:
    """The pair results of every two agents, and each agent's score and fewest pairs."""
    pair_scores = []
    opponents = len(agents) - 1
    means = np.zeros(len(agents))
    samples = np.zeros((len(agents), len(weights)))
    fewest = [len(weights[0])] * len(agents)
    for i, first in enumerate(agents):
        for j, second in enumerate(agents[i + 1 :], start=i + 1):
            both, as_dwarfs, as_trolls = paired_margins(by_cell, first, second)
            if len(both) == 0:
                raise FieldError(f"{first} and {second} have played no game pair yet")
            sums = as_dwarfs + as_trolls
            drawn = resampled_means(sums, both, weights)
            pair = PairScore(
                first,
                second,
                wins=int((sums > 0).sum()),
                draws=int((sums == 0).sum()),
                losses=int((sums < 0).sum()),
                score=percentile_interval(sums.mean(), drawn, len(both), bounds),
            )
            pair_scores.append(pair)
            for agent, sign in ((i, 1), (j, -1)):
                means[agent] += sign * sums.mean() / opponents
                samples[agent] += sign * drawn / opponents
                fewest[agent] = min(fewest[agent], pair.pairs)
    scores = [
        percentile_interval(*of_agent, bounds)
        for of_agent in zip(means, samples, fewest, strict=True)
    ]
    return pair_scores, scores, fewest


def _side_margins(
    agents: list[str], by_cell: Cells, weights: NDArray[np.int64], bounds: Bounds
) -> tuple[list[Interval], list[Interval]]:
    size = len(agents)
    means = np.zeros((2, size))
    samples = np.zeros((2, size, len(weights)))
    fewest = np.full((2, size), len(weights[0]))
    for i, dwarfs in enumerate(agents):
        for j, trolls in enumerate(agents):
            margins = _margins(by_cell[dwarfs, trolls])
            drawn = resampled_means(margins, np.array(list(by_cell[dwarfs, trolls])), weights)
            for side, agent, sign in ((0, i, 1), (1, j, -1)):
                means[side, agent] += sign * margins.mean() / size
                samples[side, agent] += sign * drawn / size
                fewest[side, agent] = min(fewest[side, agent], len(margins))
    as_dwarfs, as_trolls = (
        [
            percentile_interval(*of_agent, side_bounds)
            for of_agent in zip(means[side], samples[side], fewest[side], strict=True)
        ]
        for side, side_bounds in enumerate((bounds, negated(bounds)))
    )
    return as_dwarfs, as_trolls


def _margins(games: dict[int, Result]) -> NDArray[np.float64]:
    return np.array([result.margin for result in games.values()], dtype=np.float64)


def _effort(as_dwarfs: list[Result], as_trolls: list[Result]) -> Effort:
    seconds: list[float] = []
    nodes: list[float | None] = []
    for side, mine in enumerate((as_dwarfs, as_trolls)):
        moves = max(1, sum(result.moves[side] for result in mine))
        seconds.append(sum(result.seconds[side] for result in mine) / moves)
        counts = [result.nodes[side] for result in mine]
        known = [count for count in counts if count is not None]
        nodes.append(sum(known) / moves if known else None)
    return Effort((seconds[0], seconds[1]), (nodes[0], nodes[1]))


def as_json(figures: Figures) -> dict[str, Any]:
    """The figures for programs; an interval is a list of the value, its low and its high end."""

    def numbers(name: str, entry: Cell | PairScore) -> dict[str, Any]:
        return {**vars(entry), name: getattr(entry, name), "won": entry.won}

    def cell_numbers(cell: Cell) -> dict[str, Any]:
        return {**numbers("games", cell), "lost": cell.lost, "effort": vars(cell.effort)}

    return {
        "agents": figures.agents,
        "games": figures.games,
        "distinct": figures.distinct,
        "scores": dict(zip(figures.agents, figures.scores, strict=True)),
        "margins": {
            side: dict(zip(figures.agents, margins, strict=True))
            for side, margins in zip(SIDES, figures.margins, strict=True)
        },
        "ratings": {
            "dwarfs": dict(zip(figures.agents, figures.ratings.dwarfs, strict=True)),
            "trolls": dict(zip(figures.agents, figures.ratings.trolls, strict=True)),
            "advantage": figures.ratings.advantage,
        },
        "effort": {
            agent: vars(effort)
            for agent, effort in zip(figures.agents, figures.effort, strict=True)
        },
        "cells": [cell_numbers(cell) for cell in figures.cells],
        "game_pairs": [numbers("pairs", pair) for pair in figures.pair_scores],
    }
