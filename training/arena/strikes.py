"""Strikes: what each side does that captures across a distance, by the rules that are played."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thud_env.actions import MOVE_DISTANCE, NUM_MOVES
from thud_env.rules.row import NO_QUESTION, NUM_DWARFS, NUM_TROLLS, PENDING, TO_MOVE, TROLLS
from thud_env.rulesets import Ruleset

STRIKES = {
    "dwarfs": {"hurl": "hurls", "sandwich": "sandwiches"},
    "trolls": {"beside": "shoves", "trample": "tramples"},
}
"""Names of each side's strikes, by how it captures."""


def strike_names(ruleset: Ruleset) -> dict[str, str]:
    """The names of the strikes of the sides that capture, by side."""
    captures = {"dwarfs": ruleset.dwarfs_capture, "trolls": ruleset.trolls_capture}
    return {side: STRIKES[side][how] for side, how in captures.items() if how in STRIKES[side]}


def strikes_of(
    before: NDArray[np.int16],
    actions: NDArray[np.int32],
    after: NDArray[np.int16],
    ruleset: Ruleset,
) -> NDArray[np.bool_]:
    """[2, B] whether a decision was a strike of the dwarfs or of the trolls: see ``Battles``.

    Args:
        before, after: [B, 432] the states around it.
        actions: [B] the decisions.
        ruleset: what was played.
    """
    by_dwarfs = after[:, NUM_TROLLS] < before[:, NUM_TROLLS]
    begins = (before[:, TO_MOVE] == TROLLS) & (before[:, PENDING] == NO_QUESTION)
    moves = begins & (actions < NUM_MOVES)
    if ruleset.trolls_capture == "beside":
        by_trolls = moves & (MOVE_DISTANCE[np.minimum(actions, NUM_MOVES - 1)] > 1)
    else:
        by_trolls = moves & (after[:, NUM_DWARFS] < before[:, NUM_DWARFS])
    return np.stack((by_dwarfs, by_trolls))
