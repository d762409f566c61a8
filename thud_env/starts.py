"""Reads where battles start: position texts, positions and state rows, with the limits given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from thud_env.arguments import as_array, shown
from thud_env.errors import ThudError
from thud_env.position import Position
from thud_env.rules.check import RowError, as_rows, check_rows
from thud_env.rules.row import (
    LIMITS,
    MAX_QUIET_TURNS,
    MAX_TURNS,
    ONGOING,
    QUIET_TURNS,
    ROW_SIZE,
    TERMINATION,
    TURNS,
    new_row,
)
from thud_env.rulesets import RULESETS, Ruleset

Starts = str | Position | Sequence[str | Position] | NDArray[Any]
"""One start or several, or state rows, [S, 432]."""


class Limits(TypedDict, total=False):
    """What may end a battle besides the rules. What is left out or None is as a ``Position`` or a
    row has it, and for a text as the ruleset has it.
    """

    max_quiet_turns: int | None
    max_turns: int | None
    offer_after: int | None
    agreement: bool


def limits_asked_for(
    max_quiet_turns: int | None,
    max_turns: int | None,
    offer_after: int | None,
    agreement: bool | None,
) -> Limits:
    """The limits that an environment was made with; None for those that it was not given."""
    limits = Limits(max_quiet_turns=max_quiet_turns, max_turns=max_turns, offer_after=offer_after)
    if agreement is not None:
        limits["agreement"] = agreement
    return limits


def read_start(
    start: str | Position, rules: Ruleset, limits: Limits, name: str = "position"
) -> NDArray[np.int16]:
    """The state row of a position to start from, [432], with the limits given.

    Args:
        start: position text or a ``Position``.
        rules: what is played.
        limits: of the battle, in their ranges.
        name: what the argument is called.

    Raises:
        TypeError: if it is neither.
        ThudError: if it is damaged, of another ruleset, or over.
    """
    if isinstance(start, str):
        start = _read_text(start, rules, limits)
    if not isinstance(start, Position):
        given = f"is of type {type(start).__name__}" if hasattr(start, "dtype") else repr(start)
        raise TypeError(
            f"{name} {given}: position text or a Position, such as Position(row), would be right"
        )
    if start.rules != rules:
        raise ThudError(f"a position of {start.rules.spec} cannot start a battle of {rules.spec}")
    known: Position = start
    return _limited(lambda _: f"{name} {known.text!r}", known.row[np.newaxis], limits)[0]


def read_starts(
    given: Any,
    rules: Ruleset,
    limits: Limits,
    chosen: NDArray[np.bool_],
    name: str = "position",
) -> NDArray[np.int16]:
    """The state rows that B battles start from, [B, 432]; those of battles that are not to start
    are not read.

    Args:
        given: a start for all, or a sequence of B of them, or state rows, [B, 432] integers.
        rules: what is played.
        limits: of the battles.
        chosen: [B] the battles to start.
        name: what the argument is called.

    Raises:
        TypeError: as ``read_start``.
        ThudError: as ``read_start``, or if there are too few or too many; ``RowError`` for a
            damaged row.
    """
    count = len(chosen)
    rows = np.tile(new_row(rules, **limits), (count, 1))
    if isinstance(given, str | Position):
        rows[:] = read_start(given, rules, limits, name)
        return rows
    if len(getattr(given, "shape", ())) == 2:
        _check_number(len(given), count)
        given = as_rows(given)
        rows = check_rows(np.where(chosen[:, np.newaxis], given, rows), rules)
        return _limited(lambda number: f"{name} {number}, a row,", rows, limits)
    if not isinstance(given, Sequence) or isinstance(given, bytes):
        raise TypeError(
            f"{name} {shown(given)}: position text, a Position, a list of {count} of them, or "
            f"rows, [{count}, {ROW_SIZE}], would be right"
        )
    _check_number(len(given), count)
    for number in np.flatnonzero(chosen).tolist():
        rows[number] = read_start(given[number], rules, limits, name)
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
        ThudError: as ``read_start``, or if there is none; ``RowError`` for a damaged row, or rows
            that are no such array.
    """
    usual = new_row(rules, **limits)
    if starts is None:
        return usual[np.newaxis]
    if isinstance(starts, str | Position):
        starts = [starts]
    given: Any = starts
    kind = getattr(getattr(given, "dtype", None), "kind", "")  # PyTorch's dtypes have none
    is_array = len(getattr(given, "shape", ())) > 0 and kind != "U"
    if not is_array and (not isinstance(starts, Sequence) or isinstance(starts, bytes)):
        raise TypeError(
            f"starts {shown(starts)}: a list of position texts or Positions, or rows, "
            f"[S, {ROW_SIZE}], would be right"
        )
    if not len(starts):
        raise ThudError("starts has none: one at least would be right, or None for the setup")
    if not is_array and all(len(getattr(start, "shape", ())) == 1 for start in starts):
        right = f"one array, np.stack(rows), [S, {ROW_SIZE}]"
        raise RowError(f"starts has rows in a list: {right}, would be right")
    if is_array:
        rows = check_rows(as_array("starts", starts), rules)
        return _limited(lambda number: f"start {number}, a row,", rows, limits)
    return np.stack([read_start(start, rules, limits, "start") for start in starts])


def _limited(
    name: Callable[[int], str], rows: NDArray[np.int16], limits: Limits
) -> NDArray[np.int16]:
    """Copies of sound rows, [N, 432], with the limits given.

    Args:
        name: what messages call the row of a number.
        rows: [N, 432] state rows.
        limits: in their ranges.

    Raises:
        ThudError: if one is over then, naming it.
    """
    given: dict[str, Any] = {limit: most for limit, most in limits.items() if most is not None}
    limited = rows.copy()
    for limit, most in given.items():
        limited[:, LIMITS[limit]] = most
    changed = (limited != rows).any(axis=1)
    at_once = {"max_turns", "max_quiet_turns"}
    if given.keys() <= at_once:  # the other limits change what may be offered and when
        at_limit = (limited[:, TURNS] >= limited[:, MAX_TURNS]) | (
            limited[:, QUIET_TURNS] >= limited[:, MAX_QUIET_TURNS]
        )
        was_over = limited[:, TERMINATION] != ONGOING  # by limits of its own, perhaps
        changed &= at_limit | was_over
    for number in np.flatnonzero(changed).tolist():
        start = Position.unchecked(rows[number])
        try:
            again = Position.from_text(start.text, start.rules, **{**start.limits, **given})
        except ThudError as error:
            raise ThudError(f"{name(number)}: {error}") from None
        limited[number] = again.row
    over = np.flatnonzero(limited[:, TERMINATION] != ONGOING)
    if len(over):
        outcome = Position.unchecked(limited[over[0]]).outcome
        raise ThudError(f"{name(int(over[0]))} is over: {outcome}")
    return limited


def _check_number(found: int, count: int) -> None:
    if found != count:
        raise ThudError(f"{found} positions for {count} battles: one each is needed")


def _read_text(text: str, rules: Ruleset, limits: Limits) -> Position:
    try:
        return Position.from_text(text, rules, **limits)
    except ValueError as error:
        hint = ""
        if not _reads(text, rules, limits):  # if it does, an open offer is all that was refused
            readers = [name for name, other in RULESETS.items() if _reads(text, other, limits)]
            hint = f"; rules={readers[0]!r} would read it" if readers else ""
        raise ThudError(f"{error}{hint}") from None


def _reads(text: str, rules: Ruleset, limits: Limits) -> bool:
    """Whether a ruleset has such a position, if need be by agreement."""
    with_agreement: Limits = {**limits, "agreement": True}
    try:
        Position.from_text(text, rules, **with_agreement)
    except ValueError:
        return False
    return True
