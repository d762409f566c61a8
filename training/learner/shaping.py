"""Rewards for progress in the games that pay their result alone (Ng, Harada and Russell 1999).

A potential of the state is paid by its differences, gamma x after - before, and is 0 once the
battle is over: with one weight, over a battle that adds up to nothing that depends on how it was
played, so what is best stays best, but a good decision is felt at once. The weight falls from
update to update, to 0 halfway through a run (compare Bansal et al. 2018), so that the values that
are learnt in the end are of the result. So a battle of several rollouts keeps a little: with the
weights of configs/koom-valley.yaml, in random battles, 0.005 of a win (standard deviation).
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from thud_env.board import SIZE, STRIDE
from thud_env.rules.row import (
    NUM_DWARFS,
    NUM_TROLLS,
    ROW_SIZE,
    STONE_CELL,
    TROLL_CELLS,
    ruleset_of,
)
from thud_env.rulesets import MAX_TROLLS
from training.config import SelfPlayConfig
from training.selfplay.rollout import Rollout

_FAR = 7
"""Squares from which a troll counts as far from the stone."""


def with_shaping(rollout: Rollout, config: SelfPlayConfig, done: float) -> Rollout:
    """Add the rewards for progress, less and less until half of the run is done.

    Args:
        rollout: what was played.
        config: of the run.
        done: how much of the run is done, 0 .. 1.
    """
    weight = config.shaping * max(0.0, 1 - 2 * done)
    if weight == 0:
        return rollout
    paid = shaping_rewards(rollout.rows, rollout.last_rows, rollout.ended, config.ppo.gamma)
    return dataclasses.replace(rollout, rewards=rollout.rewards + weight * paid)


def potential(rows: NDArray[np.int16]) -> NDArray[np.float32]:
    """How well a battle of Koom Valley stands for the dwarfs, in -2.25 .. 2.25.

    The sum of who has lost more of what was there, in -1 .. 1, of how far the Rock or ball is
    towards row 1, in -1 .. 1, and of how far off the three nearest trolls are, in -1/4 .. 1/4:
    the trolls begin between the Rock and its goal, so that the way there must pay more than
    keeping away from them.

    Args:
        rows: [..., 432] state rows of one ruleset.
    """
    stone_y, stone_x = np.divmod(rows[..., STONE_CELL], STRIDE)
    middle = SIZE // 2
    advanced = (middle + 1 - stone_y) / middle  # cells have a border above row 1
    start = ruleset_of(rows.reshape(-1, ROW_SIZE)[0])
    pieces = rows[..., NUM_DWARFS] / len(start.dwarfs) - rows[..., NUM_TROLLS] / len(start.trolls)
    trolls = rows[..., TROLL_CELLS : TROLL_CELLS + MAX_TROLLS]
    y, x = np.divmod(trolls, STRIDE)
    squares = np.maximum(abs(y - stone_y[..., None]), abs(x - stone_x[..., None]))
    squares = np.where(trolls < 0, _FAR, np.minimum(squares, _FAR))
    distance = 2 * np.sort(squares, axis=-1)[..., :3].mean(axis=-1) / _FAR - 1
    return (pieces + advanced + distance / 4).astype(np.float32)


def shaping_rewards(
    rows: NDArray[np.int16], last_rows: NDArray[np.int16], ended: NDArray[np.bool_], gamma: float
) -> NDArray[np.float32]:
    """The reward of each decision of a rollout for progress, [T, B], from the dwarfs' view.

    Args:
        rows: [T, B, 432] the states that were decided in.
        last_rows: [B, 432] the states after the last decisions.
        ended: [T, B] whether the battle ended with the decision.
        gamma: the discount a decision.
    """
    standing = potential(np.concatenate((rows, last_rows[None])))
    after = np.where(ended, np.float32(0), standing[1:])
    return (gamma * after - standing[:-1]).astype(np.float32)
