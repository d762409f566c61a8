"""A drawn decision is legal, and each legal one is equally likely."""

import random

import numpy as np
import pytest
from positions import constructed, from_play, position_of

from thud_env import BatchedGame
from thud_env.rulesets import RULESETS

DRAWS = 6_000


def frequencies(position, draws=DRAWS):
    """How often each of 6,470 decisions is drawn."""
    games = BatchedGame(draws, position.rules.name, observations=False, masks=None, seed=7)
    games.set_rows(np.tile(position.row, (draws, 1)))
    return np.bincount(games.sample_actions(), minlength=6470)


@pytest.mark.parametrize("source", [from_play, constructed])
@pytest.mark.parametrize("rules", RULESETS)
def test_drawing_is_uniform(rules, source):
    checked = 0
    for state in source(rules, 20, random.Random(3)):
        position = position_of(state)
        legal = position.legal_actions()
        if position.outcome is not None:
            continue
        counts = frequencies(position)
        assert counts[legal].sum() == DRAWS
        expected = DRAWS / len(legal)
        # Six standard deviations: about one decision in 500 million is further off.
        assert np.abs(counts[legal] - expected).max() < 6 * np.sqrt(expected) + 6
        if expected > 40:
            assert counts[legal].min() > 0
        checked += 1
    assert checked >= 8
