"""Terms that all environments share: what is seen, and what an illegal action does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Never

import gymnasium
import numpy as np
from numpy.typing import NDArray

from thud_env.actions import NUM_ACTIONS, as_index
from thud_env.views.encoding import OBSERVATION_SHAPE

Observation = dict[str, NDArray[Any]]
IllegalAction = Literal["lose", "raise"]
IdleMask = Literal["zeros", "ones"]

ILLEGAL_ACTION = -1
"""``termination`` in infos where an illegal action has lost; every other is a ``Termination``."""
ILLEGAL_REWARD = -1.0
"""The reward of an illegal action that loses: that of the lowest margin."""

SEED_HINT = {"seed": "reset(seed=...) takes it"}


def read_action(action: Any) -> int:
    """An action as an int. A bool is none: it would be taken for action 0 or 1.

    Raises:
        TypeError: if it is not one integer.
    """
    # The name of a dtype is slow to make (docs/log.md), and integers come with every step.
    dtype = "" if isinstance(action, np.integer) else str(getattr(action, "dtype", ""))
    if isinstance(action, bool) or dtype.endswith("bool"):
        raise TypeError(
            f"action {action} is a bool: an int in 0 .. {NUM_ACTIONS - 1} would be right"
        )
    return as_index(action)


def refuse_copy(env: object) -> Never:
    """``__copy__`` of every environment: a shallow copy would play on the original's board.

    Raises:
        TypeError: always.
    """
    raise TypeError(
        f"copy.copy of a {type(env).__name__} would share its board: copy.deepcopy would be right"
    )


def check_state(whose: object, state: Any, names: Iterable[str]) -> None:
    """Refuse what ``get_state`` of such an environment cannot have returned.

    Raises:
        ValueError: if it is not a dictionary with these keys.
    """
    if not isinstance(state, dict) or not set(names) <= state.keys():
        raise ValueError(
            f"not a state of {type(whose).__name__}: what its get_state() returned would be right"
        )


def observation_space(num_planes: int) -> gymnasium.spaces.Dict:
    """The space of planes with an action mask."""
    planes = gymnasium.spaces.Box(0.0, 1.0, (num_planes, *OBSERVATION_SHAPE[1:]), np.float32)
    mask = gymnasium.spaces.Box(0, 1, (NUM_ACTIONS,), np.int8)
    return gymnasium.spaces.Dict({"observation": planes, "action_mask": mask})
