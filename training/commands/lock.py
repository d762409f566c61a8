"""One process at a time writes a folder: that of a run, say.

The file ``lock`` in the folder is locked for as long as the process has it open, and names that
process. The lock ends with the process, however that ends, so no lock is ever stale.
"""

from __future__ import annotations

import contextlib
import os
import platform
import time
from pathlib import Path

from agents import system
from agents.durable import naming
from training.errors import RunError

FILE = "lock"
_MOST_BYTES = 200


class FolderLock:
    """Holds a folder; it stays held when the folder is renamed, as ``let_move`` allows. A context
    manager.

    Args:
        folder: the folder, in which the lock file is made if it is missing.
        instead: what the user may do instead of waiting for who holds it.

    Raises:
        RunError: if another process holds it, naming that process.
    """

    def __init__(self, folder: Path, instead: str = "give this run another name") -> None:
        self._file: int | None = None
        path = folder / FILE
        file = system.open_to_lock(path, system.NO_LINK)
        try:
            try:
                system.lock(file)
            except BlockingIOError:
                holder = _words(os.read(file, _MOST_BYTES)) or "another process"
                raise RunError(
                    f"{folder} is in use by {holder}: wait for it, or {instead}"
                ) from None
            if not _is_file_at(file, path):
                raise RunError(f"{folder} was moved just now by another process: try again")
            with naming(path):
                os.ftruncate(file, 0)
                now = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
                os.write(file, f"process {os.getpid()} on {platform.node()} since {now}".encode())
        except BaseException:
            os.close(file)
            raise
        self._file = file

    def let_move(self) -> None:
        """Let the folder be renamed: on Windows it must not be held meanwhile."""
        if not system.IS_POSIX:
            self.release()

    def moved_to(self, folder: Path) -> FolderLock:
        """The lock of the folder under its new name: taken anew if it was let go of.

        Raises:
            RunError: if another process holds it.
        """
        return FolderLock(folder) if self._file is None else self

    def release(self) -> None:
        """Release the folder."""
        if self._file is not None:
            file, self._file = self._file, None
            with contextlib.suppress(OSError):  # its content counts only while it is locked
                os.ftruncate(file, 0)
            os.close(file)

    __del__ = release

    def __enter__(self) -> FolderLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _words(holder: bytes) -> str:
    """The content of a file from anywhere, safe to print."""
    return "".join(one for one in holder.decode(errors="replace") if one.isprintable())


def _is_file_at(file: int, path: Path) -> bool:
    """Whether an open file is the one that now has a path."""
    try:
        return os.path.samestat(os.fstat(file), path.lstat())
    except OSError:
        return False
