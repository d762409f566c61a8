"""Checks rows from outside: whether play can reach such a state, as far as one row shows it.

Compiled code trusts its rows: a wrong cell would make it read and write beyond its arrays. So
every public entry calls ``check_row`` or ``check_rows``; nothing inside does.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thud_env.arguments import as_array
from thud_env.board import IS_GOAL_CELL, NUM_CELLS, SQUARE_OF_CELL
from thud_env.errors import ThudError
from thud_env.jit.compile import compiled, compiled_with_arrays
from thud_env.rules import row as fields
from thud_env.rules.legal import has_trample, may_offer
from thud_env.rules.moves import count_adjacent
from thud_env.rules.play import settle
from thud_env.rules.row import (
    AGREED,
    AGREEMENT,
    ANSWER_OFFER,
    DWARF,
    EMPTY,
    MAX_QUIET_TURNS,
    MAX_TURNS,
    NO_QUESTION,
    NUM_DWARFS,
    OFF_BOARD,
    OFFER_AFTER,
    OFFER_WAIT,
    ONGOING,
    PENDING,
    PENDING_CELL,
    QUIET_TURNS,
    ROW_SIZE,
    RULESET_KEY,
    STONE,
    STONE_CELL,
    SURROUNDED,
    TAKE_ALL,
    TAKE_ANY,
    TAKE_ONE,
    TAKE_SOME,
    TAKEN,
    TERMINATION,
    TO_MOVE,
    TRAITS,
    TRAMPLE_ON,
    TROLL,
    TROLLS,
    TURNS,
    UNUSED,
    Row,
    copy_row,
    index_row,
    ruleset_of,
    stone_moves,
)
from thud_env.rules.traits import (
    shoves_take_all,
    step_captures,
    stone_wins,
    trolls_capture_beside,
    trolls_trample,
)
from thud_env.rulesets import (
    STEP_TAKES_ALL,
    STEP_TAKES_ANY,
    STEP_TAKES_NONE,
    STEP_TAKES_ONE,
    Ruleset,
    ruleset_of_key,
)

_MOST_AROUND = 7
"""Most dwarfs beside a troll that stepped or was shoved: the square that it came from, or passed
last, is empty.
"""


class RowError(ThudError):
    """A state row that no play leads to."""


@compiled
def is_asked(row, question):
    """Whether the row's ruleset ever asks a question about captures (section 2, the table)."""
    if not trolls_capture_beside(row):
        return question == TRAMPLE_ON and trolls_trample(row)
    captures = step_captures(row)
    if question == TAKE_ONE:
        return captures == STEP_TAKES_ONE
    if question == TAKE_SOME:
        return not shoves_take_all(row)
    if question == TAKE_ANY:
        return captures == STEP_TAKES_ANY or not shoves_take_all(row)
    takes_all = captures == STEP_TAKES_ALL or (captures == STEP_TAKES_NONE and shoves_take_all(row))
    return question == TAKE_ALL and takes_all


@compiled
def may_be_pending(row):
    """Whether a turn can lead to the question PENDING for the troll on PENDING_CELL, with TAKEN
    captured.

    Args:
        row: [432] a row with a troll on PENDING_CELL, whose fields are in range.
    """
    cell = int(row[PENDING_CELL])
    question = row[PENDING]
    taken = row[TAKEN]
    if question == TRAMPLE_ON:
        return taken > 0 and has_trample(row, cell)
    adjacent = count_adjacent(row, cell, DWARF)
    if adjacent + taken > _MOST_AROUND or (taken > 0 and question != TAKE_ANY):
        return False
    return adjacent > (1 if question == TAKE_SOME else 0)


POSSIBLE, WAS_OVER, MIGHT_NOT_OFFER = range(3)
"""What ``how_turn_began`` returns."""


@compiled
def how_turn_began(row, scratch):
    """Whether the turn, the offer or the agreement that a row is in the middle of, or ended by,
    can have begun: in a battle that was not over, and an offer only where it is allowed.

    Args:
        row: [432] a row whose fields are in range.
        scratch: [432] int16, overwritten.
    """
    if row[PENDING] != ANSWER_OFFER and row[TERMINATION] != AGREED:
        at_goal = stone_wins(row) and IS_GOAL_CELL[row[STONE_CELL]]
        at_limit = row[QUIET_TURNS] >= row[MAX_QUIET_TURNS] or row[TURNS] >= row[MAX_TURNS]
        return WAS_OVER if at_goal or at_limit else POSSIBLE
    copy_row(scratch, row)
    scratch[PENDING] = NO_QUESTION
    scratch[TO_MOVE] = 1 - row[TO_MOVE]
    settle(scratch)
    if scratch[TERMINATION] != ONGOING:
        return WAS_OVER
    return POSSIBLE if may_offer(scratch) else MIGHT_NOT_OFFER


@compiled
def _wrong_on_board(row, most_dwarfs, most_trolls):
    """The first cell of the board that cannot be, or -1: on its border, on its squares, or that
    holds one piece too many. A board without a stone is wrong in STONE_CELL.
    """
    dwarfs, trolls, stones = 0, 0, 0
    for cell in range(NUM_CELLS):
        piece = row[cell]
        if SQUARE_OF_CELL[cell] < 0:
            if piece != OFF_BOARD:
                return cell
            continue
        if piece < EMPTY or piece > STONE:
            return cell
        dwarfs += 1 if piece == DWARF else 0
        trolls += 1 if piece == TROLL else 0
        stones += 1 if piece == STONE else 0
        if dwarfs > most_dwarfs or trolls > most_trolls or stones > 1:
            return cell
    return -1 if stones == 1 else STONE_CELL


@compiled
def _is_outside(row, field, least, most):
    return row[field] < least or row[field] > most


@compiled
def _wrong_in_fields(row):
    """The first field whose value is out of its range, or -1."""
    for field in (MAX_QUIET_TURNS, MAX_TURNS, OFFER_AFTER):
        if row[field] < 1:
            return field
    if _is_outside(row, TO_MOVE, 0, TROLLS):
        return TO_MOVE
    if _is_outside(row, AGREEMENT, 0, 1):
        return AGREEMENT
    if _is_outside(row, PENDING, 0, ANSWER_OFFER):
        return PENDING
    if _is_outside(row, TERMINATION, 0, SURROUNDED):
        return TERMINATION
    if _is_outside(row, QUIET_TURNS, 0, row[MAX_QUIET_TURNS]):
        return QUIET_TURNS
    if _is_outside(row, TURNS, 0, row[MAX_TURNS]):
        return TURNS
    most_wait = row[OFFER_AFTER] if row[AGREEMENT] == 1 else 0
    for side in range(2):
        if _is_outside(row, OFFER_WAIT + side, 0, most_wait):
            return OFFER_WAIT + side
    for cell in range(UNUSED, ROW_SIZE):
        if row[cell] != 0:
            return cell
    return -1


@compiled
def _wrong_in_turn(row, scratch, most_dwarfs):
    """The first of PENDING, PENDING_CELL, TAKEN and TERMINATION that cannot be, or -1."""
    pending = row[PENDING]
    asks_troll = pending != NO_QUESTION and pending != ANSWER_OFFER
    if not asks_troll:
        if row[PENDING_CELL] != 0:
            return PENDING_CELL
        if row[TAKEN] != 0:
            return TAKEN
    else:
        if row[TO_MOVE] != TROLLS or not is_asked(row, pending):
            return PENDING
        if _is_outside(row, PENDING_CELL, 0, NUM_CELLS - 1) or row[row[PENDING_CELL]] != TROLL:
            return PENDING_CELL
        if _is_outside(row, TAKEN, 0, most_dwarfs - int(row[NUM_DWARFS])):
            return TAKEN
        if not may_be_pending(row):
            return PENDING
    if pending == NO_QUESTION and row[TERMINATION] != AGREED:
        copy_row(scratch, row)
        settle(scratch)
        return -1 if scratch[TERMINATION] == row[TERMINATION] else TERMINATION
    if pending != NO_QUESTION and row[TERMINATION] != ONGOING:
        return TERMINATION
    is_offer = not asks_troll
    if (is_offer and row[AGREEMENT] == 0) or how_turn_began(row, scratch) != POSSIBLE:
        return TERMINATION if row[TERMINATION] == AGREED else PENDING
    return -1


@compiled
def first_wrong(row, start, most_dwarfs, most_trolls, scratch):
    """The first cell of a row that cannot be as it is, or -1.

    Args:
        row: [432] any numbers.
        start: [432] the start of a battle of the ruleset that it should be of.
        most_dwarfs, most_trolls: how many pieces that ruleset starts with.
        scratch: [432] int16, overwritten.
    """
    if row[TRAITS] != start[TRAITS]:
        return TRAITS
    for cell in range(RULESET_KEY, UNUSED):
        if row[cell] != start[cell]:
            return cell
    wrong = _wrong_on_board(row, most_dwarfs, most_trolls)
    if wrong >= 0:
        return wrong
    copy_row(scratch, row)
    index_row(scratch)
    for cell in range(NUM_CELLS, ROW_SIZE):
        if scratch[cell] != row[cell]:
            return cell
    if not stone_moves(row) and row[STONE_CELL] != start[STONE_CELL]:
        return STONE_CELL
    wrong = _wrong_in_fields(row)
    return wrong if wrong >= 0 else _wrong_in_turn(row, scratch, most_dwarfs)


@compiled_with_arrays
def _first_wrong_of(rows, start, most_dwarfs, most_trolls):
    """The first row that is wrong and its first wrong cell; -1 and -1 if none is."""
    scratch = np.empty(ROW_SIZE, dtype=np.int16)
    for game in range(rows.shape[0]):
        wrong = first_wrong(rows[game], start, most_dwarfs, most_trolls, scratch)
        if wrong >= 0:
            return game, wrong
    return -1, -1


@cache
def _start_of(key: tuple[int, ...]) -> Row:
    """The start of a battle of a ruleset, by its key: ``Ruleset`` itself is slow to hash."""
    return fields.new_row(ruleset_of_key(key))


def check_row(row: Any) -> Row:
    """Return a row from outside, [432], as int16. Its ruleset is the one that it names.

    Raises:
        RowError: if no play leads to it; the message names the first wrong entry.
    """
    one = _as_array("a state row", row)
    if one.shape != (ROW_SIZE,):
        raise RowError(f"a state row has shape ({ROW_SIZE},), not {one.shape}")
    return check_rows(one[np.newaxis])[0]


def check_rows(rows: Any, ruleset: Ruleset | None = None) -> NDArray[np.int16]:
    """Return rows from outside, [N, 432], as int16.

    Args:
        rows: any numbers.
        ruleset: the ruleset that all of them should be of; None: each is of the one it names.

    Raises:
        RowError: if one is not of the ruleset, or no play leads to it; the message names the row,
            if there are several, and the first wrong entry.
    """
    given = as_rows(rows)
    if ruleset is None:
        return _check_as_named(given)
    start = _start_of(ruleset.key)
    game, cell = _first_wrong_of(given, start, len(ruleset.dwarfs), len(ruleset.trolls))
    if cell < 0:
        return given
    which = f"row {game}" if len(given) > 1 else "the row"
    if cell == TRAITS or RULESET_KEY <= cell < UNUSED:
        try:
            named = f"names {ruleset_of(given[game]).spec}"
        except ValueError:
            named = "names none that this process has made"
        raise RowError(
            f"{which} is not of {ruleset.spec}: entry {cell} ({_name_of(cell)}) differs, "
            f"and it {named}"
        )
    raise RowError(
        f"{which} is damaged: entry {cell} ({_name_of(cell)}) cannot be {given[game, cell]} there"
    )


def _check_as_named(rows: NDArray[np.int16]) -> NDArray[np.int16]:
    """``check_rows`` of [N, 432] rows, each of the ruleset that it names."""
    keys = rows[:, RULESET_KEY:UNUSED]
    if len(rows) and (keys == keys[0]).all():
        try:
            ruleset = ruleset_of(rows[0])
        except ValueError as error:
            raise RowError(str(error)) from None
        return check_rows(rows, ruleset)
    for number, row in enumerate(rows):
        try:
            _check_as_named(row[np.newaxis])
        except RowError as error:
            raise RowError(f"row {number}: {error}") from None
    return rows


def as_rows(given: Any) -> NDArray[np.int16]:
    """Integers of any type as rows, [N, 432] int16, one after the other in memory and writeable, as
    all rows are for which the rules are compiled. What they hold is not looked at.

    Raises:
        RowError: if they are not of that shape, or do not fit.
    """
    given = _as_array("rows", given)
    if given.ndim != 2 or given.shape[1] != ROW_SIZE or given.dtype.kind not in "iu":
        right = ""
        if given.shape == (ROW_SIZE,):
            right = ": row[np.newaxis] would be right"
        elif given.size and hasattr(given.flat[0], "row"):  # Positions
            right = ": np.stack([position.row for position in positions]) would be right"
        raise RowError(
            f"rows are integers of shape (N, {ROW_SIZE}), not {given.dtype} of {given.shape}{right}"
        )
    if given.dtype != np.int16:
        limits = np.iinfo(np.int16)
        if given.size and (given.min() < limits.min or given.max() > limits.max):
            raise RowError(f"rows hold 16-bit integers, not {given.max()} or {given.min()}")
    rows = np.ascontiguousarray(given, np.int16)
    return rows if rows.flags.writeable else rows.copy()


def _as_array(name: str, given: Any) -> NDArray[Any]:
    try:
        return as_array(name, given)
    except ValueError as error:
        raise RowError(str(error)) from None


_NAMES = {
    getattr(fields, name): name
    for name in (
        "TAKEN_LINES",
        "DWARF_CELLS",
        "TROLL_CELLS",
        "TO_MOVE",
        "PENDING",
        "PENDING_CELL",
        "TAKEN",
        "QUIET_TURNS",
        "TURNS",
        "NUM_DWARFS",
        "NUM_TROLLS",
        "STONE_CELL",
        "TRAITS",
        "TERMINATION",
        "MAX_QUIET_TURNS",
        "MAX_TURNS",
        "OFFER_AFTER",
        "AGREEMENT",
        "OFFER_WAIT",
        "RULESET_KEY",
    )
}
"""What ``row.py`` calls the entries, by the first cell of each."""


def _name_of(cell: int) -> str:
    if cell < fields.TAKEN_LINES:
        return "the board"
    if cell >= UNUSED:
        return "unused"
    return _NAMES[max(first for first in _NAMES if first <= cell)]
