"""Lines: the tests run nearly all of thud_env, as ``make coverage`` measured."""

from __future__ import annotations

from pathlib import Path
from random import Random
from unittest import mock

from coverage import Coverage

from reliability.row import Fault, Row
from reliability.tree import ROOT

MEASURED = "build/coverage/all"
LEAST = 0.95

_packages = {"measured": ("thud_env",)}


def check(size: int, random: Random, folder: Path) -> int:
    """The statements that were run, of all sources of the package."""
    coverage = Coverage(data_file=ROOT / MEASURED)
    coverage.load()
    run = there = 0
    for package in _packages["measured"]:
        for source in (ROOT / package).rglob("*.py"):
            _, statements, _, missed, _ = coverage.analysis2(str(source))
            there += len(statements)
            run += len(statements) - len(missed)
    assert run >= LEAST * there, f"only {run / there:.1%} of {there:,} statements are run"
    return run


ROWS = [
    Row(
        "make coverage: at least 95% of thud_env, as plain Python",
        "The tests notice what is wrong",
        "statements run",
        check,
        5_000,
        5_000,
        {
            "another package counts that was not run": Fault(
                lambda: mock.patch.dict(_packages, {"measured": ("thud_env", "agents")}),
                "statements are run",
            )
        },
        needs=MEASURED,
    )
]
