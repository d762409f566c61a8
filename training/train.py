"""Train a dwarf and a troll policy by self-play PPO.

::

    python -m training.train configs/smoke.yaml
    python -m training.train configs/smoke.yaml total_decisions=50_000 ppo.learning_rate=3e-4

Both roles learn from mirror play: in every battle the current dwarfs meet the current
trolls. A rollout is T decisions in each of B battles; then each role's network improves on
the decisions it made. Rewards are captures as they happen, so that the undiscounted return
is the rest of the final margin, in 1/32; in the Koom Valley games, the result at the end.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from rich.console import Console

from agents.network import Network
from thud_env import BatchedGame
from thud_env.parallel import available_cores
from thud_env.position import SIDES
from thud_env.rulesets import get_ruleset
from training.advantage import zero_sum_gae
from training.cli import fail
from training.config import ConfigError, TrainConfig, load_config
from training.display import Display
from training.head_to_head import head_to_head
from training.ppo import Batch, Learner
from training.precision import Precision
from training.rollout import Players, Rollout, SelfPlay
from training.run import RunFolder
from training.shaping import progress_rewards


def role_batch(rollout: Rollout, advantages: np.ndarray, side: int) -> Batch:
    """One role's decisions of a rollout."""
    return chosen_batch(rollout, advantages, rollout.movers == side)


def chosen_batch(rollout: Rollout, advantages: np.ndarray, mine: np.ndarray) -> Batch:
    """The decisions of a rollout where ``mine``, [T, B], says so."""
    return Batch(
        rows=rollout.rows[mine],
        actions=rollout.actions[mine],
        log_probs=rollout.log_probs[mine],
        advantages=advantages[mine],
        returns=(advantages + rollout.values)[mine],
    )


def explained_variance(rollout: Rollout, advantages: np.ndarray, side: int) -> float:
    """The share of the returns' variance that a role's values predicted; 1 is all."""
    return explained_share(role_batch(rollout, advantages, side))


def explained_share(batch: Batch) -> float:
    """The same of the decisions of a batch."""
    return float(1 - batch.advantages.var() / (batch.returns.var() + 1e-8))


class Trainer:
    """A run: self-play and learning in turns.

    Args:
        config: what to train.
    """

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        # Each role's network runs in a thread of its own: that beats sharing every operation.
        torch.set_num_threads(1)
        seeds = np.random.SeedSequence(config.seed).spawn(3)
        torch.manual_seed(config.seed)
        self._precision = Precision.named(config.precision)
        self.networks = (Network(config.network), Network(config.network))
        for network in self.networks:
            network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="role")
        self._plays = self._begin(np.random.default_rng(seeds[0]))
        self._learners = [
            Learner(network, config.ppo, self._precision, np.random.default_rng(seed))
            for network, seed in zip(self.networks, seeds[1:], strict=True)
        ]
        self.decisions = 0

    def _begin(self, random: np.random.Generator) -> list[SelfPlay]:
        """What is played: here, battles of the two networks."""
        return [self._battles(self.networks, random)]

    def _battles(self, players: Players, random: np.random.Generator) -> SelfPlay:
        config = self.config
        games = BatchedGame(
            config.num_games, config.rules, observations=False, masks=None, **config.limits
        )
        return SelfPlay(games, players, self._precision, random, self._pool)

    def _with_progress_paid(self, play: SelfPlay, rollout: Rollout, progress: float) -> Rollout:
        """What was just played with progress paid; ``progress`` is how much of the run is over."""
        weight = self.config.shaping * max(0.0, 1 - 2 * progress)
        if weight == 0:
            return rollout
        gamma = self.config.ppo.gamma
        paid = progress_rewards(rollout.rows, play.games.rows, rollout.ended, gamma)
        return dataclasses.replace(rollout, rewards=rollout.rewards + weight * paid)

    def _batches(self, rollouts: list[Rollout]) -> dict[int, Batch]:
        """What each side learns from; a short rollout may ask one side only."""
        (rollout,) = rollouts
        ppo = self.config.ppo
        advantages = zero_sum_gae(*rollout.course, ppo.gamma, ppo.gae_lambda)
        return {
            side: role_batch(rollout, advantages, side)
            for side in range(len(SIDES))
            if (rollout.movers == side).any()
        }

    def _margins(self, rollouts: list[Rollout]) -> np.ndarray:
        """The margins of finished battles, to be shown."""
        return np.concatenate([rollout.final_margins for rollout in rollouts])

    def update(self) -> dict[str, float]:
        """One rollout and what both roles learn from it; its numbers."""
        config = self.config
        started = time.perf_counter()
        progress = min(1.0, self.decisions / config.total_decisions)
        rollouts = [
            self._with_progress_paid(play, play.collect(config.rollout_decisions), progress)
            for play in self._plays
        ]
        batches = self._batches(rollouts)
        played = time.perf_counter()
        learning = {
            side: self._pool.submit(self._learners[side].learn, batch, progress)
            for side, batch in batches.items()
        }
        learned = {side: work.result() for side, work in learning.items()}
        size = sum(rollout.actions.size for rollout in rollouts)
        self.decisions += size
        elapsed = time.perf_counter() - started
        metrics = {
            "speed/decisions_per_second": size / elapsed,
            "speed/self_play_share": (played - started) / elapsed,
            "speed/learning_share": 1 - (played - started) / elapsed,
        }
        margins = self._margins(rollouts)
        if len(margins):
            turns = np.concatenate([rollout.final_turns for rollout in rollouts])
            metrics["battles/finished"] = len(margins)
            metrics["battles/margin"] = float(margins.mean())
            metrics["battles/turns"] = float(turns.mean())
        for side, measured in learned.items():
            role = SIDES[side]
            for name, value in measured.items():
                metrics[f"{role}/{name}"] = value
            metrics[f"{role}/explained_variance"] = explained_share(batches[side])
        return metrics

    def close(self) -> None:
        """End the worker threads."""
        self._pool.shutdown()


def train(config: TrainConfig, console: Console, runs: Path = Path("runs")) -> RunFolder:
    """Train from scratch, then pit the policies against others."""
    console.print(
        f"training {config.name}: {get_ruleset(config.rules).title}, "
        f"{config.total_decisions:,} decisions on {available_cores()} cores",
        highlight=False,
        soft_wrap=True,
    )
    folder = learn(Trainer(config), runs / config.name, console)
    if config.evaluation_games:
        result = head_to_head(
            folder.latest, config.rules, config.evaluation_games, console, **config.limits
        )
        folder.write_json("head_to_head.json", result)
    return folder


def learn(trainer: Trainer, path: Path, console: Console) -> RunFolder:
    """The loop of a run, which is written to ``path``: updates until all decisions are played."""
    config = trainer.config
    started = time.monotonic()
    folder = RunFolder(path, config)
    if folder.moved_to is not None:
        console.print(f"an earlier run of that name is now {folder.moved_to}")
    console.print("compiling the rules, if this is the first time ...")
    updates = 0
    try:
        with Display(console, config.name, config.total_decisions) as display:
            while trainer.decisions < config.total_decisions:
                metrics = trainer.update()
                updates += 1
                folder.log(trainer.decisions, metrics)
                display.update(trainer.decisions, metrics)
                if updates % config.checkpoint_every == 0:
                    folder.checkpoint(trainer.decisions, trainer.networks)
        folder.checkpoint(trainer.decisions, trainer.networks)
    finally:
        trainer.close()
        folder.close()
    console.print(f"trained in {(time.monotonic() - started) / 60:.1f} minutes")
    for role in SIDES:
        console.print(f"  {role}: {folder.latest / role}", highlight=False, soft_wrap=True)
    return folder


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    if not words or words[0] in ("-h", "--help"):
        print(__doc__)
        return 0
    try:
        config = load_config(Path(words[0]), words[1:])
    except ConfigError as error:
        return fail("train", error)
    try:
        train(config, Console())
    except KeyboardInterrupt:
        print("stopped; the checkpoints written so far are kept", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
