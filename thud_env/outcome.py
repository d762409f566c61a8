"""The two sides, and how a battle between them ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal, Never

from thud_env.arguments import shown
from thud_env.errors import ThudError
from thud_env.rules import row as fields

Side = Literal["dwarfs", "trolls"]
SIDES: tuple[Side, Side] = ("dwarfs", "trolls")
"""The sides' names, by the number that stands for them in a row."""


class Termination(Enum):
    """How a battle ended (docs/rules.md). The values are those of the state row."""

    NO_LEGAL_TURN = fields.NO_LEGAL_TURN
    """The side to move could not."""
    AGREEMENT = fields.AGREED
    """An offer to end the battle was accepted."""
    QUIET_LIMIT = fields.QUIET_LIMIT
    """``max_quiet_turns`` turns without a capture or a move of the stone."""
    TURN_LIMIT = fields.TURN_LIMIT
    """``max_turns`` turns: a truncation, not a termination."""
    GOAL = fields.GOAL
    """The dwarfs brought the Rock or ball to a goal square."""
    SURROUNDED = fields.SURROUNDED
    """Three trolls stood beside the Rock or ball."""

    @classmethod
    def _missing_(cls, value: object) -> Never:
        """Refuse what is no ending by the rules; the infos of environments have two such numbers.

        Raises:
            ThudError: always.
        """
        raise ThudError(
            f"termination {shown(value)}: 1 to {len(cls)} would be right; in infos 0 means that "
            "the battle goes on, and -1 that an illegal action has lost"
        )


@dataclass(frozen=True)
class Outcome:
    """How a battle ended and what it was worth."""

    termination: Termination
    margin: int
    """From the dwarfs' view: dwarfs - 4 x trolls, -32 .. 32; in Koom Valley games 1, 0 or -1."""

    @property
    def winner(self) -> Side | None:
        """The side with the higher score, or None for a draw."""
        return None if self.margin == 0 else SIDES[self.margin < 0]

    def __str__(self) -> str:
        how = self.termination.name.lower().replace("_", " ")
        return f"{how}, {'drawn' if self.winner is None else f'{self.winner} won'}"
