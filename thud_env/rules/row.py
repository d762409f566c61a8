"""The state row: a whole game as 304 small integers.

::

    0 .. 271     the board with its border, one cell each (board.py draws it)
    272 ..       the fields named below

A batch is a 2-D array of rows. Copying, hashing, comparing or sending a game is copying,
hashing, comparing or sending its bytes, so every field always has one canonical value:
``PENDING_CELL`` and ``TAKEN``, for example, are 0 whenever nothing is pending.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thud_env.board import CELL_OF_SQUARE, NUM_CELLS, square_named
from thud_env.rulesets import Ruleset

Row = NDArray[np.int16]

EMPTY, DWARF, TROLL, STONE, OFF_BOARD = range(5)
"""What stands on a cell. The Rock and the ball are the STONE of their games."""

DWARFS, TROLLS = 0, 1
"""The sides."""

TO_MOVE = NUM_CELLS
"""The side that decides next."""
PENDING = NUM_CELLS + 1
"""What the side to move is asked, one of the values below."""
PENDING_CELL = NUM_CELLS + 2
"""The cell of the troll that may now capture or trample on."""
TAKEN = NUM_CELLS + 3
"""Dwarfs captured so far in the turn that is pending."""
QUIET_TURNS = NUM_CELLS + 4
"""Turns in a row without a capture; in the Koom Valley games, or a move of the stone."""
TURNS = NUM_CELLS + 5
"""Turns played."""
NUM_DWARFS = NUM_CELLS + 6
NUM_TROLLS = NUM_CELLS + 7
STONE_CELL = NUM_CELLS + 8
RULES = NUM_CELLS + 9
"""``Ruleset.index``."""
TERMINATION = NUM_CELLS + 10
"""How the battle ended, one of the values below."""
MAX_QUIET_TURNS = NUM_CELLS + 11
MAX_TURNS = NUM_CELLS + 12
OFFER_AFTER = NUM_CELLS + 13
AGREEMENT = NUM_CELLS + 14
"""1 if the battle may end by agreement, else 0."""
OFFER_WAIT = NUM_CELLS + 15
"""Turns of its own for which a side may not offer: dwarfs here, trolls in the next cell."""
ROW_SIZE = NUM_CELLS + 32

NO_QUESTION, TAKE_ONE, TAKE_ANY, TAKE_SOME, TAKE_ALL, TRAMPLE_ON, ANSWER_OFFER = range(7)
"""Values of PENDING: between turns; capture one or none; any number; at least one; all or
none; go on trampling or stop; accept or decline an offer (docs/rules.md, sections 2, 3, 5)."""

ONGOING, NO_LEGAL_TURN, AGREED, QUIET_LIMIT, TURN_LIMIT, GOAL, SURROUNDED = range(7)
"""Values of TERMINATION (docs/rules.md, "End of the battle", and sections 3 and 5)."""

MAX_DECISIONS_AT_ONCE = 2048
"""More than any position has legal decisions: 32 dwarfs reach at most 32 x 56 squares."""

_LARGEST = int(np.iinfo(np.int16).max)


def new_row(
    ruleset: Ruleset,
    *,
    max_quiet_turns: int | None = None,
    max_turns: int | None = None,
    offer_after: int | None = None,
    agreement: bool = False,
) -> Row:
    """The start of a battle, [304] int16. Limits left at None are the ruleset's.

    Raises:
        ValueError: if a limit is not in 1 .. 32767.
    """
    row: Row = np.zeros(ROW_SIZE, dtype=np.int16)
    row[:NUM_CELLS] = OFF_BOARD
    row[CELL_OF_SQUARE] = EMPTY
    for names, piece in ((ruleset.dwarfs, DWARF), (ruleset.trolls, TROLL)):
        for name in names:
            row[CELL_OF_SQUARE[square_named(name)]] = piece
    row[STONE_CELL] = CELL_OF_SQUARE[square_named(ruleset.stone)]
    row[row[STONE_CELL]] = STONE
    row[NUM_DWARFS], row[NUM_TROLLS] = len(ruleset.dwarfs), len(ruleset.trolls)
    row[RULES] = ruleset.index
    row[AGREEMENT] = bool(agreement)
    for field, name, value, default in (
        (MAX_QUIET_TURNS, "max_quiet_turns", max_quiet_turns, ruleset.max_quiet_turns),
        (MAX_TURNS, "max_turns", max_turns, ruleset.max_turns),
        (OFFER_AFTER, "offer_after", offer_after, ruleset.offer_after),
    ):
        limit = default if value is None else value
        if not 1 <= limit <= _LARGEST:
            raise ValueError(f"{name} must be in 1 .. {_LARGEST}, not {limit}")
        row[field] = limit
    return row
