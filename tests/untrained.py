"""Small policies that have learnt nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from agents.networks.checkpoint import save_policy
from agents.networks.config import NetworkConfig
from agents.networks.network import Network
from thud_env.outcome import SIDES


def drawn_network(seed: int = 1, scale: float = 0.3, **sizes: int) -> Network:
    """A small network with every weight drawn: at the start some are zero and would hide faults."""
    torch.manual_seed(seed)
    network = Network(NetworkConfig(**{"channels": 4, "blocks": 1, "key_size": 2, **sizes}))  # type: ignore[arg-type]
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.randn_like(parameter) * scale)
    return network


def value_all_at(value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every network value all positions so."""
    forward = Network.forward
    monkeypatch.setattr(
        Network,
        "forward",
        lambda network, inputs: (judged := forward(network, inputs))._replace(
            values=torch.full_like(judged.values, value)
        ),
    )


def link_untrained(link: Path, weights: int, rules: str) -> None:
    """Write such a pair beside a link and make it point there, as a run does that goes on."""
    folder = link.with_name(str(weights))
    save_untrained(folder, weights, rules)
    link.unlink(missing_ok=True)
    link.symlink_to(folder)


def save_untrained(folder: Path, weights: int, rules: str) -> None:
    """Write a pair of small policies whose weights were drawn with a seed."""
    torch.manual_seed(weights)
    for role in SIDES:
        network = Network(NetworkConfig(channels=4, blocks=1, key_size=2))
        save_policy(folder / role, network, role=role, rules=rules, decisions=0)
