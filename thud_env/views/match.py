"""Observations of the two-battle game: those of a battle, and two planes about the first one."""

from __future__ import annotations

from typing import Any

import numpy as np

from thud_env.rules.match import Match, own_first_margin
from thud_env.views.encoding import NUM_PLANES, PLANES, Plane

MATCH_PLANES = (
    *PLANES,
    Plane("second_battle", "all 1 in the second battle, in which the players have changed sides"),
    Plane("first_margin", "all: (own margin of the first battle / the largest there is + 1) / 2"),
)


def show_match(planes: Any, match: Match, sides: Any, largest_margin: int) -> None:
    """Write the planes that ``MATCH_PLANES`` add, for one game or for many.

    Args:
        planes: [..., 16, 15, 15] float32, of which the last two are written.
        match: the match or the matches.
        sides: [...] 0 dwarfs or 1 trolls, the viewer's side now.
        largest_margin: of a battle.
    """
    share = (np.asarray(own_first_margin(match, sides)) / largest_margin + 1) / 2
    planes[..., NUM_PLANES, :, :] = np.asarray(match.is_second)[..., np.newaxis, np.newaxis]
    planes[..., NUM_PLANES + 1, :, :] = share[..., np.newaxis, np.newaxis]
