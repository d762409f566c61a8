"""The named rulesets: what differs between the games, as data.

Section numbers are those of docs/rules.md. The compiled rules know a ruleset by its
``index``, which stands in every state row.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal

from thud_env.board import PERIMETER, SQUARE_NAMES

CLASSIC, CLASSIC_ANY, CLASSIC_ALL, KOOM_VALLEY, FOOTBALL = range(5)


@dataclass(frozen=True)
class Ruleset:
    """One of the games, with the wording it is played by."""

    name: str
    index: int
    """The number by which state rows and the compiled rules know this ruleset."""
    title: str
    dwarfs: tuple[str, ...]
    """The squares the dwarfs start on (sections 2 and 3)."""
    trolls: tuple[str, ...]
    """The squares the trolls start on (sections 2 and 3)."""
    stone: str = "H8"
    """Where the Thudstone, Rock or ball starts (sections 2 and 3)."""
    stone_moves: bool = False
    """Whether it is the Rock or ball, which moves, or the Thudstone, which does not."""
    reward: Literal["margin", "outcome"] = "margin"
    """The scoring: points left on the board (section 2), or won, drawn, lost (section 3)."""
    max_quiet_turns: int = 200
    """Turns in a row, without a capture or a move of the stone, that end a battle (section 2c)."""
    max_turns: int = 800
    """Turns that truncate a battle (section 2d)."""
    offer_after: int = 20
    """Quiet turns before an offer to end the battle, and turns between offers (section 5)."""

    @property
    def largest_margin(self) -> int:
        """The margin of a battle won with nothing lost: a point a dwarf, or the bare result."""
        return len(self.dwarfs) if self.reward == "margin" else 1


_CLASSIC_DWARFS = tuple(
    SQUARE_NAMES[square]
    for square in sorted(PERIMETER)
    if SQUARE_NAMES[square] not in ("H1", "A8", "P8", "H15")
)
_CLASSIC_TROLLS = ("G7", "H7", "J7", "G8", "J8", "G9", "H9", "J9")
_VALLEY_DWARFS = (
    *("H9", "A10", "P10", "B11", "O11", "C12", "N12", "D13", "M13"),
    *("E14", "L14", "F15", "G15", "H15", "J15", "K15"),
)
_VALLEY_TROLLS = ("F2", "H2", "K2", "E3", "F3", "H3", "K3", "L3")


def _classic(name: str, index: int, title: str) -> Ruleset:
    return Ruleset(name, index, title, _CLASSIC_DWARFS, _CLASSIC_TROLLS)


def _valley(name: str, index: int, title: str) -> Ruleset:
    return Ruleset(
        name, index, title, _VALLEY_DWARFS, _VALLEY_TROLLS, stone_moves=True, reward="outcome"
    )


RULESETS: dict[str, Ruleset] = {
    ruleset.name: ruleset
    for ruleset in (
        _classic("classic", CLASSIC, "Classic Thud, a step captures none or one"),
        _classic("classic-any", CLASSIC_ANY, "Classic Thud, a step captures any or none"),
        _classic("classic-all", CLASSIC_ALL, "Classic Thud, captures take all or none"),
        _valley("koom-valley", KOOM_VALLEY, "Koom Valley Thud"),
        _valley("koom-valley-football", FOOTBALL, "Koom Valley Football"),
    )
}
RULESET_BY_INDEX = tuple(RULESETS.values())


RulesName = Literal["classic", "classic-any", "classic-all", "koom-valley", "koom-valley-football"]
"""The keys of ``RULESETS``, so that type checkers find a misspelt one."""
Rules = RulesName | Ruleset
"""What is played, wherever something is told by which rules."""


def get_ruleset(rules: str | Ruleset) -> Ruleset:
    """The ruleset of that name; a ``Ruleset`` that is one of ``RULESETS`` stands for itself.

    Raises:
        ValueError: if there is no such ruleset; the message names the nearest. Nor is there one
            with other fields: of its ruleset a state row keeps the index alone.
    """
    if isinstance(rules, Ruleset):
        if rules != RULESETS.get(rules.name):
            raise ValueError(
                f"ruleset {rules.name!r} with other fields than RULESETS has: a name, and limits "
                "beside it, rules='classic', max_turns=100 say, would be right"
            )
        return RULESETS[rules.name]
    if rules in RULESETS:
        return RULESETS[rules]
    near = difflib.get_close_matches(str(rules), RULESETS, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ValueError(f"unknown ruleset {rules!r}: {hint}there are {', '.join(RULESETS)}")
