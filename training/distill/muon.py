"""Muon: steps of hidden layers' weights that are as long in every direction.

A convolution's weights are a matrix from what it reads to what it writes. Muon (Jordan et al.,
"Muon: an optimizer for hidden layers in neural networks", 2024) follows the nearest orthogonal
matrix to the gradients' running average, so that directions that gradients rarely have are learnt,
too. ``torch.optim.Muon`` takes matrices only, and PyTorch has it since version 2.9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

_COEFFICIENTS = 3.4445, -4.7750, 2.0315
"""Of the polynomial x -> ax + bx^3 + cx^5, which five times over takes 0.01 .. 1 to 0.7 .. 1.2."""
_STEPS = 5
_MOMENTUM = 0.95
"""The weight of the average before in the average of gradients."""


class Muon(torch.optim.Optimizer):
    """Momentum made orthogonal, with Nesterov's look ahead.

    Args:
        weights: of convolutions, [outputs, inputs, height, width] each.
        learning_rate: the step size of an Adam whose steps are as long as these: each is scaled to
            a root mean square of a fifth of it (Liu et al., "Muon is scalable for LLM training",
            2025).
    """

    def __init__(self, weights: Iterable[Tensor], learning_rate: float) -> None:
        super().__init__(weights, {"lr": learning_rate})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """Take a step along the gradients; weights without one stay as they are."""
        assert closure is None, "gradients are computed before the step"
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    self._step(weight, weight.grad, group["lr"])

    def _step(self, weight: Tensor, gradient: Tensor, rate: float) -> None:
        kept = self.state[weight]
        if not kept:
            kept["average"] = torch.zeros_like(weight)
        average = kept["average"].lerp_(gradient, 1 - _MOMENTUM)
        direction = orthogonal(gradient.lerp(average, _MOMENTUM).flatten(1))
        scale = 0.2 * math.sqrt(max(direction.shape))
        weight.add_(direction.view(weight.shape), alpha=-rate * scale)


def orthogonal(matrix: Tensor) -> Tensor:
    """A matrix with the same singular vectors as another, whose singular values are near 1, by
    Newton and Schulz's iteration.
    """
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    found = wide / (wide.norm() + 1e-7)
    a, b, c = _COEFFICIENTS
    for _ in range(_STEPS):
        square = found @ found.T
        found = a * found + (b * square + c * square @ square) @ found
    return found if wide is matrix else found.T


def optimisers_of(network: nn.Module, learning_rate: float) -> dict[str, torch.optim.Optimizer]:
    """Muon for the convolutions of a network's ``trunk``, if it has one, Adam for all else, both
    with the same step size.

    Args:
        network: what they train.
        learning_rate: their step size.
    """
    named = dict(network.named_parameters())
    hidden = {name for name, one in named.items() if name.startswith("trunk.") and one.ndim == 4}
    others = [one for name, one in named.items() if name not in hidden]
    optimisers: dict[str, torch.optim.Optimizer] = {
        "optimiser": torch.optim.Adam(others, learning_rate, eps=1e-6)
    }
    if hidden:
        optimisers["muon"] = Muon(
            [one for name, one in named.items() if name in hidden], learning_rate
        )
    return optimisers
