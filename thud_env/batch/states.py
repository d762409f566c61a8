"""Questions about many states at once, without a batch. The states are trusted: a damaged one may
end the process.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thud_env.batch.kernels import sample_games
from thud_env.jit.compile import compiled
from thud_env.rules.check import as_rows
from thud_env.rules.legal import legal_actions
from thud_env.rules.row import MAX_DECISIONS_AT_ONCE


@compiled
def _list_each(rows: Any, starts: Any, decisions: Any) -> None:
    """Write all games' legal decisions, each game's ascending, one game after the other.

    Args:
        rows: [N, 432] the games.
        starts: [N + 1] int64, receives where each game's decisions begin.
        decisions: [>= N * 2048] int32, written up to ``starts[N]``.
    """
    starts[0] = 0
    for game in range(rows.shape[0]):
        first = starts[game]
        starts[game + 1] = first + legal_actions(rows[game], decisions[first:])


def legal_lists(rows: NDArray[np.int16]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The legal decisions of many states in one list.

    Args:
        rows: [N, 432] state rows.

    Raises:
        RowError: if they are no integers of that shape. What they hold is not looked at.

    Returns:
        ``decisions`` [L] and ``starts`` [N + 1]: game g's decisions, ascending, are
        ``decisions[starts[g] : starts[g + 1]]``.
    """
    rows = as_rows(rows)
    starts = np.empty(len(rows) + 1, dtype=np.int64)
    decisions = np.empty(len(rows) * MAX_DECISIONS_AT_ONCE, dtype=np.int32)
    _list_each(rows, starts, decisions)
    return decisions[: starts[-1]].copy(), starts


def drawn_decisions(rows: NDArray[np.int16], generator: np.random.Generator) -> NDArray[np.int64]:
    """[N] one of the legal decisions of each of [N, 432] states, drawn uniformly; 0 where there is
    none.
    """
    rows = as_rows(rows)
    actions = np.empty(len(rows), dtype=np.int64)
    rng = generator.integers(2**64, size=len(rows), dtype=np.uint64)
    sample_games(rows, rng, actions, 0, len(rows))
    return actions
