"""Gives a network the weights of a smaller one, so that it judges every state alike at first.

What is new reads all that there is, but nothing that was there before reads it yet: those weights
begin at zero, and have a gradient (Chen et al., "Net2Net", 2016).
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from agents.networks.network import Network, NetworkConfig, PolicyNetwork


def can_grow(smaller: NetworkConfig, larger: NetworkConfig) -> bool:
    """Whether networks of one size can be given the weights of another size."""
    return (
        (smaller.kind, smaller.key_size) == (larger.kind, larger.key_size)
        and smaller.kind == NetworkConfig.kind
        and smaller.channels <= larger.channels
        and smaller.blocks <= larger.blocks
        and smaller.attack_planes <= larger.attack_planes
        and smaller.threat_planes <= larger.threat_planes
    )


@torch.no_grad()
def grow_from(network: PolicyNetwork, smaller: PolicyNetwork) -> None:
    """Give a new network the weights of a smaller one.

    Args:
        network: as it was made, with random weights; written.
        smaller: of a size that ``can_grow`` to the network's.
    """
    assert isinstance(network, Network)
    assert isinstance(smaller, Network)
    weights, given = network.state_dict(), smaller.state_dict()
    old, new = smaller.config.channels, network.config.channels
    channels, hidden = torch.arange(old), torch.arange(2 * old)
    pooled = torch.cat((channels, new + channels))
    _give(weights, given, "stem", channels, torch.arange(smaller.num_planes))
    for block in range(smaller.config.blocks):
        for convolution in ("first", "second"):
            _give(weights, given, f"trunk.{block}.{convolution}", channels, channels)
    for head in ("queries", "keys"):
        _give(weights, given, head, torch.arange(smaller.config.key_size), channels)
    weights["bias"].copy_(given["bias"])
    _give(weights, given, "words", torch.arange(len(given["words.bias"])), pooled)
    _give(weights, given, "value.0", hidden, pooled)
    _give(weights, given, "value.2", torch.arange(1), hidden)


def _give(
    weights: Mapping[str, Tensor],
    given: Mapping[str, Tensor],
    layer: str,
    outputs: Tensor,
    inputs: Tensor,
) -> None:
    """Write one layer's weights to where its outputs and inputs are in the larger network."""
    weight = weights[f"{layer}.weight"]
    weight[outputs] = 0
    weight[outputs[:, None], inputs] = given[f"{layer}.weight"]
    weights[f"{layer}.bias"][outputs] = given[f"{layer}.bias"]
