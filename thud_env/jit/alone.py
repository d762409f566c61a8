"""One process compiles a function; others that start beside it wait, and find it in the cache.

Environments in processes of their own, or tests, would each compile the same on a first start.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.compiler_lock import global_compiler_lock

try:
    import fcntl
except ImportError:  # Windows has none: every process compiles for itself
    fcntl = None  # type: ignore[assignment]

_LONGEST = 60.0
"""Seconds that a process waits for another, which may hang, before it compiles by itself."""
_PAUSE = 0.01


def compile_alone(
    compiler: Callable[[Any], Any], folder: Path, function: str
) -> Callable[[Any], Any]:
    """A function's way from a signature to code, which looks into the cache first.

    Args:
        compiler: Numba's way.
        folder: where the function's code is kept.
        function: its name, which no other in the folder has.
    """
    if fcntl is None:
        return compiler

    def compile_in_turn(signature: Any) -> Any:
        with global_compiler_lock, _alone(folder, function):
            return compiler(signature)

    return compile_in_turn


@contextlib.contextmanager
def _alone(folder: Path, function: str) -> Iterator[None]:
    """While no other process compiles the function, if it does not take too long."""
    file = _file(folder)
    place = int(hashlib.sha256(function.encode()).hexdigest()[:7], 16)
    if file is None or not _taken(file, place):
        yield
        return
    try:
        yield
    finally:
        fcntl.lockf(file, fcntl.LOCK_UN, 1, place)


def _taken(file: int, place: int) -> bool:
    until = time.monotonic() + _LONGEST
    while time.monotonic() < until:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):  # another process holds it
            time.sleep(_PAUSE)
        except OSError:  # a file system without locks
            return False
        else:
            return True
    return False


@cache
def _file(folder: Path) -> int | None:
    """A file in which each function has a byte to lock. It stays open: closed, it would give up all
    that this process holds.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / "compiling.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:
        return None
