"""Muon: orthogonal steps for hidden convolutions, Adam's for all else."""

from __future__ import annotations

import math

import pytest
import torch

from agents.networks.config import NetworkConfig
from agents.networks.network import Network
from training.distill.muon import Muon, optimisers_of, orthogonal


@pytest.mark.parametrize("shape", [(16, 144), (144, 16), (32, 32)])
def test_what_is_made_orthogonal_keeps_its_singular_vectors(shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    left, _, right = torch.linalg.svd(matrix := torch.randn(shape), full_matrices=False)
    values = torch.diag(left.T @ orthogonal(matrix) @ right.T)
    assert (values > 0.5).all()
    assert (values < 1.3).all()
    torch.testing.assert_close(
        orthogonal(matrix), left @ torch.diag(values) @ right, atol=1e-4, rtol=0
    )


def test_steps_are_a_fifth_of_the_learning_rate_whatever_the_gradients_are_worth() -> None:
    torch.manual_seed(0)
    for size in (1e-4, 1.0, 1e4):
        weight = torch.zeros(16, 16, 3, 3, requires_grad=True)
        weight.grad = size * torch.randn(16, 16, 3, 3)
        Muon([weight], learning_rate=1e-2).step()
        root_mean_square = float(weight.detach().square().mean().sqrt())
        assert root_mean_square == pytest.approx(0.2e-2, rel=0.2)


def test_a_weight_without_a_gradient_stays_as_it_is() -> None:
    weight = torch.ones(4, 4, 3, 3, requires_grad=True)
    Muon([weight], learning_rate=1.0).step()
    assert (weight == 1).all()


def test_every_weight_has_one_optimiser_and_hidden_convolutions_have_muon() -> None:
    network = Network(NetworkConfig(channels=8, blocks=2))
    optimisers = optimisers_of(network, 1e-3)
    trained = {
        name: [id(one) for group in optimiser.param_groups for one in group["params"]]
        for name, optimiser in optimisers.items()
    }
    names = {id(one): name for name, one in network.named_parameters()}
    assert sorted(trained["optimiser"] + trained["muon"]) == sorted(names)
    assert sorted(names[one] for one in trained["muon"]) == [
        f"trunk.{block}.{layer}.weight" for block in (0, 1) for layer in ("first", "second")
    ]


def test_a_step_follows_the_running_average_and_looks_ahead() -> None:
    torch.manual_seed(0)
    weight = torch.zeros(4, 2, 3, 3, requires_grad=True)
    optimiser, average = Muon([weight], learning_rate=1e-2), torch.zeros_like(weight)
    for gradient in torch.randn(3, *weight.shape):
        before, weight.grad = weight.detach().clone(), gradient
        optimiser.step()
        average = 0.95 * average + 0.05 * gradient
        along = orthogonal((0.05 * gradient + 0.95 * average).flatten(1))
        wanted = -1e-2 * 0.2 * math.sqrt(18) * along.view_as(weight)
        torch.testing.assert_close(weight.detach() - before, wanted, atol=1e-6, rtol=1e-3)
