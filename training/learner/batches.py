"""What each role learns from: its own decisions of a rollout, with their advantages."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from thud_env.position import SIDES
from thud_env.rules.row import ROW_SIZE
from training.config import TrainConfig
from training.learner.advantage import learners_gae
from training.learner.shaping import progress_rewards
from training.selfplay.rollout import Rollout


@dataclasses.dataclass(frozen=True)
class Batch:
    """N decisions of one role, in arrays of NumPy or, on a GPU, in tensors."""

    rows: Any
    """[N, 432] int16, the states that were decided in."""
    actions: Any
    """[N] int32, what was decided."""
    log_probs: Any
    """[N] float32, the log-probability it was drawn with."""
    advantages: Any
    """[N] float32, from the role's view."""
    returns: Any
    """[N] float32, targets of the value function."""

    def __getitem__(self, chosen: Any) -> Batch:
        return Batch(*(one[chosen] for one in vars(self).values()))

    def to(self, device: str) -> Batch:
        """The same in tensors on a device."""
        return Batch(*(torch.from_numpy(one).to(device) for one in vars(self).values()))

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
