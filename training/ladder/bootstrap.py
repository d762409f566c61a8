"""Bootstrap intervals of means over starts: whole starts are drawn anew, with all their games."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from training.arena.intervals import Bounds, Interval, clamped, equal_values_interval

RESAMPLES = 2000
_ROUNDING = 1e-9
"""How far apart the means of equal values may be, as a share of their range."""


def resample_weights(starts: int) -> NDArray[np.int64]:
    """How often each bootstrap sample holds each start, [RESAMPLES, starts].

    The unit that is drawn is the start, with all games played from it: a game pair stays
    together, and so do the games of all agents from one start (Efron,
    "Bootstrap methods", 1979; resampling whole clusters: Davison & Hinkley 1997, section 3.8).
    """
    random = np.random.default_rng(0)
    return random.multinomial(starts, np.full(starts, 1 / starts), size=RESAMPLES)


def resampled_means(
    values: NDArray[np.float64], starts: NDArray[np.int64], weights: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The mean of each bootstrap sample, [RESAMPLES].

    Args:
        values: [n] one value a start.
        starts: [n] distinct columns of ``weights``: the starts that were played.
        weights: what ``resample_weights`` drew.
    """
    drawn = weights[:, starts]
    sizes = drawn.sum(axis=1)
    sums = drawn @ values
    # A sample without any of these starts, possible with a handful only, counts as the mean.
    return np.where(sizes > 0, sums / np.maximum(sizes, 1), values.mean())


def percentile_interval(
    value: float, samples: NDArray[np.float64], count: int, bounds: Bounds
) -> Interval:
    """The interval between the 2.5% and 97.5% points of bootstrap samples of ``value``, or where
    all samples are equal, that of ``equal_values_interval``.

    Args:
        value: a mean of values within ``bounds``.
        samples: [RESAMPLES] the means of bootstrap samples.
        count: how many values there are.
        bounds: their range.
    """
    least, most = bounds
    if np.ptp(samples) <= _ROUNDING * (most - least):
        return equal_values_interval(float(value), count, bounds)
    low, high = np.quantile(samples, (0.025, 0.975))
    return clamped(float(value), float(low), float(high), -math.inf, math.inf)


def resampled_interval(
    values: NDArray[np.float64],
    starts: NDArray[np.int64],
    weights: NDArray[np.int64],
    bounds: Bounds,
) -> Interval:
    """The mean of values within ``bounds``, one a start, with its bootstrap interval: see
    ``resampled_means``.
    """
    samples = resampled_means(values, starts, weights)
    return percentile_interval(float(values.mean()), samples, len(values), bounds)
