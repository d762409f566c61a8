"""What each role learns from: its own decisions of a rollout, with their advantages."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from thud_env.outcome import SIDES
from training.config import SelfPlayConfig
from training.learner.advantage import gae
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


def batches_of(rollout: Rollout, config: SelfPlayConfig) -> tuple[Batch, Batch]:
    """The dwarfs' decisions and the trolls'; in a short rollout a side may have none."""
    advantages, known = gae(rollout, config.ppo.gamma, config.ppo.gae_lambda)
    returns = advantages + rollout.values
    played = (rollout.rows, rollout.actions, rollout.log_probs, advantages, returns)
    dwarfs, trolls = (known & (rollout.movers == side) for side in range(len(SIDES)))
    return Batch(*(one[dwarfs] for one in played)), Batch(*(one[trolls] for one in played))
