"""How well each role's values foretell what follows where searches play.

What is learnt in self-play may be right there alone: the values of one pair correlated by +0.69
with what followed in its own battles, and by -0.24 in those of a search (docs/log.md). So the test
positions are a search's. A run whose battles begin from the book may meet the first of them, but
never learns from what followed there.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

import agents
from agents.networks.network import PolicyNetwork, margin_of_one
from agents.search.scale import current_scores
from thud_env.outcome import SIDES
from thud_env.rules.play import apply
from thud_env.rules.row import DWARFS, ROW_SIZE, TO_MOVE
from thud_env.rulesets import get_ruleset
from training.arena.battles import play_battles
from training.config import RunConfig
from training.errors import ConfigError
from training.process.precision import Precision
from training.process.roles import Roles
from training.selfplay.book_starts import book_starts

METRIC = "value_correlation"
"""The metric of a role: Pearson's r between its values and what followed."""
_PLAYER = "alphabeta:depth=1,evaluation=features,reductions=0"
_EVERY = 6
"""Decisions from one test position of a battle to the next: neighbours are nearly the same."""
_AT_ONCE = 256


class PlayedPositions(NamedTuple):
    """N positions in which one side decides."""

    rows: NDArray[np.int16]
    """[N, 432] state rows."""
    followed: NDArray[np.float64]
    """[N] what its side was paid from there to the end, as its network values it."""


class Foresight:
    """Measures both roles' values.

    Args:
        config: by which ruleset and limits, and from how many battles the positions are.

    Raises:
        ConfigError: if the book of openings has no start for each of these battles.
    """

    def __init__(self, config: RunConfig) -> None:
        self._config = config
        self._starts = np.empty((0, ROW_SIZE), dtype=np.int16)
        if config.value_battles:
            book = book_starts(config, "value_battles")
            if config.value_battles > len(book):
                raise ConfigError(f"value_battles: the book has {len(book)} starts")
            self._starts = book[-config.value_battles :]

    def measure(self, roles: Roles) -> dict[str, float]:
        """The correlations of both roles; none for a role that never decides, or whose values, or
        what followed, are all the same.
        """
        if not len(self._starts):
            return {}
        metrics = {}
        for side, role in enumerate(SIDES):
            positions = self._positions[side]
            if not len(positions.rows):
                continue
            values = _values(roles.networks[side], roles.precision, positions.rows)
            if values.std() > 0 and positions.followed.std() > 0:
                metrics[f"{role}/{METRIC}"] = float(np.corrcoef(values, positions.followed)[0, 1])
        return metrics

    @cached_property
    def _positions(self) -> tuple[PlayedPositions, PlayedPositions]:
        """Both sides' test positions, the same in every run of these rules and limits."""
        config = self._config
        player = agents.make(_PLAYER)
        starts = self._starts
        battles = play_battles(
            player, player, len(starts), config.rules, starts=starts, **config.limits
        )
        rows, finals = [], []
        for battle, margin in enumerate(battles.margins):
            row = starts[battle].copy()
            for number, decision in enumerate(battles.decisions[battle]):
                if number % _EVERY < 2:  # one of each side, where turns are of one decision
                    rows.append(row.copy())
                    finals.append(margin)
                apply(row, decision)
        all_rows = np.array(rows)
        one = margin_of_one(get_ruleset(config.rules))
        paid = np.array(finals) / one - current_scores(all_rows)
        by_dwarfs = all_rows[:, TO_MOVE] == DWARFS
        return (
            PlayedPositions(all_rows[by_dwarfs], paid[by_dwarfs]),
            PlayedPositions(all_rows[~by_dwarfs], -paid[~by_dwarfs]),
        )


def _values(
    network: PolicyNetwork, precision: Precision, rows: NDArray[np.int16]
) -> NDArray[np.float64]:
    """[N] a network's values of state rows."""
    found = []
    for first in range(0, len(rows), _AT_ONCE):
        inputs = precision.inputs(network, rows[first : first + _AT_ONCE])
        with torch.no_grad(), precision.autocast():
            values = network(inputs).values
        found.append(values.double().cpu().numpy())
    return np.concatenate(found)
