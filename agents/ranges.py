"""Ranges of numbers: as a part of a type, for the fields of configurations, and of options.

::

    blocks: NotNegative = 3
    depth: Annotated[int, Range(1, MAX_DEPTH)] = 2
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Annotated, NamedTuple

from thud_env.arguments import shown
from thud_env.errors import ThudError


class Range(NamedTuple):
    """Numbers from ``least`` to ``most``, both included."""

    least: float
    most: float = math.inf

    def __str__(self) -> str:
        """What would be right, in words."""
        if self.most == math.inf:
            return f"{self.least:g} or more"
        return f"in {self.least:g} .. {self.most:g}"


Count = Annotated[int, Range(1)]
Positive = Annotated[float, Range(1e-6)]
NotNegative = Annotated[int, Range(0)]
Share = Annotated[float, Range(0, 1)]


def check_ranges(**options: tuple[float, float, float]) -> None:
    """Check options, each given as ``name=(value, least, most)``; of integers if ``most`` is one.

    Raises:
        ThudError: if a value is outside its range, or not a number, or not the integer it must be;
            a bool is neither.
    """
    for name, (value, least, most) in options.items():
        kind, a_number = (Integral, "an integer") if isinstance(most, int) else (Real, "a number")
        if isinstance(value, bool) or not isinstance(value, kind):
            right = f"{a_number}, {Range(least, most)}"
            raise ThudError(f"{name}={shown(value)} must be {right}")
        if not least <= value <= most:
            raise ThudError(f"{name}={shown(value)} must be {Range(least, most)}")
