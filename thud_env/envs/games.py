"""What two agents play at a board: one battle, or two with the sides changed.

``infos`` takes a game as ``rules/match.py`` describes a match: one by numbers, or many by
arrays, [B]. One battle is a match that ends with its first.
"""

from __future__ import annotations

from typing import Any, Protocol

from thud_env.rules.match import Match, standing
from thud_env.views.encoding import PLANES, Plane
from thud_env.views.match import MATCH_PLANES


class Game(Protocol):
    """What the environments ask about a game."""

    num_battles: int
    """1, or 2: then the agents change sides after the first."""
    agents: tuple[str, str]
    """The agents' names; the first plays the dwarfs in the first battle."""
    planes: tuple[Plane, ...]
    """What the agents see: the planes of a battle, then any others."""

    def infos(self, match: Match, sides: Any) -> dict[str, Any]:
        """How a game stands, seen by those who now have ``sides``: always the same keys, integers
        or [B] int64.
        """


class OneBattle(Game):
    """A battle."""

    num_battles = 1
    agents = "dwarf_0", "troll_0"
    planes = PLANES

    def infos(self, match: Match, sides: Any) -> dict[str, Any]:
        """See ``Game``."""
        return {"termination": match.termination, "margin": match.margin}


class TwoBattles(Game):
    """The two-battle game (docs/rules.md, section 6)."""

    num_battles = 2
    agents = "player_0", "player_1"
    planes = MATCH_PLANES

    def infos(self, match: Match, sides: Any) -> dict[str, Any]:
        """See ``Game``."""
        return standing(match, sides)


ONE_BATTLE, TWO_BATTLES = OneBattle(), TwoBattles()
