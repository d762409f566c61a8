"""Rows that are proven beside each other, each in one of a few processes."""

from __future__ import annotations

import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import Any

from reliability.every import ROWS
from reliability.report import circumstances, goes_on, read_results, write_results
from reliability.row import Row, prove, prove_more

_SLICE = 60.0
"""Seconds after which a row makes way for the next; what it has proven is written by then."""

Result = dict[str, Any]


def prove_once(rows: list[Row], pool: ProcessPoolExecutor) -> int:
    """Each row at the size of CI."""
    parts = [(row, pool.submit(_begin, row.name)) for row in rows]
    broken = [row.name for row, part in parts if _said(row, part) is None]
    print(
        f"{len(rows) - len(broken)} of {len(rows)} rows held", *broken, sep="; broken: ", flush=True
    )
    return int(bool(broken))


def prove_for(seconds: float, rows: list[Row], pool: ProcessPoolExecutor) -> int:
    """All rows in turn, a slice each, until each is of full size or has had so many seconds."""
    where, results, code = circumstances(), read_results(), 0
    left = {row.name: seconds for row in rows}
    parts: dict[Future[Result], Row] = {}

    def go_on(row: Row) -> None:
        known = results.get(row.name, {})
        if not goes_on(known, row, where):
            parts[pool.submit(_begin, row.name)] = row
        elif known["checked"] < row.full and left[row.name] > 0:
            parts[pool.submit(_go_on, row.name, known, min(_SLICE, left[row.name]))] = row

    for row in rows:
        go_on(row)
    while parts:
        done, _ = wait(parts, return_when=FIRST_COMPLETED)
        for part in done:
            row = parts.pop(part)
            proven = _said(row, part)
            left[row.name] -= _SLICE
            if proven is None:
                code = 1
                results.pop(row.name, None)  # what is broken has no figures
            else:
                results[row.name] = {**proven, **where, "sources": row.sources()}
                go_on(row)
            write_results(results, ROWS)
    return code


def _begin(name: str) -> Result:
    return prove(_row(name))


def _go_on(name: str, known: Result, seconds: float) -> Result:
    until = time.monotonic() + seconds
    for further in prove_more(_row(name), known):
        known = further
        if time.monotonic() > until:
            break
    return known


def _row(name: str) -> Row:
    return next(row for row in ROWS if row.name == name)


def _said(row: Row, part: Future[Result]) -> Result | None:
    """Say how a row stands; what is proven, or None if it is broken."""
    try:
        proven = part.result()
    except Exception as error:
        print(f"BROKEN  {row.name}: {type(error).__name__}: {error}", flush=True)
        return None
    print(
        f"held    {row.name}: {proven['checked']:,} {row.unit} "
        f"({proven['cpu_seconds']:,g} s of processor); {proven['faults']}",
        flush=True,
    )
    return proven
