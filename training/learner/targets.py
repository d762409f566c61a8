"""What auxiliary heads learn to predict: how battles ended, where that is known.

Known are the ends of battles that ended within the rollout; about the other decisions the
auxiliary heads learn nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.networks.legal_policy import NUM_POINTS
from thud_env.board import CELL_OF_SQUARE, SIZE, STRIDE
from thud_env.jit.compile import compiled_with_arrays
from thud_env.rules.row import DWARF, TO_MOVE, TROLL

UNKNOWN = -1
"""In place of a target that is not known, or where there is no piece."""

_SQUARE_POINTS = ((CELL_OF_SQUARE // STRIDE - 1) * SIZE + CELL_OF_SQUARE % STRIDE).astype(np.int64)


@compiled_with_arrays
def _fill(
    rows, last_rows, ended, order, final_rows, final_margins, cells, points, results, survival
):
    steps, games = ended.shape
    alive = np.empty(rows.shape[2], dtype=np.int8)
    before_it = np.empty(rows.shape[2], dtype=np.int8)
    for game in range(games):
        known = False
        result = 0
        for t in range(steps - 1, -1, -1):
            before = rows[t, game]
            after = last_rows[game] if t == steps - 1 else rows[t + 1, game]
            if ended[t, game]:
                number = order[t, game]
                after = final_rows[number]
                known = True
                result = 1 + (1 if final_margins[number] > 0 else 0)
                result -= 1 if final_margins[number] < 0 else 0
                for cell in cells:
                    alive[cell] = 1
            if not known:
                continue
            kind = DWARF if before[TO_MOVE] == 0 else TROLL
            to = -1
            for cell in cells:
                if after[cell] == kind and before[cell] != kind:
                    to = cell
            for cell in cells:
                piece = before[cell]
                if piece == after[cell]:
                    before_it[cell] = alive[cell]
                elif piece == kind and to >= 0:
                    before_it[cell] = alive[to]
                else:
                    before_it[cell] = 0
            results[t, game] = result if before[TO_MOVE] == 0 else 2 - result
            for i in range(cells.shape[0]):
                cell = cells[i]
                alive[cell] = before_it[cell]
                if before[cell] == DWARF or before[cell] == TROLL:
                    survival[t, game, points[i]] = alive[cell]


def endings(
    rows: NDArray[np.int16],
    last_rows: NDArray[np.int16],
    ended: NDArray[np.bool_],
    final_rows: NDArray[np.int16],
    final_margins: NDArray[np.int64],
) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """How it ended for each decision of a rollout.

    A piece is followed from decision to decision: it stays, moves with the decision, or is
    captured.

    Args:
        rows: [T, B, 432] the states that were decided in.
        last_rows: [B, 432] the states after the last decisions.
        ended: [T, B] whether the battle ended with the decision.
        final_rows: [E, 432] the last states of these battles, in the order of ``ended``.
        final_margins: [E] their margins.

    Returns:
        [T, B] 0 lost, 1 drawn, 2 won by the side that decided, and [T, B, 225] 1 where a piece
        stands that is there at the end, wherever it has gone, 0 where one stands that is not;
        both ``UNKNOWN`` elsewhere.
    """
    results = np.full(ended.shape, UNKNOWN, dtype=np.int8)
    survival = np.full((*ended.shape, NUM_POINTS), UNKNOWN, dtype=np.int8)
    order = np.cumsum(ended).reshape(ended.shape) - 1
    _fill(
        *(rows, last_rows, ended, order, final_rows, final_margins),
        *(CELL_OF_SQUARE.astype(np.int64), _SQUARE_POINTS, results, survival),
    )
    return results, survival
