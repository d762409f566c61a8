"""Advantages in a two-player zero-sum game whose sides do not strictly alternate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thud_env.compile import compiled


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

    What the next decision is worth counts negatively if the other side makes it, and as it
    is if the same side decides again: value and running advantage change sign exactly when
    the mover changes. A battle's end, by rule or by limit, is worth nothing beyond its
    rewards: the limits are part of the game and of what the players see.

    Args:
        rewards: [T, B] what each decision paid the dwarfs.
        values: [T, B] the mover's value of the state it decided in.
        movers: [T, B] who decided: 0 dwarfs, 1 trolls.
        ended: [T, B] whether the battle ended with the decision.
        last_values: [B] the next mover's value of the state after the last decision.
        last_movers: [B] who decides there.
        gamma: discount a decision.
        gae_lambda: lambda.

    Returns:
        [T, B] advantages; with ``values`` added, the targets of the value function.
    """
    out = np.empty_like(rewards)
    _advantages(rewards, values, movers, ended, last_values, last_movers, gamma, gae_lambda, out)
    return out
