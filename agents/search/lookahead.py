"""Values positions by a short search that leaves nothing out and keeps nothing: so a value does not
depend on what was searched before.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.search.judge import judging
from agents.search.pattern_files import published_tables
from agents.search.playouts import searched_value
from agents.search.weights import published_weights
from agents.search.workspace import Workspace
from thud_env.jit.compile import compiled
from thud_env.rulesets import get_ruleset


def exact_search(rules: str, learned: bool = True, quiescence: int = 4) -> Workspace:
    """The arrays of a search without table and reductions.

    Args:
        rules: the ruleset.
        learned: whether to evaluate by patterns where the ruleset has tables; if not, by features.
        quiescence: turns of captures to look at beyond the depth.
    """
    tables = published_tables(rules) if learned else None
    return judging(tables, published_weights().of(get_ruleset(rules)), quiescence)


@compiled
def _value_each(work, rows, depth, values, rng):
    for n in range(rows.shape[0]):
        values[n] = searched_value(rows[n], depth, work, rng)


class Lookahead:
    """A search by patterns, or by features where a ruleset has none.

    Args:
        rules: the ruleset of the positions.
        depth: turns to look ahead, 1 or more.
    """

    def __init__(self, rules: str, depth: int) -> None:
        self._work = exact_search(rules)
        self._depth = depth
        self._rng = np.ones(1, dtype=np.uint64)

    def values(self, rows: NDArray[np.int16]) -> NDArray[np.float64]:
        """The values of [N, 432] state rows for the dwarfs, [N] in -1 .. 1. No battle may be over,
        and no offer open.
        """
        values = np.empty(len(rows))
        _value_each(self._work, rows, self._depth, values, self._rng)
        return values
