"""The range of a number as a part of its type, for the fields of configurations.

::

    blocks: NotNegative = 3
    depth: Annotated[int, Range(1, MAX_DEPTH)] = 2
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple


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
NotNegative = Annotated[int, Range(0)]
Share = Annotated[float, Range(0, 1)]
