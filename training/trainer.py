"""Self-play and learning in turns: the parts of a run, and what passes between them."""

from __future__ import annotations

import dataclasses
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch

from agents.networks.checkpoint import CheckpointError, load_policy, policy_folder
from agents.networks.network import Network, NetworkConfig
from thud_env.position import SIDES
from thud_env.rulesets import get_ruleset
from training.arena.battles import STRIKES
from training.config import ConfigError, TrainConfig
from training.learner.advantage import learners_gae
from training.learner.losses import Batch
from training.learner.ppo import Learner
from training.learner.shaping import progress_rewards
from training.learner.targets import endings
from training.process.clock import Clock
from training.process.precision import Precision, device_named
from training.process.ranks import Ranks
from training.process.state import State
from training.selfplay.opponents import MIRROR, Opponents, seat
from training.selfplay.rollout import Play, Rollout, SelfPlay
from training.selfplay.snapshots import write_snapshot


def chosen_batch(
    rollout: Rollout,
    advantages: np.ndarray,
    mine: np.ndarray,
    ends: tuple[np.ndarray, np.ndarray] | None = None,
) -> Batch:
    """The decisions of a rollout where ``mine``, [T, B], says so; ``ends`` are its ``endings``."""
    return Batch(
        rollout.rows[mine],
        rollout.actions[mine],
        rollout.log_probs[mine],
        advantages[mine],
        (advantages + rollout.values)[mine],
        *(() if ends is None else (end[mine] for end in ends)),
    )


def explained_variance(batch: Batch) -> float:
    """The share of the returns' variance that a role's values predicted; 1 is all."""
    return float(1 - batch.advantages.var() / (batch.returns.var() + 1e-8))


def two_networks(config: NetworkConfig) -> tuple[Network, Network]:
    """The dwarfs' and the trolls', which may share their trunk."""
    dwarfs = Network(config)
    return dwarfs, Network(config, dwarfs if config.trunk == "shared" else None)


def start_from(folder: str, networks: tuple[Network, Network]) -> None:
    """Give both networks the weights of a policy.

    Raises:
        ConfigError: if there is none of each role, it is damaged or of another size.
    """
    for role, network in zip(SIDES, networks, strict=True):
        path = policy_folder(folder) / role
        try:
            found = load_policy(path).network
        except CheckpointError as error:
            raise ConfigError(f"start_from: {error}") from None
        if found.config != network.config:
            raise ConfigError(
                f"start_from: {path} is a {found.config}, the run is to have a {network.config}"
            )
        network.load_state_dict(found.state_dict())


REST_ROLLOUTS = 4
"""A role that is too far ahead learns from one rollout in so many."""
RECENT = 0.2
"""How much an update counts in the running mean of the lead."""


class Trainer:
    """A run: self-play and learning in turns.

    Args:
        config: what to train.
        folder: the run's, in which frozen snapshots are kept; needed if there are to be any.
        ranks: the processes of the run.
    """

    actors = 0
    """How many processes play for this one."""

    def __init__(
        self, config: TrainConfig, folder: Path | None = None, ranks: Ranks | None = None
    ) -> None:
        self.config = config
        self.ranks = ranks or Ranks()
        # Each role's network runs in a thread of its own: that beats sharing every operation.
        torch.set_num_threads(1)
        for_play, *for_roles, for_opponents = np.random.SeedSequence(config.seed).spawn(4)
        torch.manual_seed(config.seed)
        self.precision = Precision.named(config.precision, device_named(config.device))
        self.networks = two_networks(config.network)
        if config.start_from:
            start_from(config.start_from, self.networks)
        for network in self.networks:
            network.to(self.precision.device)
            network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.pool = ThreadPoolExecutor(2, thread_name_prefix="role")
        """A worker for each role."""
        self._clock = Clock()
        self._snapshots = folder / "pool" if folder else None
        self._play = self._players(for_play, for_opponents)
        of_side = dict(enumerate(self.networks))
        self._learners = [
            Learner(
                networks, config.ppo, self.precision, np.random.default_rng(seed), self._clock,
                self.ranks.channel(),
            )
            for networks, seed in zip(
                [of_side]
                if config.network.trunk == "shared"
                else [{side: one} for side, one in of_side.items()],
                for_roles,
                strict=False,
            )
        ]  # fmt: skip
        self.decisions = 0
        """Played so far, by both roles together."""
        self.updates = 0
        """Rollouts played so far."""
        self.lead = 0.0
        """How far the dwarfs are ahead in mirror play of late, -1 .. 1, as a share of the largest
        margin."""

    def _players(
        self, for_play: np.random.SeedSequence, for_opponents: np.random.SeedSequence
    ) -> Play:
        """Who plays the battles."""
        return SelfPlay.of(
            self.config, self.networks, self._seat(self.ranks.mine(for_opponents)), self.precision,
            self.ranks.mine(for_play), self.pool, self._clock,
        )  # fmt: skip

    def _seat(self, seed: np.random.SeedSequence) -> Opponents:
        """Who is met."""
        games = self.config.num_games // self.ranks.size
        return seat(self.config, games, self._snapshots, self.precision, seed)

    def _with_progress_paid(self, rollout: Rollout, progress: float) -> Rollout:
        """What was just played with progress paid; ``progress`` is how much of the run is over."""
        weight = self.config.shaping * max(0.0, 1 - 2 * progress)
        if weight == 0:
            return rollout
        gamma = self.config.ppo.gamma
        paid = progress_rewards(rollout.rows, rollout.last_rows, rollout.ended, gamma)
        return dataclasses.replace(rollout, rewards=rollout.rewards + weight * paid)

    def _batches(self, rollout: Rollout) -> dict[int, Batch]:
        """What each side learns from; a short rollout may ask one side only."""
        ppo = self.config.ppo
        advantages, known = learners_gae(rollout.course, rollout.frozen, ppo.gamma, ppo.gae_lambda)
        chosen = {side: known & (rollout.movers == side) for side in range(len(SIDES))}
        network = self.config.network
        ends = None
        if network.result_head or network.survival_head:
            ends = endings(
                rollout.rows, rollout.last_rows, rollout.ended, rollout.final_rows,
                rollout.final_margins,
            )  # fmt: skip
        return {
            side: chosen_batch(rollout, advantages, mine, ends)
            for side, mine in chosen.items()
            if mine.any()
        }

    def _resting(self) -> list[int]:
        """The side, if any, that skips this rollout so that the other catches up."""
        pace = self.config.opponents.pace
        if pace is None or abs(self.lead) <= pace or self.updates % REST_ROLLOUTS == 0:
            return []
        return [0 if self.lead > 0 else 1]

    def _follow_lead(self, rollout: Rollout) -> None:
        """Let ``lead`` follow the mirror battles that have just ended."""
        margins = rollout.final_margins[rollout.frozen[rollout.final_games] == MIRROR]
        total, count = self.ranks.total(np.array([margins.sum(), len(margins)]))
        if count:
            lead = float(total / count) / get_ruleset(self.config.rules).largest_margin
            self.lead += RECENT * (lead - self.lead)

    def _freeze(self, before: float, after: float) -> None:
        """Take snapshots where ``snapshots`` equal parts of the run end, and draw anew now and
        then.
        """
        wanted = self.config.opponents
        if not wanted.frozen or self._snapshots is None:
            return
        if int(after * wanted.snapshots) > int(before * wanted.snapshots):
            if self.ranks.rank == 0:
                write_snapshot(self._snapshots, self.networks, self.config.rules, self.decisions)
            self.ranks.wait()
            self._play.add_snapshots(self.decisions)
        if self.updates % wanted.redraw_every == 0:
            self._play.redraw()

    def update(self) -> dict[str, float]:
        """One rollout and what both roles learn from it; its numbers."""
        config = self.config
        started = time.perf_counter()
        progress = min(1.0, self.decisions / config.total_decisions)
        rollout = self._with_progress_paid(self._play.collect(config.rollout_decisions), progress)
        batches = self._batches(rollout)
        self._follow_lead(rollout)
        for side in self._resting():
            batches.pop(side, None)
        learning = [
            self.pool.submit(learner.learn, batches, progress) for learner in self._learners
        ]
        learned = {side: measured for work in learning for side, measured in work.result().items()}
        played = int(self.ranks.total(rollout.actions.size)[0])
        self.decisions += played
        self.updates += 1
        self._freeze(progress, min(1.0, self.decisions / config.total_decisions))
        seconds = self._clock.take()
        metrics = {
            "speed/decisions_per_second": played / (time.perf_counter() - started),
            **{f"speed/{part}": spent / sum(seconds.values()) for part, spent in seconds.items()},
            **_battles(rollout, config.rules),
        }
        for side, measured in learned.items():
            role = SIDES[side]
            for name, value in measured.items():
                metrics[f"{role}/{name}"] = value
            if side in batches:
                metrics[f"{role}/explained_variance"] = explained_variance(batches[side])
        return metrics

    def state(self) -> State:
        """All that the next update depends on."""
        counts = {"decisions": self.decisions, "updates": self.updates, "lead": self.lead}
        parts: dict[str, State] = {"counts": State(values=counts), "play": self._play.state()}
        for number, learner in enumerate(self._learners):
            parts[f"learner{number}"] = learner.state()
        return State.of_parts(parts)

    def restore(self, state: State) -> None:
        """Go on from a state of a run of the same configuration."""
        for number, learner in enumerate(self._learners):
            learner.restore(state.part(f"learner{number}"))
        self._play.restore(state.part("play"))
        counts = state.part("counts").values
        self.decisions, self.updates = counts["decisions"], counts["updates"]
        self.lead = counts["lead"]

    def close(self) -> None:
        """End the worker threads."""
        self.pool.shutdown()


def _battles(rollout: Rollout, rules: str) -> dict[str, float]:
    """How battles went: the mirror ones, and those of each role against others."""
    margins, turns = rollout.final_margins, rollout.final_turns
    seats = rollout.frozen[rollout.final_games]
    metrics: dict[str, float] = {}
    mirror = seats == MIRROR
    if mirror.any():
        finished = int(mirror.sum())
        metrics["battles/finished"] = finished
        metrics["battles/margin"] = float(margins[mirror].mean())
        metrics["battles/turns"] = float(turns[mirror].mean())
        for striker, name in STRIKES[rules].items():
            struck = rollout.strikes[SIDES.index(striker)][rollout.frozen == MIRROR].sum()
            metrics[f"battles/{name}"] = float(struck / finished)
    for side, role in enumerate(SIDES):
        met = seats == 1 - side
        if met.any():
            margin = float(margins[met].mean())
            metrics[f"{role}/margin_against_opponents"] = margin if side == 0 else -margin
    return metrics
