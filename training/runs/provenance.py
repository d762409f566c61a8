"""``run.json``: versions, commit, machine and players' files of every start. A log: only notices
depend on it.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from pathlib import Path
from typing import Any

from agents.durable import free_name, rename_flushed, replace_flushed
from agents.strict_json import parse_json
from thud_env.errors import ThudError
from training.arena.identity import hash_of_network, own_files
from training.commands.versions import checkout_commit, versions
from training.config import RunConfig


def add_start(path: Path, config: RunConfig, decisions: int) -> list[str]:
    """Add versions, commit, machine, and hashes of the files of the players that it names, and of
    its network, if that is the user's own.

    Args:
        path: the file; it need not exist.
        config: of the run.
        decisions: how far the run is.

    Returns:
        A sentence if the file was damaged, and is kept under another name, and one for each player,
        or the network, whose files have changed since the last start.
    """
    starts, notices = [], []
    try:
        starts = _read(path)
    except ValueError:
        aside = free_name(path, ".damaged")
        rename_flushed(path, aside)
        notices = [f"{path} is damaged: it is now {aside}, and a new one begins"]
    named = {spec for specs in config.players_named.values() for spec in specs}
    files = own_files(sorted(named), config.rules) | hash_of_network(config.network.kind)
    notices += [
        f"{spec} has changed since this run was last begun or resumed"
        for spec, code in _files_of(starts).items()
        if files.get(spec) != code
    ]
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
            "players": files,
            "command": sys.argv[1:],
        }
    )
    replace_flushed(path, (json.dumps(starts, indent=2) + "\n").encode())
    return notices


def _files_of(starts: list[Any]) -> dict[str, Any]:
    """What the last start says of the players' files."""
    last = starts[-1] if starts else None
    files = last.get("players") if isinstance(last, dict) else None
    return files if isinstance(files, dict) else {}


def _read(path: Path) -> list[Any]:
    if not path.exists():
        return []
    starts = parse_json(path.read_bytes())
    if not isinstance(starts, list):
        raise ThudError("no list")
    return starts
