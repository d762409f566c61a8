"""Self-play and learning in turns: the parts of a run, and what passes between them."""

from __future__ import annotations

import dataclasses
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

from agents.network import Network
from thud_env import BatchedGame
from thud_env.position import SIDES
from training.advantage import zero_sum_gae
from training.config import TrainConfig
from training.ppo import Batch, Learner
from training.precision import Precision
from training.rollout import Players, Rollout, SelfPlay
from training.shaping import progress_rewards
from training.state import State


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
        self.precision = Precision.named(config.precision)
        self.networks = (Network(config.network), Network(config.network))
        for network in self.networks:
            network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="role")
        self._plays = self._begin(np.random.default_rng(seeds[0]))
        self._learners = [
            Learner(network, config.ppo, self.precision, np.random.default_rng(seed))
            for network, seed in zip(self.networks, seeds[1:], strict=True)
        ]
        self.decisions = 0
        """Played so far, by both roles together."""
        self.updates = 0
        """Rollouts learnt from so far."""

    def _begin(self, random: np.random.Generator) -> list[SelfPlay]:
        """What is played: here, battles of the two networks."""
        return [self._battles(self.networks, random)]

    def _battles(self, players: Players, random: np.random.Generator) -> SelfPlay:
        config = self.config
        games = BatchedGame(
            config.num_games, config.rules, observations=False, masks=None, **config.limits
        )
        return SelfPlay(games, players, self.precision, random, self._pool)

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
        self.updates += 1
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

    def state(self) -> State:
        """All that the next update depends on."""
        counts = {"decisions": self.decisions, "updates": self.updates}
        parts: dict[str, State] = {"counts": State(values=counts)}
        for role, learner in zip(SIDES, self._learners, strict=True):
            parts[role] = learner.state()
        for number, play in enumerate(self._plays):
            parts[f"play{number}"] = play.state()
        return State.of_parts(parts)

    def restore(self, state: State) -> None:
        """Go on from a state of a run of the same configuration."""
        for role, learner in zip(SIDES, self._learners, strict=True):
            learner.restore(state.part(role))
        for number, play in enumerate(self._plays):
            play.restore(state.part(f"play{number}"))
        counts = state.part("counts").values
        self.decisions, self.updates = counts["decisions"], counts["updates"]

    def close(self) -> None:
        """End the worker threads."""
        self._pool.shutdown()
