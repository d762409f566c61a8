"""95% intervals of means and shares, how they are written, and how two are compared.

Intervals stay within the range of their quantity. A number is called higher than another only if
their intervals are apart; else the two are "not told apart". On too few game pairs, two numbers are
not compared.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Z95 = NormalDist().inv_cdf(0.975)
RESAMPLES = 2000
ENOUGH_PAIRS = 20
"""Game pairs below which nothing is concluded: the bootstrap of a handful of values, or of
values that are all the same, gives intervals that are too narrow."""
NOT_COMPARED = f"fewer than {ENOUGH_PAIRS} game pairs: not compared"
"""What is said of two numbers that rest on too few game pairs, however far apart they are."""


class Interval(NamedTuple):
    """An estimate and its 95% interval."""

    value: float
    low: float
    high: float

    def text(self, places: int) -> str:
        """The estimate and its interval to so many decimals: ``+1.5 (+0.2 to +2.8)``."""
        # z: what rounds to zero is not written -0.0.
        value, low, high = (f"{part:+z.{places}f}" for part in self)
        return f"{value} ({low} to {high})"

    def percent(self) -> str:
        """A share and its interval: ``62% (55 to 69)``."""
        value, low, high = (f"{100 * part:.0f}" for part in self)
        return f"{value}% ({low} to {high})"


def decimals(largest: float) -> int:
    """How many decimals suit a mean of values in ``-largest .. largest``."""
    return 1 if largest > 1 else 2


def clamped(value: float, low: float, high: float, least: float, most: float) -> Interval:
    """An interval cut to ``least`` .. ``most`` that contains its value despite rounding."""
    return Interval(value, min(max(least, low), value), max(min(most, high), value))


def wilson(successes: float, trials: int) -> Interval:
    """A share with its score interval (Wilson, "Probable inference", 1927)."""
    share, square = successes / trials, Z95 * Z95
    scale = 1 + square / trials
    centre = (share + square / (2 * trials)) / scale
    spread = math.sqrt(share * (1 - share) / trials + square / (4 * trials * trials))
    half = Z95 * spread / scale
    return clamped(share, centre - half, centre + half, 0, 1)


def mean_interval(values: NDArray[np.integer | np.floating], largest: float) -> Interval:
    """The mean of values in ``-largest .. largest``, with its interval by the normal
    approximation. The interval of a single value is the whole range.
    """
    mean = float(values.mean())
    if len(values) == 1:
        return Interval(mean, -largest, largest)
    half = Z95 * float(values.std(ddof=1)) / math.sqrt(len(values))
    return clamped(mean, mean - half, mean + half, -largest, largest)


def resolution(games: int) -> float:
    """The difference from one half that a share of this many games can show: half the width of
    its interval, 0.05 for 400 games.
    """
    return Z95 * 0.5 / math.sqrt(games)


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


def percentile_interval(value: float, samples: NDArray[np.float64]) -> Interval:
    """The interval between the 2.5% and 97.5% points of bootstrap samples of ``value``."""
    low, high = np.quantile(samples, (0.025, 0.975))
    return clamped(float(value), float(low), float(high), -math.inf, math.inf)


def resampled_interval(
    values: NDArray[np.float64], starts: NDArray[np.int64], weights: NDArray[np.int64]
) -> Interval:
    """The mean of values, one a start, with its bootstrap interval: see ``resampled_means``."""
    return percentile_interval(float(values.mean()), resampled_means(values, starts, weights))


def is_above(first: Interval, second: Interval, pairs: int) -> bool:
    """Whether ``first`` may be called higher than ``second``: the intervals are apart, and both
    rest on ``ENOUGH_PAIRS`` or more.
    """
    return pairs >= ENOUGH_PAIRS and first.low > second.high


def compare(name: str, first: Interval, other: str, second: Interval, pairs: int) -> str:
    """Compare two numbers with their intervals, in words."""
    if pairs < ENOUGH_PAIRS:
        return f"{name} and {other}: {NOT_COMPARED}"
    if is_above(first, second, pairs):
        return f"{name} is above {other}"
    if is_above(second, first, pairs):
        return f"{other} is above {name}"
    return f"{name} and {other} are not told apart"
