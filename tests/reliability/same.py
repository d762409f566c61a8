"""The same seed, the same bytes; numbers that are none; and roles that collapse."""

from __future__ import annotations

import contextlib
import dataclasses
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import torch

from agents.networks.checkpoint import load_policy
from reliability.reach import standing_on
from reliability.row import Fault, Row
from reliability.runs import CONFIG, assert_ends_as, outcome, trained
from thud_env.outcome import SIDES
from training.runs.alarms import Alarms, Collapsed
from training.runs.anchors import LivePolicy
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


def check_roles(size: int, random: Random, folder: Path) -> int:
    """A role becomes certain of everything, or loses to the anchors that it had beaten: there is an
    alarm, which names its checkpoint from before.
    """
    config = dataclasses.replace(
        CONFIG, anchors=("random",), anchor_games=1, total_decisions=6 * 256
    )
    for number in range(size):
        side, when = random.randrange(2), random.randrange(1, 4)
        collapse = random.choice((_certain, _beaten))
        with collapse(side, when):
            run, shown = trained(folder / str(number), config)
        alarms = [line for line in shown.splitlines() if line.startswith("alarm: ")]
        assert len(alarms) == 1, f"{len(alarms)} alarms: {alarms}"
        best = run / "checkpoints" / "best" / SIDES[side]
        assert f"checkpoint is {best}" in alarms[0]
        # The weights of a role that becomes certain are made so before that checkpoint is written.
        last = when if collapse is _beaten else max(when - 1, 1)
        assert best.resolve().parent.name == f"{256 * last:012d}", "it is not the last one before"
        load_policy(best)
    return size


@contextlib.contextmanager
def _certain(side: int, when: int) -> Iterator[None]:
    """After some updates the weights of a role are so large that one decision has all chances."""
    update = Trainer.update

    def watched(trainer: Trainer) -> dict[str, Any]:
        metrics = update(trainer)
        if trainer.updates == when:
            with torch.no_grad():
                for weights in trainer.roles.networks[side].parameters():
                    weights.mul_(100)
        return metrics

    with mock.patch.object(Trainer, "update", watched), _measured(lambda _side, _count: 10):
        yield


@contextlib.contextmanager
def _beaten(side: int, when: int) -> Iterator[None]:
    """After some updates a role loses what it had won."""
    with _measured(lambda measured, count: -10 if measured == side and count > when else 10):
        yield


def _measured(score: Callable[[int, int], int]) -> contextlib.AbstractContextManager[Any]:
    """The anchor sees such scores of a side, by how often it has measured that."""
    counts = [0, 0]

    def played(dwarfs: Any, *_others: Any, **_limits: Any) -> Any:
        side = 0 if isinstance(dwarfs, LivePolicy) else 1
        counts[side] += 1
        margin = score(side, counts[side]) * (1 if side == 0 else -1)
        return types.SimpleNamespace(margins=np.array([margin]))

    return mock.patch("training.runs.anchors.play_battles", played)


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
        proves=standing_on("training.train"),
    ),
    Row(
        "weights that are infinite or NaN",
        "A run that breaks stops, and its last good checkpoint is named",
        "runs",
        check_collapse,
        6,
        200,
        {"weights are not looked at": Fault(_not_looked_at, "it was saved")},
        proves=standing_on("training.train"),
    ),
    Row(
        "a role that explores no more, or loses what it had won",
        "A run that breaks stops, and its last good checkpoint is named",
        "runs",
        check_roles,
        6,
        200,
        {
            "no alarm is given": Fault(
                lambda: mock.patch.object(Alarms, "check", lambda *_: []), "0 alarms: []"
            )
        },
        with_fault=2,
        proves=standing_on("training.train"),
    ),
]
