"""Write the tables of speed in the README and in docs/ from the kept figures.

::

    taskset -c 0 python tests/benchmarks/peers.py --write
    python -m thud_env.bench --json > tests/benchmarks/bench.json
    taskset -c 0 .venv-integrations/bin/python tests/benchmarks/learners.py --write
    python tests/benchmarks/publish.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from peers import COMPARED

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "performance.md", ROOT / "docs" / "training.md")
BEGIN, END = "<!-- publish.py writes the {} table -->", "<!-- end of the {} table -->"


def peers_table(figures: dict[str, Any]) -> str:
    """Our figures beside other environments', of one run."""
    rates = figures["rates"]
    lines = ["| Thud | decisions/s | beside | decisions/s | ratio |", "|---|--:|---|--:|--:|"]
    lines += [
        f"| {ours.removeprefix('thud ')} | {rates[ours]:,.0f} | {theirs} | {rates[theirs]:,.0f} "
        f"| {rates[ours] / rates[theirs]:.1f} |"
        for ours, theirs in COMPARED
        if theirs in rates
    ]
    versions = [f"{name} {number}" for name, number in figures["versions"].items() if number]
    lines += ["", f"{figures['machine']}, {figures['date']}; {', '.join(versions)}."]
    return "\n".join(lines)


def bench_table(figures: dict[str, Any]) -> str:
    """Every path of ``thud_env.bench``."""
    lines = ["| path | includes | decisions/s |", "|---|---|--:|"]
    lines += [
        f"| {result['path']} | {result['includes']} | {result['decisions_per_second']:,} |"
        for result in figures["results"]
    ]
    return "\n".join(lines)


def learners_table(figures: dict[str, Any]) -> str:
    """Our learner beside another library's, of one run."""
    rates = figures["rates"]
    beside = rates[figures["peer"]]["learnt"]
    lines = ["| learner | learnt from/s | played/s | ratio |", "|---|--:|--:|--:|"]
    lines += [
        f"| {name} | {rate['learnt']:,.0f} | {rate['played']:,.0f} "
        f"| {rate['learnt'] / beside:.1f} |"
        for name, rate in rates.items()
    ]
    return "\n".join(lines)


TABLES = {"peers": peers_table, "bench": bench_table, "learners": learners_table}


def published(page: str) -> str:
    """A page with new tables between its marks."""
    for name, table in TABLES.items():
        begin, end = BEGIN.format(name), END.format(name)
        if begin in page:
            figures = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
            before, rest = page.split(begin)
            page = f"{before}{begin}\n{table(figures)}\n{end}{rest.split(end)[1]}"
    return page


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(published(page.read_text(encoding="utf-8")), encoding="utf-8")
