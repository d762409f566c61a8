"""Terms that all environments share: what is seen, and what an illegal action does."""

from __future__ import annotations

from typing import Any, Literal, get_args

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from thud_env.actions import NUM_ACTIONS
from thud_env.arguments import one_of
from thud_env.rules.row import LIMITS
from thud_env.views.encoding import OBSERVATION_SHAPE

Observation = dict[str, NDArray[Any]]
"""What ``observation="dict"`` gives: ``observation``, [C, 15, 15] float32, and ``action_mask``,
[6470] int8; of a vector environment [B, C, 15, 15] and [B, 6470].
"""
IllegalAction = Literal["lose", "raise"]
IdleMask = Literal["zeros", "ones"]
Seat = Literal["dwarfs", "trolls", "both", "random"]
"""Where the learner sits."""
ObservationKind = Literal["planes", "dict"]
"""Planes alone, with the mask in the infos, or a dictionary of them and the action mask."""

ILLEGAL_ACTION = -1
"""``termination`` in infos where an illegal action has lost; every other is a ``Termination``."""
ILLEGAL_REWARD = -1.0
"""The reward of an illegal action that loses, in a match too."""

HINTS = {
    "seed": "reset(seed=...) takes it",
    "max_cycles": "max_turns=... cuts a battle after so many turns",
}
"""What to say of keywords that other environments take."""


GIVEN_WHEN_MADE = (*LIMITS, "observation", "reward", "idle_mask", "illegal_action")
"""The arguments of all environments that are no attributes."""


def check_was_reset(env: Any, method: str) -> None:
    """Refuse a method of a PettingZoo environment before its first reset.

    Raises:
        ResetNeeded: naming the method.
    """
    if not hasattr(env, "rewards"):
        raise ResetNeeded(f"call reset() before {method}(): nothing is being played")


def is_lost_by(illegal_action: IllegalAction) -> bool:
    """Whether an illegal action loses.

    Raises:
        ThudError: for any other value.
    """
    return one_of("illegal_action", illegal_action, get_args(IllegalAction)) == "lose"


def idle_value(idle_mask: IdleMask) -> int:
    """What the mask of one who has nothing to decide is filled with, 0 or 1.

    Raises:
        ThudError: for any other value.
    """
    return int(one_of("idle_mask", idle_mask, get_args(IdleMask)) == "ones")


def observation_space(num_planes: int) -> gymnasium.spaces.Dict:
    """The space of planes with an action mask."""
    planes = gymnasium.spaces.Box(0.0, 1.0, (num_planes, *OBSERVATION_SHAPE[1:]), np.float32)
    mask = gymnasium.spaces.Box(0, 1, (NUM_ACTIONS,), np.int8)
    return gymnasium.spaces.Dict({"observation": planes, "action_mask": mask})
