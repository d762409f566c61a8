"""``make reliability``."""

from __future__ import annotations

import argparse
import sys
import time

from reliability.every import ROWS
from reliability.report import circumstances, read_results, write_results
from reliability.row import prove


def main() -> int:
    """Prove the rows; returns the exit code, 1 if one is broken."""
    parser = argparse.ArgumentParser(prog="make reliability")
    parser.add_argument("words", nargs="*", help="only rows with one of these in their names")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chosen = [
        row for row in ROWS if not arguments.words or any(w in row.name for w in arguments.words)
    ]
    where, old, new, broken = circumstances(arguments.full), read_results(), {}, 0
    for row in chosen:
        started = time.monotonic()
        try:
            new[row.name] = {**prove(row, arguments.full, arguments.seed), **where}
        except Exception as error:
            broken += 1
            print(f"BROKEN  {row.name}: {type(error).__name__}: {error}", flush=True)
            continue
        one = new[row.name]
        print(
            f"held    {row.name}: {one['checked']:,} {row.unit}; {one['faults']} "
            f"({time.monotonic() - started:.0f} s)",
            flush=True,
        )
    # A row that was not run keeps its figures; one that is broken has none.
    failed = {row.name for row in chosen} - new.keys()
    every = {**old, **new}
    kept = {row.name: every[row.name] for row in ROWS if row.name in every.keys() - failed}
    write_results(kept, ROWS)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
