"""Checks the values of configurations, of any frozen dataclass, by its annotations."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from thud_env.arguments import shown
from thud_env.rulesets import Ruleset
from training.errors import ConfigError

LARGEST = 2**63 - 1
"""The largest whole number of a configuration."""


_type_hints: Callable[..., dict[str, Any]] = cache(get_type_hints)


def field_types(kind: Any, *, ranges: bool = False) -> dict[str, Any]:
    """The types of a dataclass's fields, by field; on request, with the ranges of their values
    (agents/ranges.py). Python evaluates the annotations of a class anew whenever it is asked.
    """
    return _type_hints(kind, include_extras=ranges)


def check_values(config: Any, where: str = "") -> None:
    """Refuse values of a configuration, or of a part of one, that are of another type or out of
    range.

    Args:
        config: a dataclass with ranges in its annotations (agents/ranges.py).
        where: what its keys begin with in a message.

    Raises:
        ConfigError: naming the key and what would be right.
    """
    hints = field_types(type(config), ranges=True)
    for field in dataclasses.fields(config):
        key, value, hint = f"{where}{field.name}", getattr(config, field.name), hints[field.name]
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            if not isinstance(value, hint):
                raise ConfigError(f"{key}: {shown(value)} must be of type {hint.__name__}")
            check_values(value, f"{key}.")
            continue
        kind, *allowed = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        check_type(kind, value, key)
        if isinstance(value, tuple | list) and not value:
            raise ConfigError(f"{key}: [] must name one player or more")
        if isinstance(value, int) and value > LARGEST:
            raise ConfigError(f"{key}: {shown(value)} must be at most {LARGEST}")
        for one in allowed:
            if not one.least <= value <= one.most or value == math.inf:
                raise ConfigError(f"{key}: {value} must be {one}")
        if float in (kind, *get_args(kind)) and value is not None and not 0 <= value < math.inf:
            raise ConfigError(f"{key}: {value} must be a number, 0 or more")


def check_type(kind: Any, value: Any, key: str) -> None:
    """Refuse the value of a key that is not of its type.

    Args:
        kind: the annotation of the key, no dataclass and without a range: a type or a union of
            some, a tuple of words, or a ``Literal``. A whole number is of type ``float``, too.
        value: what is given.
        key: its name, for the message.

    Raises:
        ConfigError: naming the key and what would be right.
    """
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        if not any(type(value) is type(one) and value == one for one in choices):
            raise ConfigError(f"{key}: {shown(value)} is not one of {', '.join(map(str, choices))}")
    elif get_origin(kind) is tuple:
        if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
            raise ConfigError(
                f"{key}: {shown(value)} must be a list of words, such as [random, greedy]"
            )
    else:
        allowed = get_args(kind) if isinstance(kind, UnionType) else (kind,)
        if type(value) not in allowed and not (type(value) is int and float in allowed):
            names = " or ".join("nothing" if a is NoneType else a.__name__ for a in allowed)
            quoted = ""
            if isinstance(value, Ruleset) and str in allowed:
                quoted = ": its spec, or name, would be right"
            elif str in allowed:
                quoted = ": text that YAML reads as something else needs quotes"
            raise ConfigError(f"{key}: {shown(value)} must be of type {names}{quoted}")
