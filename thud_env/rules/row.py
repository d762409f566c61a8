"""The state row: a whole game as 432 small integers.

::

      0 .. 271   the board with its border, one cell each (board.py draws it)
    272 .. 359   which squares of each line are taken, one word of bits a line
    360 .. 391   the cells of the pieces that the dwarfs may move, ascending
    392 .. 399   the cells of the trolls, ascending
    400 .. 420   the fields named below
    421 .. 431   unused, 0

A batch is a 2-D array of rows. Copying, hashing, comparing or sending a game is copying,
hashing, comparing or sending its bytes, so every field always has one canonical value:
``PENDING_CELL`` and ``TAKEN``, for example, are 0 whenever nothing is pending.

The lines and the lists of pieces follow from the board (``index_row``). They are kept
because a walk along a line is then one shift of a word, and nothing ever searches the board.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thud_env.arguments import as_count, shown
from thud_env.board import (
    CELL_OF_SQUARE,
    LINE_OF_CELL,
    NUM_AXES,
    NUM_CELLS,
    NUM_LINES,
    NUM_SQUARES,
    POINT_OF_CELL,
    square_named,
)
from thud_env.errors import ThudError
from thud_env.jit.bits import natural
from thud_env.jit.compile import compiled, inlined
from thud_env.rulesets import (
    LARGEST_LIMIT,
    MAX_DWARFS,
    MAX_TROLLS,
    STONE_MOVES,
    Ruleset,
    ruleset_of_key,
)

Row = NDArray[np.int16]

EMPTY, DWARF, TROLL, STONE, OFF_BOARD = range(5)
"""What stands on a cell. The Rock and the ball are the STONE of their games."""

DWARFS, TROLLS = 0, 1
"""The sides."""

TAKEN_LINES = NUM_CELLS
"""Where the lines begin. Bit p of a line's word is set if the square at point p is taken;
points that are not on the board count as taken, and so does point 15, the sign bit."""
DWARF_CELLS = TAKEN_LINES + NUM_LINES
"""Where the list of the pieces that dwarfs may move begins: the dwarfs, and in the Koom
Valley games the Rock or ball. Entries not in use are -1."""
TROLL_CELLS = DWARF_CELLS + MAX_DWARFS
"""Where the list of the trolls begins. Entries not in use are -1."""

_FIELDS = TROLL_CELLS + MAX_TROLLS
TO_MOVE = _FIELDS
"""The side that decides next."""
PENDING = _FIELDS + 1
"""The question that the side to move has to answer, one of the values below."""
PENDING_CELL = _FIELDS + 2
"""The cell of the troll that may now capture or trample on."""
TAKEN = _FIELDS + 3
"""Dwarfs captured so far in the turn that is pending."""
QUIET_TURNS = _FIELDS + 4
"""Turns in a row without a capture; in the Koom Valley games, or a move of the stone."""
TURNS = _FIELDS + 5
"""Turns played."""
NUM_DWARFS = _FIELDS + 6
NUM_TROLLS = _FIELDS + 7
STONE_CELL = _FIELDS + 8
TRAITS = _FIELDS + 9
"""``Ruleset.traits``, which ``traits.py`` reads."""
TERMINATION = _FIELDS + 10
"""How the battle ended, one of the values below."""
MAX_QUIET_TURNS = _FIELDS + 11
MAX_TURNS = _FIELDS + 12
OFFER_AFTER = _FIELDS + 13
AGREEMENT = _FIELDS + 14
"""1 if the battle may end by agreement, else 0."""
OFFER_WAIT = _FIELDS + 15
"""Turns of its own for which a side may not offer: dwarfs here, trolls in the next cell."""
RULESET_KEY = _FIELDS + 17
"""``Ruleset.key``, from here up to ``UNUSED``."""
UNUSED = _FIELDS + 21
"""From this cell on a row holds zeros."""
ROW_SIZE = _FIELDS + 32

NO_QUESTION, TAKE_ONE, TAKE_ANY, TAKE_SOME, TAKE_ALL, TRAMPLE_ON, ANSWER_OFFER = range(7)
"""Values of PENDING: between turns; capture one or none; any number; at least one; all or
none; go on trampling or stop; accept or decline an offer (docs/rules.md, sections 2, 3, 5)."""

ONGOING, NO_LEGAL_TURN, AGREED, QUIET_LIMIT, TURN_LIMIT, GOAL, SURROUNDED = range(7)
"""Values of TERMINATION (docs/rules.md, "End of the battle", and sections 3 and 5)."""

MAX_DECISIONS_AT_ONCE = 2048
"""Upper bound on a position's legal decisions: 32 dwarfs reach at most 32 x 56 squares."""
MAX_ANSWERS = 16
"""Upper bound on those in the middle of a turn."""

LIMITS = {
    "max_quiet_turns": MAX_QUIET_TURNS,
    "max_turns": MAX_TURNS,
    "offer_after": OFFER_AFTER,
    "agreement": AGREEMENT,
}
"""The limits among the arguments of ``new_row``, and of all that starts a battle; and where a row
holds each.
"""

_NOTHING_TAKEN: NDArray[np.int16] = np.full(NUM_LINES, -1, dtype=np.int16)
"""[88] the lines of an empty board."""
for _cell in CELL_OF_SQUARE:
    for _axis in range(NUM_AXES):
        _NOTHING_TAKEN[LINE_OF_CELL[_cell, _axis]] &= ~(1 << int(POINT_OF_CELL[_cell, _axis]))


@compiled
def copy_row(target, source):
    """Overwrite one row with another."""
    for i in range(ROW_SIZE):
        target[i] = source[i]


@inlined
def flip_lines(row, cell):
    """Turn a square from free to taken or back, on all four lines through it."""
    cell = natural(cell)
    for axis in range(NUM_AXES):
        line = natural(LINE_OF_CELL[cell, axis])
        row[TAKEN_LINES + line] ^= 1 << natural(POINT_OF_CELL[cell, axis])


@inlined
def stone_moves(row):
    """Whether the stone is the Rock or a ball, which the dwarfs move (sections 3 and 4)."""
    return row[TRAITS] & STONE_MOVES != 0


@compiled
def index_row(row):
    """Fill in what follows from the board and the ruleset: lines, lists, counts, the stone."""
    for line in range(NUM_LINES):
        row[TAKEN_LINES + line] = _NOTHING_TAKEN[line]
    for i in range(DWARF_CELLS, _FIELDS):
        row[i] = -1
    row[NUM_DWARFS] = 0
    row[NUM_TROLLS] = 0
    movable = 0
    for square in range(NUM_SQUARES):
        cell = CELL_OF_SQUARE[square]
        piece = row[cell]
        if piece == EMPTY:
            continue
        flip_lines(row, cell)
        if piece == TROLL:
            row[TROLL_CELLS + row[NUM_TROLLS]] = cell
            row[NUM_TROLLS] += 1
            continue
        if piece == STONE:
            row[STONE_CELL] = cell
        else:
            row[NUM_DWARFS] += 1
        if piece == DWARF or stone_moves(row):
            row[DWARF_CELLS + movable] = cell
            movable += 1


@inlined
def num_dwarf_cells(row):
    """How many pieces the dwarfs may move."""
    return int(row[NUM_DWARFS]) + (1 if stone_moves(row) else 0)


@inlined
def is_between_turns(row):
    """Whether the side to move begins a turn, or answers an offer, which is a turn too."""
    return row[PENDING] == NO_QUESTION or row[PENDING] == ANSWER_OFFER


@inlined
def movable_pieces(row):
    """The pieces that the side to move may move, as a stretch of the row: where their cells
    begin and how many there are.
    """
    if row[TO_MOVE] == TROLLS:
        return TROLL_CELLS, int(row[NUM_TROLLS])
    return DWARF_CELLS, num_dwarf_cells(row)


def new_row(
    ruleset: Ruleset,
    *,
    max_quiet_turns: int | None = None,
    max_turns: int | None = None,
    offer_after: int | None = None,
    agreement: bool = False,
) -> Row:
    """The start of a battle, [432] int16. Limits left at None are the ruleset's.

    Raises:
        ThudError: if a limit is not an integer in 1 .. 32767, or ``agreement`` not True or False.
    """
    if not isinstance(agreement, bool | np.bool_):
        raise ThudError(f"agreement must be True or False, not {shown(agreement)}")
    row: Row = np.zeros(ROW_SIZE, dtype=np.int16)
    row[:NUM_CELLS] = OFF_BOARD
    row[CELL_OF_SQUARE] = EMPTY
    for names, piece in (
        (ruleset.dwarfs, DWARF),
        (ruleset.trolls, TROLL),
        ((ruleset.stone,), STONE),
    ):
        for name in names:
            row[CELL_OF_SQUARE[square_named(name)]] = piece
    row[TRAITS] = ruleset.traits
    row[RULESET_KEY:UNUSED] = ruleset.key
    row[AGREEMENT] = agreement
    for field, name, value, default in (
        (MAX_QUIET_TURNS, "max_quiet_turns", max_quiet_turns, ruleset.max_quiet_turns),
        (MAX_TURNS, "max_turns", max_turns, ruleset.max_turns),
        (OFFER_AFTER, "offer_after", offer_after, ruleset.offer_after),
    ):
        row[field] = default if value is None else as_count(name, value, most=LARGEST_LIMIT)
    index_row(row)
    return row


def limits_of(row: Row) -> dict[str, Any]:
    """The limits of a state row's battle, as ``new_row`` takes them."""
    limits: dict[str, Any] = {name: int(row[field]) for name, field in LIMITS.items()}
    return limits | {"agreement": bool(row[AGREEMENT])}


def ruleset_of(row: Row) -> Ruleset:
    """The ruleset that a state row, [432], is of.

    Raises:
        ThudError: if that ruleset has not been made in this process.
    """
    return ruleset_of_key(row[RULESET_KEY:UNUSED].tolist())
