"""Small policies that have learnt nothing."""

from __future__ import annotations

from pathlib import Path

import torch

from agents.networks.checkpoint import save_policy
from agents.networks.network import Network, NetworkConfig
from thud_env.position import SIDES


def save_untrained(folder: Path, weights: int, rules: str) -> None:
    """Write a pair of small policies whose weights were drawn with a seed."""
    torch.manual_seed(weights)
    for role in SIDES:
        network = Network(NetworkConfig(channels=4, blocks=1, key_size=2))
        save_policy(folder / role, network, role=role, rules=rules, decisions=0)
