"""Rates every agent as dwarfs and as trolls, on one scale.

The model is Bradley and Terry's ("Rank analysis of incomplete block designs", 1952) with the two
seats of an agent as two players: dwarfs of strength a beat trolls of strength b with probability
a / (a + b). A draw counts as half a win for each. Strengths maximise the likelihood, by the
minorise-maximise iteration of Hunter ("MM algorithms for generalized Bradley-Terry models",
2004, equation 3).

Three choices matter to the reader:

- *Drawn games are added*: 1 / K of one to every cell of K agents, which is one game for each agent
  in each seat. BayesElo (Coulom, 2005) spreads added draws over the opponents likewise. Without
  them an agent that wins every game would have no finite strength; with them its rating is a bound,
  and no more.
- *Anchors.* Games only show differences between dwarfs and trolls, so each side's ratings are
  relative to that side's mean: 0 is the average of the field. The difference of the sides is given
  separately, as the dwarfs' advantage. Ratings are in Elo points: 400 are odds of ten to one.
- *Intervals* are from the Fisher information (the inverse of the Hessian), added games included.
  A bootstrap would find no spread where one agent wins every game.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training.arena.intervals import Z95, Interval

ELO = 400 / np.log(10)
ADDED_DRAWS = 1.0
"""Drawn games added for each agent in each seat, spread over its cells."""
_ITERATIONS = 100_000
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Ratings:
    """The ratings of K agents, in Elo points."""

    dwarfs: list[Interval]
    """[K] as dwarfs, less the mean of all dwarfs."""
    trolls: list[Interval]
    """[K] as trolls, less the mean of all trolls."""
    advantage: Interval
    """By how much the average dwarfs are rated above the average trolls."""


def rate(points: NDArray[np.float64], games: NDArray[np.float64]) -> Ratings:
    """Fit the ratings.

    Args:
        points: [K, K] the points of agent i's dwarfs against agent j's trolls: 1 a win, 0.5 a
            draw.
        games: [K, K] how many games these are.
    """
    size = len(games)
    added = ADDED_DRAWS / size
    played, won = games + added, points + added / 2
    strengths = _maximise(won, played)
    covariance = _covariance(strengths, played)
    logs = np.log(strengths) * ELO
    # Each row is a contrast: a reported figure as a sum of log-strengths.
    side = np.eye(size) - 1 / size
    zero = np.zeros((size, size))
    contrasts = np.vstack(
        (
            np.hstack((side, zero)),
            np.hstack((zero, side)),
            np.repeat((1 / size, -1 / size), size)[np.newaxis],
        )
    )
    values = contrasts @ logs
    spread = np.sqrt(np.maximum(0, np.diag(contrasts @ covariance @ contrasts.T))) * ELO * Z95
    ends = zip(values.tolist(), (values - spread).tolist(), (values + spread).tolist(), strict=True)
    intervals = [Interval(*three) for three in ends]
    return Ratings(intervals[:size], intervals[size : 2 * size], intervals[2 * size])


def _maximise(won: NDArray[np.float64], played: NDArray[np.float64]) -> NDArray[np.float64]:
    """The most likely strengths, [2K], dwarfs then trolls, with a geometric mean of 1."""
    size = len(played)
    lost = played - won
    dwarfs, trolls = np.ones(size), np.ones(size)
    for _ in range(_ITERATIONS):
        before = np.concatenate((dwarfs, trolls))
        dwarfs = won.sum(axis=1) / (played / (dwarfs[:, np.newaxis] + trolls)).sum(axis=1)
        trolls = lost.sum(axis=0) / (played / (dwarfs[:, np.newaxis] + trolls)).sum(axis=0)
        after = np.concatenate((dwarfs, trolls))
        scale = np.exp(np.log(after).mean())
        dwarfs, trolls, after = dwarfs / scale, trolls / scale, after / scale
        if np.abs(np.log(after / before)).max() < _TOLERANCE:
            break
    return np.concatenate((dwarfs, trolls))


def _covariance(strengths: NDArray[np.float64], played: NDArray[np.float64]) -> NDArray[np.float64]:
    """The covariance of the log-strengths, [2K, 2K]: the pseudo-inverse of the Fisher information,
    which is singular because a constant added to all of them changes nothing.
    """
    size = len(played)
    dwarfs, trolls = strengths[:size, np.newaxis], strengths[size:]
    information = played * dwarfs * trolls / (dwarfs + trolls) ** 2
    laplacian = np.zeros((2 * size, 2 * size))
    laplacian[:size, size:] = -information
    laplacian[size:, :size] = -information.T
    laplacian[np.diag_indices(2 * size)] = np.concatenate(
        (information.sum(axis=1), information.sum(axis=0))
    )
    return np.asarray(np.linalg.pinv(laplacian, hermitian=True), dtype=np.float64)
