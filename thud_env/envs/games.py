"""What two agents play at a board: one battle, or two with the sides changed.

The functions take a game as ``rules/match.py`` describes a match: one by numbers, or many by
arrays, [B]. One battle is a match that ends with its first.
"""

from __future__ import annotations

from typing import Any, Protocol

from thud_env.rules.match import Match, own_first_margin, standing
from thud_env.views.encoding import PLANES, Plane
from thud_env.views.match import MATCH_PLANES, show_match


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

    def show(self, planes: Any, match: Match, sides: Any, largest_margin: int) -> None:
        """Write the planes beside those of a battle, into [..., C, 15, 15], as those see them who
        now have ``sides``.
        """


class OneBattle(Game):
    """A battle."""

    num_battles = 1
    agents = "dwarf_0", "troll_0"
    planes = PLANES

    def infos(self, match: Match, sides: Any) -> dict[str, Any]:
        """See ``Game``."""
        return {"termination": match.termination, "margin": match.margin}

    def show(self, planes: Any, match: Match, sides: Any, largest_margin: int) -> None:
        """See ``Game``: there are no others."""


class TwoBattles(Game):
    """The two-battle game (docs/rules.md, section 6)."""

    num_battles = 2
    agents = "player_0", "player_1"
    planes = MATCH_PLANES

    def infos(self, match: Match, sides: Any) -> dict[str, Any]:
        """See ``Game``."""
        return standing(match, sides)

    def show(self, planes: Any, match: Match, sides: Any, largest_margin: int) -> None:
        """See ``Game``."""
        show_match(planes, match.is_second, own_first_margin(match, sides), largest_margin)


ONE_BATTLE, TWO_BATTLES = OneBattle(), TwoBattles()
