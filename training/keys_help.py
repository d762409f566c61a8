"""What ``--help`` says of the keys of a configuration."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import inspect
import textwrap
import typing
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import yaml

from agents.networks.config import CONFIG_CLASSES, NetworkConfig
from thud_env.command import plain
from training.config import RunConfig
from training.config_values import field_types

WIDTH, COLUMN = 98, 30
"""Of a line, and of what stands left in it."""


def keys_help(config: RunConfig, without: str = "") -> str:
    """Every key of a configuration with its default and its meaning, a line each, except that
    called ``without``.
    """
    return "\n".join(
        (
            "keys of a configuration, with their defaults:",
            *(
                _line(key, meaning)
                for key, meaning in _keys(config)
                if key.partition("=")[0] != without
            ),
        )
    )


@cache
def meanings(kind: type[Any]) -> dict[str, str]:
    """The docstrings under the fields of a dataclass, by field; inherited ones included. A class of
    a user's own may have none, or no source that could be read.
    """
    bodies = []
    for one in filter(dataclasses.is_dataclass, reversed(kind.__mro__)):
        with contextlib.suppress(OSError, TypeError, SyntaxError):
            source = textwrap.dedent(inspect.getsource(one))
            bodies.append(ast.parse(source).body[0].body)  # type: ignore[attr-defined]
    return {
        field.target.id: " ".join(plain(text.value.value).split())
        for body in bodies
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


def _keys(config: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Each key as it could be given, with its meaning."""
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            yield from _keys(value, f"{where}{field.name}.")
        else:
            yield _key(type(config), field.name, value, where)
    if isinstance(config, NetworkConfig):
        yield from _keys_of_other_kinds(config, where)


def _key(kind: type[Any], name: str, value: Any, where: str) -> tuple[str, str]:
    """A key as it could be given; its meaning, and its values if they are a few words."""
    default = list(value) if isinstance(value, tuple) else value
    text = yaml.safe_dump(default, default_flow_style=True).partition("\n")[0]
    hint = field_types(kind)[name]
    words = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
    choice = f" One of {', '.join(map(str, words))}." if words else ""
    described = meanings(kind)  # type: ignore[arg-type]  # a class is hashable
    return f"{where}{name}={text}", f"{described.get(name, '')}{choice}".strip()


def _keys_of_other_kinds(config: NetworkConfig, where: str) -> Iterator[tuple[str, str]]:
    """The keys that networks of another kind have alone, or with other defaults."""
    defaults = {field.name: field.default for field in dataclasses.fields(config)}
    for kind, sizes in CONFIG_CLASSES.items():
        other = sizes()
        for field in dataclasses.fields(other):
            value = getattr(other, field.name)
            if kind != config.kind and field.name != "kind" and value != defaults.get(field.name):
                key, meaning = _key(type(other), field.name, value, where)
                yield key, f"With kind={kind}: {meaning}"


def _line(word: str, meaning: str) -> str:
    return textwrap.fill(
        meaning,
        WIDTH,
        initial_indent=f"  {word:<{COLUMN}}  ",
        subsequent_indent=" " * (COLUMN + 4),
        break_on_hyphens=False,
    )
