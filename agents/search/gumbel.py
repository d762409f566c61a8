"""Chooses a decision at the root by Gumbel-top-k sampling and sequential halving.

PUCT needs many simulations to improve on its priors. With few it is better to sample some
decisions, try them equally often and drop the worse half, again and again: if the values are right,
the choice is in expectation no worse than the priors (Danihelka et al., "Policy improvement by
planning with Gumbel", 2022, sections 3 to 5).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

_VISIT_OFFSET = 50.0
"""c_visit of the paper's equation 8."""


def visit_plan(simulations: int, considered: int) -> Iterator[int]:
    """Plan the simulations by sequential halving: ``considered`` decisions are tried equally often,
    then the better half of them, and so on. Yields, for so many simulations or more, how often its
    decision has been tried before.
    """
    rounds = max(1, math.ceil(math.log2(max(2, considered))))
    left, tried = considered, 0
    while True:
        for _ in range(max(1, simulations // (rounds * left))):
            yield from [tried] * left
            tried += 1
        left = max(2 if considered > 1 else 1, left // 2)


class GumbelRoot:
    """The choice among K decisions at a root.

    Args:
        priors: [K] their probabilities.
        simulations: how many will be made.
        considered: the most decisions to try.
        noise: [K] draws from the standard Gumbel distribution; zeros make it deterministic.
        scale: how much a value counts against a prior, c_scale of the paper's equation 8.
    """

    def __init__(
        self,
        priors: NDArray[np.floating],
        simulations: int,
        considered: int,
        noise: NDArray[np.floating],
        scale: float,
    ) -> None:
        self._logits = np.log(np.maximum(priors.astype(np.float64), 1e-12))
        self._noise = noise
        self._scale = scale
        self._plan = visit_plan(simulations, min(considered, len(priors)))

    def next_decision(self, visits: NDArray[np.integer], values: NDArray[np.floating]) -> int:
        """The decision to try next; asked once for each simulation.

        Args:
            visits: [K] how often each decision was tried.
            values: [K] its mean value, 0 .. 1, where it was tried.
        """
        scores = self._scores(visits, values)
        scores[visits != next(self._plan)] = -np.inf
        return int(np.argmax(scores))

    def best_decision(self, visits: NDArray[np.integer], values: NDArray[np.floating]) -> int:
        """The best of those tried most often."""
        scores = self._scores(visits, values)
        scores[visits != visits.max()] = -np.inf
        return int(np.argmax(scores))

    def _scores(
        self, visits: NDArray[np.integer], values: NDArray[np.floating]
    ) -> NDArray[np.float64]:
        completed = completed_values(np.exp(self._logits), visits, values)
        weight = (_VISIT_OFFSET + visits.max()) * self._scale
        return np.asarray(self._noise + self._logits + weight * completed, dtype=np.float64)


def completed_values(
    priors: NDArray[np.floating], visits: NDArray[np.integer], values: NDArray[np.floating]
) -> NDArray[np.float64]:
    """[K] the values; decisions never tried get the mean of the tried ones, weighted by their
    priors (the paper's appendix D, without a value of the root itself).
    """
    tried = visits > 0
    if not tried.any():
        return np.zeros(len(visits))
    mixed = np.average(values[tried], weights=np.maximum(priors[tried], 1e-12))
    return np.where(tried, values, mixed).astype(np.float64)
