"""The values of a ruleset's fields: as they are given, and as a spec spells them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, get_origin

from thud_env.arguments import nearest, shown
from thud_env.board import SQUARE_NAMES, square_named
from thud_env.errors import ThudError

_YES_NO = {"yes": True, "no": False}


def read_squares(what: str, names: str | Iterable[str]) -> tuple[str, ...]:
    """Names of squares, in the board's order.

    Raises:
        ThudError: if they are none, or one is there twice; the message names ``what`` they are.
    """
    if not isinstance(names, Iterable):
        raise ThudError(f"{what} must be names of squares, ('G7', 'H7') say, not {shown(names)}")
    words = names.split() if isinstance(names, str) else list(names)
    squares = sorted(square_named(word) for word in words)
    for square, following in pairwise(squares):
        if square == following:
            raise ThudError(f"{what} has {SQUARE_NAMES[square]} twice: once would be right")
    return tuple(SQUARE_NAMES[square] for square in squares)


def spell(value: Any) -> str:
    """The value of a field as a spec has it, which ``read_changes`` reads."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "+".join(value) if isinstance(value, tuple) else str(value)


def read_changes(text: str, known: dict[str, Any]) -> dict[str, Any]:
    """The fields that a spec changes, ``name=mine,trolls=G7+H7``, say, and their values.

    Args:
        text: the spec from its colon on.
        known: each field of a ruleset, with its type.

    Raises:
        ThudError: for a field that there is not, that has no value or neither yes nor no, or that
            is there twice.
    """
    changes: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals:
            right = "FIELD=VALUE would be right, and + between squares"
            raise ThudError(f"{shown(part)} has no value: {right}")
        if name not in known:
            near = nearest(name, known)
            raise ThudError(f"a ruleset has no {shown(name)}: {near}it has {', '.join(known)}")
        if name in changes:
            raise ThudError(f"{name} is there twice: once would be right")
        changes[name] = _unspelt(name, value, known[name])
    return changes


def _unspelt(name: str, value: str, kind: Any) -> Any:
    """The value of a field of a type, which ``spell`` spelt."""
    if kind is int and value.isascii() and value.isdigit():
        return int(value)
    if kind is bool:
        if value not in _YES_NO:
            raise ThudError(f"{name}={value}: yes or no would be right")
        return _YES_NO[value]
    return tuple(value.split("+")) if get_origin(kind) is tuple else value
