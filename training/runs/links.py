"""Checks what a run's folder holds: a run deletes files in it, and links in a stranger's folder may
lead out of it.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from agents.durable import is_temporary
from thud_env.outcome import SIDES
from training.errors import RunError
from training.process.state import NUMBERED

_OWN_LINKS = {
    "checkpoints/latest": NUMBERED,
    **{f"checkpoints/best/{role}": rf"\.\./{NUMBERED}/{role}" for role in SIDES},
}
"""The links that a run makes, by their place in its folder, and what they may lead to."""


def check_links(run: Path) -> None:
    """Raise unless a run's folder holds only files, folders and the run's own links.

    Raises:
        RunError: naming what leads out of it, or is neither.
    """
    for folder, folders, files in os.walk(run):
        for name in (*folders, *files):
            path = Path(folder, name)
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                if is_temporary(path):  # left by a kill, and swept without following it
                    continue
                own = _OWN_LINKS.get(path.relative_to(run).as_posix())
                if own is None or not re.fullmatch(own, str(path.readlink())):
                    to = str(path.readlink())
                    raise RunError(f"{path} leads to {to!r}: a run has no link there")
            elif not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise RunError(f"{path} is neither a file nor a folder")
