"""What a run was told when it began: ``config.yaml`` in its folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from training.config import Config, ConfigError, load_config
from training.runs.lock import RunError

CONFIG = "config.yaml"


def told(path: Path, kind: type[Config]) -> Config:
    """What a run, which is told such a configuration, was told when it began.

    Raises:
        RunError: if there is no run.
    """
    try:
        return load_config(
            path / CONFIG, None, kind, allow_python=True
        )  # nothing is made of it here
    except ConfigError as error:
        raise RunError(f"{path} is no run to go on with: {error}") from None


def told_again(path: Path, config: Config) -> Config:
    """What a run was told when it began, which is what it is told now.

    Raises:
        RunError: if there is no run, or it was told something else.
    """
    before = told(path, type(config))
    if config.precision == "auto":  # was settled then
        config = dataclasses.replace(config, precision=before.precision)
    had, now = _flat(dataclasses.asdict(before)), _flat(dataclasses.asdict(config))
    changed = [f"{key} was {had[key]!r}, not {now[key]!r}" for key in now if had[key] != now[key]]
    if changed:
        raise RunError(f"{path} cannot go on otherwise than it began: {', '.join(changed)}")
    return before


def _flat(tree: Mapping[str, Any], start: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{start}{key}.")
        else:
            flat[f"{start}{key}"] = value
    return flat
