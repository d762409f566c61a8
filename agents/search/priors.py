"""Values the decisions at a new node before any is tried: the tree's priors come from this.

The evaluation after a decision does not see what the opponent captures next. So the most promising
decisions are checked by a search of captures. That takes a few microseconds, where a simulation
that finds out takes 40 or more (docs/log.md).
"""

from __future__ import annotations

from agents.search import negamax
from agents.search.captures import capturable_by, capturing_moves
from agents.search.evaluation import INFINITE, final_value
from agents.search.judge import judge_position
from agents.search.ordering import bring_best_forward
from agents.search.patterns import UNKNOWN, has_replies, judge_afresh, judge_moves
from agents.search.playouts import finish_turn
from agents.search.table import clocks_matter
from agents.search.workspace import BEST, BY_PATTERNS, STOP
from thud_env.jit.compile import compiled, merged
from thud_env.rules.play import apply
from thud_env.rules.row import NO_QUESTION, ONGOING, PENDING, TERMINATION, TO_MOVE, copy_row

FROM_CAPTURES, FROM_EVALUATION, FROM_CHECKED_EVALUATION = range(3)
"""Where priors come from."""

NUM_CHECKED = 32
"""The most promising decisions that are checked."""


@compiled
def _play(row, decision, child, scratch, rng):
    """Make ``child`` the position after a decision and the captures that it offers."""
    copy_row(child, row)
    apply(child, decision)
    finish_turn(child, scratch, rng)


@compiled
def _judge_quiet_moves(row, decisions, count, values, work):
    """Evaluate the positions after quiet moves; UNKNOWN for decisions that must be played first."""
    if work.control[BY_PATTERNS] == 0 or row[PENDING] != NO_QUESTION:
        for i in range(count):
            values[i] = UNKNOWN
        return
    codes, sums = work.codes[0], work.sums[0]
    judge_afresh(row, work.tables, codes, sums)
    judge_moves(row, decisions, count, work.tables, codes, sums, work.arrivals, values)
    safe = has_replies(row) and not clocks_matter(row, 1)
    for i in range(count):
        if not safe or capturable_by(row, decisions[i]) > 0:
            values[i] = UNKNOWN


@compiled
def judge_decisions(row, decisions, count, values, work, child, scratch, rng):
    """Evaluate the positions after decisions.

    Args:
        row: [432] a state row, its battle not over.
        decisions: [count] int32.
        count: how many.
        values: [count] int32, written: hundredths of a point, for the side that decides.
        work: see ``judging``.
        child: [432] int16, scratch space.
        scratch: [2048] int32.
        rng: [1] uint64.
    """
    _judge_quiet_moves(row, decisions, count, values, work)
    for i in range(count):
        if values[i] != UNKNOWN:
            continue
        _play(row, decisions[i], child, scratch, rng)
        over = child[TERMINATION] != ONGOING
        value = final_value(child) if over else judge_position(child, work)
        values[i] = value if child[TO_MOVE] == row[TO_MOVE] else -value


@merged
def check_best(row, decisions, count, values, work, child, scratch, rng):
    """Bring the most promising decisions to the front, and put the value after the best captures in
    place of theirs. A stop leaves the others as they are: in a crowd that may be trampled in many
    orders each takes long.

    Args:
        row, decisions, count, values, work, child, scratch, rng: as for ``judge_decisions``.
    """
    for i in range(min(count, NUM_CHECKED)):
        if work.control[STOP] != 0:
            return
        bring_best_forward(decisions, values, i, count)
        _play(row, decisions[i], child, scratch, rng)
        if child[TERMINATION] == ONGOING and capturing_moves(child, scratch) > 0:
            negamax.search(work, child, 0, -INFINITE, INFINITE, rng)
            value = work.frames[0, BEST]
            values[i] = value if child[TO_MOVE] == row[TO_MOVE] else -value
