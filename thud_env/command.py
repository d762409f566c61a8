"""Command lines: argparse, with one clear line for each error.

Bad input, a name of a file that is wrong among it, ends a command with exit code 2, Ctrl-C with
130, a disk that fails (standard output may be on one) or too little memory with 1, each with one
line on standard error. A closed pipe ends it in silence. A standard stream that was closed before
the start is one that goes nowhere. Any other exception is a bug, and is raised.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import errno
import inspect
import io
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from thud_env.errors import ThudError
from thud_env.rulesets import RULESETS, get_ruleset

BROKEN_PIPE = 141
"""The exit code after a closed pipe, as a shell gives it for SIGPIPE."""
BATTLE_LIMITS = {
    "max_quiet_turns": "turns without a capture or a move of the stone",
    "max_turns": "turns",
}
"""The limits of battles that commands may set, and what each counts."""
_LONGEST_LINE = 2000
_OF_WRITING = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
_OF_A_NAME = (
    FileExistsError,
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)
"""What the system says where another name of a file would be right."""


class Command(argparse.ArgumentParser):
    """The command line of ``python -m MODULE``.

    Args:
        module: its full name.
        docstring: what ``--help`` shows above the arguments, the module's docstring.
        more: returns what ``--help`` shows below them.
    """

    def __init__(
        self, module: str, docstring: str | None, more: Callable[[], str] = lambda: ""
    ) -> None:
        self._name = module.rpartition(".")[2]
        self._options: list[str] = []
        self._more = more
        self._takes_keys = False
        super().__init__(
            prog=f"python -m {module}",
            description=plain(docstring),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def format_help(self) -> str:
        """As argparse's."""
        self.epilog = self._more()
        return super().format_help()

    def print_help(self, file: Any = None) -> None:
        """As argparse's, which would say nothing of a disk that is full."""
        print(self.format_help(), end="", file=file or sys.stdout)

    def add_argument(self, *names: str, **how: Any) -> argparse.Action:
        """As argparse's."""
        action = super().add_argument(*names, **how)
        self._options += [name for name in action.option_strings if name.startswith("--")]
        return action

    def add_keys(self, meaning: str) -> None:
        """Add ``KEY=VALUE ...``, as ``overrides``: a list of words, which may be empty.

        Args:
            meaning: what the help says of them.
        """
        self._takes_keys = True
        # Without a default argparse calls it required.
        self.add_argument("overrides", nargs="*", default=[], metavar="KEY=VALUE", help=meaning)

    def add_rules(self, otherwise: str | None = None) -> None:
        """Add ``--rules``, the name of a ruleset.

        Args:
            otherwise: what the help says is played without it, which is then None; by itself it is
                ``classic``.
        """
        self.add_argument(
            "--rules",
            type=_ruleset_name,
            default=None if otherwise else "classic",
            metavar="R",
            help=f"{', '.join(RULESETS)} ({otherwise or 'classic'})",
        )

    def add_limits(self, least: float = -math.inf) -> None:
        """Add an option for each of ``BATTLE_LIMITS``; None without it.

        Args:
            least: the least that may be given; by itself that is left to what makes the battle.
        """
        for name, what in BATTLE_LIMITS.items():
            self.add_argument(
                f"--{name.replace('_', '-')}",
                type=bounded(int, least),
                metavar="N",
                help=f"end a battle after N {what} (as the ruleset)",
            )

    def run(
        self,
        work: Callable[[argparse.Namespace], int | None],
        words: Sequence[str] | None = None,
        *,
        stopped: str = "stopped",
    ) -> int:
        """Read the words of the command line and do the work.

        Args:
            work: called with the arguments; returns the exit code, None for 0.
            words: the words; None for those that the process was started with.
            stopped: what Ctrl-C prints.

        Returns:
            the exit code.
        """
        _open_closed_streams()
        if isinstance(sys.stdout, io.TextIOWrapper):  # which, in a file, may know few characters
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            code = work(self._read(sys.argv[1:] if words is None else list(words))) or 0
        except SystemExit as end:  # argparse has printed the help, or the error
            code = int(end.code or 0)
        except BrokenPipeError:
            code = BROKEN_PIPE
        except KeyboardInterrupt:
            code = say(stopped, 130)
        except ThudError as error:
            code = say(f"{self._name}: {error}", 2)
        except OSError as error:
            code = say(f"{self._name}: {_in_words(error)}", 2 if _is_of_a_name(error) else 1)
        except (MemoryError, RuntimeError) as error:
            if not _is_of_memory(error):
                raise
            code = say(f"{self._name}: not enough memory. {_in_words(error)}", 1)
        return self._flushed(code)

    def _flushed(self, code: int) -> int:
        """The exit code, after what is still to be written; Python itself would make it 120."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError as error:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
                if isinstance(error, BrokenPipeError):  # the reader has ended, as head does
                    code = BROKEN_PIPE
                elif code == 0:
                    error.filename = "standard output"
                    code = say(f"{self._name}: {_in_words(error)}", 1)
        return code

    def error(self, message: str) -> NoReturn:
        """Print the error in one line, and exit."""
        sys.exit(say(f"{self._name}: {message.removeprefix('argument ')}", 2))

    def _read(self, words: list[str]) -> argparse.Namespace:
        for word in words:
            option = word.partition("=")[0]
            if word.startswith("--") and option not in (*self._options, "--"):
                hint = self._hint(option)
                self.error(f"unknown option {option}: {hint}there are {', '.join(self._options)}")
        arguments, others = self.parse_known_intermixed_args(words)
        if others:
            options = ", ".join(self._options)
            self.error(f"unexpected argument {others[0]!r}: the options are {options}")
        return arguments

    def _hint(self, option: str) -> str:
        """What would be right in place of an option that there is not."""
        word = option.removeprefix("--")
        known = [name.removeprefix("--") for name in self._options]
        begun = [name for name in known if len(word) > 2 and name.startswith(word)]
        near = begun or difflib.get_close_matches(word, known, n=1)
        if near:
            return f"did you mean --{near[0]}? "
        key = word.replace("-", "_")
        if self._takes_keys and all(map(str.isidentifier, key.split("."))):
            return f"a key is given as {key}=VALUE; "
        return ""


def _open_closed_streams() -> None:
    """Give what Python has None for a file; it takes the closed one's number, too, so that nothing
    written there ends in a file that is opened later.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 (to the end)
            setattr(sys, name, nowhere)


def bounded(
    kind: type[int] | type[float], least: float = -math.inf, most: float = math.inf
) -> Callable[[str], Any]:
    """A ``type=`` for argparse: a number in ``least .. most``."""
    what = "a whole number" if kind is int else "a number"
    if most < math.inf:
        what += f" in {least:g} .. {most:g}"
    elif least > -math.inf:
        what += f", {least:g} or more,"

    def read(text: str) -> Any:
        try:
            value = whole_number(text) if kind is int else float(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r}: {what} would be right")
        return value

    return read


def whole_number(text: str) -> int:
    """The integer that is written ``2000000``, ``2_000_000`` or ``2e6``.

    Raises:
        ThudError: if ``text`` is not one.
    """
    try:
        return int(text)
    except ValueError:
        value = float(text)
    if not value.is_integer():
        raise ThudError(f"{text!r} is not a whole number")
    return int(value)


def counted(count: int, what: str) -> str:
    """A number of things: ``1 game pair``, ``2,000 game pairs``."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def plain(docstring: str | None) -> str:
    """A docstring as a terminal shows it: without its marks."""
    return inspect.cleandoc(docstring or "").replace("\n::\n\n", "\n").replace("``", "")


def _in_words(error: Exception) -> str:
    """What an error says, without the number that the system gives it."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    name = error.filename if error.filename2 is None else error.filename2
    if name is None and error.errno in _OF_WRITING:  # what writes to files names them
        name = "standard output"
    return error.strerror if name is None else f"{name}: {error.strerror}"


def _is_of_memory(error: Exception) -> bool:
    """Whether memory is short. PyTorch says so by the words of a ``RuntimeError``."""
    in_words = ("can't allocate memory", "out of memory")
    return isinstance(error, MemoryError) or any(words in str(error) for words in in_words)


def _is_of_a_name(error: OSError) -> bool:
    return isinstance(error, _OF_A_NAME) or error.errno in (errno.ELOOP, errno.ENAMETOOLONG)


def _ruleset_name(text: str) -> str:
    try:
        return get_ruleset(text).spec
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def say(line: str, code: int) -> int:
    """Print one line on standard error, with control characters escaped.

    Args:
        line: the message.
        code: the exit code.

    Returns:
        the exit code.
    """
    if len(line) > _LONGEST_LINE:
        line = f"{line[:_LONGEST_LINE]} ..."
    line = " ".join(line.split())
    line = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in line)
    with contextlib.suppress(OSError):  # the terminal may be gone
        print(line, file=sys.stderr)
    return code
