"""Our learner beside MaskablePPO: the comparison is fair (its speeds are not tested)."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from agents.networks.config import NetworkConfig
from training.config import OpponentConfig, PPOConfig, TrainConfig

BENCHMARKS = Path(__file__).parent / "benchmarks"
CONFIG = TrainConfig(
    num_games=8,
    rollout_decisions=16,
    network=NetworkConfig(channels=4, blocks=1),
    # Neither is to be taken over: everybody learns from everything.
    opponents=OpponentConfig(scripted=0.5, pace=0.1),
    ppo=PPOConfig(minibatch_size=48, update_epochs=3, learning_rate=0.1, target_kl=1e-9),
)


def size(*modules: nn.Module) -> int:
    return sum(parameter.numel() for module in modules for parameter in module.parameters())


@pytest.fixture
def learners(monkeypatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import learners

    yield learners
    torch.distributions.Distribution.set_default_validate_args(__debug__)


@pytest.fixture
def compared(learners) -> Iterator[list[Any]]:
    pytest.importorskip("sb3_contrib", reason="sb3-contrib has a virtual environment of its own")
    made = learners.learners(CONFIG)
    yield made
    for one in made:
        one.close()


def test_each_counts_the_decisions_of_its_rollout(compared) -> None:
    as_it_comes, tuned, *ours = compared
    for _ in range(2):
        for peer in (as_it_comes, tuned):
            learnt, played = peer.update()
            assert learnt == 8 * 16
            assert 0.5 * learnt < played - learnt < 2 * learnt  # the opponent's
        assert all(one.update() == (8 * 16, 8 * 16) for one in ours)


def test_all_epochs_are_learnt_in_full(compared) -> None:
    *peers, ours = compared[0], compared[1], compared[2].trainer
    for one in compared[:3]:
        one.update()
    for peer in peers:
        taken = [int(state["step"]) for state in peer.model.policy.optimizer.state.values()]
        assert set(taken) == {3 * math.ceil(8 * 16 / 48)}
    taken = [
        int(next(iter(learner._optimiser.state.values()))["step"]) for learner in ours.learners
    ]
    # The last minibatch of each role need not be full.
    assert 3 * math.ceil(8 * 16 / 48) <= sum(taken) <= 3 * (math.ceil(8 * 16 / 48) + 1)


def test_the_trunks_are_of_one_size(compared) -> None:
    policy = compared[0].model.policy
    assert size(policy) == size(compared[1].model.policy)
    for ours in compared[2:]:
        for network in ours.trainer.roles.networks:
            trunk = size(network.stem, network.trunk)
            assert trunk == size(policy.features_extractor)
            assert size(network.value) == size(policy.mlp_extractor, policy.value_net)
    rest = size(policy) - size(policy.features_extractor, policy.mlp_extractor, policy.value_net)
    assert rest == size(nn.Linear(2 * 4, 6470))


def test_the_command_writes_what_is_published(learners, compared, monkeypatch, tmp_path, capsys):
    import publish

    monkeypatch.setattr(learners, "load_config", lambda path, kind: CONFIG)
    monkeypatch.setattr(learners, "FIGURES", tmp_path / "learners.json")
    assert learners.main(["--updates", "1", "--write"]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split()[:3] == ["learnt", "played", "ratio"]
    figures = json.loads((tmp_path / "learners.json").read_text())
    assert list(figures["rates"]) == [one.name for one in compared]
    assert figures["peer"] == compared[0].name
    table = publish.learners_table(figures).splitlines()[2:]
    for line, row in zip(lines, table, strict=True):
        _, name, *cells, _ = (cell.strip() for cell in row.split("|"))
        assert line.endswith(f"   {name}")
        assert re.findall(r"[\d,.]+(?=/s|x)", line) == cells


def test_what_is_missing_is_said_in_one_line(learners, monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "sb3_contrib", None)
    monkeypatch.delitem(sys.modules, "sb3_learner", raising=False)
    assert learners.main([]) == 2
    said = capsys.readouterr().err
    assert said.startswith("learners: ")
    assert "sb3_contrib" in said
    assert "make .venv-integrations/.done" in said
    assert said.count("\n") == 1


def test_bad_input_is_one_line(learners, capsys) -> None:
    assert learners.main(["--updates", "0"]) == 2
    assert "--updates: '0': a whole number, 1 or more, would be right" in capsys.readouterr().err
