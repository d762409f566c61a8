"""What differs between systems: locks, and what may be done with folders.

On Windows, which has no ``fcntl``, a folder cannot be opened, nor renamed to a name that is taken
or while a file in it is open; and links need rights that few users have.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

IS_POSIX = fcntl is not None
"""Whether folders may be flushed, and renamed while they are in use, and links be made."""
NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
"""A flag of ``os.open``: fail at a link, where that can be asked for."""
_LOCKED_BYTE = (1 << 31) - 2
"""Far beyond any content: on Windows others cannot read a byte that is locked."""


def open_to_lock(path: Path, more: int = 0) -> int:
    """Open a file to read and write its bytes as they are; it is made if it is missing.

    Args:
        path: the file.
        more: flags of ``os.open`` besides.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
    return os.open(path, flags | more, 0o666)


def lock(file: int) -> None:
    """Lock an open file until it is closed.

    Raises:
        BlockingIOError: if it is locked already.
    """
    if IS_POSIX:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    import msvcrt

    windows: Any = msvcrt
    os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
    try:
        windows.locking(file, windows.LK_NBLCK, 1)
    except PermissionError as error:
        raise BlockingIOError(*error.args) from None
    finally:
        os.lseek(file, 0, os.SEEK_SET)


def flush_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where that can be waited for."""
    if not IS_POSIX:
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def rename(source: Path, target: Path) -> None:
    """Rename a file or a folder; an empty folder that has the name already goes."""
    if not IS_POSIX and target.is_dir():
        target.rmdir()
    source.rename(target)


def link(temporary: Path, name: Path, target: Path) -> None:
    """Let a folder have a second name: by a link that is made under a temporary name and renamed,
    or else by a copy.

    Args:
        temporary: the temporary name.
        name: the second name, which may have been given to another before.
        target: the folder, seen from the one that ``name`` is in.
    """
    if IS_POSIX:
        temporary.symlink_to(target)
    else:
        shutil.copytree(name.parent / target, temporary)
    if name.is_dir() and not name.is_symlink():  # a copy
        shutil.rmtree(name)
    temporary.replace(name)
