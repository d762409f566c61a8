"""Networks that begin with the weights of smaller ones."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from test_attacks import some_rows

from agents.networks.growth import can_grow, grow_from
from agents.networks.network import Network, NetworkConfig

SMALL = NetworkConfig(channels=6, blocks=2, key_size=4)


def trained(config: NetworkConfig) -> Network:
    """A network whose weights are all of some size, as after training."""
    torch.manual_seed(3)
    network = Network(config)
    with torch.no_grad():
        for weight in network.parameters():
            weight.add_(0.1 * torch.randn_like(weight))
    return network


def judgement(network: Network, rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """The log-probabilities and values in some states."""
    inputs = network.inputs(rows)
    return network(inputs.planes, inputs.decisions, inputs.game)


@pytest.mark.parametrize(
    "more",
    [
        {"channels": 9},
        {"blocks": 4},
        {"attack_planes": True},
        {"attack_planes": True, "threat_planes": True, "channels": 11, "blocks": 3},
    ],
)
def test_a_grown_network_judges_alike_and_all_that_is_new_can_learn(more: dict) -> None:
    config = dataclasses.replace(SMALL, **more)
    assert can_grow(SMALL, config)
    assert not can_grow(config, SMALL)
    small, network = trained(SMALL), Network(config)
    grow_from(network, small)
    rows = np.stack(some_rows("classic"))
    judged = [judgement(one, rows) for one in (small, network)]
    for before, after in zip(*judged, strict=True):
        torch.testing.assert_close(before, after)
    optimiser = torch.optim.SGD(network.parameters(), 0.01)
    for _ in range(2):  # a new block's first convolution is heard once its second is not zero
        optimiser.zero_grad()
        log_probs, values = judgement(network, rows)
        (log_probs[::7].sum() + values.sum()).backward()
        optimiser.step()
    unheard = {name for name, weight in network.named_parameters() if not weight.grad.any()}
    assert unheard <= {"words.weight", "words.bias"}, "none of these states is amid a turn"


@pytest.mark.parametrize("other", [{"key_size": 8}, {"channels": 5}, {"kind": "tests.flat"}])
def test_what_cannot_grow_is_refused(other: dict) -> None:
    assert not can_grow(SMALL, dataclasses.replace(SMALL, **other))
