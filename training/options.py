"""The options of ``python -m training.train``."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from training.config import ConfigError
from training.usage import meanings


@dataclasses.dataclass(frozen=True)
class Options:
    """How a run is made, as opposed to what it is: these do not belong to its configuration."""

    resume: bool = False
    """Go on with the run of that name, if there is one."""
    minutes: float | None = None
    """Stop after so many."""
    actors: int = 0
    """So many processes of a Ray cluster play the battles, instead of this process."""
    cluster: str | None = None
    """``HOST:PORT`` of the cluster's head, or ``auto`` for the one this machine belongs to; if not
    given, one of this machine alone is started."""


DEFAULTS = Options()

_KINDS: dict[str, tuple[Callable[[str], Any], str, str]] = {
    "minutes": (float, "N", "a number of minutes"),
    "actors": (int, "N", "a number of processes"),
    "cluster": (str, "ADDRESS", "HOST:PORT, or auto,"),
}


def told_options() -> dict[str, str]:
    """Every option as it is written, and what it does."""
    told = meanings(Options)
    return {
        f"--{name} {_KINDS[name][1]}" if name in _KINDS else f"--{name}": meaning
        for name, meaning in told.items()
    }


def read_options(words: list[str]) -> tuple[Options, list[str]]:
    """The options among the words of a command line, and the other words.

    Raises:
        ConfigError: naming the option and what would be right.
    """
    values: dict[str, Any] = {}
    others = []
    given = iter(words)
    for word in given:
        name = word.removeprefix("--")
        if not word.startswith("-"):
            others.append(word)
        elif word == "--resume":
            values["resume"] = True
        elif word.startswith("--") and name in _KINDS:
            values[name] = _value(word, next(given, ""))
        else:
            known = ", ".join(f"--{field.name}" for field in dataclasses.fields(Options))
            raise ConfigError(f"unknown option {word}: there are {known}")
    if "cluster" in values and "actors" not in values:
        raise ConfigError("--cluster: it needs --actors N, how many processes of it are to play")
    return Options(**values), others


def _value(option: str, word: str) -> Any:
    kind, _, right = _KINDS[option.removeprefix("--")]
    try:
        value = kind(word)
    except ValueError:
        value = None
    if value is None or value == "":
        raise ConfigError(f"{option}: {right} would be right")
    if kind is not str and not value > 0:
        raise ConfigError(f"{option}: {value:g} must be more than 0")
    return value
