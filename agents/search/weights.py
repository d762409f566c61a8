"""The evaluation's weights, read from ``configs/search/weights.yaml``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.search.evaluation import CLASSIC_FEATURES, NUM_FEATURES, POINT, VALLEY_FEATURES
from agents.strict_yaml import YamlError, read_yaml
from thud_env.position import SIDES
from thud_env.rules.play import TROLL_VALUE
from thud_env.rulesets import KOOM_VALLEY, RULESETS, get_ruleset

WEIGHTS_FILE = Path(__file__).parents[2] / "configs" / "search" / "weights.yaml"

_LIKE = {
    "classic-any": "classic",
    "classic-all": "classic",
    "koom-valley-football": "koom-valley",
}
"""Rulesets that, unless the file has weights of their own, are judged like another."""


class WeightsError(ValueError):
    """A file of weights that is missing or not what it should be."""


def feature_names(rules: str) -> tuple[str, ...]:
    """The features of a ruleset."""
    return CLASSIC_FEATURES if get_ruleset(rules).index < KOOM_VALLEY else VALLEY_FEATURES


def material_weights() -> NDArray[np.int64]:
    """The margin and nothing else, [5, 2, 16]."""
    weights = np.zeros((len(RULESETS), len(SIDES), NUM_FEATURES), dtype=np.int64)
    for ruleset in RULESETS.values():
        names = feature_names(ruleset.name)
        weights[ruleset.index, :, names.index("dwarfs")] = POINT
        weights[ruleset.index, :, names.index("trolls")] = -TROLL_VALUE * POINT
    return weights


def load_weights(path: str | Path = WEIGHTS_FILE) -> NDArray[np.int64]:
    """The weights in a file, [5, 2, 16] by ruleset, side to move and feature.

    Raises:
        WeightsError: naming the file and what is wrong with it.
    """
    try:
        content = read_yaml(Path(path))
    except YamlError as error:
        raise WeightsError(str(error)) from None
    if not isinstance(content, dict):
        raise WeightsError(f"{path} holds no weights: rulesets with theirs would be right")
    for rules in content:
        if rules not in RULESETS:
            raise WeightsError(f"{path} has weights for {rules!r}: no such ruleset")
    weights = np.zeros((len(RULESETS), len(SIDES), NUM_FEATURES), dtype=np.int64)
    for rules, ruleset in RULESETS.items():
        by_side = content.get(rules, content.get(_LIKE.get(rules, "")))
        for side, name in enumerate(SIDES):
            given = by_side.get(name) if isinstance(by_side, dict) else None
            if not isinstance(given, dict):
                raise WeightsError(f"{path} has no weights for the {name} of {rules}")
            _fill(weights[ruleset.index, side], given, feature_names(rules), path)
    return weights


def _fill(
    weights: NDArray[np.int64], given: dict[Any, Any], names: tuple[str, ...], path: str | Path
) -> None:
    for feature, weight in given.items():
        if feature not in names:
            raise WeightsError(
                f"{path} weighs {feature!r}: no such feature, there are {', '.join(names)}"
            )
        if not isinstance(weight, int) or isinstance(weight, bool) or abs(weight) > 100_000:
            raise WeightsError(
                f"{path}: {feature} weighs {weight!r}: a whole number would be right"
            )
        weights[names.index(feature)] = weight
