"""The configuration of a run: ``config.yaml`` in its folder."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from training.commands.changes import changes
from training.config import Config
from training.config_file import STORED, load_stored
from training.errors import ConfigError, RunError
from training.process.precision import Precision, device_named
from training.runs.checkpoints import Checkpoints


def stored_config(path: Path, kind: type[Config]) -> Config:
    """Read the configuration of a run.

    Args:
        path: the run's folder.
        kind: the class of its configuration.

    Raises:
        RunError: if there is no run.
    """
    try:
        return load_stored(path, kind)
    except ConfigError as error:
        raise RunError(f"{path} is not a run to resume: {error}") from None


def settled_config(config: Config) -> Config:
    """A configuration with the precision settled, so that it does not depend on the machine.

    Raises:
        DeviceError: if there is no GPU and one was asked for.
    """
    precision = Precision.named(config.precision, device_named(config.device))
    return dataclasses.replace(config, precision=precision.name)


def config_to_go_on(path: Path, config: Config) -> Config:
    """The configuration that a run goes on with: the stored one, with the ``total_decisions`` that
    are now asked for.

    Args:
        path: the run's folder.
        config: as it is now asked for.

    Raises:
        RunError: if there is no run, more has been played, or anything else is another.
    """
    settled = stored_config(path, type(config))
    if config.precision == "auto":  # was settled then
        config = dataclasses.replace(config, precision=settled.precision)
    checkpoints = Checkpoints(path / "checkpoints", settled).numbered()
    played = int(checkpoints[-1].name) if checkpoints else 0
    # Whole rollouts are played, which may be some decisions more than were asked for.
    least = played - settled.decisions_per_update + 1
    if config.total_decisions != settled.total_decisions:
        if config.total_decisions < least:
            raise RunError(
                f"{path}: total_decisions: {played:,} have been played: "
                f"{least:,} or more would be right"
            )
        settled = dataclasses.replace(settled, total_decisions=config.total_decisions)
    # Kinds of networks have other keys; that the kind is another is said then.
    changed = changes(dataclasses.asdict(settled), dataclasses.asdict(config))
    if changed:
        hint = f"; a new run with its weights: {path / STORED} name=NEW start_from={path} KEY=VALUE"
        if any(one.startswith("network.") for one in changed):  # which the weights may not fit
            hint = ""
        raise RunError(f"{path} cannot go on otherwise than it began: {', '.join(changed)}{hint}")
    return settled
