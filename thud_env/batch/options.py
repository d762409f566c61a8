"""The options that a batch and the environments share, as they are named and read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from thud_env.arguments import as_array, as_count, one_of, shown
from thud_env.batch.cpu import CpuDevice
from thud_env.errors import ThudError
from thud_env.rulesets import Reward, Ruleset

if TYPE_CHECKING:
    from thud_env.batch.cuda import CudaDevice

AutoresetName = Literal["NextStep", "SameStep", "Disabled"]
"""The values of Gymnasium's ``AutoresetMode``."""
Games = Sequence[int] | Sequence[bool] | NDArray[Any]
"""Some of B games: their numbers, [N] integers, or [B] bool."""
Device = Literal["cpu", "cuda"]


def read_reward(reward: Reward | None, ruleset: Ruleset) -> Reward:
    """How rewards are paid; ``None`` means as the ruleset scores.

    Raises:
        ThudError: if ``reward`` is neither, or the ruleset has no margins.
    """
    kind = ruleset.reward if reward is None else one_of("reward", reward, get_args(Reward))
    if kind == "margin" and ruleset.reward == "outcome":
        raise ThudError(f"{ruleset.name} is won or lost: it has reward='outcome' only")
    return kind


def read_autoreset_mode(mode: AutoresetMode | AutoresetName) -> AutoresetMode:
    """An autoreset mode by Gymnasium's enumeration or its value.

    Raises:
        ThudError: if there is no such mode.
    """
    if isinstance(mode, AutoresetMode):
        return mode
    return AutoresetMode(one_of("autoreset_mode", mode, get_args(AutoresetName)))


def make_device(name: Device, num_games: int, num_threads: int | None) -> CpuDevice | CudaDevice:
    """The device that a batch's arrays lie on; both have the same methods."""
    if one_of("device", name, get_args(Device)) == "cpu":
        return CpuDevice(num_games, num_threads)
    from thud_env.batch.cuda import CudaDevice

    return CudaDevice(num_games)


def read_buffers(buffers: Any) -> dict[str, Any]:
    """The caller's arrays by attribute name, none for None.

    Raises:
        ThudError: if they are not by name, or two of NumPy's lie in the same memory.
    """
    if buffers is None:
        return {}
    if not isinstance(buffers, Mapping):
        raise ThudError(f"buffers {shown(buffers)}: arrays by attribute name would be right")
    arrays = [(name, array) for name, array in buffers.items() if isinstance(array, np.ndarray)]
    for (one, first), (other, second) in combinations(arrays, 2):
        if np.shares_memory(first, second):
            raise ThudError(f"buffers {one!r} and {other!r} share memory: each needs its own")
    return dict(buffers)


def read_game(game: Any, num_games: int) -> int:
    """The number of one game.

    Raises:
        ThudError: if it is not an integer in 0 .. num_games - 1.
    """
    return as_count("the number of a game", game, least=0, most=num_games - 1)


def read_games(games: Any, num_games: int) -> NDArray[np.int64]:
    """The numbers of the chosen games, [N] int64, in the order given.

    Args:
        games: their numbers, [N] integers, or [num_games] bool.
        num_games: how many there are.

    Raises:
        ThudError: if it is neither, a number is not in 0 .. num_games - 1, or there twice.
    """
    array = as_array("games", games)
    if array.dtype == np.bool_ and array.shape == (num_games,):
        return np.flatnonzero(array)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise ThudError(
            f"games are {array.dtype} of shape {array.shape}: numbers of games, [N] integers, "
            f"or [{num_games}] bool would be right"
        )
    outside = array[(array < 0) | (array >= num_games)]
    if len(outside):
        raise ThudError(f"there is no game {outside[0]}: 0 .. {num_games - 1} are played")
    chosen = array.astype(np.int64)
    numbers, counts = np.unique(chosen, return_counts=True)
    if len(numbers) < len(chosen):
        raise ThudError(f"game {numbers[counts > 1][0]} is there twice: once would be right")
    return chosen
