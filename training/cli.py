"""What the command lines share."""

from __future__ import annotations

import inspect
import sys


def fail(program: str, error: object) -> int:
    """Say in one line on standard error what is wrong; the exit code to return."""
    print(f"{program}: {' '.join(str(error).split())}", file=sys.stderr)
    return 2


def stopped() -> int:
    """Say that Ctrl-C ended a command; the exit code to return."""
    print("stopped", file=sys.stderr)
    return 130


def plain(docstring: str | None) -> str:
    """A docstring as a terminal shows it: without its marks."""
    return inspect.cleandoc(docstring or "").replace("\n::\n\n", "\n").replace("``", "") + "\n"
