"""What two agents play at a board: one battle, or two with the sides changed.

``infos`` takes a game as ``rules/match.py`` describes a match: one by numbers, or many by
arrays, [B]. One battle is a match that ends with its first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from thud_env.rules.match import Match, standing
from thud_env.views.encoding import PLANES, Plane
from thud_env.views.match import MATCH_PLANES


class Game(NamedTuple):
    """What the environments ask about a game."""

    num_battles: int
    """1, or 2: then the agents change sides after the first."""
    agents: tuple[str, str]
    """The agents' names; the first plays the dwarfs in the first battle."""
    planes: tuple[Plane, ...]
    """What the agents see: the planes of a battle, then any others."""

    infos: Callable[[Match, Any], dict[str, Any]]
    """How a game stands, seen by those who now have the sides: always the same keys, integers or
    [B] int64."""


def _standing_of_one(match: Match, _sides: Any) -> dict[str, Any]:
    return {"termination": match.termination, "margin": match.margin}


ONE_BATTLE = Game(1, ("dwarf_0", "troll_0"), PLANES, _standing_of_one)
TWO_BATTLES = Game(2, ("player_0", "player_1"), MATCH_PLANES, standing)
"""The two-battle game (docs/rules.md, section 6)."""
