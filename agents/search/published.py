"""The two evaluations that searching players choose from, and the files they come from."""

from __future__ import annotations

from collections.abc import Callable

from agents.search.pattern_files import published_tables, tables_with
from agents.search.patterns import Tables
from agents.search.weights import Weights, load_weights

EVALUATIONS = ("learned", "features")


def read_evaluation(
    evaluation: str, weights: str
) -> tuple[Weights, Callable[[str], Tables | None]]:
    """The weights of the features, and what returns a ruleset's tables of patterns.

    Args:
        evaluation: ``learned``: by patterns, and by features where a ruleset has no tables; or
            ``features``, without any tables.
        weights: a file of tables or of weights instead of the published ones, or nothing.

    Raises:
        ValueError: if there is no such evaluation.
        WeightsError, TablesError: if there is something wrong with the file.
    """
    if evaluation not in EVALUATIONS:
        raise ValueError(f"evaluation={evaluation} must be one of {', '.join(EVALUATIONS)}")
    if evaluation == "features":
        return load_weights(weights) if weights else load_weights(), lambda rules: None
    return load_weights(), tables_with(weights) if weights else published_tables
