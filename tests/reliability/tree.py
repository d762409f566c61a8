"""The sources that other processes run: the checkout's, or a copy with one line changed."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from reliability.row import PACKAGES

ROOT = Path(__file__).resolve().parents[2]
_root = {"path": ROOT}
PLAIN = {"NUMBA_DISABLE_JIT": "1"}
"""Runs the rules as plain Python: nothing is compiled, so a changed line counts at once."""


def root() -> Path:
    """Where other processes find the sources."""
    return _root["path"]


def run(*words: str, **environment: str) -> str:
    """Run Python on the sources; its output."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=root(),
        env={**os.environ, "PYTHONPATH": str(root()), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@contextlib.contextmanager
def edited(path: str, old: str, new: str) -> Iterator[Path]:
    """Let other processes run a copy of thud_env in which ``old`` is ``new``; its root."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        copy_sources(copy)
        source = copy / path
        text = source.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{path} has {text.count(old)} of {old!r}"
        source.write_text(text.replace(old, new), encoding="utf-8")
        with mock.patch.dict(_root, {"path": copy}):
            yield copy


def copy_sources(target: Path) -> None:
    """Copy the packages' sources into a folder."""
    for package in PACKAGES:
        for source in (ROOT / package).rglob("*.py"):
            path = target / source.relative_to(ROOT)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(source.read_bytes())


def counts_quiet_turns_twice() -> contextlib.AbstractContextManager[Path]:
    """A wrong rule, seen in the row after any quiet turn."""
    return edited("thud_env/rules/play.py", "row[QUIET_TURNS] + 1 if", "row[QUIET_TURNS] + 2 if")
