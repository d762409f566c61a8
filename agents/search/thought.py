"""What a search found."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Thought:
    """What a search found."""

    decisions: list[int]
    """The decisions to the end of the turn, or only the first of them, one at least: then the next
    is searched for when it is due."""
    value: int
    """For the side to move, in hundredths of a point."""
    depth: int | None = None
    """The depth of the deepest finished search, 0: none; None if it does not count turns."""
    nodes: int = 0
    """Nodes searched; 0 if it does not count any."""
    visits: dict[int, int] = dataclasses.field(default_factory=dict)
    """How often each decision was tried; empty if the search does not count it."""
    values: dict[int, int] = dataclasses.field(default_factory=dict)
    """What each decision that was tried is worth to the side that decides, in hundredths of a
    point; empty if the search does not say."""
    expected: list[list[int]] = dataclasses.field(default_factory=list)
    """The turns expected next, each by its decisions; empty if the search does not say."""

    @property
    def simulations(self) -> int:
        """How many simulations tried a decision; 0 if it makes none."""
        return sum(self.visits.values())
