"""``make reliability``."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from reliability.every import ROWS
from reliability.report import ROOT, circumstances, read_results, write_results
from reliability.row import Row, processor_time, prove, prove_more


def main() -> int:
    """Prove the rows; returns the exit code, 1 if one is broken."""
    parser = argparse.ArgumentParser(prog="make reliability")
    parser.add_argument("words", nargs="*", help="only rows with one of these in their names")
    parser.add_argument("--ci", action="store_true", help="the size of CI; writes nothing")
    parser.add_argument("--minutes", type=float, default=5, help="for each row beyond that size")
    arguments = parser.parse_args()
    chosen = [
        row for row in ROWS if not arguments.words or any(w in row.name for w in arguments.words)
    ]
    where, results, broken = circumstances(), read_results(), 0
    for row in chosen:
        if row.needs and not any(ROOT.glob(row.needs)):
            print(f"left out  {row.name}: no {row.needs}", flush=True)
            continue
        started, spent = time.monotonic(), processor_time()
        one = results.get(row.name, {})
        try:
            if arguments.ci or not _goes_on(one, row, where):
                one = {**prove(row), **where}
            if not arguments.ci:
                _keep(results, row, one)
                for more in prove_more(row, one):
                    one = more
                    _keep(results, row, one)
                    if time.monotonic() - started > 60 * arguments.minutes:
                        break
        except Exception as error:
            broken += 1
            results.pop(row.name, None)  # what is broken has no figures
            print(f"BROKEN  {row.name}: {type(error).__name__}: {error}", flush=True)
            continue
        print(
            f"held    {row.name}: {one['checked']:,} {row.unit}; {one['faults']} "
            f"({processor_time() - spent:.0f} s of processor)",
            flush=True,
        )
    if not arguments.ci:
        write_results(results, ROWS)
    return 1 if broken else 0


def _goes_on(one: dict[str, Any], row: Row, where: dict[str, Any]) -> bool:
    """Whether a proof is one of the same commit and machine, and of the same faults."""
    same = all(one.get(name) == where[name] for name in ("commit", "python", "machine"))
    return same and list(one["faults"]) == list(row.faults) and not where["commit"].endswith("+")


def _keep(results: dict[str, dict[str, Any]], row: Row, one: dict[str, Any]) -> None:
    results[row.name] = one
    write_results(results, ROWS)


if __name__ == "__main__":
    sys.exit(main())
