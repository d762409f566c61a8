"""Our self-play learner beside MaskablePPO of sb3-contrib, on one core, in one run.

::

    make .venv-integrations/.done
    taskset -c 0 .venv-integrations/bin/python tests/benchmarks/learners.py --write

``--write`` keeps the figures in ``learners.json``, of which ``publish.py`` makes the table in
docs/training.md.

Both learn Classic Thud with the trunk, the rollouts, the minibatches and the epochs of
``configs/cpu.yaml``, one thread for each network. A figure is decisions that are learnt from, per
second of CPU time of the process, playing them included: the median of several updates, which the
learners make in turns. The first of each, which compiles and fills the memory, does not count. Ours
plays both roles itself, so that all decisions are learnt from; MaskablePPO (``sb3_learner.py``) has
one seat, and the plies of the random opponent in the other are given beside. Neither stops an
update early. Ours runs in float32 as MaskablePPO does, and in bfloat16 too if the processor has it.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any, Protocol

import torch
from peers import processor

from thud_env.command import Command, bounded
from thud_env.errors import ThudError
from training.bench import DEFAULT
from training.config import OpponentConfig, TrainConfig
from training.config_file import load_config
from training.learner.batches import batches_of
from training.process.memory import keep_freed_memory
from training.process.precision import Precision
from training.trainer import self_play_trainer

FIGURES = Path(__file__).parent / "learners.json"


class Compared(Protocol):
    """What is measured: a learner with a name."""

    name: str

    def update(self) -> tuple[int, int]:
        """One rollout and what is learnt from it: the decisions learnt from, and all played."""
        ...

    def close(self) -> None:
        """Free its resources."""
        ...


class OurLearner:
    """Ours, by mirror play alone, learning every epoch in full."""

    def __init__(self, config: TrainConfig, precision: str) -> None:
        self.name = f"self-play PPO, {precision}"
        self.config = dataclasses.replace(
            config,
            device="cpu",
            precision=precision,
            opponents=OpponentConfig(),
            ppo=dataclasses.replace(config.ppo, target_kl=1e9),
        )
        self.trainer = self_play_trainer(self.config)

    def update(self) -> tuple[int, int]:
        rollout = self.trainer.play.collect(self.config.rollout_decisions)
        batches = batches_of(rollout, self.config)
        self.trainer.learn(batches, 0.0)
        return sum(len(batch.actions) for batch in batches), rollout.actions.size

    def close(self) -> None:
        self.trainer.roles.close()


def learners(config: TrainConfig) -> list[Compared]:
    """MaskablePPO with its defaults and tuned, then ours in each arithmetic."""
    from sb3_learner import Sb3Learner  # needs sb3-contrib

    kinds = ["float32", "bfloat16"] if Precision.named("auto").bfloat16 else ["float32"]
    return [
        *(Sb3Learner(config, tuned=tuned) for tuned in (False, True)),
        *(OurLearner(config, kind) for kind in kinds),
    ]


def measure(compared: list[Compared], updates: int) -> dict[str, dict[str, float]]:
    """By name, decisions per CPU second: ``learnt`` from, and ``played`` with the opponent's."""
    rates: dict[str, dict[str, list[float]]] = {
        one.name: {"learnt": [], "played": []} for one in compared
    }
    torch.set_num_threads(1)
    for one in compared:
        one.update()
    for _ in range(updates):
        for one in compared:
            started = time.process_time()
            counts = one.update()
            seconds = time.process_time() - started
            for seen, count in zip(rates[one.name].values(), counts, strict=True):
                seen.append(count / seconds)
    return {
        name: {kind: median(seen) for kind, seen in kinds.items()} for name, kinds in rates.items()
    }


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    command = Command("tests.benchmarks.learners", __doc__)
    command.add_argument(
        "--updates", type=bounded(int, 1), default=5, metavar="N", help="how many of each (5)"
    )
    command.add_argument("--write", action="store_true", help="keep the figures in learners.json")
    return command.run(compare, words)


def compare(arguments: argparse.Namespace) -> None:
    config = load_config(DEFAULT, TrainConfig)
    keep_freed_memory()  # for all of them, before any has threads
    try:
        compared = learners(config)
    except ModuleNotFoundError as error:
        raise ThudError(
            f"{error}: .venv-integrations has it (make .venv-integrations/.done)"
        ) from None
    rates = measure(compared, arguments.updates)
    for one in compared:
        one.close()
    peer = compared[0].name
    print("     learnt      played  ratio   decisions a second of processor")
    for name, rate in rates.items():
        ratio = rate["learnt"] / rates[peer]["learnt"]
        print(f"{rate['learnt']:>9,.0f}/s {rate['played']:>9,.0f}/s {ratio:>5.1f}x   {name}")
    if arguments.write:
        figures: dict[str, Any] = {
            "machine": processor(),
            "updates": arguments.updates,
            "peer": peer,
            "rates": rates,
        }
        FIGURES.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
