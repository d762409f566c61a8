"""In what two sets of options differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Say of each key that both have, and that has changed, how."""
    had, has = _flat(before), _flat(now)
    return [
        f"{key} was {value!r}, not {has[key]!r}"
        for key, value in had.items()
        if key in has and value != has[key]
    ]


def _flat(tree: Mapping[str, Any], start: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{start}{key}.")
        else:
            flat[f"{start}{key}"] = value
    return flat
