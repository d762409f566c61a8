"""Positions as text (docs/notation.md), and as a diagram for people.

Every function works on state rows; ``Position`` wraps them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from thud_env.arguments import shown
from thud_env.board import (
    CELL_OF_SQUARE,
    COLUMNS,
    SIZE,
    SQUARE_BY_NAME,
    SQUARE_NAMES,
    SQUARE_OF_CELL,
    SQUARE_POSITIONS,
    cell_at,
)
from thud_env.errors import ThudError
from thud_env.notation.turns import PIECES
from thud_env.rules import row as fields
from thud_env.rules.check import (
    MIGHT_NOT_OFFER,
    WAS_OVER,
    how_turn_began,
    is_asked,
    may_be_pending,
)
from thud_env.rules.moves import count_adjacent
from thud_env.rules.play import settle
from thud_env.rules.row import DWARF, EMPTY, STONE, TROLL, Row

_QUESTIONS = {
    fields.TAKE_ONE: "one",
    fields.TAKE_ANY: "any",
    fields.TAKE_SOME: "some",
    fields.TAKE_ALL: "all",
    fields.TRAMPLE_ON: "trample",
}

_COUNT = "0|[1-9][0-9]{0,4}"
"""A number as it is written: in one way only."""

_ROW_COLUMNS = [[col for row, col in SQUARE_POSITIONS if row == y] for y in range(SIZE)]


def board_text(letters: Iterable[str]) -> str:
    """The first field of position text.

    Args:
        letters: [165] what stands on each square: d, T, R or a space.
    """
    squares = iter(letters)
    lines = ("".join(islice(squares, len(columns))) for columns in _ROW_COLUMNS)
    return re.sub(" +", lambda run: str(len(run.group())), "/".join(lines))


def position_text(row: Row) -> str:
    """The position as text: board, side, what is pending, quiet turns, turns played, and,
    where an offer was declined lately, the turns for which each side may not offer.
    """
    words = [
        board_text(PIECES.get(piece, " ") for piece in row[CELL_OF_SQUARE].tolist()),
        "dt"[row[fields.TO_MOVE]],
        _pending_text(row),
        str(row[fields.QUIET_TURNS]),
        str(row[fields.TURNS]),
    ]
    waits = row[fields.OFFER_WAIT : fields.OFFER_WAIT + 2]
    if waits.any():
        words.append(f"{waits[0]},{waits[1]}")
    return " ".join(words)


def _pending_text(row: Row) -> str:
    pending = int(row[fields.PENDING])
    if pending == fields.NO_QUESTION:
        return "agreed" if row[fields.TERMINATION] == fields.AGREED else "-"
    if pending == fields.ANSWER_OFFER:
        return "offer"
    square = SQUARE_NAMES[SQUARE_OF_CELL[row[fields.PENDING_CELL]]]
    taken = f"+{row[fields.TAKEN]}" if row[fields.TAKEN] else ""
    return f"{square}:{_QUESTIONS[pending]}{taken}"


def read_position(text: str, row: Row) -> None:
    """Overwrite a start row with the position that ``text`` describes.

    Args:
        text: position text.
        row: [432] the start of a battle of the ruleset and with the limits meant.

    Raises:
        ThudError: naming what is wrong in the text, and where.
    """
    words = text.split()
    if not 5 <= len(words) <= 6:
        raise ThudError(
            f"position {shown(text)} has {len(words)} fields: board, side, pending, quiet turns, "
            "turns played, and turns without offers at most, would be right"
        )
    _read_board(words[0], row)
    if words[1] not in ("d", "t"):
        raise ThudError(f"side {shown(words[1])} in position {shown(text)}: d or t would be right")
    row[fields.TO_MOVE] = "dt".index(words[1])
    row[fields.QUIET_TURNS] = _read_count(words[3], "quiet turns", int(row[fields.MAX_QUIET_TURNS]))
    row[fields.TURNS] = _read_count(words[4], "turns played", int(row[fields.MAX_TURNS]))
    if len(words) == 6:
        _read_waits(words[5], row)
    _read_pending(words[2], row)
    if words[2] == "-":
        settle(row)
    else:
        _check_turn_was_possible(words[2], row)


def _read_count(word: str, what: str, largest: int) -> int:
    if not (re.fullmatch(_COUNT, word) and int(word) <= largest):
        raise ThudError(f"{what} {shown(word)}: a number in 0 .. {largest} would be right")
    return int(word)


def _read_board(text: str, row: Row) -> None:
    lines = text.split("/")
    if len(lines) != SIZE:
        raise ThudError(
            f"board {shown(text)} has {len(lines)} rows: {SIZE} joined by / would be right"
        )
    pieces = {letter: piece for piece, letter in PIECES.items()}
    squares: list[int] = []
    for number, (line, columns) in enumerate(zip(lines, _ROW_COLUMNS, strict=True), start=1):
        found: list[int] = []
        for token in re.findall(r"[0-9]+|.", line):
            if token in pieces:
                found.append(pieces[token])
            elif re.fullmatch(_COUNT, token) and 1 <= int(token) <= SIZE:
                found.extend([EMPTY] * int(token))
            else:
                raise ThudError(
                    f"{shown(token)} in row {number}, {shown(line)}: d, T, R, 1 to 15 are read"
                )
        if len(found) != len(columns):
            raise ThudError(
                f"row {number}, {shown(line)}, has {len(found)} squares: "
                f"{len(columns)} would be right"
            )
        squares += found
    _check_pieces(squares, row)
    row[CELL_OF_SQUARE] = squares
    fields.index_row(row)


def _check_pieces(squares: list[int], row: Row) -> None:
    ruleset = fields.ruleset_of(row)
    for piece, most, name in (
        (DWARF, len(ruleset.dwarfs), "dwarfs"),
        (TROLL, len(ruleset.trolls), "trolls"),
    ):
        if squares.count(piece) > most:
            raise ThudError(
                f"{squares.count(piece)} {name} on the board: {ruleset.name} has {most} at most"
            )
    if squares.count(STONE) != 1:
        raise ThudError(f"{squares.count(STONE)} R on the board: there is one in every game")
    stone = SQUARE_NAMES[squares.index(STONE)]
    if not ruleset.stone_moves and stone != ruleset.stone:
        raise ThudError(f"R on {stone}: in {ruleset.name} the stone stands on {ruleset.stone}")


def _read_waits(word: str, row: Row) -> None:
    waits = word.split(",")
    if len(waits) != 2:
        raise ThudError(f"turns without offers {shown(word)}: two numbers, 3,0 say, would be right")
    for side, wait in enumerate(waits):
        most = int(row[fields.OFFER_AFTER]) if row[fields.AGREEMENT] else 0
        row[fields.OFFER_WAIT + side] = _read_count(wait, "turns without offers", most)


def _read_pending(word: str, row: Row) -> None:
    if word == "-":
        return
    ruleset = fields.ruleset_of(row)
    if word in ("offer", "agreed"):
        if not row[fields.AGREEMENT]:
            raise ThudError(f"pending {shown(word)}, but the battle is played with agreement=False")
        if word == "offer":
            row[fields.PENDING] = fields.ANSWER_OFFER
        else:
            row[fields.TERMINATION] = fields.AGREED
        return
    match = re.fullmatch(r"([A-P]\d{1,2}):([a-z]+)(?:\+([1-9][0-9]?))?", word)
    if match is None or match[1] not in SQUARE_BY_NAME or match[2] not in _QUESTIONS.values():
        raise ThudError(
            f"pending {shown(word)}: -, offer, agreed or a troll's square and question, "
            "F6:any say, would be right"
        )
    name, question, taken = match[1], match[2], int(match[3] or 0)
    value = {word: value for value, word in _QUESTIONS.items()}[question]
    if not is_asked(row, value):
        raise ThudError(f"pending {shown(word)}: {ruleset.name} never asks {question!r}")
    cell = int(CELL_OF_SQUARE[SQUARE_BY_NAME[name]])
    if row[fields.TO_MOVE] != fields.TROLLS or row[cell] != TROLL:
        raise ThudError(
            f"pending {shown(word)}: only for a troll on {name} with the trolls to move"
        )
    adjacent = int(count_adjacent(row, cell, DWARF))
    row[fields.PENDING] = value
    row[fields.PENDING_CELL] = cell
    row[fields.TAKEN] = taken
    if not may_be_pending(row) or row[fields.NUM_DWARFS] + taken > len(ruleset.dwarfs):
        raise ThudError(
            f"pending {shown(word)} cannot be: {adjacent} dwarfs stand beside {name}, "
            f"{row[fields.NUM_DWARFS]} on the board"
        )


def _check_turn_was_possible(word: str, row: Row) -> None:
    """A turn begins only in a battle that is not over, and an offer only where it is allowed.

    Without this, a turn in the middle could carry the clocks past their limits, and a declined
    offer could hand the turn to a side that has none. An offer that was accepted is one, too.
    """
    began = how_turn_began(row, row.copy())
    if began == WAS_OVER:
        raise ThudError(f"pending {shown(word)} cannot be: the battle was over before this turn")
    if began == MIGHT_NOT_OFFER:
        raise ThudError(f"pending {shown(word)} cannot be: the other side might not offer yet")


def board_diagram(row: Row) -> str:
    """The board as plain text with coordinates, for a person to read."""
    symbols = {EMPTY: ".", **PIECES}
    names = "    " + " ".join(COLUMNS)
    lines = [names]
    for y, columns in enumerate(_ROW_COLUMNS):
        line = [" "] * SIZE
        for col in columns:
            line[col] = symbols[int(row[cell_at(y, col)])]
        lines.append(f" {y + 1:2d} " + " ".join(line).rstrip())
    return "\n".join(lines)
