"""docs/reliability.json, and the page that is made of it."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from typing import Any

from reliability.row import PACKAGES, Row
from reliability.tree import ROOT

RESULTS = ROOT / "docs" / "reliability.json"
PAGE = ROOT / "docs" / "reliability.md"


def circumstances() -> dict[str, Any]:
    """Where and of what a figure is; a commit that is followed by + had changed sources."""
    return {
        "commit": _git("rev-parse", "--short=12", "HEAD")
        + ("+" if _git("status", "--porcelain", "--", *PACKAGES, "tests") else ""),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def goes_on(known: dict[str, Any], row: Row, where: dict[str, Any]) -> bool:
    """Whether a result is of the sources as they are, and of this Python and machine."""
    same = all(known.get(name) == where[name] for name in ("python", "machine"))
    return same and known.get("sources") == row.sources() and set(known["faults"]) == {*row.faults}


def read_results() -> dict[str, dict[str, Any]]:
    """The results by row; none before the first run."""
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def write_results(results: dict[str, dict[str, Any]], rows: list[Row]) -> None:
    """Write the results, and the page; what is of no row is left out."""
    kept = {row.name: results[row.name] for row in rows if row.name in results}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(kept, rows), encoding="utf-8")


_HEAD = """# Reliability

What the project promises, and the proof of each promise. `make reliability` checks every row and
writes this page. It spends `MINUTES` (5) on each row. When it is run again, a row goes on where it
stopped, until it has its full size, as long as the sources that it proves are the same; its commit
is the last at which it was run. `SIZE=ci` is a short form that writes nothing. Every row also
plants faults, one after the other, and must notice each, so no row passes by asserting nothing. The
checks are in `tests/reliability/`, and [SECURITY.md](../SECURITY.md) says what is trusted.

Where *checked* is less than *full size*, the proof is not complete, as in {short} of {rows} rows.

"""

_TABLE = (
    "| row | checked | full size | planted faults, and the error that noticed each "
    "| when and where |\n|---|--:|--:|---|---|\n"
)


def page(results: dict[str, dict[str, Any]], rows: list[Row]) -> str:
    """The page: a section for each promise, and the rows that have no figures yet."""
    sections: dict[str, list[str]] = {}
    for row in rows:
        if row.name not in results:
            continue
        one = results[row.name]
        first, last = one["first_seed"], one["last_seed"]
        cells = (
            row.name,
            f"{one['checked']:,} {row.unit}",
            f"{row.full:,}",
            "; ".join(f"{fault}: {kind}" for fault, kind in one["faults"].items()),
            f"{f'seed {first}' if first == last else f'seeds {first} to {last:,}'}, "
            f"commit {one['commit']}, {one['date']}, Python {one['python']}, {one['machine']}, "
            f"{one['cpu_seconds']:,g} s of processor",
        )
        sections.setdefault(row.promise, []).append(f"| {' | '.join(cells)} |")
    missing = [
        f"- {row.promise}: {row.name}" + (f" (left out without `{row.needs}`)" if row.needs else "")
        for row in rows
        if row.name not in results
    ]
    without = "\n## Without figures\n\nThese rows exist, and have not been run yet:\n\n"
    short = sum(results[row.name]["checked"] < row.full for row in rows if row.name in results)
    return (
        _HEAD.format(short=short, rows=len(results))
        + "\n".join(
            f"## {promise}\n\n{_TABLE}" + "\n".join(lines) + "\n"
            for promise, lines in sections.items()
        )
        + (without + "\n".join(missing) + "\n" if missing else "")
    )
