"""Draws decisions from a network's policy, on any device."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from agents.networks.inputs import Inputs
from agents.networks.network import PolicyNetwork


class Drawn(NamedTuple):
    """A decision drawn for each of N games, on the device of their inputs."""

    actions: Tensor
    """[N] int64."""
    log_probs: Tensor
    """[N] float32, those that the policy gives them, whatever the temperature."""
    values: Tensor
    """[N] float32, of the states: see ``Judgement``."""


def draw_decisions(
    network: PolicyNetwork, inputs: Inputs, uniforms: Tensor, temperature: float = 1.0
) -> Drawn:
    """Draw a decision for each game from a network's policy, without gradients.

    Args:
        network: the policy.
        inputs: N games.
        uniforms: [N] float64 numbers in [0, 1), one for each draw.
        temperature: 1 draws from the policy, 0 takes its most likely decision.
    """
    with torch.no_grad():
        judged = network(inputs)
    if temperature == 0:  # rounding must not draw what has no weight
        uniforms = torch.zeros_like(uniforms)
    drawn = draw(weights_at(temperature, judged.log_probs, inputs), inputs.counts, uniforms)
    return Drawn(inputs.decisions[drawn], judged.log_probs[drawn], judged.values)


def weights_at(temperature: float, log_probs: Tensor, inputs: Inputs) -> Tensor:
    """[L] float64, in proportion to which the legal decisions of each game are drawn at a
    temperature; at 0 it is 1 for the likeliest, the first of several, and 0 for the others.

    Args:
        temperature: 0 or more.
        log_probs: [L] those of a policy.
        inputs: N games.
    """
    exact = log_probs.double()
    if temperature == 1:
        return exact.exp()
    highest = exact.new_full((len(inputs.counts),), -torch.inf)
    highest.scatter_reduce_(0, inputs.game, exact, "amax")
    below = exact - highest[inputs.game]
    if temperature > 0:
        return (below / temperature).exp()
    first = draw((below == 0).double(), inputs.counts, torch.zeros_like(highest))
    return torch.zeros_like(exact).index_fill(0, first, 1.0)


def draw(weights: Tensor, counts: Tensor, uniforms: Tensor) -> Tensor:
    """Draw one entry of each of N groups, in proportion to its weight.

    Args:
        weights: [L] float64, those of all groups' entries, group after group.
        counts: [N] int64, how many entries each group has, 1 or more.
        uniforms: [N] float64 numbers in [0, 1), one for each draw.

    Returns:
        [N] int64, the index of each group's entry among the L.
    """
    running = weights.cumsum(0)
    ends = counts.cumsum(0)
    below = torch.cat((running.new_zeros(1), running))[torch.cat((ends.new_zeros(1), ends))]
    targets = below[:-1] + uniforms * below.diff()
    drawn = torch.searchsorted(running, targets, right=True)
    # Rounding in the running sum must not move a draw into a neighbouring group.
    return torch.minimum(torch.maximum(drawn, ends - counts), ends - 1)
