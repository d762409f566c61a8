"""How battles stand, who decides and how they ended, many at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thud_env.jit.compile import compiled
from thud_env.rules.check import as_rows, check_rows
from thud_env.rules.play import margin
from thud_env.rules.row import TERMINATION, TO_MOVE


@compiled
def _score_each(rows: Any, scores: Any) -> None:
    """Write the margins of [N, 432] states into [N] int64."""
    for game in range(rows.shape[0]):
        scores[game] = margin(rows[game])


def margins(rows: NDArray[np.integer[Any]], *, check: bool = True) -> NDArray[np.int64]:
    """The margins of [N, 432] state rows of any rulesets as they stand, [N] int64, from the dwarfs'
    view: what ``Position.margin`` is of each.

    Args:
        rows: any integers.
        check: whether to look at them first. Pass False for rows that are known to be sound, as a
            batch's are: what others give means nothing, and reading them may end the process.

    Raises:
        RowError: if no play leads to one of them; the message names the row and the entry.
    """
    sound = check_rows(rows) if check else as_rows(rows)
    found = np.empty(len(sound), dtype=np.int64)
    _score_each(sound, found)
    return found


def terminations(rows: NDArray[np.integer[Any]], *, check: bool = True) -> NDArray[np.int64]:
    """How the battles of [N, 432] state rows of any rulesets ended, [N] int64: values of
    ``Termination``, 0 where a battle goes on.

    Args:
        rows: any integers.
        check: whether to look at them first. Pass False for rows that are known to be sound, as a
            batch's are: what others give means nothing, and reading them may end the process.

    Raises:
        RowError: if no play leads to one of them; the message names the row and the entry.
    """
    sound = check_rows(rows) if check else as_rows(rows)
    return sound[:, TERMINATION].astype(np.int64)


def to_move(rows: NDArray[np.integer[Any]], *, check: bool = True) -> NDArray[np.int8]:
    """Who decides in [N, 432] state rows of any rulesets, [N] int8: 0 dwarfs, 1 trolls. Of a battle
    that is over, who would.

    Args:
        rows: any integers.
        check: whether to look at them first. Pass False for rows that are known to be sound.

    Raises:
        RowError: if no play leads to one of them; the message names the row and the entry.
    """
    sound = check_rows(rows) if check else as_rows(rows)
    return sound[:, TO_MOVE].astype(np.int8)
