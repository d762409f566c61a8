"""Values positions by a short search that leaves nothing out and keeps nothing: so a value does not
depend on what was searched before.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.search import negamax
from agents.search.evaluation import INFINITE
from agents.search.pattern_files import no_tables, published_tables
from agents.search.playouts import as_share
from agents.search.weights import load_weights
from agents.search.workspace import (
    BEST,
    BY_PATTERNS,
    FIRST_MOVE,
    NODE_LIMIT,
    ORDERED,
    QUIESCENCE,
    REDUCTIONS,
    USE_TABLE,
    Workspace,
)
from thud_env.jit.compile import compiled
from thud_env.rules.row import DWARFS, TO_MOVE
from thud_env.rules.traits import scored_by_points
from thud_env.rulesets import get_ruleset

_TABLE_BITS = 4  # the table is not used: so short a search hardly meets a position twice


def exact_search(rules: str, learned: bool = True, quiescence: int = 4) -> Workspace:
    """The arrays of a search without table and reductions.

    Args:
        rules: the ruleset.
        learned: whether to evaluate by patterns where the ruleset has tables; if not, by features.
        quiescence: turns of captures to look at beyond the depth.
    """
    tables = published_tables(rules) if learned else None
    work = Workspace.of_size(_TABLE_BITS, tables or no_tables())
    work.weights[:] = load_weights().of(get_ruleset(rules))
    control = work.control
    control[ORDERED], control[USE_TABLE], control[REDUCTIONS] = 1, 0, 0
    control[BY_PATTERNS] = tables is not None
    control[QUIESCENCE] = quiescence
    control[NODE_LIMIT], control[FIRST_MOVE] = np.iinfo(np.int64).max, -1
    return work


@compiled
def _value_each(work, rows, depth, values, rng):
    for n in range(rows.shape[0]):
        negamax.search(work, rows[n], depth, -INFINITE, INFINITE, rng)
        value = as_share(work.frames[0, BEST], scored_by_points(rows[n]))
        values[n] = value if rows[n, TO_MOVE] == DWARFS else -value


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
