"""Turns and mirrors state rows."""

from __future__ import annotations

from thud_env.board import CELL_OF_SQUARE, NUM_SQUARES, SQUARE_OF_CELL, SQUARE_SYMMETRY
from thud_env.jit.compile import compiled
from thud_env.rules.row import PENDING_CELL, copy_row, index_row


@compiled
def map_rows(rows, chosen, out):
    """Turn and mirror state rows.

    Args:
        rows: [N, 432] state rows.
        chosen: [N] the symmetry for each (``board.SYMMETRIES``).
        out: [N, 432] written.
    """
    for n in range(rows.shape[0]):
        copy_row(out[n], rows[n])
        symmetry = chosen[n]
        for square in range(NUM_SQUARES):
            image = SQUARE_SYMMETRY[symmetry, square]
            out[n, CELL_OF_SQUARE[image]] = rows[n, CELL_OF_SQUARE[square]]
        index_row(out[n])
        pending = rows[n, PENDING_CELL]
        if pending != 0:
            image = SQUARE_SYMMETRY[symmetry, SQUARE_OF_CELL[pending]]
            out[n, PENDING_CELL] = CELL_OF_SQUARE[image]
