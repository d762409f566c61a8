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
ENOUGH_PAIRS = 20
"""Game pairs below which nothing is concluded: intervals of a handful of values are too narrow."""
NOT_COMPARED = f"fewer than {ENOUGH_PAIRS} game pairs: not compared"
"""What is said of two numbers that rest on too few game pairs, however far apart they are."""


Bounds = tuple[float, float]
"""The least and the largest possible value of a quantity."""


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


def negated(bounds: Bounds) -> Bounds:
    """The bounds of margins from the trolls' view, given those from the dwarfs'."""
    least, most = bounds
    return -most, -least


def difference_bounds(bounds: Bounds) -> Bounds:
    """The bounds of the difference of two values within ``bounds``, such as a game pair's total:
    the first player's margin as dwarfs less the other's as dwarfs.
    """
    least, most = bounds
    return least - most, most - least


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


def equal_values_interval(value: float, count: int, bounds: Bounds) -> Interval:
    """The interval of the mean of values within ``bounds``, of which ``count`` were drawn and all
    were ``value``. Their spread is 0, and yet other values may be rare: none among n does not show
    that there are none (Hanley & Lippman-Hand, "If nothing goes wrong, is everything all right?",
    1983). ``wilson`` bounds their share, and all of them may be at one end of the range. So the
    interval of n battles won is that of the share won, on the scale from -1 to 1. A single value
    bounds nothing: its interval is the whole range.
    """
    alike = wilson(count, count).low if count > 1 else 0.0
    low, high = (alike * value + (1 - alike) * end for end in bounds)
    return clamped(value, low, high, *bounds)


def mean_interval(values: NDArray[np.integer | np.floating], bounds: Bounds) -> Interval:
    """The mean of values within ``bounds``, with its interval by the normal approximation, or by
    ``equal_values_interval``.
    """
    mean = float(values.mean())
    if np.ptp(values) == 0:
        return equal_values_interval(mean, len(values), bounds)
    half = Z95 * float(values.std(ddof=1)) / math.sqrt(len(values))
    return clamped(mean, mean - half, mean + half, *bounds)


def half_width(count: int) -> float:
    """Half the width of the interval of a share near one half, of so many games or pairs: 0.05 of
    400.
    """
    return Z95 * 0.5 / math.sqrt(count)


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
