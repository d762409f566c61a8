"""Help that is made from the code it is about."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from agents.networks.network import NetworkConfig
from training.config import OpponentConfig, PPOConfig, TrainConfig, load_config
from training.options import Options, told_options
from training.usage import meanings, usage


@pytest.mark.parametrize("kind", [TrainConfig, PPOConfig, OpponentConfig, NetworkConfig, Options])
def test_every_field_has_a_meaning(kind: type) -> None:
    assert list(meanings(kind)) == [field.name for field in dataclasses.fields(kind)]
    assert all(meanings(kind).values())


def test_the_keys_shown_are_a_configuration_and_its_defaults(tmp_path: Path) -> None:
    _, _, keys = usage("What it does.", ["it"], {}).partition("if it does not say:\n")
    shown = [line.strip().partition("  ")[0] for line in keys.splitlines() if line[2] != " "]
    (tmp_path / "empty.yaml").write_text("name: other")
    assert "ppo.learning_rate=0.001" in shown
    assert load_config(tmp_path / "empty.yaml", shown) == TrainConfig()


def test_options_are_told_as_they_are_written() -> None:
    assert list(told_options()) == ["--resume", "--minutes N", "--actors N", "--cluster ADDRESS"]
