"""Writes files so that a power cut leaves the old file or the new one, never a part.

A file is on the disk once it has been flushed; its name is once its folder has been flushed too,
which Windows leaves to itself. An ``OSError`` from here names the file.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from agents import system

_TEMPORARY = re.compile(r"\..+\.\d+\.tmp")


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the path to an ``OSError`` without one, as those of writing and flushing are."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None


def flush_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    with naming(folder):
        system.flush_folder(folder)


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, unless they exist; wait until they are on the disk."""
    if folder.is_dir():
        return
    if folder.parent != folder:  # a drive that is not there is its own
        make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    with naming(folder):  # the one above it may be ".", which says nothing
        system.flush_folder(folder.parent)


def write_whole(file: int, path: Path, data: bytes) -> None:
    """Write to an open file; an error names the path. Less than all may have been written then."""
    with naming(path):
        while data:
            data = data[os.write(file, data) :]


def write_flushed(path: Path, data: bytes) -> None:
    """Write a file, and wait until it is on the disk. Its name is on the disk once the folder has
    been flushed.
    """
    with naming(path), path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def rename_flushed(source: Path, target: Path) -> None:
    """Rename within a folder, and wait until that is on the disk."""
    system.rename(source, target)
    flush_folder(target.parent)


def temporary_path(path: Path) -> Path:
    """Where to write a file before it is renamed to ``path``; ``sweep`` removes leftovers."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield where to write a file that gets its name once it is whole.

    Raises:
        FileExistsError: if ``path`` exists; nothing is overwritten.
        FileNotFoundError: if the folder that it is to be written to does not exist.
        OSError: if it cannot be written, naming ``path``; at once if no file can be made there.
    """
    if path.exists():
        raise FileExistsError(f"{path} exists: name another file")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name} to")
    temporary = temporary_path(path)
    try:
        temporary.touch()
        yield temporary
        path.touch(exist_ok=False)  # renaming alone would replace a file that was made meanwhile
        temporary.replace(path)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(temporary)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        with contextlib.suppress(OSError):  # as that of a name that is too long
            temporary.unlink()


@contextlib.contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield a folder that gets its name, in place of an empty one, once it is whole. Its files must
    have been flushed then. The folders above it are made.
    """
    make_folder(folder.parent)
    temporary = temporary_path(folder)
    shutil.rmtree(temporary, ignore_errors=True)  # of a killed process of this number
    temporary.mkdir()
    try:
        yield temporary
        flush_folder(temporary)
        rename_flushed(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def replace_flushed(path: Path, data: bytes) -> None:
    """Replace a file, in one step."""
    temporary = temporary_path(path)
    try:
        write_flushed(temporary, data)
        temporary.replace(path)
    except OSError as error:
        if error.filename != str(temporary):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        temporary.unlink(missing_ok=True)
    flush_folder(path.parent)


def link_flushed(link: Path, target: Path) -> None:
    """Replace a symbolic link to a folder, in one step; where there are no links, a copy of it."""
    temporary = temporary_path(link)
    if os.path.lexists(temporary):  # of a killed process of this number
        remove(temporary)
    system.link(temporary, link, target)
    flush_folder(link.parent)


def free_name(path: Path, suffix: str = "") -> Path:
    """``NAME.1``, or the first such name that is free."""
    number = 1
    while (aside := path.with_name(f"{path.name}{suffix}.{number}")).exists():
        number += 1
    return aside


def is_temporary(path: Path) -> bool:
    """Whether a path is a ``temporary_path``."""
    return _TEMPORARY.fullmatch(path.name) is not None


def sweep(folder: Path) -> None:
    """Remove what killed writers left in a folder; only one process may write in it."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if is_temporary(path):
            remove(path)


def remove(path: Path) -> None:
    """Remove a folder with all that is in it, a file, or a link but not what it points to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
