"""Reads where battles start: position texts, positions and state rows, with the limits given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from thud_env.arguments import as_array, shown
from thud_env.errors import ThudError
from thud_env.position import Position
from thud_env.rules.check import as_rows, check_rows
from thud_env.rules.row import ROW_SIZE, new_row
from thud_env.rulesets import RULESETS, Ruleset

Starts = str | Position | Sequence[str | Position] | NDArray[Any]
"""One start or several, or state rows, [S, 432]."""


class Limits(TypedDict, total=False):
    """What may end a battle besides the rules. A limit that is left out or None is as a
    ``Position`` or a row has it, and for a text as the ruleset has it; so is an agreement that is
    False.
    """

    max_quiet_turns: int | None
    max_turns: int | None
    offer_after: int | None
    agreement: bool


def read_start(start: str | Position, rules: Ruleset, limits: Limits) -> NDArray[np.int16]:
    """The state row of a position to start from, [432], with the limits given.

    Args:
        start: position text or a ``Position``.
        rules: what is played.
        limits: of the battle.

    Raises:
        TypeError: if it is neither.
        ThudError: if it is damaged, of another ruleset, or over.
    """
    if isinstance(start, str):
        start = _read_text(start, rules, limits)
    if not isinstance(start, Position):
        given = f"is of type {type(start).__name__}" if hasattr(start, "dtype") else repr(start)
        raise TypeError(
            f"position {given}: position text or a Position, such as Position(row), would be right"
        )
    if start.rules != rules:
        raise ThudError(f"a position of {start.rules.spec} cannot start a battle of {rules.spec}")
    return _ongoing(repr(start.text), start, limits).row


def read_starts(
    position: Any, rules: Ruleset, limits: Limits, chosen: NDArray[np.bool_]
) -> NDArray[np.int16]:
    """The state rows that B battles start from, [B, 432]; those of battles that are not to start
    are not read.

    Args:
        position: a start for all, or a sequence of B of them, or state rows, [B, 432] integers.
        rules: what is played.
        limits: of the battles.
        chosen: [B] the battles to start.

    Raises:
        TypeError: as ``read_start``.
        ThudError: as ``read_start``, or if there are too few or too many; ``RowError`` for a
            damaged row.
    """
    count = len(chosen)
    rows = np.tile(new_row(rules), (count, 1))
    if isinstance(position, str | Position):
        rows[:] = read_start(position, rules, limits)
        return rows
    if len(getattr(position, "shape", ())) == 2:
        given = as_rows(position)
        _check_number(len(given), count)
        return _read_rows(np.where(chosen[:, np.newaxis], given, rows), rules, limits)
    if not isinstance(position, Sequence) or isinstance(position, bytes):
        raise TypeError(
            f"position {shown(position)}: position text, a Position, a list of {count} of them, or "
            f"rows, [{count}, {ROW_SIZE}], would be right"
        )
    _check_number(len(position), count)
    for number in np.flatnonzero(chosen).tolist():
        rows[number] = read_start(position[number], rules, limits)
    return rows


def read_pool(starts: Starts | None, rules: Ruleset, limits: Limits) -> NDArray[np.int16]:
    """The state rows that battles start from if nothing else is said, [S, 432].

    Args:
        starts: position text or a ``Position``, or a sequence of one or more of them, or state
            rows, [S, 432] integers; None for the usual start.
        rules: what is played.
        limits: of the battles.

    Raises:
        TypeError: as ``read_start``.
        ThudError: as ``read_start``, or if there is none; ``RowError`` for a damaged row.
    """
    if starts is None:
        return new_row(rules, **limits)[np.newaxis]
    is_array = len(getattr(starts, "shape", ())) == 2
    if isinstance(starts, str | Position):
        starts = [starts]
    if not is_array and (not isinstance(starts, Sequence) or isinstance(starts, bytes)):
        raise TypeError(
            f"starts {shown(starts)}: a list of position texts or Positions, or rows, "
            f"[S, {ROW_SIZE}], would be right"
        )
    if not len(starts):
        raise ThudError("starts has none: one at least would be right, or None for the setup")
    if is_array:
        return _read_rows(as_array("starts", starts), rules, limits)
    return np.stack([read_start(start, rules, limits) for start in starts])


def _read_rows(given: NDArray[Any], rules: Ruleset, limits: Limits) -> NDArray[np.int16]:
    rows = check_rows(given, rules).copy()
    for number, row in enumerate(rows):
        row[:] = _ongoing(f"{number}, a row,", Position.unchecked(row), limits).row
    return rows


def _ongoing(name: str, start: Position, limits: Limits) -> Position:
    """A position with the limits given, unless it is over then."""
    own = start.limits
    given = {name: limit for name, limit in limits.items() if limit not in (None, False)}
    if own | given != own:
        start = Position.from_text(start.text, start.rules, **{**own, **given})
    if start.outcome is not None:
        raise ThudError(f"position {name} is over: {start.outcome}")
    return start


def _check_number(found: int, count: int) -> None:
    if found != count:
        raise ThudError(f"{found} positions for {count} battles: one each is needed")


def _read_text(text: str, rules: Ruleset, limits: Limits) -> Position:
    try:
        return Position.from_text(text, rules, **limits)
    except ValueError as error:
        readers = [name for name, other in RULESETS.items() if _reads(text, other, limits)]
        hint = f"; rules={readers[0]!r} would read it" if readers else ""
        raise ThudError(f"{error}{hint}") from None


def _reads(text: str, rules: Ruleset, limits: Limits) -> bool:
    with_agreement: Limits = {**limits, "agreement": True}
    try:
        Position.from_text(text, rules, **with_agreement)
    except ValueError:
        return False
    return True
