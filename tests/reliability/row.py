"""One row: a promise, what checks it, and a fault that the check must notice."""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

Check = Callable[[int, Random, Path], int]
"""Checks so many cases, drawn from a generator, in an empty folder; returns how many it checked.
Raises whatever comes of a broken promise, an ``AssertionError`` at best."""

Plant = Callable[[], contextlib.AbstractContextManager[Any]]
"""Plants a fault, for as long as the context lasts."""


@dataclasses.dataclass(frozen=True)
class Row:
    """A promise and its proof."""

    name: str
    promise: str
    unit: str
    """What is counted."""
    check: Check
    ci: int
    """How many are checked in CI."""
    full: int
    """How many in the full run."""
    faults: dict[str, Plant]
    """What is planted, one after the other."""
    with_fault: int | None = None
    """How many are checked with a fault; None for as many as in CI."""


class NotProvenError(AssertionError):
    """A row that asserts nothing, or whose fault went unnoticed."""


def prove(row: Row, full: bool, seed: int) -> dict[str, Any]:
    """Check a row; then plant each of its faults, and check again.

    Args:
        row: the row.
        full: whether at full size.
        seed: of what is drawn.

    Returns:
        What docs/reliability.json says of it.

    Raises:
        NotProvenError: if less was checked than asked for, or the fault went unnoticed.
        Exception: what the check raised, if the promise is broken.
    """
    size = row.full if full else row.ci
    started = time.process_time()
    checked = _check(row, size, seed)
    if checked < size:
        raise NotProvenError(f"{row.name}: {checked} {row.unit} were checked, not {size}")
    seconds = time.process_time() - started
    noticed = {}
    for fault, plant in row.faults.items():
        with plant():
            noticed[fault] = _noticed(row, fault, seed)
    if not noticed:
        raise NotProvenError(f"{row.name} plants no fault")
    return {
        **{"name": row.name, "promise": row.promise, "checked": checked, "unit": row.unit},
        **{"faults": noticed, "seed": seed, "cpu_seconds": round(seconds, 1)},
    }


def _check(row: Row, size: int, seed: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        return row.check(size, Random(seed), Path(folder))


def _noticed(row: Row, fault: str, seed: int) -> str:
    """What noticed the fault that is planted: the kind of the error."""
    try:
        _check(row, row.with_fault or row.ci, seed)
    except Exception as error:
        return type(error).__name__
    raise NotProvenError(f"{row.name}: nothing notices {fault}")
