"""A file of JSON objects, a line each, that one process at a time adds to.

The file is locked for as long as the process has it open, so no lock is ever stale. Each line is
one write: a stop leaves at most one unfinished line, at the end.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from agents import system
from agents.durable import naming, write_whole
from agents.strict_json import parse_json
from thud_env.errors import ThudError


class JournalError(ThudError):
    """A damaged line of a journal."""


class Whole(NamedTuple):
    """The part of a journal that a stop has left whole."""

    size: int
    """In bytes."""
    dropped: bool
    """Whether an unfinished line follows."""


def read_lines(path: Path, take: Callable[[dict[str, Any]], None]) -> Whole:
    """Read a journal, except the line that a stop has cut.

    Args:
        path: the file, which may come from a stranger.
        take: called with the object of each line; may raise ``ValueError``, ``TypeError``,
            ``LookupError`` or ``ArithmeticError``.

    Raises:
        JournalError: naming the file and a line before the last that is no JSON object, or one that
            ``take`` refuses.
        OSError: if the file cannot be read.
    """
    data = path.read_bytes()
    lines = data.split(b"\n")
    rest = lines.pop()  # after the last line end: empty, or a line cut short
    size = len(data) - len(rest)
    if lines and not rest and not _is_object(lines[-1]):
        # A crash of the machine wrote only part of the line to the disk.
        rest = lines.pop()
        size -= len(rest) + 1
    for number, line in enumerate(lines, start=1):
        try:
            take(_object(line))
        except (ValueError, TypeError, LookupError, ArithmeticError) as error:
            raise JournalError(f"{path}, line {number} is damaged: {error}") from None
    return Whole(size, size < len(data))


def _object(line: bytes) -> dict[str, Any]:
    entry = parse_json(line)
    if not isinstance(entry, dict):
        raise ThudError("a JSON object would be right")
    return entry


def _is_object(line: bytes) -> bool:
    try:
        _object(line)
    except ValueError:
        return False
    return True


class Journal:
    """A file of lines, open to be added to. A context manager.

    Args:
        path: the file, made if it is missing; its folder exists.

    Raises:
        BlockingIOError: if another process has it open as a journal.
        OSError: naming the file, if it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = system.open_to_lock(path, os.O_APPEND)
        try:
            with naming(path):
                system.lock(self._file)
        except BaseException:
            os.close(self._file)
            raise

    def keep(self, size: int) -> None:
        """Drop all but the first ``size`` bytes."""
        with naming(self.path):
            os.ftruncate(self._file, size)

    def add(self, line: str) -> None:
        """Write a line. It is on the disk after ``flush``."""
        write_whole(self._file, self.path, f"{line}\n".encode())

    def flush(self) -> None:
        """Wait until all lines are on the disk."""
        with naming(self.path):
            os.fsync(self._file)

    def close(self) -> None:
        """Close the file, which others may then open."""
        os.close(self._file)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
