"""Random play in a PettingZoo environment."""

from __future__ import annotations

import numpy as np
from pettingzoo import AECEnv


def play_randomly(
    env: AECEnv, rng: np.random.Generator, decisions: int | None = None
) -> dict[str, float]:
    """Play on until the game ends or ``decisions`` are played; the rewards seen."""
    paid = dict.fromkeys(env.possible_agents, 0.0)
    played = 0
    for _ in env.agent_iter():
        _, _, terminated, truncated, _ = env.last()
        if terminated or truncated:
            env.step(None)
            continue
        if played == decisions:
            break
        env.step(int(rng.choice(np.flatnonzero(env.action_masks()))))
        played += 1
        for name, reward in env.rewards.items():
            paid[name] += reward
    return paid
