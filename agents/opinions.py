"""Checks what players think of a position: the ``judge`` of a user's own may return anything."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agents.agent import Opinion
from agents.answers import AnswerError
from thud_env.actions import NUM_ACTIONS, describe_action
from thud_env.position import Position

_ROUNDED = 1e-2
"""How far from 1 probabilities may sum: some are rounded to bfloat16, three digits each."""


def checked_opinion(player: str, opinion: Any, position: Position) -> Opinion:
    """What a player's ``judge`` returned, if it is an opinion of the position.

    Args:
        player: who judged.
        opinion: what it returned.
        position: what was asked.

    Raises:
        AnswerError: if it is not.
    """
    if not isinstance(opinion, Opinion):
        kind = type(opinion).__name__
        raise AnswerError(f"{player}: its judge returned a {kind}: an Opinion would be right")
    try:
        margin = float(opinion.margin)
        probabilities = np.asarray(opinion.probabilities, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise AnswerError(f"{player}: the opinion of its judge cannot be read: {error}") from None
    if not math.isfinite(margin):
        raise AnswerError(f"{player}: the margin of its judge is {margin}: a number would be right")
    if probabilities.shape != (NUM_ACTIONS,):
        raise AnswerError(
            f"{player}: the probabilities of its judge have the shape {probabilities.shape}: "
            f"({NUM_ACTIONS},) would be right"
        )
    total = float(probabilities.sum())
    if not (probabilities.min() >= 0 and math.isclose(total, 1, abs_tol=_ROUNDED)):
        raise AnswerError(
            f"{player}: the probabilities of its judge sum to {total:g}, the least is "
            f"{probabilities.min():g}: a sum of 1, and none below 0, would be right"
        )
    illegal = np.flatnonzero((probabilities > 0) & (position.action_mask() == 0))
    if len(illegal):
        raise AnswerError(
            f"{player}: its judge gives {describe_action(int(illegal[0]))!r} a probability of "
            f"{probabilities[illegal[0]]:g}: it is illegal in {position.text!r}"
        )
    return Opinion(probabilities, margin)
