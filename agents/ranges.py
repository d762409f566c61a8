"""Ranges of numbers: as a part of a type, for the fields of configurations, and of options.

::

    blocks: NotNegative = 3
    depth: Annotated[int, Range(1, MAX_DEPTH)] = 2
"""

from __future__ import annotations

import math
import sys
from numbers import Real
from typing import Annotated, Any, NamedTuple

import numpy as np

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


def number_in(name: str, value: Any, least: float, most: float = math.inf) -> float:
    """Return the value of an option.

    Raises:
        ThudError: if it is not a number from ``least`` to ``most``; a bool is not one.
    """
    right = Range(least, most)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ThudError(f"{name}={shown(value)} must be a number, {right}")
    # As a number of Python's own: NumPy would take the bounds in the value's precision.
    number: Any = value.item() if isinstance(value, np.generic) else value
    if not right.least <= number <= right.most:
        raise ThudError(f"{name}={shown(number)} must be {right}")
    try:
        return float(number)
    except OverflowError:
        raise ThudError(f"{name}={shown(value)} must be at most {sys.float_info.max:g}") from None
