"""Parts of the vector environment that need nothing but arrays: arguments read, ends told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thud_env.actions import NUM_ACTIONS
from thud_env.envs.base import BoardEnv
from thud_env.envs.seat import ILLEGAL_TERMINATION
from thud_env.position import Position, Termination
from thud_env.rules.row import TERMINATION
from thud_env.views.encoding import encode_rows

_ENDINGS = np.array([None, *(ending.name.lower() for ending in Termination)], dtype=object)
"""The names of the endings by their value in a row, which count from 1."""


def integers(what: str, given: Any, count: int) -> NDArray[np.integer[Any]]:
    """``given`` as integers, [count].

    Raises:
        ValueError: if it is anything else.
    """
    array = np.asarray(given)
    if array.shape != (count,) or array.dtype.kind not in "iu":
        raise ValueError(
            f"{what} are {array.dtype} of shape {array.shape}: "
            f"integers of shape ({count},) would be right"
        )
    return array


def read_mask(mask: Any, count: int) -> NDArray[np.bool_]:
    """``options["reset_mask"]``, [count] bool; all True if it is None.

    Raises:
        ValueError: if it is anything else.
    """
    if mask is None:
        return np.ones(count, dtype=np.bool_)
    array = np.asarray(mask)
    if array.shape != (count,) or array.dtype != np.bool_:
        raise ValueError(
            f"reset_mask is {array.dtype} of shape {array.shape}: "
            f"bool of shape ({count},) would be right"
        )
    return array


def read_starts(position: Any, reader: BoardEnv, count: int) -> NDArray[np.int16] | None:
    """``options["position"]`` as state rows, [count, 432].

    Args:
        position: None, a start for all, or a sequence of ``count`` of them.
        reader: an environment of the same rules, which reads and checks them.
        count: how many battles there are.

    Raises:
        ValueError: if there are too few or too many, or one is damaged, of another ruleset or
            over.
    """
    if position is None:
        return None
    several = isinstance(position, Sequence) and not isinstance(position, str)
    starts = position if several else [position]
    if several and len(starts) != count:
        raise ValueError(f"{len(starts)} positions for {count} environments: one each is needed")
    rows = []
    for start in starts:
        reader.reset(options={"position": start})
        rows.append(reader.position.row)
    return np.stack(rows if several else rows * count)


def ends(
    rows: NDArray[np.int16], ended: NDArray[np.bool_], forfeited: NDArray[np.bool_]
) -> dict[str, Any]:
    """``termination`` and ``margin`` of the battles that ended.

    Args:
        rows: [B, 432] the games.
        ended: [B] whether a battle has just ended.
        forfeited: [B] whether an illegal action ended it.
    """
    names = np.full(len(rows), None, dtype=object)
    names[ended] = _ENDINGS[rows[ended, TERMINATION]]
    names[forfeited] = ILLEGAL_TERMINATION
    margins = np.zeros(len(rows), dtype=np.int64)
    for env in np.flatnonzero(ended):
        margins[env] = Position(rows[env]).margin
    return {
        "termination": names,
        "_termination": ended.copy(),
        "margin": margins,
        "_margin": ended.copy(),
    }


def as_final(
    rows: NDArray[np.int16],
    ended: NDArray[np.bool_],
    infos: dict[str, Any],
    idle_mask: int,
    is_dict: bool,
) -> dict[str, Any]:
    """``final_obs`` and ``final_info`` of battles that ended and are about to start anew.

    Args:
        rows: [B, 432] the games, which are over.
        ended: [B] whether a battle has just ended.
        infos: what else is told of them.
        idle_mask: 0 or 1, what their action masks are filled with.
        is_dict: whether observations are dictionaries with the mask.
    """
    masks = np.zeros((len(rows), NUM_ACTIONS), dtype=np.int8)
    masks[ended] = idle_mask
    seen = np.full(len(rows), None, dtype=object)
    envs = np.flatnonzero(ended)
    for env, planes in zip(envs, encode_rows(rows[envs]), strict=True):
        copy = planes.copy()
        seen[env] = {"observation": copy, "action_mask": masks[env].copy()} if is_dict else copy
    final = {"action_mask": masks, "_action_mask": ended, **infos}
    for key in final:
        if not key.startswith("_") and final[key].dtype == object:
            final[key][~ended] = None
    return {
        "final_obs": seen,
        "_final_obs": ended.copy(),
        "final_info": {key: value.copy() for key, value in final.items()},
        "_final_info": ended.copy(),
    }
