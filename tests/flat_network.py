"""A second kind of network in one file, whose output does not depend on the position."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
import torch
from torch import nn

from agents.networks.config import CONFIG_CLASSES, NetworkConfig
from agents.networks.inputs import Inputs
from agents.networks.kinds import NETWORKS
from agents.networks.legal_policy import log_softmax_by_game
from agents.networks.network import Judgement, PolicyNetwork
from thud_env.actions import NUM_ACTIONS


class FlatNetwork(PolicyNetwork):
    """A score for each action, and one value."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__(config)
        self.scores = nn.Parameter(torch.zeros(NUM_ACTIONS))
        self.value = nn.Parameter(torch.zeros(1))

    def forward(self, inputs: Inputs) -> Judgement:
        count, game = len(inputs.counts), inputs.game
        log_probs = log_softmax_by_game(self.scores[inputs.decisions], game, count)
        terms = -log_probs.exp() * log_probs
        entropies = torch.zeros(count).index_add(0, game, terms)
        return Judgement(log_probs, entropies, self.value * torch.ones(count))


def add_own_network(folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a kind of network be known that is a file of the user's; returns the file."""
    source = folder / f"{kind}_network.py"
    source.write_text(Path(__file__).read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    module = importlib.import_module(source.stem)
    monkeypatch.setitem(NETWORKS, kind, module.FlatNetwork)
    monkeypatch.setitem(CONFIG_CLASSES, kind, NetworkConfig)
    return source
