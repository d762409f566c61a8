"""Play by networks as they are at the moment."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from agents.networks.drawing import draw_decisions
from agents.networks.network import PolicyNetwork
from training.process.precision import Precision


def decide(
    network: PolicyNetwork,
    precision: Precision,
    rows: NDArray[np.int16],
    uniforms: NDArray[np.float64],
) -> NDArray[np.int32]:
    """[N] actions drawn from a network's policy."""
    inputs = precision.inputs(network, rows)
    with precision.autocast():
        drawn = draw_decisions(network, inputs, torch.from_numpy(uniforms).to(precision.device))
    return drawn.actions.int().cpu().numpy()


class LivePolicy:
    """Plays by networks as they are at the moment, for ``play_battles``.

    Args:
        network: of the role that plays.
        precision: the arithmetic of the network.
        seed: seeds the draws.
    """

    def __init__(self, network: PolicyNetwork, precision: Precision, seed: int) -> None:
        self._network = network
        self._precision = precision
        self._random = np.random.default_rng(seed)

    def act_rows(self, rows: NDArray[np.int16]) -> NDArray[np.int32]:
        """See ``agents.agent.BatchPolicy``."""
        return decide(self._network, self._precision, rows, self._random.random(len(rows)))
