"""The configuration that a run began with: ``config.yaml`` in its folder."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from training.commands.changes import changes
from training.config import Config, ConfigError, RunError
from training.config_file import STORED, load_config
from training.process.precision import Precision, device_named


def stored_config(path: Path, kind: type[Config]) -> Config:
    """Read the configuration of a run.

    Args:
        path: the run's folder.
        kind: the class of its configuration.

    Raises:
        RunError: if there is no run.
    """
    try:
        # Nothing is made of it here, so that no code of others runs.
        return load_config(path / STORED, None, kind, allow_python=True)
    except ConfigError as error:
        raise RunError(f"{path} is not a run to resume: {error}") from None


def settled_config(config: Config) -> Config:
    """A configuration with the precision settled, so that it does not depend on the machine.

    Raises:
        DeviceError: if there is no GPU and one was asked for.
    """
    precision = Precision.named(config.precision, device_named(config.device))
    return dataclasses.replace(config, precision=precision.name)


def unchanged_config(path: Path, config: Config) -> Config:
    """Return the configuration of a run, which is ``config`` as it was settled.

    Raises:
        RunError: if there is no run, or its configuration is another.
    """
    before = stored_config(path, type(config))
    if config.precision == "auto":  # was settled then
        config = dataclasses.replace(config, precision=before.precision)
    # Kinds of networks have other keys; that the kind is another is said then.
    changed = changes(dataclasses.asdict(before), dataclasses.asdict(config))
    if changed:
        longer = (
            f"; name=ANOTHER start_from={path} begins a longer run with its weights"
            if config.total_decisions > before.total_decisions
            else ""
        )
        raise RunError(f"{path} cannot go on otherwise than it began: {', '.join(changed)}{longer}")
    return before
