"""What the commands that take a configuration say for ``--help``, from the code itself."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import yaml

from training.cli import plain
from training.config import TrainConfig

WIDTH, COLUMN = 98, 30
"""Of a line, and of what stands left in it."""


def usage(docstring: str | None, commands: list[str], words: Mapping[str, str]) -> str:
    """The help of a command.

    Args:
        docstring: of its module.
        commands: the ways to write it.
        words: what may stand in them, and what it means.
    """
    ways = "\n       ".join(commands)
    return "\n".join(
        (
            f"usage: {ways}",
            "",
            plain(docstring),
            *(_line(word, meaning) for word, meaning in words.items()),
            "",
            "keys of a configuration, and what they are if it does not say:",
            *(_line(key, meaning) for key, meaning in _keys(TrainConfig())),
        )
    )


def meanings(kind: type[Any]) -> dict[str, str]:
    """What the docstrings under the fields of a dataclass say, by field."""
    body = ast.parse(inspect.getsource(kind)).body[0].body  # type: ignore[attr-defined]
    return {
        field.target.id: plain(ast.literal_eval(text.value))
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
    }


def _keys(config: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Each key as it could be given, with its meaning."""
    told = meanings(type(config))
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            yield from _keys(value, f"{where}{field.name}.")
            continue
        default = list(value) if isinstance(value, tuple) else value
        text = yaml.safe_dump(default, default_flow_style=True).partition("\n")[0]
        yield f"{where}{field.name}={text}", told[field.name]


def _line(word: str, meaning: str) -> str:
    return textwrap.fill(
        " ".join(meaning.split()),
        WIDTH,
        initial_indent=f"  {word:<{COLUMN}}  ",
        subsequent_indent=" " * (COLUMN + 4),
        break_on_hyphens=False,
    )
