"""What the Gymnasium environments for one seat and for many have in common."""

from __future__ import annotations

from typing import Any, Literal

import gymnasium

from thud_env.actions import NUM_ACTIONS, as_index
from thud_env.envs.base import BoardEnv
from thud_env.position import SIDES, IllegalMove

Seat = Literal["dwarfs", "trolls", "both", "random"]
SEATS: tuple[Seat, ...] = (*SIDES, "both", "random")
OBSERVATION_KINDS = ("planes", "dict")
ILLEGAL_ACTIONS = ("lose", "raise")
ILLEGAL_REWARD = -1.0
"""What an illegal action is paid where it loses: as much as the lowest margin there is."""
ILLEGAL_TERMINATION = "illegal_action"
"""``info["termination"]`` then."""


def one_of(name: str, value: Any, allowed: tuple[Any, ...]) -> Any:
    """``value``, if it is allowed.

    Raises:
        ValueError: if it is not, naming what would be right.
    """
    if value not in allowed:
        *others, last = map(repr, allowed)
        right = f"{', '.join(others)} or {last}" if others else last
        raise ValueError(f"unknown {name} {value!r}: {right} would be right")
    return value


def seat_observation_space(game: BoardEnv, kind: str) -> gymnasium.spaces.Space[Any]:
    """The space of one seat's observation, planes alone or a dictionary with the mask."""
    space = game.observation_space(game.possible_agents[0])
    return space if kind == "dict" else space["observation"]


def action_index(action: Any) -> int:
    """An action as an int in 0 .. 6469.

    Raises:
        TypeError: if it is not one integer.
        IllegalMove: if it is out of range.
    """
    index = as_index(action)
    if not 0 <= index < NUM_ACTIONS:
        raise IllegalMove(f"action {index} is out of range: actions are 0 to {NUM_ACTIONS - 1}")
    return index
