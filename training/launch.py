"""How a run is begun and ended, whatever learns in it: its command, its folder, its last table."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import shlex
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console

from agents.networks.folders import linked
from agents.registry import is_own
from thud_env.command import Command, say
from training.arena.identity import is_own_network
from training.arena.limits import unlike_the_rules
from training.checks import idle_keys
from training.commands.console import CommandConsole
from training.config import Config
from training.options import Options, given_options
from training.process.memory import keep_freed_memory
from training.process.ranks import Ranks
from training.process.start_from import crossing
from training.process.stopping import TIME
from training.runs.checkpoints import Checkpoints
from training.runs.folder import RunFolder
from training.runs.head_to_head import TABLE, head_to_head, is_of
from training.runs.loop import Learning, Stopped, run
from training.runs.stored_config import config_to_go_on


def run_command(
    command: Command,
    read: Callable[[argparse.Namespace], tuple[Config, Path, bool]],
    work: Callable[[Config, Console, Path, Options], Any],
    words: list[str] | None,
) -> int:
    """Run a command line that makes a run, and say how one that was stopped goes on.

    Args:
        command: its arguments.
        read: returns, of what was given, the configuration, the folder of runs, and whether the
            run goes on.
        work: makes the run: called with the configuration, where to show how it goes, the folder
            of runs and the options.
        words: the words; None for those that the process was started with.

    Returns:
        the exit code.
    """

    def start(arguments: argparse.Namespace) -> int:
        options = given_options(arguments)
        config, runs, goes_on = read(arguments)
        options = dataclasses.replace(options, resume=options.resume or goes_on)
        keep_freed_memory()
        try:
            work(config, CommandConsole(), runs, options)
        except Stopped as stop:
            return _say_how_to_go_on(stop, command.prog, options.of_cluster)
        except KeyboardInterrupt:
            if Checkpoints(runs / config.name / "checkpoints", config).numbered():
                raise
            return say("stopped; no checkpoint was written yet", 130)
        return 0

    stopped = "stopped; the checkpoints written so far are kept"
    return command.run(start, words, stopped=stopped)


def _say_how_to_go_on(stop: Stopped, command: str, options: str) -> int:
    """Print how to continue a run, by a command with options; returns the exit code."""
    why = "the time is up" if stop.reason == TIME else f"stopped by {stop.reason}"
    code = 0 if stop.reason == TIME else 128 + signal.Signals[stop.reason]
    if stop.ranks.rank > 0:
        return code
    if stop.ranks.size > 1:
        command = command.replace("python", "torchrun ...", 1)
    named = [spec for specs in stop.folder.config.players_named.values() for spec in specs]
    if any(map(is_own, named)):  # those of a file need it
        options += " --allow-python"
    path = shlex.quote(str(stop.folder.path))
    kind = stop.folder.config.network.kind
    known = f", where NETWORKS has {kind!r}" if is_own_network(kind) else ""
    return say(f"{why}; to go on{known}: {command} {path}{options}", code)


@contextlib.contextmanager
def open_run(
    config: Config, runs: Path, options: Options, ranks: Ranks | None = None
) -> Iterator[tuple[RunFolder, Config]]:
    """A run's folder, which the first of its processes makes or resumes, and the configuration by
    which the run begins or goes on.

    Raises:
        RunError: if the run of that name has another configuration or is being written, or another
            of the processes has ended.
    """
    path, ranks = runs / config.name, ranks or Ranks()
    resumed = options.goes_on(path)
    ranks.wait()  # before the folder is made, all must have seen whether it was there
    if ranks.rank == 0:
        folder = (RunFolder.resume if resumed else RunFolder.begin)(path, config)
        if config.start_from and not resumed:
            folder.notices += crossing(config.start_from, config.rules)
        if words := unlike_the_rules(config.rules, **config.limits):
            folder.notices.append(f"limits of the configuration, not of the ruleset: {words}")
        folder.notices += idle_keys(config)
    ranks.wait()
    if ranks.rank > 0:
        folder = RunFolder(path, config_to_go_on(path, config), None, resumed)
    with folder:
        settled = folder.config
        assert isinstance(settled, type(config))
        if folder.checkpoints.numbered():  # what the run began with may be gone
            settled = dataclasses.replace(settled, start_from="")
        yield folder, settled


def complete(trainer: Learning, folder: RunFolder, console: Console, minutes: float | None) -> None:
    """Learn to the end, then pit the policies against others and write ``head_to_head.json``,
    unless it is of these policies already.

    Raises:
        Collapsed: if a metric became NaN or infinite.
        Stopped: after ``minutes``, or when a signal asks for it.
    """
    run(trainer, folder, console, minutes)
    config = trainer.config
    if trainer.ranks.rank == 0 and config.evaluation_games:
        games = config.evaluation_games
        newest = linked(folder.checkpoints.latest)  # the run may go on, and this is what it was
        if is_of(folder.path / TABLE, newest, games):
            console.print(f"{folder.path / TABLE} has the table of these policies", soft_wrap=True)
            return
        result = head_to_head(newest, config.rules, games, console, **config.limits)
        folder.write_json(TABLE, result)
