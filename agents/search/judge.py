"""Evaluates positions for the tree search, by patterns or by features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.evaluation import LARGEST_EVALUATION, NUM_FEATURES, evaluate
from agents.search.pattern_files import no_tables
from agents.search.patterns import Tables, judge_afresh
from thud_env.board import NUM_CELLS
from thud_env.jit.compile import compiled
from thud_env.rules.row import DWARFS, MAX_DECISIONS_AT_ONCE, TO_MOVE


class Judge(NamedTuple):
    """An evaluation with the arrays that it needs."""

    by_patterns: NDArray[np.int64]
    """[1] 1: by patterns, 0: by features."""
    tables: Tables
    """The tables of the patterns."""
    weights: NDArray[np.int64]
    """[2, 16] the weights of the features."""
    codes: NDArray[np.int32]
    """[272] the pattern codes of the position evaluated last."""
    sums: NDArray[np.int64]
    """[2] its value, by side to move."""
    arrivals: NDArray[np.int32]
    """[272] scratch space of ``judge_moves``."""
    values: NDArray[np.int32]
    """[2048] the values of its moves."""
    scratch: NDArray[np.int64]
    """[16] its features."""

    @classmethod
    def of(cls, tables: Tables | None, weights: NDArray[np.int64]) -> Judge:
        """An evaluation by patterns if there are tables, else by features."""
        return cls(
            by_patterns=np.array([tables is not None], dtype=np.int64),
            tables=no_tables() if tables is None else tables,
            weights=weights,
            codes=np.zeros(NUM_CELLS, dtype=np.int32),
            sums=np.zeros(2, dtype=np.int64),
            arrivals=np.zeros(NUM_CELLS, dtype=np.int32),
            values=np.zeros(MAX_DECISIONS_AT_ONCE, dtype=np.int32),
            scratch=np.zeros(NUM_FEATURES, dtype=np.int64),
        )


@compiled
def judge_position(row, judge):
    """Evaluate a position for the side to move, in hundredths of a point.

    Args:
        row: [432] a state row at the start of a turn, its battle not over.
        judge: the evaluation of its ruleset.
    """
    if judge.by_patterns[0] == 0:
        return evaluate(row, judge.weights, judge.scratch)
    judge_afresh(row, judge.tables, judge.codes, judge.sums)
    side = int(row[TO_MOVE])
    value = min(max(judge.sums[side], -LARGEST_EVALUATION), LARGEST_EVALUATION)
    return value if side == DWARFS else -value
