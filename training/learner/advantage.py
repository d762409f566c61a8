"""Advantages in a two-player zero-sum game whose sides do not strictly alternate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thud_env.jit.compile import compiled
from training.selfplay.rollout import MIRROR, Rollout


@compiled
def _advantages(rewards, values, movers, ended, last_values, last_movers, gamma, lam, out):
    steps, games = rewards.shape
    for game in range(games):
        advantage = 0.0
        next_value = last_values[game]
        next_mover = last_movers[game]
        for t in range(steps - 1, -1, -1):
            mover = movers[t, game]
            if ended[t, game]:
                next_value = 0.0
                advantage = 0.0
            elif next_mover != mover:
                next_value = -next_value
                advantage = -advantage
            reward = rewards[t, game] if mover == 0 else -rewards[t, game]
            error = reward + gamma * next_value - values[t, game]
            advantage = error + gamma * lam * advantage
            out[t, game] = advantage
            next_value = values[t, game]
            next_mover = mover


def zero_sum_gae(
    rewards: NDArray[np.float32],
    values: NDArray[np.float32],
    movers: NDArray[np.int8],
    ended: NDArray[np.bool_],
    last_values: NDArray[np.float32],
    last_movers: NDArray[np.int8],
    gamma: float,
    gae_lambda: float,
) -> NDArray[np.float32]:
    """Generalised advantage estimation (Schulman et al. 2016, equation 16), each decision's
    from its mover's view.

    The value of the next decision counts negatively if the other side makes it, and unchanged
    if the same side decides again: value and running advantage change sign exactly when
    the mover changes. A battle's end, by rule or by limit, is worth nothing beyond its
    rewards: the players see how near the limits are (Pardo et al. 2018, "time-aware" agents).

    Args:
        rewards: [T, B] what each decision paid the dwarfs.
        values: [T, B] the mover's value of the state it decided in.
        movers: [T, B] who decided: 0 dwarfs, 1 trolls.
        ended: [T, B] whether the battle ended with the decision.
        last_values: [B] the next mover's value of the state after the last decision.
        last_movers: [B] who decides there.
        gamma: discount a decision.
        gae_lambda: lambda, for each decision.

    Returns:
        [T, B] advantages; with ``values`` added, the targets of the value function.
    """
    out = np.empty_like(rewards)
    _advantages(rewards, values, movers, ended, last_values, last_movers, gamma, gae_lambda, out)
    return out


@compiled
def _one_sided(
    rewards, values, movers, ended, last_values, last_movers, side, gamma, lam, out, known
):
    steps, games = rewards.shape
    for game in range(games):
        advantage = 0.0
        paid = 0.0
        next_value = last_values[game]
        goes_on = last_movers[game] == side
        for t in range(steps - 1, -1, -1):
            if ended[t, game]:
                advantage = 0.0
                paid = 0.0
                next_value = 0.0
                goes_on = True
            reward = rewards[t, game] if side == 0 else -rewards[t, game]
            paid = reward + gamma * paid
            next_value *= gamma
            advantage *= gamma
            if movers[t, game] != side:
                continue
            known[t, game] = goes_on
            if goes_on:
                error = paid + next_value - values[t, game]
                advantage = error + lam * advantage
                out[t, game] = advantage
            paid = 0.0
            next_value = values[t, game]
            goes_on = True


def one_sided_gae(
    rewards: NDArray[np.float32],
    values: NDArray[np.float32],
    movers: NDArray[np.int8],
    ended: NDArray[np.bool_],
    last_values: NDArray[np.float32],
    last_movers: NDArray[np.int8],
    gamma: float,
    gae_lambda: float,
    side: int,
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Generalised advantage estimation for one side, to which the other is part of the world:
    what the other side's decisions pay counts to the learner's decision before them.

    A learner's last decision in a battle may have no successor yet: the other side is still to
    decide when the rollout ends, and values of such states are not learned. It is left out.

    Args:
        rewards, values, movers, ended, last_values, last_movers: as in ``zero_sum_gae``; values
            where the other side decides are not read.
        gamma: discount a decision, of either side: so rewards for progress (``shaping.py``) add
            up to the same whatever is played.
        gae_lambda: lambda, for each decision of the learner: the values between are not known.
        side: the learner: 0 dwarfs, 1 trolls.

    Returns:
        [T, B] advantages, and [T, B] where they are known: at the learner's decisions, less
        those left out.
    """
    out = np.zeros_like(rewards)
    known = np.zeros(rewards.shape, dtype=np.bool_)
    _one_sided(
        rewards,
        values,
        movers,
        ended,
        last_values,
        last_movers,
        side,
        gamma,
        gae_lambda,
        out,
        known,
    )
    return out, known


def _of_games(array: Any, games: NDArray[np.int64]) -> Any:
    return np.ascontiguousarray(array[..., games])


def learners_gae(
    rollout: Rollout, gamma: float, gae_lambda: float
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Advantages of the learners' decisions: zero-sum where both sides learn, one-sided where an
    opponent plays the other.

    Returns:
        [T, B] advantages, and [T, B] where there is one: never at an opponent's decision.
    """
    advantages = np.zeros_like(rollout.rewards)
    known = np.zeros(advantages.shape, dtype=np.bool_)
    for opponent in np.unique(rollout.opponent_sides):
        games = np.flatnonzero(rollout.opponent_sides == opponent)
        part = (
            _of_games(rollout.rewards, games),
            _of_games(rollout.values, games),
            _of_games(rollout.movers, games),
            _of_games(rollout.ended, games),
            _of_games(rollout.last_values, games),
            _of_games(rollout.last_movers, games),
        )
        if opponent == MIRROR:
            advantages[:, games] = zero_sum_gae(*part, gamma, gae_lambda)
            known[:, games] = True
        else:
            learner = 1 - int(opponent)
            found = one_sided_gae(*part, gamma, gae_lambda, learner)
            advantages[:, games], known[:, games] = found
    return advantages, known
