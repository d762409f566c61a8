"""The arrays of the alpha-beta search, and the meaning of their columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.evaluation import NUM_FEATURES
from agents.search.lines import CODES_SIZE
from agents.search.patterns import Tables
from agents.search.table import BUCKET
from thud_env.actions import NUM_ACTIONS
from thud_env.rules.row import MAX_DECISIONS_AT_ONCE, ROW_SIZE

(
    ALPHA,  # what the side to decide is sure of elsewhere
    BETA,  # what its opponent will not let it exceed
    OLD_ALPHA,  # alpha when the level was opened
    BEST,  # value of the best decision so far
    BEST_MOVE,
    TRIED,  # decisions tried so far
    COUNT,  # decisions in all
    TURNS_LEFT,  # turns to look ahead, this one included; 0 and below: captures only
    LAST_CAPTURED,  # the decision that captured the last dwarf in this turn, or -1
    IN_TABLE,  # 1 if the transposition table may be used
    LINE,  # length of the best line found to the end of the turn, in decisions
    MARGIN,  # by how much a quiet move must look too bad to be left out; -1: none is
    FLOOR,  # what the child being searched has to exceed
    HURRY,  # how that child is searched: see the values below
    EXTENDED,  # turns added on the way here
    TRY_FIRST,  # the move to try first, or -1
    UNLISTED,  # 1 as long as the quiet moves are not listed
    FRAME_SIZE,
) = range(18)

IN_FULL, SCOUTED, REDUCED = range(3)
"""Values of HURRY: with the whole window; with a null window, to see whether the child exceeds
FLOOR; with a null window, a turn or two less deep."""

(
    STOP,  # anything but 0 stops a search of two turns or more, and one after CERTAIN nodes
    NODES,  # decisions played, or judged and left out, so far
    NODE_LIMIT,  # stop after so many
    ORDERED,  # 1: try promising decisions first
    USE_TABLE,  # 1: use the transposition table
    QUIESCENCE,  # turns of captures looked at beyond the depth; 0: none
    FIRST_MOVE,  # the decision to try first at the root, or -1
    BY_PATTERNS,  # 1: evaluate by patterns, 0: by features
    WITHIN_BOUNDS,  # 1: no evaluation is better than the best end; 0: the frozen yardstick's may be
    REDUCTIONS,  # 1: look less far where little happens, further where much may: see pruning.py
    EXTENSIONS,  # the most turns added on the way to a position: see pruning.py
    GENERATION,  # number of the search, for the table
    CONTROL_SIZE,
) = range(13)

CERTAIN = 1_000_000
"""Nodes, a tenth of a second, that a search of one turn may try before it can be stopped: it takes
more only where a turn may trample a crowd in as many orders.
"""
MAX_DEPTH = 24
MAX_QUIESCENCE = 8
MAX_LINE = 36
"""The most decisions in a turn: a move, one for each dwarf, one to stop."""
MAX_LEVELS = 2 * (MAX_DEPTH + 1 + MAX_QUIESCENCE) + MAX_LINE
"""The longest path: two decisions a turn, of which a deep search may add one, and one more for each
dwarf captured."""


class Workspace(NamedTuple):
    """All the arrays of a search. L is MAX_LEVELS, K a power of two."""

    rows: NDArray[np.int16]
    """[L, 432] the positions on the path."""
    codes: NDArray[np.int32]
    """[L, 1360] their pattern codes, if positions are evaluated by patterns."""
    sums: NDArray[np.int64]
    """[L, 2] their values by patterns, by side to move."""
    moves: NDArray[np.int32]
    """[L, 2048] the decisions at each position."""
    scores: NDArray[np.int32]
    """[L, 2048] how promising each decision is."""
    frames: NDArray[np.int64]
    """[L, FRAME_SIZE] the columns above."""
    lines: NDArray[np.int32]
    """[MAX_LINE + 1, MAX_LINE + 1] the best decisions to the end of the first turn, from each of
    its levels."""
    path_keys: NDArray[np.uint64]
    """[L] the table's keys of the positions on the path, down to where no turn is left."""
    keys: NDArray[np.uint64]
    """[K, 4] the transposition table's keys."""
    entries: NDArray[np.int64]
    """[K, 4] its entries."""
    killers: NDArray[np.int32]
    """[MAX_DEPTH + 1, 2] by turns left, -1 for none: see ``ordering.score_moves``."""
    history: NDArray[np.int32]
    """[2, 6470] by side: see ``ordering.score_moves``."""
    control: NDArray[np.int64]
    """[CONTROL_SIZE] the numbers above."""
    tables: Tables
    """The tables of the evaluation by patterns."""
    arrivals: NDArray[np.int32]
    """[1360] scratch space of the evaluation by patterns."""
    weights: NDArray[np.int64]
    """[2, 16] the weights of the evaluation by features, for the ruleset that is searched."""
    scratch: NDArray[np.int64]
    """[16] scratch space of the evaluation by features."""

    @classmethod
    def of_size(cls, table_bits: int, tables: Tables) -> Workspace:
        """Arrays for a search with a table of 2 ** ``table_bits`` entries."""
        buckets = (1 << table_bits) // BUCKET
        return cls(
            rows=np.zeros((MAX_LEVELS, ROW_SIZE), dtype=np.int16),
            codes=np.zeros((MAX_LEVELS, CODES_SIZE), dtype=np.int32),
            sums=np.zeros((MAX_LEVELS, 2), dtype=np.int64),
            moves=np.zeros((MAX_LEVELS, MAX_DECISIONS_AT_ONCE), dtype=np.int32),
            scores=np.zeros((MAX_LEVELS, MAX_DECISIONS_AT_ONCE), dtype=np.int32),
            frames=np.zeros((MAX_LEVELS, FRAME_SIZE), dtype=np.int64),
            lines=np.zeros((MAX_LINE + 1, MAX_LINE + 1), dtype=np.int32),
            path_keys=np.zeros(MAX_LEVELS, dtype=np.uint64),
            keys=np.zeros((buckets, BUCKET), dtype=np.uint64),
            entries=np.zeros((buckets, BUCKET), dtype=np.int64),
            killers=np.full((MAX_DEPTH + 1, 2), -1, dtype=np.int32),
            history=np.zeros((2, NUM_ACTIONS), dtype=np.int32),
            control=np.zeros(CONTROL_SIZE, dtype=np.int64),
            tables=tables,
            arrivals=np.zeros(CODES_SIZE, dtype=np.int32),
            weights=np.zeros((2, NUM_FEATURES), dtype=np.int64),
            scratch=np.zeros(NUM_FEATURES, dtype=np.int64),
        )
