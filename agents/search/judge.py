"""Evaluates positions for the tree search, by patterns or by features, with the arrays of the
alpha-beta search, so that short searches can do so too.
"""

from __future__ import annotations

import numpy as np

from agents.search.evaluation import evaluate, to_mover, within_bounds
from agents.search.evaluator import Evaluator
from agents.search.pattern_files import empty_tables
from agents.search.patterns import judge_afresh
from agents.search.workspace import (
    BY_PATTERNS,
    FIRST_MOVE,
    NODE_LIMIT,
    ORDERED,
    QUIESCENCE,
    REDUCTIONS,
    USE_TABLE,
    WITHIN_BOUNDS,
    Workspace,
)
from thud_env.jit.compile import compiled
from thud_env.rules.row import TO_MOVE
from thud_env.rulesets import Ruleset

_TABLE_BITS = 4  # the table is not used: so short a search hardly meets a position twice


def judging(evaluator: Evaluator, ruleset: Ruleset, quiescence: int = 4) -> Workspace:
    """The arrays of a search without table and reductions.

    Args:
        evaluator: what it evaluates with.
        ruleset: of the positions.
        quiescence: turns of captures to look at beyond the depth.
    """
    work = Workspace.of_size(_TABLE_BITS, empty_tables())
    control = work.control
    control[ORDERED], control[USE_TABLE], control[REDUCTIONS] = 1, 0, 0
    control[QUIESCENCE] = quiescence
    control[NODE_LIMIT], control[FIRST_MOVE] = np.iinfo(np.int64).max, -1
    return evaluator.put_into(work, ruleset)


@compiled
def judge_position(row, work):
    """Evaluate a position for the side to move, in hundredths of a point.

    Args:
        row: [432] a state row at the start of a turn, its battle not over.
        work: the evaluation of its ruleset.
    """
    if work.control[BY_PATTERNS] == 0:
        value = evaluate(row, work.weights, work.scratch)
    else:
        sums = work.sums[0]
        judge_afresh(row, work.tables, work.codes[0], sums)
        value = to_mover(row, sums[int(row[TO_MOVE])])
    return within_bounds(row, value) if work.control[WITHIN_BOUNDS] else value
