"""docs/reliability.json, and the page that is made of it."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from pathlib import Path
from typing import Any

from reliability.row import Row

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "reliability.json"
PAGE = ROOT / "docs" / "reliability.md"


def circumstances(full: bool) -> dict[str, Any]:
    """Where and of what a figure is."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    ).stdout.strip()  # fmt: skip
    return {
        "size": "full" if full else "CI",
        "commit": commit,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def read_results() -> dict[str, dict[str, Any]]:
    """The results by row; none before the first run."""
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def write_results(results: dict[str, dict[str, Any]], rows: list[Row]) -> None:
    """Write the results, and the page."""
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(results, rows), encoding="utf-8")


_HEAD = """# Reliability

What the project promises, and the proof of each promise. `make reliability` checks every row and
writes this page; `FULL=1` checks the sizes of a full run. Every row then plants a fault and must
notice it, so no row passes by asserting nothing. The checks are in `tests/reliability/`, and
[SECURITY.md](../SECURITY.md) says what is trusted.

"""


def page(results: dict[str, dict[str, Any]], rows: list[Row]) -> str:
    """The page: a section for each promise, and the rows that have no figures yet."""
    sections: dict[str, list[str]] = {}
    for one in results.values():
        cells = (
            one["name"],
            f"{one['checked']:,} {one['unit']} ({one['size']})",
            "; ".join(f"{fault}: {kind}" for fault, kind in one["faults"].items()),
            f"seed {one['seed']}, commit {one['commit']}, {one['date']}, Python {one['python']}, "
            f"{one['machine']}, {one['cpu_seconds']:g} s of processor",
        )
        sections.setdefault(one["promise"], []).append(f"| {' | '.join(cells)} |")
    head = (
        "| row | checked | planted faults, and the error that noticed each | when and where |\n"
        "|---|---|---|---|\n"
    )
    missing = [f"- {row.promise}: {row.name}" for row in rows if row.name not in results]
    without = (
        "\n## Without figures\n\nThese rows exist, and have not been run at their size yet:\n\n"
    )
    return (
        _HEAD
        + "\n".join(
            f"## {promise}\n\n{head}" + "\n".join(lines) + "\n"
            for promise, lines in sections.items()
        )
        + (without + "\n".join(missing) + "\n" if missing else "")
    )
