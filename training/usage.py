"""Configurations on command lines: how they are named, and what ``--help`` says of their keys."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import textwrap
import typing
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from agents.networks.kinds import NETWORKS, network_class
from agents.networks.network import NetworkConfig
from thud_env.arguments import nearest
from thud_env.command import Command, plain
from training.config import Config, ConfigError, RunConfig, TrainConfig
from training.config_file import CONFIG, load_config

WIDTH, COLUMN = 98, 30
"""Of a line, and of what stands left in it."""


ALLOW_PYTHON = "let the file name agents python:MODULE:CLASS, and their code run"


def add_config(command: Command, meaning: str, default: Path | None = None) -> None:
    """Add ``CONFIG [KEY=VALUE ...]`` to a command line.

    Args:
        command: the command line.
        meaning: what CONFIG is.
        default: used if CONFIG is left out, where it may be.
    """
    where = f" ({default.parent.name}/{default.name})" if default else ""
    command.add_argument(
        "config", nargs="?" if default else None, metavar="CONFIG", help=f"{meaning}{where}"
    )
    command.add_argument(
        "overrides",
        nargs="*",
        default=[],  # or argparse calls it required
        metavar="KEY=VALUE",
        help="other values for keys of the configuration: total_decisions=50_000",
    )
    command.add_argument("--allow-python", action="store_true", help=ALLOW_PYTHON)


def read_config(arguments: argparse.Namespace, default: Path, kind: type[Config]) -> Config:
    """The configuration of a command line on which CONFIG may be left out.

    Raises:
        ConfigError: naming the key and what would be right.
    """
    words = [*filter(None, [arguments.config]), *arguments.overrides]
    if not words or "=" in words[0]:
        return load_config(default, words, kind)
    path = _path_of_config(Path(words[0]))
    return load_config(path, words[1:], kind, allow_python=arguments.allow_python)


def _path_of_config(path: Path) -> Path:
    """The file that a CONFIG means: that file, or the one in the folder of a run.

    Raises:
        ConfigError: if it is a folder without a run, or misspelt.
    """
    if not path.exists() and (near := nearest(path.name, _names_beside(path))):
        raise ConfigError(f"{path}: there is no such file: {near.strip()}")
    if not path.is_dir():
        return path
    if not (path / CONFIG).exists():
        smoke = path / "smoke.yaml"
        files = [smoke] if smoke.exists() else path.glob("*.yaml")
        example = min(files, default=Path("configs/smoke.yaml"))
        raise ConfigError(
            f"{path} is a folder without a run: the folder of a run, or a file such as "
            f"{example}, would be right"
        )
    return path / CONFIG


def _names_beside(path: Path) -> list[str]:
    return [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []


def read_run(
    path: Path, overrides: list[str], kind: type[Config], *, allow_python: bool
) -> tuple[Config, Path, bool]:
    """The configuration of a command line on which CONFIG may be a run's folder; the folder of runs
    that it is in; and whether the run goes on. The arguments are those of ``load_config``.

    Raises:
        ConfigError: naming the key, or the folder, and what would be right.
    """
    config = load_config(_path_of_config(path), overrides, kind, allow_python=allow_python)
    if not path.is_dir():
        return config, Path("runs"), False
    if config.name != path.resolve().name:
        raise ConfigError(f"{path}: the run in it is called {config.name}: rename the folder")
    return config, path.parent if path.name == config.name else path.resolve().parent, True


def keys_help(config: RunConfig | None = None, without: tuple[str, ...] = ()) -> str:
    """Every key of a configuration with its default and its meaning, a line each, except those that
    begin with one of some words.
    """
    return "\n".join(
        (
            "keys of a configuration, with their defaults:",
            *(
                _line(key, meaning)
                for key, meaning in _keys(config or TrainConfig())
                if not key.startswith(without)
            ),
        )
    )


@cache
def meanings(kind: type[Any]) -> dict[str, str]:
    """The docstrings under the fields of a dataclass, by field; inherited ones included."""
    bodies = [
        ast.parse(inspect.getsource(one)).body[0].body  # type: ignore[attr-defined]
        for one in reversed(kind.__mro__)
        if dataclasses.is_dataclass(one)
    ]
    return {
        field.target.id: " ".join(plain(ast.literal_eval(text.value)).split())
        for body in bodies
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
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
    hint = typing.get_type_hints(kind)[name]
    words = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
    choice = f" One of {', '.join(map(str, words))}." if words else ""
    described = meanings(kind)  # type: ignore[arg-type]  # a class is hashable
    return f"{where}{name}={text}", described[name] + choice


def _keys_of_other_kinds(config: NetworkConfig, where: str) -> Iterator[tuple[str, str]]:
    """The keys that networks of another kind have alone, or with other defaults."""
    defaults = {field.name: field.default for field in dataclasses.fields(config)}
    for kind in NETWORKS:
        other = network_class(kind).Config()
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
