"""Reads the evaluation that a searching player is made with, and says where patterns serve."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from agents.search.pattern_files import published_tables, tables_with
from agents.search.patterns import Tables
from agents.search.weights import Weights, load_weights, published_weights
from thud_env.errors import ThudError
from thud_env.rules.row import NUM_DWARFS, NUM_TROLLS, ROW_SIZE, ruleset_of

EVALUATIONS = ("learned", "features")

FEW = 2
"""So many pieces of a side are hunted by features."""


def read_evaluation(
    evaluation: str, weights: str
) -> tuple[Weights, Callable[[str], Tables | None]]:
    """The weights of the features, and a function from a ruleset to its tables of patterns.

    Args:
        evaluation: ``learned``: by patterns, and by features where a ruleset has no tables; or
            ``features``, without any tables.
        weights: a file of tables or of weights; empty for the published ones.

    Raises:
        ThudError: if there is no such evaluation.
        WeightsError, TablesError: if the file is missing or invalid.
    """
    if evaluation not in EVALUATIONS:
        raise ThudError(f"evaluation={evaluation} must be one of {', '.join(EVALUATIONS)}")
    if evaluation == "features":
        return load_weights(weights) if weights else published_weights(), without_tables
    return published_weights(), tables_with(weights) if weights else published_tables


def without_tables(rules: str) -> None:
    """No tables, for any ruleset. A function of the module, so that players can be pickled."""


def patterns_serve(rows: NDArray[np.int16]) -> NDArray[np.bool_]:
    """[...] whether to evaluate by patterns what follows from positions of one ruleset, [..., 432].
    Patterns see two squares far, too little to hunt the last dwarfs or trolls, as features do.
    """
    fewest = np.minimum(rows[..., NUM_DWARFS], rows[..., NUM_TROLLS])
    stone_moves = ruleset_of(rows.reshape(-1, ROW_SIZE)[0]).stone_moves
    return np.asarray((fewest > FEW) | stone_moves)
