"""Finds the legal turns that a person may mean by a typed text.

A legal turn in notation (docs/notation.md) means itself. Otherwise case, spaces and hyphens do not
matter, and the piece's letter and a troll's captures may be left out: ``g7f6`` stands for every
turn of the troll on G7 that goes by F6, whatever it captures there.
"""

from __future__ import annotations

import difflib
import re
from itertools import islice
from typing import NamedTuple

from thud_env import IllegalMove, Position
from thud_env.board import SQUARE_BY_NAME
from thud_env.errors import ThudError
from thud_env.notation.turns import (
    AGREEMENT_WORDS,
    PIECES,
    normalise_turn,
    walk_turns,
    why_immovable,
    why_no_agreement,
)
from thud_env.rules.row import is_between_turns

_TYPED = re.compile(r"([DTR]?)([A-P]\d+(?:-?[A-P]\d+)*)((?:X[A-P]\d+)*)")
_SQUARE = re.compile(r"[A-P]\d+")
_AS_WRITTEN = {letter.upper(): letter for letter in PIECES.values()}
_MOST_TURNS = 20_000
"""The most turns to look through. A position has some hundreds, but a troll among many dwarfs may
have hundreds of thousands of ways to trample; those beyond this must be typed in full."""


class TypedTurn(NamedTuple):
    """A turn, or the beginning of one, taken apart."""

    piece: str
    """``D``, ``T``, ``R``, or nothing if it was left out."""
    path: tuple[str, ...]
    captured: frozenset[str]

    @classmethod
    def of(cls, text: str) -> TypedTurn | None:
        """The parts of a text, or None if it names no squares."""
        match = _TYPED.fullmatch("".join(text.split()).upper())
        if match is None:
            return None
        piece, path, captured = match.groups()
        return cls(piece, tuple(_SQUARE.findall(path)), frozenset(_SQUARE.findall(captured)))

    def begins(self, other: TypedTurn) -> bool:
        """Whether the other turn goes along this path, or farther, with these captures."""
        return (
            self.piece in ("", other.piece)
            and self.path == other.path[: len(self.path)]
            and self.captured <= other.captured
        )


def turns_beginning(position: Position, text: str) -> list[str]:
    """The legal turns that begin with a square or a path, sorted; all of them for an empty text.

    Raises:
        ThudError: if the text names no squares of the board.
    """
    turns = sorted({turn for turn, _ in islice(walk_turns(position.row), _MOST_TURNS)})
    if not text:
        return turns
    begun = _parts(text)
    return [turn for turn in turns if (whole := TypedTurn.of(turn)) and begun.begins(whole)]


def read_turn(position: Position, text: str) -> list[str]:
    """The legal turns that a text may stand for, sorted, at least one; exactly one if the text is
    unambiguous.

    Raises:
        ThudError: if the text is not a turn.
        IllegalMove: if it matches no legal turn; the message says why, and names near ones.
    """
    word = text.strip().lower()
    is_about_offer = word in AGREEMENT_WORDS.values()
    turn = word if is_about_offer else text
    try:
        position.decisions(turn)
        return [normalise_turn(turn)]
    except ThudError:  # not in notation, or not legal: see what else it may mean
        if is_about_offer:
            why = why_no_agreement(position.row, word)
            raise IllegalMove(f"{word!r} is not legal now: {why}") from None
    typed = _parts(text)
    if len(typed.path) == 1 and not typed.captured and is_between_turns(position.row):
        square = typed.path[0]
        raise ThudError(f"{square} is a square, not a turn: 'moves {square}' lists its turns")
    meant = turns_beginning(position, text)
    if not meant:
        raise IllegalMove(_why_not(position, typed) + _near(position, text, typed.path[0]))
    if not typed.captured:
        return meant  # without captures in the text, let the person choose
    wholes = [turn for turn in meant if _parts(turn)[1:] == typed[1:]]
    return wholes or meant


def _parts(text: str) -> TypedTurn:
    typed = TypedTurn.of(text)
    if typed is None:
        raise ThudError(f"{text!r} is not a turn: dF1-F5, TG7-F6xE5 or RH8-H7 would be")
    for name in (*typed.path, *sorted(typed.captured)):
        if name not in SQUARE_BY_NAME:
            raise ThudError(f"{text!r} names {name}, which is not a square of the board")
    return typed


def _why_not(position: Position, typed: TypedTurn) -> str:
    square = typed.path[0]
    why = why_immovable(position.row, _AS_WRITTEN.get(typed.piece, ""), square)
    if why:
        return f"The {position.to_move} are to move, and {why}."
    name = position.piece_at(square)
    turns = turns_beginning(position, square)
    if not turns:
        return f"The {name} on {square} has no legal turn."
    return f"That is not one of the {len(turns)} legal turns of the {name} on {square}."


def _near(position: Position, text: str, square: str) -> str:
    """A sentence that names the nearest legal turns: those of a square if it has any."""
    turns = turns_beginning(position, square) or turns_beginning(position, "")
    by_capitals = {turn.upper(): turn for turn in turns}
    near = difflib.get_close_matches(text.upper(), by_capitals, n=3, cutoff=0.0)
    return f" Nearest: {', '.join(by_capitals[word] for word in near)}."
