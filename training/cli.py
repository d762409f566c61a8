"""What the command lines share."""

from __future__ import annotations

import sys


def fail(program: str, error: object) -> int:
    """Say in one line on standard error what is wrong; the exit code to return."""
    print(f"{program}: {' '.join(str(error).split())}", file=sys.stderr)
    return 2
