"""Refuses runs that could not be made, or not go on, before anything is written."""

from __future__ import annotations

import re
from operator import attrgetter
from pathlib import Path

import agents
from agents.asking import check_seat
from thud_env.errors import ThudError
from thud_env.outcome import SIDES
from thud_env.rulesets import get_ruleset
from training.arena.identity import files_of
from training.config import RunConfig
from training.errors import ConfigError
from training.options import Options
from training.process.precision import device_named
from training.process.roles import two_networks
from training.process.start_from import start_from
from training.runs.foresight import Foresight
from training.selfplay.book_starts import starts_to_learn_from


def check_run(config: RunConfig, runs: Path, options: Options) -> None:
    """Refuse what would fail only once the run's folder has been made.

    Raises:
        ConfigError: as ``RunConfig.check`` does, if a player cannot be made, depends on the machine
            or cannot go on from where it was, the book cannot be used or has too few starts, a new
            run cannot start from its ``start_from`` or would move aside what it needs, or the table
            at the end could not name the run's folder.
        DeviceError: if there is no GPU and one was asked for.
    """
    config.check()
    device_named(config.device)
    check_players(config)
    Foresight(config)
    starts_to_learn_from(config)
    folder = runs / config.name
    if not options.goes_on(folder):
        _refuse_to_move_aside(folder, config)
        if config.start_from:
            start_from(config.start_from, two_networks(config.network), config.rules)
    if config.evaluation_games and re.search(r",|^\w+=", str(runs)):
        raise ConfigError(
            f"{folder}: no spec can name a path with a comma, or that begins as an option does, "
            "and the table at the end names it: another folder, or evaluation_games=0, would be "
            "right"
        )


def idle_keys(config: RunConfig) -> list[str]:
    """A line for each key that was given, but has no effect with the values of the others."""
    default = type(config)()

    def is_given(key: str) -> bool:
        of_key = attrgetter(key)
        return bool(of_key(config) != of_key(default))

    return [
        f"{key} has no effect {why}" for key, why in config.switched_off.items() if is_given(key)
    ]


def _refuse_to_move_aside(folder: Path, config: RunConfig) -> None:
    """Refuse a new run that needs what is in the folder of the run of the same name."""
    if not folder.exists():
        return
    needed = {"start_from": [Path(config.start_from)] if config.start_from else []}
    for key, specs in config.players_named.items():
        needed[key] = [file for spec in specs for file in files_of(spec, config.rules)]
    for key, paths in needed.items():
        for path in paths:
            if path.resolve().is_relative_to(folder.resolve()):
                raise ConfigError(
                    f"{key}: this run would move {path} aside: another name= would be right"
                )


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
                    check_seat(player, get_ruleset(config.rules), side)
            except ThudError as error:
                cut = ": a spec with a comma needs quotes" if "=" in spec.partition(":")[0] else ""
                raise ConfigError(f"{key}: {error}{cut}") from None
            if player.timed:
                raise ConfigError(
                    f"{key}: with a time limit {spec} depends on the machine, and no run could be "
                    "repeated: depth, nodes or sims would be right"
                )
            silent = type(player).get_state is agents.Agent.get_state
            # Anchors are seeded anew for each measurement: nothing of them is carried over.
            if player.stochastic and silent and key != "anchors":
                raise ConfigError(
                    f"{key}: {spec} draws, and does not say where it is, so a run that was stopped "
                    "could not go on as it was: get_state and set_state would be right"
                )
