"""What a result was made with: the versions of packages, and the commit of this checkout."""

from __future__ import annotations

import subprocess
from importlib import metadata
from pathlib import Path

_PACKAGES = ("thud-env", "torch", "numpy", "numba", "gymnasium", "pettingzoo")


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
