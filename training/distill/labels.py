"""What students learn of states: a search's scores of their decisions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thud_env.errors import ThudError
from training.commands.at_once import at_once


@dataclasses.dataclass(frozen=True)
class Labels:
    """A search's scores of N states, with K decisions in all: of those that the search considered,
    the ones that come near the best.
    """

    counts: NDArray[np.int32]
    """[N] how many of these each state has, at least one."""
    decisions: NDArray[np.int16]
    """[K] each state's, ascending."""
    gaps: NDArray[np.int16]
    """[K] how much less than the best each is worth, in hundredths of a point."""
    values: NDArray[np.int32]
    """[N] the value of the best for the dwarfs, in hundredths of a point."""

    @property
    def starts(self) -> NDArray[np.int64]:
        """[N + 1] where each state's decisions begin."""
        return np.concatenate(([0], np.cumsum(self.counts, dtype=np.int64)))

    def __getitem__(self, chosen: NDArray[np.int64]) -> Labels:
        """The labels of some of the states."""
        counts = self.counts[chosen]
        firsts = self.starts[chosen]
        into = np.concatenate(([0], np.cumsum(counts)))[:-1]
        where = np.arange(counts.sum()) - np.repeat(into - firsts, counts)
        return Labels(counts, self.decisions[where], self.gaps[where], self.values[chosen])

    @classmethod
    def joined(cls, parts: Sequence[Labels]) -> Labels:
        """The labels of several lots of states, one after the other."""
        fields = (field.name for field in dataclasses.fields(cls))
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in fields))


class Teacher(Protocol):
    """Labels states."""

    def label(self, rows: NDArray[np.int16]) -> Labels:
        """Label [N, 432] state rows of battles that are not over, at least one.

        Raises:
            ThudError: if there is none.
        """
        ...


def labelled_at_once(
    cores: Sequence[Callable[[NDArray[np.int16]], Labels]], rows: NDArray[np.int16]
) -> Labels:
    """Label [N, 432] rows, at least one, an equal part by each of several functions in a thread of
    its own.

    Raises:
        ThudError: if there is none.
    """
    if not len(rows):
        raise ThudError("there are no states to label: one or more would be right")
    parts = [part for part in np.array_split(rows, len(cores)) if len(part)]
    shares = list(zip(cores, parts, strict=False))
    return Labels.joined(at_once(lambda share, _: share[0](share[1]), shares, len(shares)))
