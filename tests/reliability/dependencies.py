"""No pinned version, and none that pyproject.toml allows, has a vulnerability that is listed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from random import Random
from unittest import mock

from packaging.version import Version

from reliability.row import Fault, Row
from reliability.tree import ROOT

LIST = Path(__file__).with_name("advisories.toml")


def _pins() -> Iterator[tuple[str, str, str]]:
    for path in sorted(ROOT.glob("constraints*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if "==" in line and not line.startswith("#"):
                yield path.name, *line.split("==")


def _lowest() -> Iterator[tuple[str, str, str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = chain.from_iterable(project["optional-dependencies"].values())
    for requirement in (*project["dependencies"], *extras):
        found = re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+).*", requirement)
        if found:
            yield "pyproject.toml", found[1], found[2]


def check(size: int, random: Random, folder: Path) -> int:
    """Every pin and every lower bound."""
    fixed = tomllib.loads(LIST.read_text(encoding="utf-8"))["fixed"]
    versions = [*_pins(), *_lowest()]
    for where, name, version in versions:
        first, why = fixed.get(name.lower().replace("_", "-"), ("0", ""))
        assert Version(version) >= Version(first), f"{where}: {name} {version} has {why}"
    return len(versions)


ROWS = [
    Row(
        "versions against a list of vulnerabilities",
        "What is installed runs no text as code",
        "versions",
        check,
        200,
        200,
        {
            "an old torch is pinned": Fault(
                lambda: mock.patch(
                    f"{__name__}._pins", lambda: iter([("constraints.txt", "torch", "2.5.1")])
                ),
                "constraints.txt: torch 2.5.1 has",
            ),
        },
    )
]
