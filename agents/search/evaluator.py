"""How a searching player evaluates: by features alone, or by patterns where these serve."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from agents.search.pattern_files import published_tables, tables_with
from agents.search.patterns import Tables
from agents.search.weights import Weights, load_weights, published_weights
from agents.search.workspace import BY_PATTERNS, WITHIN_BOUNDS, Workspace
from thud_env.arguments import one_of
from thud_env.rules.row import NUM_DWARFS, NUM_TROLLS, ROW_SIZE, ruleset_of
from thud_env.rulesets import Ruleset

EVALUATIONS = ("learned", "features")

FEW = 2
"""So many pieces of a side are hunted by features."""


@dataclasses.dataclass(frozen=True, eq=False)
class Evaluator:
    """What a search evaluates positions with."""

    weights: Weights
    """Those of the features."""
    tables: Callable[[str], Tables | None] | None = None
    """From a ruleset to its tables of patterns, or None where it has none. Without the function
    features count alone and nothing bounds them, as in the frozen yardstick.
    """

    def put_into(self, work: Workspace, ruleset: Ruleset) -> Workspace:
        """The arrays of a search, to evaluate positions of a ruleset; all but the tables are the
        same arrays. Whether a position is evaluated by patterns is for ``by_patterns`` to say.
        """
        tables = self._tables_of(ruleset)
        work.weights[:] = self.weights.of(ruleset)
        work.control[BY_PATTERNS] = tables is not None
        work.control[WITHIN_BOUNDS] = self.tables is not None
        return work if tables is None else work._replace(tables=tables)

    def by_patterns(self, rows: NDArray[np.int16]) -> NDArray[np.bool_]:
        """[...] whether to evaluate by patterns what follows from positions of one ruleset, [...,
        432]. Patterns see two squares far, too little to hunt the last dwarfs or trolls, as
        features do.
        """
        ruleset = ruleset_of(rows.reshape(-1, ROW_SIZE)[0])
        fewest = np.minimum(rows[..., NUM_DWARFS], rows[..., NUM_TROLLS])
        serve = (fewest > FEW) | ruleset.stone_moves
        return np.asarray(serve & (self._tables_of(ruleset) is not None))

    def _tables_of(self, ruleset: Ruleset) -> Tables | None:
        return self.tables(ruleset.spec) if self.tables is not None else None


def read_evaluator(evaluation: str = "learned", weights: str = "") -> Evaluator:
    """The evaluator that a player is made with.

    Args:
        evaluation: ``learned``: by patterns, and by features where a ruleset has no tables; or
            ``features``, without any tables.
        weights: a file of tables or of weights; empty for the published ones.

    Raises:
        ThudError: if there is no such evaluation.
        WeightsError, TablesError: if the file is missing or invalid.
    """
    if one_of("evaluation", evaluation, EVALUATIONS) == "features":
        return Evaluator(load_weights(weights) if weights else published_weights())
    return Evaluator(published_weights(), tables_with(weights) if weights else published_tables)
