"""What each role learns from: its own decisions of a rollout, with their advantages."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from thud_env.position import SIDES
from thud_env.rules.row import ROW_SIZE
from training.config import TrainConfig
from training.learner.advantage import learners_gae
from training.learner.shaping import progress_rewards
from training.selfplay.rollout import Rollout


@dataclasses.dataclass(frozen=True)
class Batch:
    """N decisions of one role."""

    rows: NDArray[np.int16] | Tensor
    """[N, 432] int16, the states that were decided in."""
    actions: NDArray[np.int32]
    """[N] what was decided."""
    log_probs: NDArray[np.float32]
    """[N] the log-probability it was drawn with."""
    advantages: NDArray[np.float32]
    """[N] from the role's view."""
    returns: NDArray[np.float32]
    """[N] targets of the value function."""

    def __getitem__(self, chosen: NDArray[np.int64]) -> Batch:
        return Batch(*(getattr(self, field.name)[chosen] for field in dataclasses.fields(self)))

    @classmethod
    def empty(cls) -> Batch:
        """No decisions."""
        none = np.zeros(0, dtype=np.float32)
        return cls(
            np.zeros((0, ROW_SIZE), np.int16),
            np.zeros(0, np.int32),
            none,
            none,
            none,
        )


def with_progress_paid(rollout: Rollout, config: TrainConfig, progress: float) -> Rollout:
    """Add rewards for progress (``shaping.py``), less and less until half of the run is done."""
    weight = config.shaping * max(0.0, 1 - 2 * progress)
    if weight == 0:
        return rollout
    paid = progress_rewards(rollout.rows, rollout.last_rows, rollout.ended, config.ppo.gamma)
    return dataclasses.replace(rollout, rewards=rollout.rewards + weight * paid)


def batches_of(rollout: Rollout, config: TrainConfig) -> dict[int, Batch]:
    """The batch of each side; in a short rollout a side may have none."""
    advantages, known = learners_gae(rollout, config.ppo.gamma, config.ppo.gae_lambda)
    chosen = {side: known & (rollout.movers == side) for side in range(len(SIDES))}
    return {
        side: batch_of(rollout, advantages, mine) for side, mine in chosen.items() if mine.any()
    }


def batch_of(
    rollout: Rollout,
    advantages: NDArray[np.float32],
    mine: NDArray[np.bool_],
) -> Batch:
    """The decisions of a rollout where ``mine``, [T, B] bool, is set."""
    return Batch(
        rollout.rows[mine],
        rollout.actions[mine],
        rollout.log_probs[mine],
        advantages[mine],
        (advantages + rollout.values)[mine],
    )
