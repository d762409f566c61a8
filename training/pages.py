"""Files that a command writes at its end, checked before it plays for hours."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from agents.durable import make_folder, replace_flushed
from thud_env.errors import ThudError


class PageError(ThudError):
    """A file that must not or cannot be written."""


def check_writable(*files: Path) -> None:
    """Check that files can be read, written and made, and their folders.

    Raises:
        PageError: naming one that cannot be, and why.
    """
    for file in files:
        if file.is_dir():
            raise PageError(f"{file} is a folder: a file would be right")
        there = next(one for one in (file, *file.absolute().parents) if one.exists())
        if there != file and not there.is_dir():
            raise PageError(f"{file} cannot be written: {there} is no folder")
        if not os.access(there, os.R_OK | os.W_OK):
            raise PageError(f"{file} cannot be written: {there} is read-only")


def check_page(command: str, title: str, page: Path, *beside: Path) -> None:
    """Refuse a page that ``write_all`` must not or cannot write.

    Args:
        command: the command that writes it.
        title: its first line: a page that begins with it is the command's own.
        page: the page.
        beside: the other files that are written with it.

    Raises:
        PageError: naming a file of something else, or one that cannot be written.
    """
    check_writable(page, *beside)
    is_ours = page.exists() and page.read_bytes().startswith(title.encode())
    for path in (page, *beside):
        if path.exists() and not is_ours:
            raise PageError(f"{path} is not of {command}, and is left as it is")


def write_all(files: Mapping[Path, str]) -> None:
    """Write files, each whole or not at all, and make their folders, in this order: if a stop
    comes between them, the first shows ``check_page`` that the others may be written again.

    Raises:
        PageError: naming one that cannot be written.
    """
    for path, text in files.items():
        try:
            make_folder(path.parent)
            replace_flushed(path, text.encode())
        except OSError as error:
            raise PageError(f"{path} cannot be written: {error.strerror}") from None
