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
- *Intervals* are from the sandwich covariance (White, "Maximum likelihood estimation of
  misspecified models", 1982), in clusters (Liang & Zeger, "Longitudinal data analysis using
  generalized linear models", 1986). A cluster is a start with all games played from it: these are
  alike, since a start may favour a side. The sandwich also knows that draws vary less than wins and
  losses. The added draws are a cluster of their own: where an agent wins every game they are all
  that speaks against it, and by the games alone its rating would seem certain. Where all games of a
  cell came out alike and others are draws, so that little else varies, intervals are too narrow.
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
    gaps: tuple[list[list[Interval]], list[list[Interval]]]
    """[K][K] as dwarfs, and as trolls: by how much an agent is rated above another."""


def rate(points: NDArray[np.float64], games: NDArray[np.float64]) -> Ratings:
    """Fit the ratings.

    Args:
        points: [S, K, K] by start, the points of agent i's dwarfs against agent j's trolls: 1 a
            win, 0.5 a draw.
        games: [S, K, K] how many games these are.
    """
    size = games.shape[-1]
    added = np.full((1, size, size), ADDED_DRAWS / size)
    played, won = np.concatenate((games, added)), np.concatenate((points, added / 2))
    strengths = _maximise(won.sum(axis=0), played.sum(axis=0))
    covariance = _covariance(strengths, won, played)
    logs = np.log(strengths) * ELO

    def intervals(contrasts: NDArray[np.float64]) -> list[Interval]:
        """Of figures, each a row of ``contrasts``: a sum of log-strengths."""
        values = contrasts @ logs
        variances = np.diag(contrasts @ covariance @ contrasts.T)
        spread = np.sqrt(np.maximum(0, variances)) * ELO * Z95
        ends = zip(
            values.tolist(), (values - spread).tolist(), (values + spread).tolist(), strict=True
        )
        return [Interval(*three) for three in ends]

    agents = np.eye(size)
    zero = np.zeros((size, size))
    as_dwarfs, as_trolls = np.hstack((agents, zero)), np.hstack((zero, agents))
    means = as_dwarfs.mean(axis=0), as_trolls.mean(axis=0)
    return Ratings(
        dwarfs=intervals(as_dwarfs - means[0]),
        trolls=intervals(as_trolls - means[1]),
        advantage=intervals((means[0] - means[1])[np.newaxis])[0],
        gaps=(
            [intervals(one - as_dwarfs) for one in as_dwarfs],
            [intervals(one - as_trolls) for one in as_trolls],
        ),
    )


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


def _covariance(
    strengths: NDArray[np.float64], won: NDArray[np.float64], played: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The sandwich covariance of the log-strengths, [2K, 2K] (Liang & Zeger 1986, theorem 1). The
    bread is the pseudo-inverse of the Fisher information, which is singular because a constant
    added to all log-strengths changes nothing. The meat is made of the scores of C clusters, times
    C / (C - 1) since these may be few.

    Args:
        strengths: [2K] dwarfs, then trolls.
        won: [C, K, K] the dwarfs' points in each cluster.
        played: [C, K, K] the games in each cluster.
    """
    size = played.shape[-1]
    dwarfs, trolls = strengths[:size, np.newaxis], strengths[size:]
    chances = dwarfs / (dwarfs + trolls)
    information = played.sum(axis=0) * chances * (1 - chances)
    laplacian = np.zeros((2 * size, 2 * size))
    laplacian[:size, size:] = -information
    laplacian[size:, :size] = -information.T
    laplacian[np.diag_indices(2 * size)] = np.concatenate(
        (information.sum(axis=1), information.sum(axis=0))
    )
    bread = np.linalg.pinv(laplacian, hermitian=True)
    residuals = won - played * chances
    scores = np.hstack((residuals.sum(axis=2), -residuals.sum(axis=1)))
    clusters = np.count_nonzero(played.any(axis=(1, 2)))
    meat = scores.T @ scores * clusters / (clusters - 1)
    return np.asarray(bread @ meat @ bread, dtype=np.float64)
