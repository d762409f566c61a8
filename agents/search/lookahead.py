"""Short searches that keep nothing: what they find does not depend on what was searched before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.search.evaluator import read_evaluator
from agents.search.judge import judging
from agents.search.playouts import searched_value
from agents.search.workspace import BY_PATTERNS, EXTENSIONS, LINE, REDUCTIONS
from thud_env.jit.compile import compiled
from thud_env.rulesets import get_ruleset

DEEPEST_LOOKAHEAD = 5
"""The most turns that a leaf of a tree is searched: some 30 ms, within which nothing stops it."""
LOOKAHEAD_EXTENSIONS = 1
"""The most turns that ``Lookahead`` adds. More cost more than they make the values better."""


@compiled
def begin_afresh(work, by_patterns, rng):
    """Forget earlier searches: where a search leaves out, as quiescence does, the order of its
    decisions matters.

    Args:
        work: the arrays of a search without table.
        by_patterns: whether to evaluate by patterns.
        rng: [1] uint64, its generator.
    """
    work.control[BY_PATTERNS] = by_patterns
    work.killers[:] = -1
    work.history[:] = 0
    rng[0] = 1


@compiled
def _search_each(work, rows, by_patterns, depth, values, decisions, rng):
    for n in range(rows.shape[0]):
        begin_afresh(work, by_patterns[n], rng)
        values[n] = searched_value(rows[n], depth, work, rng)
        decisions[n] = work.lines[0, 0] if work.frames[0, LINE] > 0 else -1


class Lookahead:
    """A search by patterns, or by features where these do not serve or a ruleset has none. It
    leaves out what ``alphabeta`` leaves out: see ``pruning.py``.

    Args:
        rules: the ruleset of the positions.
        depth: turns to look ahead, 1 or more.
    """

    def __init__(self, rules: str, depth: int) -> None:
        self._evaluator = read_evaluator()
        self._work = judging(self._evaluator, get_ruleset(rules))
        self._work.control[REDUCTIONS] = 1
        self._work.control[EXTENSIONS] = LOOKAHEAD_EXTENSIONS
        self._depth = depth
        self._rng = np.ones(1, dtype=np.uint64)

    def search(self, rows: NDArray[np.int16]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Search positions.

        Args:
            rows: [N, 432] state rows. No battle may be over, and no offer open.

        Returns:
            their values for the dwarfs, [N] in -1 .. 1; and their best decisions, [N], -1 where
            none was found.
        """
        values, decisions = np.empty(len(rows)), np.empty(len(rows), dtype=np.int64)
        by_patterns = self._evaluator.by_patterns(rows)
        _search_each(self._work, rows, by_patterns, self._depth, values, decisions, self._rng)
        return values, decisions
