"""Rollouts: what was played between two updates."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thud_env.rules.row import TURNS
from thud_env.views.results import margins

MIRROR = -1
"""In place of an opponent's side where both sides are learners."""


@dataclasses.dataclass(frozen=True)
class Rollout:
    """T decisions in each of B battles."""

    rows: NDArray[np.int16]
    """[T, B, 432] the states that were decided in; these and all that follows from them as the
    battles' frames show them."""
    movers: NDArray[np.int8]
    """[T, B] who decided: 0 dwarfs, 1 trolls."""
    actions: NDArray[np.int32]
    """[T, B] what was decided."""
    log_probs: NDArray[np.float32]
    """[T, B] the log-probability it was drawn with; 0 where an opponent decided."""
    values: NDArray[np.float32]
    """[T, B] the mover's value of the state; 0 where an opponent decided."""
    rewards: NDArray[np.float32]
    """[T, B] what the decision paid the dwarfs."""
    ended: NDArray[np.bool_]
    """[T, B] whether the battle ended with it."""
    last_values: NDArray[np.float32]
    """[B] the next mover's value of the state after the last decision; 0 if an opponent is next."""
    last_movers: NDArray[np.int8]
    """[B] who decides there."""
    opponent_sides: NDArray[np.int8]
    """[B] the side of an opponent, which does not learn; ``MIRROR`` where there was none."""
    last_rows: NDArray[np.int16]
    """[B, 432] the states after the last decisions."""
    final_games: NDArray[np.int64]
    """[E] in which of the B games the E battles that ended were, as they ended."""
    final_rows: NDArray[np.int16]
    """[E, 432] their last states."""
    final_opponents: NDArray[np.int16]
    """[E] whom the learner met, as a number of ``names_met``; ``MIRROR`` in mirror play."""

    @property
    def final_margins(self) -> NDArray[np.int64]:
        """[E] the margins of the battles that ended."""
        return margins(self.final_rows, check=False)

    @property
    def final_turns(self) -> NDArray[np.int16]:
        """[E] the turns they took, those of an opening included."""
        return self.final_rows[:, TURNS]


BATTLES_FIRST = (
    "last_values",
    "last_movers",
    "opponent_sides",
    "last_rows",
    "final_rows",
    "final_opponents",
)
"""The fields of a rollout whose first axis is the battles or, if they are final, those that ended.
``final_games`` has numbers of battles; of all others battles are the second axis."""


def joined(rollouts: Sequence[Rollout]) -> Rollout:
    """Rollouts of as many steps in other battles, side by side as one."""
    fields = {
        field.name: np.concatenate(
            [getattr(rollout, field.name) for rollout in rollouts],
            axis=0 if field.name in BATTLES_FIRST else 1,
        )
        for field in dataclasses.fields(Rollout)
        if field.name != "final_games"
    }
    before = np.cumsum([0, *(len(rollout.opponent_sides) for rollout in rollouts[:-1])])
    ended = [rollout.final_games + n for rollout, n in zip(rollouts, before, strict=True)]
    return Rollout(final_games=np.concatenate(ended), **fields)
