"""What callers hand to an environment's ``reset``: read and checked."""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thud_env.position import Position
from thud_env.rulesets import RULESETS, Ruleset


def read_options(options: dict[str, Any] | None, known: tuple[str, ...]) -> dict[str, Any]:
    """The options of a reset, none if there are none.

    Raises:
        ValueError: if one is not known: a misspelt one would start from where nobody meant.
    """
    for name in options or {}:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ValueError(f"unknown option {name!r}: {hint}known: {', '.join(known)}")
    return options or {}


def read_start(start: str | Position, rules: Ruleset, limits: dict[str, Any]) -> NDArray[np.int16]:
    """The state row of a position to start from, [432].

    Args:
        start: position text or a ``Position``.
        rules: what is played.
        limits: of the battle, for a start given as text.

    Raises:
        TypeError: if it is neither.
        ValueError: if it is damaged, of another ruleset, or over.
    """
    if isinstance(start, str):
        start = _read_text(start, rules, limits)
    if not isinstance(start, Position):
        raise TypeError(f"position {start!r}: position text or a Position would be right")
    if start.rules != rules:
        raise ValueError(f"a position of {start.rules.name} cannot start a battle of {rules.name}")
    if start.outcome is not None:
        raise ValueError(f"position {start.text!r} is over: {start.outcome}")
    return start.row.copy()


def _read_text(text: str, rules: Ruleset, limits: dict[str, Any]) -> Position:
    try:
        return Position.from_text(text, rules, **limits)
    except ValueError as error:
        readers = [name for name in RULESETS if _reads(text, name, limits)]
        hint = f"; rules={readers[0]!r} would read it" if readers else ""
        raise ValueError(f"{error}{hint}") from None


def _reads(text: str, rules: str, limits: dict[str, Any]) -> bool:
    try:
        Position.from_text(text, rules, **{**limits, "agreement": True})
    except ValueError:
        return False
    return True
