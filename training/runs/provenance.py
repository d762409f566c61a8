"""``run.json``: versions, commit and machine of every start. A log; nothing depends on it."""

from __future__ import annotations

import json
import platform
import sys
import time
from pathlib import Path
from typing import Any

from agents.durable import free_name, rename_flushed, replace_flushed
from thud_env.errors import ThudError
from training.commands.versions import checkout_commit, versions
from training.config import RunConfig


def add_start(path: Path, config: RunConfig, decisions: int) -> list[str]:
    """Add versions, commit and machine.

    Args:
        path: the file; it need not exist.
        config: of the run.
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
            "total_decisions": config.total_decisions,
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "seed": config.seed,
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
        raise ThudError("nested too deeply") from None
    if not isinstance(starts, list):
        raise ThudError("no list")
    return starts
