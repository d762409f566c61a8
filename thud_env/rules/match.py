"""The two-battle game (docs/rules.md, section 6): its margins, its total and what its end pays.

A match follows from how its first battle ended and from the battle on the board, which stays the
second after the end. One match is described by numbers, many by arrays, [B]; the functions are not
compiled, and take both. ``sides``, 0 dwarfs and 1 trolls, says from whose view a match is seen: the
sides of these players on the board. In the first battle of a second they had the others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from thud_env.rules.row import DWARFS, ONGOING, TURN_LIMIT


class Match(NamedTuple):
    """One match, each field an ``int`` or a ``bool``, or many, each field [B] int64 or bool."""

    is_second: Any
    """Whether the second battle is on the board."""
    first_termination: Any
    """How the first battle ended; read in the second only."""
    first_margin: Any
    """Its margin, from the view of those who were its dwarfs; read in the second only."""
    termination: Any
    """How the battle on the board ended, 0 while it goes on."""
    margin: Any
    """Its margin as it stands, from its dwarfs' view."""


def own_first_margin(match: Match, sides: Any) -> Any:
    """The margin of the first battle from the view of the players who now have ``sides``; 0 before
    its end.
    """
    return match.is_second * match.first_margin * (2 * sides - 1)


def standing(match: Match, sides: Any) -> dict[str, Any]:
    """How matches stand from the view of the players who now have ``sides``.

    Returns:
        How both battles ended, 0 before, their margins as they stand, 0 before they begin, and the
        total; integers, or [B] int64.
    """
    is_first = 1 - match.is_second
    now = match.margin * (1 - 2 * sides)
    first = own_first_margin(match, sides) + is_first * now
    second = match.is_second * now
    ending = match.termination
    return {
        "first_termination": match.is_second * match.first_termination + is_first * ending,
        "first_margin": first,
        "second_termination": match.is_second * ending,
        "second_margin": second,
        "total": first + second,
    }


def outcome_for_dwarfs(match: Match) -> Any:
    """What a decision pays the dwarfs on the board if the outcome pays: the sign of their total at
    the end, else 0. The turn limit of the second battle pays nothing (``reward_for_dwarfs``).
    """
    is_paid = (match.termination != ONGOING) & (match.termination != TURN_LIMIT) & match.is_second
    return is_paid * np.sign(standing(match, DWARFS)["total"])
