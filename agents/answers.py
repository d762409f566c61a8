"""Checks what players answer: those of a user's own may answer anything."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thud_env.actions import NUM_ACTIONS
from thud_env.arguments import as_integers
from thud_env.errors import IllegalMove, ThudError
from thud_env.position import Position
from thud_env.rules.legal import is_legal


class AnswerError(ThudError):
    """A player does not answer with a legal action for each battle, or not with an opinion."""


def checked(player: str, answer: Any, rows: NDArray[np.int16]) -> NDArray[np.int32]:
    """What a player's ``act_rows`` returned, if it is a legal action for each battle.

    Args:
        player: who answered.
        answer: the answer.
        rows: [N, 432] what was asked.

    Returns:
        [N] the actions.

    Raises:
        AnswerError: if it is not.
    """
    try:
        actions = as_integers(f"actions of {player}", answer, len(rows))
    except ThudError as error:
        raise AnswerError(str(error)) from None
    for row, action in zip(rows, actions.tolist(), strict=True):
        if not (0 <= action < NUM_ACTIONS and is_legal(row, action)):
            raise AnswerError(f"{player}: {_why(row, action)}")
    return actions.astype(np.int32)


def _why(row: NDArray[np.int16], action: int) -> str:
    """Why an action is illegal."""
    try:
        Position.unchecked(row).apply(action)
    except IllegalMove as error:
        return str(error)
    raise AssertionError(f"{action} is legal")
