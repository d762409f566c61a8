"""``run.json``: versions, commit and machine of every start. A log; nothing depends on it."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from agents.durable import free_name, rename_flushed, replace_flushed

_PACKAGES = ("thud-env", "torch", "numpy", "numba", "gymnasium", "pettingzoo")


def add_start(path: Path, seed: int, decisions: int) -> list[str]:
    """Add versions, commit and machine.

    Args:
        path: the file; it need not exist.
        seed: of the run.
        decisions: how far the run is.

    Returns:
        A sentence if the file was damaged, and is kept under another name.
    """
    starts, notices = [], []
    try:
        starts = _read(path)
    except ValueError:
        aside = free_name(path, ".damaged")
        rename_flushed(path, aside)
        notices = [f"{path} is damaged: it is now {aside}, and a new one begins"]
    starts.append(
        {
            "decisions": decisions,
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "seed": seed,
            "commit": checkout_commit(),
            "python": platform.python_version(),
            "machine": f"{platform.system()} {platform.machine()}",
            "versions": versions(),
            "command": sys.argv[1:],
        }
    )
    replace_flushed(path, (json.dumps(starts, indent=2) + "\n").encode())
    return notices


def _read(path: Path) -> list[Any]:
    if not path.exists():
        return []
    try:
        starts = json.loads(path.read_bytes())
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(starts, list):
        raise ValueError("no list")
    return starts


def versions() -> dict[str, str | None]:
    """The versions of the packages that play and training rest on; None for those not installed."""
    return {name: _version(name) for name in _PACKAGES}


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def checkout_commit() -> str | None:
    """The commit of this checkout, with ``+`` if files were changed; None outside of one."""
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--abbrev=40", "--dirty=+", "--exclude=*"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip()
