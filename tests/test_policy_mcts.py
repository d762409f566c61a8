"""Search with networks: legal, batched without a difference, and better than the network alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from by_hand import place

import agents
from agents.checkpoint import CheckpointError, save_policy
from agents.network import Network, NetworkConfig
from thud_env import RULESETS, Position


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Untrained policies of every ruleset: ``folder / rules``."""
    folder = tmp_path_factory.mktemp("policies")
    for rules in RULESETS:
        for seed, role in enumerate(("dwarfs", "trolls")):
            torch.manual_seed(seed)
            network = Network(NetworkConfig(channels=4, blocks=1, key_size=2))
            save_policy(folder / rules / role, network, role=role, rules=rules, decisions=0)
    return folder


@pytest.mark.parametrize("rules", RULESETS)
def test_battles_are_played_by_the_rules(rules: str, folder: Path) -> None:
    agent = agents.make(f"policy+mcts:{folder / rules},sims=12")
    position = Position.start(rules, max_turns=24, offer_after=2, agreement=True)
    while position.outcome is None:
        chosen = agent.act(position)
        assert chosen in position.legal_actions()
        position = position.apply(chosen)


def test_games_searched_side_by_side_are_searched_as_if_alone(folder: Path) -> None:
    spec = f"policy+mcts:{folder / 'classic-any'},sims=40"
    positions = [
        Position.start("classic-any"),
        place("classic-any", "D6 E6 F6 A9", "J6 P8"),
        place("classic-any", "G6 H6 J6 C4", "H4 C6", "t"),
    ]
    together = agents.make(spec).act_rows(np.stack([p.row for p in positions]))
    assert together.tolist() == [agents.make(spec).act(p) for p in positions]


def test_even_an_untrained_network_finds_the_only_capture(folder: Path) -> None:
    position = place("classic", "E6 F6 A9", "H6", "d")
    agent = agents.make(f"policy+mcts:{folder / 'classic'},sims=400")
    assert agent.turn(position) == "dF6-H6xH6"


def test_a_wrong_spec_or_checkpoint_is_told(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"sims=1 must be in 2 \.\. 1e\+07"):
        agents.make(f"policy+mcts:{folder / 'classic'},sims=1")
    with pytest.raises(CheckpointError, match="/no/such/folder is no policy"):
        agents.make("policy+mcts:/no/such/folder")
    agent = agents.make(f"policy+mcts:{folder / 'classic'},sims=2")
    with pytest.raises(CheckpointError, match="was trained for classic, not koom-valley"):
        agent.act(Position.start("koom-valley"))
