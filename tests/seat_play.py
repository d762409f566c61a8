"""Playing in the Gymnasium environments, and comparing what came back."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from thud_env import Position

BESIDE_TWO_DWARFS = "1d1d1/7/4T4/11/13/15/15/7R7/15/15/13/11/9/7/5 t - 0 0"
TROLL_LOST = Position.start().play("dE2-E6").play("TG7-F6")
"""Greedy dwarfs, who are to move, capture a troll."""


def first_legal(position: Position) -> int:
    """The legal action with the lowest number."""
    return int(position.legal_actions()[0])


def play_randomly(
    env: gymnasium.Env[Any, Any], seed: int, decisions: int = 10_000
) -> tuple[list[Any], bool]:
    """Decide at random; everything that came back, and whether the battle is over."""
    rng = np.random.default_rng(seed)
    seen = []
    for _ in range(decisions):
        legal = np.flatnonzero(env.unwrapped.action_masks())
        observation, reward, terminated, truncated, info = env.step(int(rng.choice(legal)))
        seen.append((observation, reward, terminated, truncated, info))
        if terminated or truncated:
            return seen, True
    return seen, False


def assert_same(one: Any, other: Any) -> None:
    """Equal all through, arrays included."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        if one.dtype == object:
            assert_same(list(one), list(other))
            return
        np.testing.assert_array_equal(one, other, strict=True)
    else:
        assert one == other


def some_legal(masks: NDArray[np.int8], rng: np.random.Generator) -> NDArray[np.int64]:
    """A legal action for each mask, 0 where there is none."""
    return np.array([rng.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in masks])
