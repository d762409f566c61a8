"""The values of a role are compared with what follows where searches play."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from small_run import SMALL_RUN

from agents.networks.config import NetworkConfig
from agents.networks.inputs import Inputs
from agents.networks.network import Judgement, Network
from thud_env.outcome import SIDES
from thud_env.position import Position
from training.errors import ConfigError
from training.process.roles import Roles
from training.runs.foresight import Foresight

CONFIG = dataclasses.replace(SMALL_RUN, value_battles=3, max_turns=40, max_quiet_turns=60)


class Foretells(Network):
    """Values the states that it is shown as it was told to."""

    def __init__(self, values: np.ndarray) -> None:
        super().__init__(NetworkConfig(channels=4, blocks=1, key_size=2))
        self._values = torch.from_numpy(values)

    def forward(self, inputs: Inputs) -> Judgement:
        assert len(inputs.planes) == len(self._values)
        return super().forward(inputs)._replace(values=self._values)


def test_a_role_is_measured_by_what_its_own_values_foretell() -> None:
    foresight = Foresight(CONFIG)
    dwarfs, trolls = (positions.followed for positions in foresight._positions)
    measured = foresight.measure(Roles((Foretells(2 * dwarfs + 1), Foretells(-trolls))))
    assert measured == {
        "dwarfs/value_correlation": pytest.approx(1),
        "trolls/value_correlation": pytest.approx(-1),
    }


def test_a_role_that_values_all_alike_has_no_correlation() -> None:
    foresight = Foresight(CONFIG)
    dwarfs, trolls = (positions.followed for positions in foresight._positions)
    measured = foresight.measure(Roles((Foretells(0 * dwarfs), Foretells(trolls))))
    assert list(measured) == ["trolls/value_correlation"]


def test_what_followed_is_what_was_paid_to_the_end() -> None:
    foresight = Foresight(CONFIG)
    sides = foresight._positions
    every = set()
    for side, positions in enumerate(sides):
        shown = [Position(row) for row in positions.rows]
        assert {position.to_move for position in shown} == {SIDES[side]}
        ends = {
            round(position.margin + (1 if side == 0 else -1) * 32 * paid)
            for position, paid in zip(shown, positions.followed, strict=True)
        }
        every |= ends
        assert np.abs(positions.followed).max() > 0
    assert 1 < len(every) <= CONFIG.value_battles, "each battle has one final margin"


def test_a_role_that_never_decides_is_not_measured() -> None:
    foresight = Foresight(dataclasses.replace(CONFIG, value_battles=1, max_turns=9))
    assert sorted(len(positions.rows) for positions in foresight._positions) == [0, 1]
    roles = Roles.of(CONFIG)
    assert foresight.measure(roles) == {}, "one position has no correlation either"
    roles.close()


def test_more_battles_than_starts_are_refused() -> None:
    with pytest.raises(ConfigError, match="value_battles: the book has 500 starts"):
        Foresight(dataclasses.replace(CONFIG, value_battles=501))
