"""Measures where a training step's time goes, and how near it is to what the networks allow.

::

    python -m training.bench
    python -m training.bench configs/cpu.yaml --updates 6 --json

A few updates of a run are measured, none of which is kept. *Environment* is stepping the battles,
listing legal decisions and expanding planes, in play and again in learning. The networks' own time
is that of the same decisions with all inputs at hand: forward once, in the batches that were
played, and forward and backward as often as they are learnt from, without loss or optimiser.
Times are of processor, not of clock: what else the machine does matters less. With a GPU they are
of clock, and the shares are of the GPU's time, its pauses included. Medians of updates.

In the seats of snapshots scripted players play, as at the beginning of a run: so early there is no
snapshot. Later their networks take time, too.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np
import torch

from agents.networks.inputs import Inputs
from thud_env.command import Command, bounded
from thud_env.outcome import SIDES
from training.checks import check_players
from training.config import TrainConfig
from training.config_file import load_config
from training.keys_help import keys_help
from training.learner.batches import Batch, batches_of
from training.process.clock import PARTS
from training.process.memory import keep_freed_memory
from training.process.roles import Roles
from training.selfplay.rollout import Rollout
from training.trainer import self_play_trainer
from training.usage import add_config, read_config

DEFAULT = Path(__file__).resolve().parents[1] / "configs" / "cpu.yaml"


def _networks_own(
    config: TrainConfig, roles: Roles, rollout: Rollout, batches: tuple[Batch, Batch]
) -> float:
    """Seconds that the networks need for the decisions of an update."""
    ppo = config.ppo
    played: list[list[Inputs]] = [[], []]
    learnt: list[list[Inputs]] = [[], []]
    for side in range(len(SIDES)):
        for rows, movers in zip(rollout.rows, rollout.movers, strict=True):
            mine = (movers == side) & (rollout.opponent_sides != side)
            if mine.any():
                played[side].append(roles.precision.inputs(roles.networks[side], rows[mine]))
        rows = batches[side].rows
        for part in np.array_split(rows, max(1, -(-len(rows) // ppo.minibatch_size))):
            if len(part):
                learnt[side].append(roles.precision.inputs(roles.networks[side], part))

    def work(side: int) -> None:
        network = roles.networks[side]
        for inputs in played[side]:
            with torch.no_grad(), roles.precision.autocast():
                network(inputs)
        for inputs in learnt[side] * ppo.update_epochs:
            with roles.precision.autocast():
                judged = network(inputs)
            total = sum(head.float().mean() for head in judged)
            total.backward()

    started = roles.clock.now()
    roles.at_once(work)
    seconds = roles.clock.now() - started
    for network in roles.networks:
        network.zero_grad()
    return seconds


def measure(config: TrainConfig, updates: int) -> dict[str, float]:
    """Measure updates: each part's share of the time; decisions a second, of processor time or, on
    a GPU, of clock time; how many a second the networks alone would allow; the share of these that
    is reached.
    """
    # Every epoch is to be learnt from in full: the networks' own time is that of full ones.
    config = dataclasses.replace(config, ppo=dataclasses.replace(config.ppo, target_kl=1e9))
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        trainer = self_play_trainer(config, Path(folder))
        for number in range(1 + updates):
            started = trainer.roles.clock.now()
            rollout = trainer.play.collect(config.rollout_decisions)
            batches = batches_of(rollout, config)
            trainer.learn(batches, 0.0)
            seconds = trainer.roles.clock.now() - started
            shares = trainer.roles.clock.shares()
            own, size = _networks_own(config, trainer.roles, rollout, batches), rollout.actions.size
            figures = {f"share_{part}": share for part, share in shares.items()}
            unit = trainer.roles.clock.unit
            figures[f"decisions_per_{unit}"] = size / seconds
            figures[f"networks_own_per_{unit}"] = size / own
            figures["share_of_networks_own"] = own / seconds
            if number > 0:  # the first compiles, and fills the memory
                for name, value in figures.items():
                    found.setdefault(name, []).append(value)
        trainer.roles.close()
    return {name: median(values) for name, values in found.items()}


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    command = Command(
        "training.bench", __doc__, lambda: keys_help(load_config(DEFAULT, TrainConfig))
    )
    add_config(command, "a YAML file, or the folder of a run", DEFAULT)
    command.add_argument(
        "--updates", type=bounded(int, 1), default=5, metavar="N", help="how many (5)"
    )
    command.add_argument("--json", action="store_true", help="print one JSON object")
    return command.run(_report, words)


def _report(arguments: argparse.Namespace) -> None:
    config = read_config(arguments, DEFAULT, TrainConfig)
    check_players(config)
    keep_freed_memory()
    result = measure(config, arguments.updates)
    if arguments.json:
        print(json.dumps({"config": config.name, **result}))
        return
    print(f"{config.name}: {config.network.channels} channels, {config.network.blocks} blocks")
    for part in PARTS:
        print(f"  {part:<12} {result[f'share_{part}']:6.1%} of the time")
    of_processor = "decisions_per_cpu_second" in result
    unit, words = ("cpu_second", "second of processor") if of_processor else ("second", "second")
    reached, allowed = (result[f"{name}_per_{unit}"] for name in ("decisions", "networks_own"))
    print(
        f"  {reached:,.0f} decisions a {words}, "
        f"{result['share_of_networks_own']:.0%} of the {allowed:,.0f} that the networks allow"
    )


if __name__ == "__main__":
    sys.exit(main())
