"""Command lines are read or refused by name, and nothing else."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NoReturn
from unittest import mock

from test_command import MODULES, main_of
from test_imports import ROOT, SOURCES

from reliability.reach import CONFIGURATIONS
from reliability.row import Fault, Row
from thud_env.command import Command

_OTHER_LIBRARIES = "training.integrations."
_OURS = [module for module in MODULES if not module.startswith(_OTHER_LIBRARIES)]
_SHARED = (
    *CONFIGURATIONS,
    *(f"training/{name}.py" for name in ("arena/intervals", "distill/config", "keys_help")),
    *(f"training/{name}.py" for name in ("launch", "options", "usage")),
)
"""What is run while the commands read their words, and show their help, besides themselves."""
_WORDS = [
    *("", " ", "-", "--", "-x", "-1", "0", "1", "2.5", "1e3", "1e999", "nan", "x" * 5000, "@x"),
    *("\x00", "a\nb", "\x1b[2J", "\ud800", "=", "--=", "a=b", "--games=2", "--rules=chess"),
    *("classic", "koom-valley", "random", "greedy", "policy:nowhere", "configs/smoke.yaml", "/"),
]


def check(size: int, random: Random, folder: Path) -> int:
    """Of every command: read, or refused in one line with exit code 2; the work is not done."""
    commands = [_command_of(main_of(module)) for module in _OURS]
    options = [
        ["--help", *re.findall(r"--[a-z-]+", command.format_usage())] for command in commands
    ]
    for _ in range(size):
        chosen = random.randrange(len(commands))
        words = [
            random.choice(options[chosen]) if random.random() < 0.5 else random.choice(_WORDS)
            for _ in range(random.randrange(6))
        ]
        said, out = io.StringIO(), io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(out):
            code = commands[chosen].run(lambda _arguments: 0, words)
        assert (code, said.getvalue().count("\n")) in ((0, 0), (2, 1)), (words, said.getvalue())
        assert len(said.getvalue()) < 3000, words
    return size


def _source(module: str) -> str:
    path = SOURCES.get(f"{module}.__main__", SOURCES[module])
    return str(path.relative_to(ROOT))


def _command_of(main: Callable[[list[str]], int]) -> Command:
    """What a command reads its words with."""
    found: list[Command] = []
    with mock.patch.object(Command, "run", lambda self, *_work, **_how: found.append(self)):
        main([])
    return found[0]


class _RawError(Exception):  # stands for any that is of no kind of ours
    pass


def _raw(_text: str) -> NoReturn:
    raise _RawError("a raw error")


ROWS = [
    Row(
        "command lines",
        "Any input is read or refused by name",
        "fuzzed inputs",
        check,
        20_000,
        10_000_000,
        {
            "numbers raise raw": Fault(
                lambda: mock.patch("thud_env.command.whole_number", _raw),
                "a raw error",
                _RawError,
            )
        },
        proves=(*map(_source, _OURS), *_SHARED),
    ),
]
