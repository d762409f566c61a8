"""What each role learns from: the decisions of a rollout that are its own, and their advantages."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.networks.legal_policy import NUM_POINTS
from thud_env.position import SIDES
from thud_env.rules.row import ROW_SIZE
from training.config import TrainConfig
from training.learner.advantage import learners_gae
from training.learner.targets import endings
from training.selfplay.rollout import Rollout


@dataclasses.dataclass(frozen=True)
class Batch:
    """N decisions of one role."""

    rows: NDArray[np.int16]
    """[N, 432] the states that were decided in."""
    actions: NDArray[np.int32]
    """[N] what was decided."""
    log_probs: NDArray[np.float32]
    """[N] the log-probability it was drawn with."""
    advantages: NDArray[np.float32]
    """[N] from the role's view."""
    returns: NDArray[np.float32]
    """[N] targets of the value function."""
    results: NDArray[np.int8] | None = None
    """[N] 0 lost, 1 drawn, 2 won, or ``UNKNOWN``; None if there is no head that learns it."""
    survival: NDArray[np.int8] | None = None
    """[N, 225] which pieces will survive (``targets.endings``); None as above."""

    def __getitem__(self, chosen: NDArray[np.int64]) -> Batch:
        arrays: Any = [getattr(self, field.name) for field in dataclasses.fields(self)]
        picked: Any = (None if array is None else array[chosen] for array in arrays)
        return Batch(*picked)

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
            np.zeros(0, np.int8),
            np.zeros((0, NUM_POINTS), np.int8),
        )

    @property
    def explained_variance(self) -> float:
        """The share of the returns' variance that the values predicted; 1 is all."""
        return float(1 - self.advantages.var() / (self.returns.var() + 1e-8))


def batches_of(rollout: Rollout, config: TrainConfig) -> dict[int, Batch]:
    """What each side learns from, by side; in a short rollout a side may not be asked at all."""
    advantages, known = learners_gae(rollout, config.ppo.gamma, config.ppo.gae_lambda)
    ends = None
    if config.network.result_head or config.network.survival_head:
        ends = endings(
            rollout.rows,
            rollout.last_rows,
            rollout.ended,
            rollout.final_rows,
            rollout.final_margins,
        )
    chosen = {side: known & (rollout.movers == side) for side in range(len(SIDES))}
    return {
        side: batch_of(rollout, advantages, mine, ends)
        for side, mine in chosen.items()
        if mine.any()
    }


def batch_of(
    rollout: Rollout,
    advantages: NDArray[np.float32],
    mine: NDArray[np.bool_],
    ends: tuple[NDArray[np.int8], NDArray[np.int8]] | None = None,
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
