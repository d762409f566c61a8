"""``metrics.jsonl``: one line an update, each with the number of decisions played so far."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agents.durable import replace_flushed
from agents.strict_json import parse_json

FILE = "metrics.jsonl"


def keep_until(path: Path, decisions: int, step: int) -> list[str]:
    """Remove the lines beyond a number of decisions, which will be written again, and damaged ones.

    Args:
        path: the file; it need not exist.
        decisions: how far the run is.
        step: decisions between two lines.

    Returns:
        What is missing, a sentence each.
    """
    kept, last, gaps = [], 0, []
    for entry, line in whole_lines(path):
        at = entry["decisions"]
        if not last < at <= decisions:
            continue
        gaps += _gap(path, last, at - step)
        kept.append(line + b"\n")
        last = at
    gaps += _gap(path, last, decisions)
    replace_flushed(path, b"".join(kept))
    return gaps


def _gap(path: Path, last: int, until: int) -> list[str]:
    if until <= last:
        return []
    return [f"{path}: the lines after {last:,} and up to {until:,} decisions are lost"]


def whole_lines(path: Path) -> list[tuple[dict[str, Any], bytes]]:
    """The undamaged lines, each parsed and as text; empty if there is no file."""
    lines = path.read_bytes().split(b"\n") if path.exists() else []
    return [(entry, line) for line in lines if (entry := _entry(line)) is not None]


def _entry(line: bytes) -> dict[str, Any] | None:
    """The entry of a line, or None if it is damaged."""
    try:
        entry: Any = parse_json(line)
    except ValueError:
        return None
    if not isinstance(entry, dict) or type(entry.get("decisions")) is not int:
        return None
    numbers = all(type(value) in (int, float) for value in entry.values())
    return entry if numbers else None
