"""What a run does around its updates: timed, shaped, kept, measured and shown."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
from resumed_run import TINY, lines, quietly

from training import trainer as trainer_module
from training.config import TrainConfig
from training.process.clock import Clock
from training.process.roles import Roles
from training.runs import loop
from training.selfplay.rollout import Rollout


def test_each_update_is_timed_by_its_own_decisions_and_shaped_by_how_far_the_run_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    speed, shape = Clock.speed, trainer_module.with_shaping
    timed: list[int] = []
    shaped: list[float] = []

    def noted(rollout: Rollout, config: TrainConfig, progress: float) -> Rollout:
        shaped.append(progress)
        return shape(rollout, config, progress)

    def of_speed(clock: Clock, decisions: int, seconds: float) -> dict[str, float]:
        timed.append(decisions)
        return speed(clock, decisions, seconds)

    monkeypatch.setattr(trainer_module, "with_shaping", noted)
    monkeypatch.setattr(Clock, "speed", of_speed)
    quietly(tmp_path, dataclasses.replace(TINY, total_decisions=1024, anchor_games=0))
    assert timed == [256] * 4
    assert shaped == [0, 0.25, 0.5, 0.75]


def test_the_last_update_is_kept_and_measured(tmp_path: Path) -> None:
    """Of three, where every second one is."""
    config = dataclasses.replace(TINY, total_decisions=768, anchor_games=2, checkpoint_every=2)
    folder, _ = quietly(tmp_path, config)
    assert (folder / "checkpoints" / "latest").resolve().name == "000000000768"
    assert "dwarfs/mean_anchor_margin" in lines(folder)[-1]


def test_the_bar_of_a_run_that_goes_on_begins_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[float] = []

    class Noted(loop.Display):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            begun.append(self._progress.tasks[0].completed)

    monkeypatch.setattr(loop, "Display", Noted)
    config = dataclasses.replace(TINY, anchor_games=0, total_decisions=512)
    quietly(tmp_path, config)
    quietly(tmp_path, dataclasses.replace(config, total_decisions=768), resume=True)
    assert begun == [0, 512]


def test_a_seed_begins_with_weights_of_its_own() -> None:
    def weights(seed: int) -> list[torch.Tensor]:
        roles = Roles.of(dataclasses.replace(TINY, seed=seed))
        roles.close()
        return [torch.cat([p.flatten() for p in one.parameters()]) for one in roles.networks]

    for one, again, other in zip(weights(1), weights(1), weights(2), strict=True):
        assert torch.equal(one, again)
        assert not torch.equal(one, other)
