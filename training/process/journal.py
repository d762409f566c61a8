"""A file of lines that one process at a time adds to.

The file is locked for as long as the process has it open, so no lock is ever stale. Each line is
one write: a stop leaves at most one unfinished line, at the end.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from agents.durable import naming, write_all


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
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            with naming(path):
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            os.close(self._file)
            raise

    def keep(self, size: int) -> None:
        """Drop all but the first ``size`` bytes."""
        with naming(self.path):
            os.ftruncate(self._file, size)

    def add(self, line: str) -> None:
        """Write a line. It is on the disk after ``flush``."""
        write_all(self._file, self.path, f"{line}\n".encode())

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
