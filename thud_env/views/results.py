"""How battles stand and how they ended, many at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thud_env.jit.compile import compiled
from thud_env.rules.check import check_rows
from thud_env.rules.play import margin
from thud_env.rules.row import TERMINATION


@compiled
def _score_each(rows: Any, scores: Any) -> None:
    """Write the margins of [N, 432] states into [N] int64."""
    for game in range(rows.shape[0]):
        scores[game] = margin(rows[game])


def margins(rows: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """The margins of [N, 432] state rows of any rulesets as they stand, [N] int64, from the dwarfs'
    view: what ``Position.margin`` is of each.

    Raises:
        RowError: if no play leads to one of them; the message names the row and the entry.
    """
    return margins_of(check_rows(rows))


def margins_of(rows: NDArray[np.int16]) -> NDArray[np.int64]:
    """What ``margins`` returns, of rows that are known to be sound."""
    found = np.empty(len(rows), dtype=np.int64)
    _score_each(rows, found)
    return found


def terminations(rows: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """How the battles of [N, 432] state rows of any rulesets ended, [N] int64: values of
    ``Termination``, 0 where a battle goes on.

    Raises:
        RowError: if no play leads to one of them; the message names the row and the entry.
    """
    return check_rows(rows)[:, TERMINATION].astype(np.int64)
