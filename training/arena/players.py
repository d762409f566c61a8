"""Checks the players that a run names."""

from __future__ import annotations

from collections.abc import Iterable

import agents
from thud_env.position import SIDES
from thud_env.rulesets import get_ruleset
from training.config import ConfigError, RunConfig


def check_players(config: RunConfig) -> None:
    """Raise unless all players that a run names can be made, play its game, play the same on every
    machine, and go on as they were when the run is resumed.

    Raises:
        ConfigError: naming the one that cannot.
    """
    for key, specs in config.players_named.items():
        for spec in specs:
            try:
                player = agents.make(spec)
                for side in SIDES:
                    player.check_plays(get_ruleset(config.rules), side)
            except ValueError as error:
                cut = ": a spec with a comma needs quotes" if "=" in spec.partition(":")[0] else ""
                raise ConfigError(f"{key}: {error}{cut}") from None
            if player.timed:
                raise ConfigError(
                    f"{key}: with a time limit {spec} depends on the machine, and no run could be "
                    "repeated: depth, nodes or sims would be right"
                )
            silent = type(player).get_state is agents.Agent.get_state
            # Anchors are made anew for each measurement: nothing of them is carried over.
            if player.stochastic and silent and key != "anchors":
                raise ConfigError(
                    f"{key}: {spec} draws, and does not say where it is, so a run that was stopped "
                    "could not go on as it was: get_state and set_state would be right"
                )


def as_resumed(players: Iterable[agents.Agent]) -> None:
    """Let players forget what their states leave out, such as what a search has found about
    positions. Before each update, it makes a run that goes on and a resumed one alike.
    """
    for player in players:
        player.set_state(player.get_state())
