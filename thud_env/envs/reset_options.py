"""Reads and checks where battles start, and the other options of an environment's ``reset``."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thud_env.arguments import as_array, nearest, shown
from thud_env.envs.common import Limits
from thud_env.errors import ThudError
from thud_env.position import Position
from thud_env.rules.check import check_rows
from thud_env.rules.row import ONGOING, ROW_SIZE, TERMINATION, new_row
from thud_env.rulesets import RULESETS, Ruleset

Starts = str | Position | Sequence[str | Position] | NDArray[Any]
"""One start or several, or state rows, [S, 432]."""


def as_options(options: dict[str, Any] | None) -> dict[str, Any]:
    """The options of a reset, none if there are none.

    Raises:
        TypeError: if they are not a dictionary.
    """
    if options is None or isinstance(options, dict):
        return options or {}
    raise TypeError(
        f"options is of type {type(options).__name__}: "
        "a dictionary, such as {'position': text}, would be right"
    )


def start_option(options: dict[str, Any] | None) -> Any:
    """The start that the options of a reset give, None if they give none. Other options are
    ignored, as PettingZoo's tests have some of their own, but not a misspelt ``"position"``.

    Raises:
        TypeError: if they are not a dictionary.
        ThudError: if one is nearly ``"position"``.
    """
    options = as_options(options)
    for name in options:
        if name != "position" and get_close_matches(str(name).lower(), ["position"], cutoff=0.87):
            raise ThudError(f"unknown option {shown(name)}: did you mean 'position'?")
    return options.get("position")


def read_options(options: dict[str, Any] | None, known: tuple[str, ...]) -> dict[str, Any]:
    """The same of an environment that knows all its options.

    Raises:
        TypeError: if they are not a dictionary.
        ThudError: if one is unknown.
    """
    options = as_options(options)
    for name in options:
        if name not in known:
            hint = nearest(str(name), known)
            raise ThudError(f"unknown option {shown(name)}: {hint}known: {', '.join(known)}")
    return options


def read_mask(mask: Any, count: int) -> NDArray[np.bool_]:
    """``options["reset_mask"]``, [count] bool; all True if it is None.

    Raises:
        ThudError: if it is anything else.
    """
    if mask is None:
        return np.ones(count, dtype=np.bool_)
    array = as_array("reset_mask", mask)
    if array.shape != (count,) or array.dtype != np.bool_:
        raise ThudError(
            f"reset_mask is {array.dtype} of shape {array.shape}: "
            f"bool of shape ({count},) would be right"
        )
    return array


def read_start(start: str | Position, rules: Ruleset, limits: Limits) -> NDArray[np.int16]:
    """The state row of a position to start from, [432].

    Args:
        start: position text or a ``Position``.
        rules: what is played.
        limits: of the battle, for a start given as text.

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
    if start.outcome is not None:
        raise ThudError(f"position {start.text!r} is over: {start.outcome}")
    return start.row.copy()


def read_starts(
    position: Any, rules: Ruleset, limits: Limits, chosen: NDArray[np.bool_]
) -> NDArray[np.int16]:
    """The state rows that B battles start from, [B, 432]; those of battles that are not to start
    are not read.

    Args:
        position: a start for all, or a sequence of B of them, or state rows, [B, 432] integers,
            which keep their own limits.
        rules: what is played.
        limits: of the battles, for starts given as text.
        chosen: [B] the battles to start.

    Raises:
        TypeError: as ``read_start``.
        ThudError: as ``read_start``, or if there are too few or too many; ``RowError`` for a
            damaged row.
    """
    count, unread = len(chosen), new_row(rules)
    if len(getattr(position, "shape", ())) == 2:
        position = as_array("position", position)
        _check_number(len(position), count)
        if position.shape[1] == len(unread):
            position = np.where(chosen[:, np.newaxis], position, unread)
        return _read_rows(position, rules)
    if isinstance(position, str | Position):
        return np.tile(read_start(position, rules, limits), (count, 1))
    if not isinstance(position, Sequence) or isinstance(position, bytes):
        raise TypeError(
            f"position {shown(position)}: position text, a Position, a list of {count} of them, or "
            f"rows, [{count}, {len(unread)}], would be right"
        )
    _check_number(len(position), count)
    return np.stack(
        [
            read_start(start, rules, limits) if is_read else unread
            for start, is_read in zip(position, chosen.tolist(), strict=True)
        ]
    )


def read_pool(starts: Starts | None, rules: Ruleset, limits: Limits) -> NDArray[np.int16]:
    """The state rows that battles start from if ``reset`` is not told otherwise, [S, 432].

    Args:
        starts: position text or a ``Position``, or a sequence of one or more of them, or state
            rows, [S, 432] integers; None for the usual start. A ``Position`` and a row keep their
            own limits.
        rules: what is played.
        limits: of the battles, for the usual start and those given as text.

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
        return _read_rows(as_array("starts", starts), rules)
    return np.stack([read_start(start, rules, limits) for start in starts])


def _read_rows(rows: NDArray[Any], rules: Ruleset) -> NDArray[np.int16]:
    rows = check_rows(rows, rules)
    over = np.flatnonzero(rows[:, TERMINATION] != ONGOING)
    if len(over):
        raise ThudError(
            f"position {over[0]}, a row, is over: {Position.unchecked(rows[over[0]]).outcome}"
        )
    return rows.copy()


def _check_number(found: int, count: int) -> None:
    if found != count:
        raise ThudError(f"{found} positions for {count} environments: one each is needed")


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
