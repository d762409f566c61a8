"""Labels states with alpha-beta's scores of their legal decisions.

Every decision is searched one turn deep. The ``considered`` most promising are then searched to the
full depth, the best first, so that worse ones are cut off soon. A label has those of them that are
within ``reach`` of the best, and their scores are exact. It has none of the decisions that were not
searched so deep, however good: in Koom Valley hundreds may be within reach.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.agent import read_rows
from agents.search import negamax
from agents.search.evaluation import INFINITE, final_value
from agents.search.evaluator import read_evaluator
from agents.search.judge import judging
from agents.search.lookahead import begin_afresh
from agents.search.workspace import BEST
from thud_env.batch.cpu import available_cores
from thud_env.jit.compile import compiled, merged
from thud_env.rules.check import check_rows
from thud_env.rules.legal import legal_actions
from thud_env.rules.play import apply
from thud_env.rules.row import (
    DWARFS,
    MAX_DECISIONS_AT_ONCE,
    NO_QUESTION,
    ONGOING,
    PENDING,
    ROW_SIZE,
    TERMINATION,
    TO_MOVE,
    copy_row,
)
from thud_env.rulesets import get_ruleset
from training.config_values import check_values
from training.distill.config import TeacherConfig
from training.distill.labels import Labels, labelled_at_once


@merged
def _value(work, row, child, decision, depth, alpha, rng):
    """The value of a decision for the side that makes it, searched ``depth`` turns deep including
    the current turn; if it is not above ``alpha``, only a bound that is not above ``alpha`` either.
    """
    copy_row(child, row)
    apply(child, decision)
    same_side = child[TO_MOVE] == row[TO_MOVE]
    if child[TERMINATION] != ONGOING:
        value = final_value(child)
        return value if same_side else -value
    turns = depth - 1 if child[PENDING] == NO_QUESTION else depth
    if same_side:
        negamax.search(work, child, turns, alpha, INFINITE, rng)
        return work.frames[0, BEST]
    negamax.search(work, child, turns, -INFINITE, -alpha, rng)
    return -work.frames[0, BEST]


@compiled
def _sort(order, scores, count):
    """Sort by falling score, stable (insertion sort: the lists are short)."""
    for i in range(1, count):
        number = order[i]
        j = i - 1
        while j >= 0 and scores[order[j]] < scores[number]:
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = number


@merged
def _score(work, row, child, decisions, scores, order, tried, depth, reach, rng):
    """Score the first ``tried`` decisions of an order, ``depth`` turns deep; returns the best."""
    best = -INFINITE
    for k in range(tried):
        i = order[k]
        floor = max(best - reach, -INFINITE)
        scores[i] = _value(work, row, child, decisions[i], depth, floor, rng)
        best = max(best, scores[i])
    return best


@merged
def _score_all(work, row, depth, reach, considered, child, decisions, scores, order, rng):
    """Score every legal decision of a state.

    Args:
        work: the search's arrays.
        row: [432] a state row whose battle is not over; offers must be ruled out.
        depth: turns to look ahead.
        reach: hundredths of a point; scores this far below the best are cut off there.
        considered: how many decisions are searched deeper than one turn.
        child: [432] scratch space for trying a decision.
        decisions, scores: [>= 2048] written: the legal decisions, ascending, and their values for
            the side that decides, in hundredths of a point; a value that is not within reach of the
            best may be any other such.
        order: [>= 2048] scratch space.
        rng: [1] uint64.

    Returns:
        how many decisions there are, and the value of the best.
    """
    count = legal_actions(row, decisions)
    tried = count
    for i in range(count):
        order[i] = i
    best = _score(work, row, child, decisions, scores, order, count, 1, reach, rng)
    if depth > 1:
        _sort(order, scores, count)
        tried = min(count, considered)
        best = _score(work, row, child, decisions, scores, order, tried, depth, reach, rng)
    for k in range(tried, count):
        scores[order[k]] = best - reach
    return count, best


@compiled
def _label_each(
    work, rows, by_patterns, depth, reach, considered, scratch, decisions, gaps, counts, values, rng
):
    """Label rows, keeping only decisions within reach of the best; returns how many are kept."""
    child, listed, scores, order = scratch
    kept = 0
    for n in range(rows.shape[0]):
        begin_afresh(work, by_patterns[n], rng)
        count, best = _score_all(
            work, rows[n], depth, reach, considered, child, listed, scores, order, rng
        )
        counts[n] = 0
        for i in range(count):
            if scores[i] > best - reach:
                decisions[kept] = listed[i]
                gaps[kept] = best - scores[i]
                kept += 1
                counts[n] += 1
        values[n] = best if rows[n, TO_MOVE] == DWARFS else -best
    return kept


class AlphaBetaTeacher:
    """A search that labels states, on all cores.

    Args:
        config: how it searches.
        rules: the ruleset of the states.

    Raises:
        ThudError: if there is no such ruleset, or the configuration is out of range.
    """

    def __init__(self, config: TeacherConfig, rules: str) -> None:
        check_values(config)
        self._rules = get_ruleset(rules)
        self._desks = [_Desk(config, rules) for _ in range(available_cores())]

    def label(self, rows: NDArray[np.int16]) -> Labels:
        """See ``Teacher``.

        Raises:
            ThudError: if a battle is over; a ``RowError`` for what is no row of the ruleset.
        """
        going_on = read_rows(check_rows(rows, self._rules))
        return labelled_at_once([desk.label for desk in self._desks], going_on)


class _Desk:
    """The arrays with which one core labels states."""

    def __init__(self, config: TeacherConfig, rules: str) -> None:
        self._config = config
        self._evaluator = read_evaluator(config.evaluation)
        self._work = judging(self._evaluator, get_ruleset(rules), config.quiescence)
        size = MAX_DECISIONS_AT_ONCE
        self._scratch = (
            np.zeros(ROW_SIZE, dtype=np.int16),
            np.zeros(size, dtype=np.int32),
            np.zeros(size, dtype=np.int32),
            np.zeros(size, dtype=np.int64),
        )

    def label(self, rows: NDArray[np.int16]) -> Labels:
        """Label [N, 432] state rows."""
        config, number = self._config, len(rows)
        decisions = np.empty(number * MAX_DECISIONS_AT_ONCE, dtype=np.int16)
        gaps = np.empty_like(decisions)
        counts, values = np.empty(number, dtype=np.int32), np.empty(number, dtype=np.int32)
        kept = _label_each(
            self._work,
            rows,
            self._evaluator.by_patterns(rows),
            config.depth,
            config.reach,
            config.considered,
            self._scratch,
            decisions,
            gaps,
            counts,
            values,
            np.ones(1, dtype=np.uint64),
        )
        return Labels(counts, decisions[:kept].copy(), gaps[:kept].copy(), values)
