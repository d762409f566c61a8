"""Where a command shows how it goes."""

from __future__ import annotations

from typing import NoReturn

from rich.console import Console


class CommandConsole(Console):
    """A console that prints words as they are: in the path ``runs/[x]`` Rich would read markup, and
    in ``python:fire:Agent`` an emoji.

    A closed pipe is the command's to answer: ``thud_env.command`` ends in silence with the exit
    code of a closed pipe, where Rich would exit with 1.

    Args:
        stderr: whether to print on standard error.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def on_broken_pipe(self) -> NoReturn:
        """See ``rich.console.Console``."""
        raise BrokenPipeError
