"""Checks the players that a run names."""

from __future__ import annotations

import agents
from training.config import ConfigError, RunConfig


def check_players(config: RunConfig) -> None:
    """Raise unless all players that a run names can be made, and play the same on every machine.

    Raises:
        ConfigError: naming the one that cannot.
    """
    for key, specs in config.players_named.items():
        for spec in specs:
            try:
                timed = agents.make(spec).timed
            except ValueError as error:
                cut = ": a spec with a comma needs quotes" if "=" in spec.partition(":")[0] else ""
                raise ConfigError(f"{key}: {error}{cut}") from None
            if timed:
                raise ConfigError(
                    f"{key}: with a time limit {spec} depends on the machine, and no run could be "
                    "repeated: depth, nodes or sims would be right"
                )
