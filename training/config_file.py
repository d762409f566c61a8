"""Reads configurations: YAML files and overrides, with an error that names the key."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import types
import typing
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from agents.networks.config import NetworkConfig, config_class
from agents.registry import is_own
from agents.strict_yaml import YamlError, parse_yaml, read_yaml
from thud_env.arguments import shown
from thud_env.command import whole_number
from thud_env.errors import ThudError
from training.config import Config, RunConfig
from training.config_values import LARGEST, check_type, field_types
from training.errors import ConfigError

STORED = "config.yaml"
"""The file in a run's folder with its configuration."""

KEYS_OF_ONE = {
    "training.train": ("shaping", "starts", "symmetric_frames", "ppo", "opponents"),
    "training.distill": ("teacher", "lessons", "student"),
    "training.exploit": ("agent",),
}
"""The keys that not every command reads, by one that does."""


def load_config(
    path: str | Path,
    kind: type[Config],
    overrides: Sequence[str] = (),
    *,
    allow_python: bool = False,
    without: Collection[str] = (),
) -> Config:
    """Read a YAML file, then apply overrides such as ``ppo.learning_rate=3e-4``.

    Args:
        path: the file. Another person may have written it.
        kind: the class of the configuration.
        overrides: ``key=value`` words, each with a key of its own.
        allow_python: whether the file may name agents ``python:MODULE:CLASS``, whose code will run.
        without: sections that are left at their defaults, as the caller does not need them.

    Raises:
        ConfigError: naming the key and what would be right.
    """
    path = Path(path)
    try:
        tree = read_yaml(path)
    except YamlError as error:
        raise ConfigError(str(error)) from None
    if tree is None:  # an empty file: every default
        tree = {}
    if not isinstance(tree, dict):
        raise ConfigError(f"{path}: the configuration must be a mapping of keys to values")
    tree = {key: value for key, value in tree.items() if key not in without}
    keys: set[str] = set()
    for override in overrides:
        key = _override(tree, override)
        if key in keys or any(given.startswith(f"{key}.") for given in keys):
            raise ConfigError(f"override {override!r}: {key!r} is given twice: once would be right")
        keys.add(key)
    config: Config = _build(kind, tree, "")
    if not allow_python:
        _refuse_code(config, path, keys)
    config.check()
    return config


def load_stored(run: Path, kind: type[Config]) -> Config:
    """Read the configuration that a run's folder holds, which has every key. Nothing is made of it
    here, so that no code of others runs.

    Raises:
        ConfigError: as ``load_config``; and if a key is missing, since its default may not be what
            the run began with.
    """
    path = run / STORED
    config = load_config(path, kind, allow_python=True)
    if missing := next(_missing(config, read_yaml(path)), None):
        raise ConfigError(
            f"{path} has no {missing}, so it is damaged or of an earlier version: with the value "
            "that the run began with it would be right"
        )
    return config


def _missing(config: Any, tree: Any, where: str = "") -> Iterator[str]:
    """The keys of a configuration that the tree of its file does not have."""
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if not isinstance(tree, dict) or field.name not in tree:
            yield where + field.name
        elif dataclasses.is_dataclass(value):
            yield from _missing(value, tree[field.name], f"{where}{field.name}.")


def _refuse_code(config: RunConfig, path: Path, given: set[str]) -> None:
    """Refuse code that is named under a key which the user has not given."""
    for key, specs in config.players_named.items():
        if any(f"{key}.".startswith(f"{one}.") for one in given):
            continue
        for spec in specs:
            if is_own(spec):
                raise ConfigError(
                    f"{key}: {path} names {spec}, whose code would run: give --allow-python if you "
                    "trust it"
                )


def _override(tree: Any, override: str) -> str:
    """Apply a ``key=value`` word to the tree of a file, and return its key."""
    key, equals, value = override.partition("=")
    if not equals:
        raise ConfigError(f"override {override!r}: key=value would be right")
    *parents, leaf = key.split(".")
    for parent in parents:
        if not isinstance(tree, dict):
            break
        if tree.get(parent) is None:  # missing, or a section without keys
            tree[parent] = {}
        tree = tree[parent]
    if not isinstance(tree, dict):
        raise ConfigError(f"override {override!r}: {key!r} is not a key of the configuration")
    try:
        tree[leaf] = parse_yaml(value)
    except YamlError:
        raise ConfigError(f"override {override!r}: {shown(value)} is not YAML") from None
    return key


def _build(kind: Any, tree: Any, where: str) -> Any:
    if tree is None:  # a section without keys: every default
        tree = {}
    if not isinstance(tree, dict):
        raise ConfigError(f"{where.rstrip('.')} must be a mapping of keys to values")
    hints = field_types(kind)
    values = {}
    for key, value in tree.items():
        if key not in hints:
            raise ConfigError(f"unknown key {where}{key}: {_hint(kind, str(key), where)}")
        values[key] = _convert(hints[key], value, f"{where}{key}")
    try:
        return kind(**values)
    except ThudError as error:
        raise ConfigError(f"{where}{error}") from None


def _hint(kind: Any, key: str, where: str) -> str:
    """What would be right for a key that a kind of configuration does not have."""
    for command, keys in KEYS_OF_ONE.items():
        if not where and key in keys:
            return f"this is for python -m {command}, which has it"
    known = field_types(kind)
    near = [f"{where}{name}" for name in difflib.get_close_matches(key, known, n=1)]
    near = near or [
        f"{where}{group}.{key}"
        for group, hint in known.items()
        if dataclasses.is_dataclass(hint) and key in field_types(hint)
    ]
    return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}"


def _convert(hint: Any, value: Any, key: str) -> Any:
    if hint is NetworkConfig and isinstance(value, dict):
        try:
            hint = config_class(value)
        except ThudError as error:
            raise ConfigError(f"{key}.kind: {error}") from None
    if dataclasses.is_dataclass(hint):
        return _build(hint, value, f"{key}.")
    if hint is str and value is None:  # KEY= is YAML's nothing
        return ""
    allowed = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if float in allowed and isinstance(value, str):
        # YAML 1.1 reads 1e-3, without a dot, as a string.
        try:
            return float(value)
        except ValueError:
            pass
    if float in allowed and isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise ConfigError(f"{key}: {shown(value)} must be at most {LARGEST}") from None
    if int in allowed and isinstance(value, str | float):
        # The same for 2e6, which is a count as well.
        with contextlib.suppress(ValueError):
            return whole_number(str(value))
    check_type(hint, value, key)
    return tuple(value) if isinstance(value, list) else value
