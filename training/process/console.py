"""Where a command shows how it goes."""

from __future__ import annotations

from typing import NoReturn

from rich.console import Console


class CommandConsole(Console):
    """A console whose closed pipe is the command's to answer: ``thud_env.command`` ends in silence
    with the exit code of a closed pipe, where Rich would exit with 1.
    """

    def on_broken_pipe(self) -> NoReturn:
        """See ``rich.console.Console``."""
        raise BrokenPipeError
