"""The same seed, the same bytes; and numbers that are none."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import torch

from reliability.row import Fault, Row
from reliability.runs import CONFIG, assert_ends_as, outcome, trained
from training.runs.alarms import Collapsed
from training.trainer import Trainer


def check_same(size: int, random: Random, folder: Path) -> int:
    """Runs in pairs, of one seed and different numbers of cores and clocks."""
    for number in range(size):
        config = dataclasses.replace(CONFIG, seed=random.randrange(2**32))
        run, _ = trained(folder / f"{number}a", config)
        wanted = outcome(run)
        with (
            mock.patch("thud_env.batch.cpu.available_cores", lambda: 1 + number % 3),
            mock.patch("time.perf_counter", _Clock(random)),
        ):
            run, _ = trained(folder / f"{number}b", config)
        assert_ends_as(run, wanted)
    return size


class _Clock:
    """Goes as it likes, but never back."""

    def __init__(self, random: Random) -> None:
        self._random, self._now = random, 0.0

    def __call__(self) -> float:
        self._now += self._random.random()
        return self._now


_KINDS = (float("nan"), float("inf"), float("-inf"))


def check_collapse(size: int, random: Random, folder: Path) -> int:
    """A weight or an average that is none after an update: the run stops, and saves none of it."""
    update = Trainer.update
    for number in range(size):
        when, value = random.randrange(1, 4), random.choice(_KINDS)

        def broken(trainer: Trainer, when: int = when, value: float = value) -> dict[str, Any]:
            metrics = update(trainer)
            if trainer.updates == when:
                network = random.choice(trainer.roles.networks)
                with torch.no_grad():
                    weights = random.choice(list(network.parameters()))
                    weights[tuple(random.randrange(size) for size in weights.shape)] = value
            return metrics

        runs = folder / str(number)
        said = ""
        with mock.patch.object(Trainer, "update", broken):
            try:
                trained(runs)
            except Collapsed as collapsed:
                said = str(collapsed)
        assert said, "the run went on"
        latest = runs / "small" / "checkpoints" / "latest"
        good = (when - 1) * 256
        if good:
            assert latest.readlink().name == f"{good:012d}", said
            assert str(latest) in said
        else:
            assert not latest.exists(), "it was saved"
    return size


def _not_looked_at() -> contextlib.ExitStack:
    stack = contextlib.ExitStack()
    for module in ("agents.networks.checkpoint", "training.process.state"):
        stack.enter_context(mock.patch(f"{module}.check_finite"))
    return stack


ROWS = [
    Row(
        "same seed and configuration, twice",
        "The same seed gives the same bytes",
        "pairs of runs",
        check_same,
        3,
        200,
        {
            "networks are not seeded": Fault(
                lambda: mock.patch("torch.manual_seed", lambda _seed: torch.default_generator),
                "the metrics differ",
            )
        },
        with_fault=2,
    ),
    Row(
        "weights that are infinite or NaN",
        "A run that breaks stops, and its last good checkpoint is named",
        "runs",
        check_collapse,
        6,
        200,
        {"weights are not looked at": Fault(_not_looked_at, "it was saved")},
    ),
]
