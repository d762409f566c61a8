"""Advantages in a two-player zero-sum game whose sides do not strictly alternate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thud_env.jit.compile import compiled
from training.selfplay.rollout import MIRROR, Rollout


@compiled
def _zero_sum(rewards, values, movers, ended, next_value, next_mover, gamma, lam, out):
    """One battle of two learners, [T] each: signs change exactly where the mover does."""
    advantage = 0.0
    for t in range(rewards.shape[0] - 1, -1, -1):
        mover = movers[t]
        if ended[t]:
            next_value = 0.0
            advantage = 0.0
        elif next_mover != mover:
            next_value = -next_value
            advantage = -advantage
        reward = rewards[t] if mover == 0 else -rewards[t]
        error = reward + gamma * next_value - values[t]
        advantage = error + gamma * lam * advantage
        out[t] = advantage
        next_value = values[t]
        next_mover = mover


@compiled
def _one_sided(
    rewards, values, movers, ended, next_value, next_mover, gamma, lam, out, side, known
):
    """One battle of a learner of one side, [T] each: what the other does is paid or discounted
    between two decisions of its own.
    """
    advantage = 0.0
    paid = 0.0
    goes_on = next_mover == side
    for t in range(rewards.shape[0] - 1, -1, -1):
        if ended[t]:
            advantage = 0.0
            paid = 0.0
            next_value = 0.0
            goes_on = True
        reward = rewards[t] if side == 0 else -rewards[t]
        paid = reward + gamma * paid
        next_value *= gamma
        advantage *= gamma
        if movers[t] != side:
            continue
        known[t] = goes_on
        if goes_on:
            error = paid + next_value - values[t]
            advantage = error + lam * advantage
            out[t] = advantage
        paid = 0.0
        next_value = values[t]
        goes_on = True


@compiled
def _gae(
    rewards, values, movers, ended, last_values, last_movers, opponents, gamma, lam, out, known
):
    for game in range(rewards.shape[1]):
        battle = rewards[:, game], values[:, game], movers[:, game], ended[:, game]
        after = last_values[game], last_movers[game]
        if opponents[game] == MIRROR:
            known[:, game] = True
            _zero_sum(*battle, *after, gamma, lam, out[:, game])
        else:
            side = 1 - opponents[game]
            _one_sided(*battle, *after, gamma, lam, out[:, game], side, known[:, game])


def gae(
    rollout: Rollout, gamma: float, gae_lambda: float
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Generalised advantage estimation (Schulman et al. 2016, equation 16), each decision's
    from its mover's view.

    Where both sides learn, the value of the next decision counts negatively if the other side
    makes it, and unchanged if the same side decides again: value and running advantage change sign
    exactly when the mover changes.

    To a learner that meets an opponent, that is part of the world: what its decisions pay counts to
    the learner's decision before them, and their values are not read. The learner's last decision
    in a battle may have no successor yet, if the opponent is to decide when the rollout ends: it is
    left out.

    A battle's end, by rule or by limit, is worth nothing beyond its rewards: the players see how
    near the limits are (Pardo et al. 2018, "time-aware" agents).

    Args:
        rollout: what was played.
        gamma: discount a decision, of either side: so rewards for progress (``shaping.py``) add
            up to the same whatever is played.
        gae_lambda: lambda, for each decision of a learner.

    Returns:
        [T, B] advantages; with the rollout's values added, the targets of the value function. And
        [T, B] where they are known: at learners' decisions, less those left out.
    """
    advantages = np.zeros_like(rollout.rewards)
    known = np.zeros(advantages.shape, dtype=np.bool_)
    _gae(
        rollout.rewards,
        rollout.values,
        rollout.movers,
        rollout.ended,
        rollout.last_values,
        rollout.last_movers,
        rollout.opponent_sides,
        gamma,
        gae_lambda,
        advantages,
        known,
    )
    return advantages, known
