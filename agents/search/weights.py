"""The evaluation's weights, read from ``configs/search/weights.yaml``."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.search.evaluation import CLASSIC_FEATURES, NUM_FEATURES, POINT, VALLEY_FEATURES
from agents.strict_yaml import YamlError, read_yaml
from thud_env.errors import ThudError
from thud_env.outcome import SIDES
from thud_env.rulesets import RULESETS, TROLL_VALUE, Ruleset, get_ruleset

WEIGHTS_FILE = Path(__file__).parents[2] / "configs" / "search" / "weights.yaml"

LARGEST_WEIGHT = 100_000


class WeightsError(ThudError):
    """A file of weights is missing or invalid."""


@dataclasses.dataclass(frozen=True)
class Weights:
    """The weights of every ruleset."""

    own: dict[str, NDArray[np.int64]]
    """By the name of each ruleset that has weights of its own: [2, 16], by side to move and
    feature."""

    def of(self, ruleset: Ruleset) -> NDArray[np.int64]:
        """A ruleset's weights, [2, 16]: its own, or those of the first with the same features and
        reward. Without one, a game that is played for points counts its pieces.

        Raises:
            WeightsError: if there are none, and it is played to win.
        """
        if ruleset.name in self.own:
            return self.own[ruleset.name]
        for name, weights in self.own.items():
            alike = get_ruleset(name).reward == ruleset.reward
            if alike and feature_names(name) == feature_names(ruleset):
                return weights
        if ruleset.reward == "outcome":
            raise WeightsError(f"no weights for {ruleset.name}")
        return _of_pieces()


def feature_names(rules: str | Ruleset) -> tuple[str, ...]:
    """The features of a ruleset."""
    return VALLEY_FEATURES if get_ruleset(rules).stone_wins else CLASSIC_FEATURES


def material_weights() -> Weights:
    """Weights that count the margin and nothing else."""
    return Weights(dict.fromkeys(("classic", "koom-valley"), _of_pieces()))


def _of_pieces() -> NDArray[np.int64]:
    """[2, 16] weights of the pieces alone, which stand in the same places of either list."""
    weights = np.zeros((len(SIDES), NUM_FEATURES), dtype=np.int64)
    weights[:, CLASSIC_FEATURES.index("dwarfs")] = POINT
    weights[:, CLASSIC_FEATURES.index("trolls")] = -TROLL_VALUE * POINT
    return weights


def load_weights(path: str | Path) -> Weights:
    """The weights in a file.

    Raises:
        WeightsError: naming the file and what is wrong with it.
    """
    try:
        content = read_yaml(Path(path))
    except YamlError as error:
        raise WeightsError(str(error)) from None
    if not isinstance(content, dict):
        raise WeightsError(f"{path} holds no weights: rulesets with theirs would be right")
    own = {}
    for rules, by_side in content.items():
        if rules not in RULESETS:
            raise WeightsError(f"{path} has weights for {rules!r}: no such ruleset")
        own[rules] = np.zeros((len(SIDES), NUM_FEATURES), dtype=np.int64)
        for side, name in enumerate(SIDES):
            given = by_side.get(name) if isinstance(by_side, dict) else None
            if not isinstance(given, dict):
                raise WeightsError(f"{path} has no weights for the {name} of {rules}")
            _fill(own[rules][side], given, feature_names(rules), path)
    weights = Weights(own)
    for ruleset in RULESETS.values():
        try:
            weights.of(ruleset)
        except WeightsError as error:
            raise WeightsError(f"{path}: {error}") from None
    return weights


@cache
def published_weights() -> Weights:
    """The weights in the checkout, read once: that takes longer than a short search.

    Raises:
        WeightsError: as ``load_weights`` does.
    """
    return load_weights(WEIGHTS_FILE)


def _fill(
    weights: NDArray[np.int64], given: dict[Any, Any], names: tuple[str, ...], path: str | Path
) -> None:
    for feature, weight in given.items():
        if feature not in names:
            raise WeightsError(
                f"{path} weighs {feature!r}: no such feature, there are {', '.join(names)}"
            )
        if type(weight) is not int or abs(weight) > LARGEST_WEIGHT:
            right = f"a whole number in {-LARGEST_WEIGHT} .. {LARGEST_WEIGHT} would be right"
            raise WeightsError(f"{path}: {feature} weighs {weight!r}: {right}")
        weights[names.index(feature)] = weight
