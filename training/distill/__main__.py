"""Distil a search into a dwarf and a troll policy.

::

    python -m training.distill configs/distill/classic.yaml
    python -m training.distill configs/distill/classic.yaml --resume --minutes 10
    python -m training.distill runs/distill-classic

In battles from the book of openings and from random starts, a search scores every legal decision of
every state that is met, and both policies learn its scores and what followed. They soon play most
of the battles themselves, so that they are taught where they will be. A lesson is so many
decisions in each of the battles; all lessons so far are learnt from again after each.

A run that was stopped goes on as one of ``training.train`` does, and ends as it would have without
the stop, to the last bit.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path

from rich.console import Console

from thud_env.command import Command
from thud_env.rulesets import get_ruleset
from training.config import ConfigError
from training.distill.config import DistillConfig
from training.distill.distillation import Distillation
from training.options import DEFAULTS, Options, add_running_options
from training.process.memory import keep_freed_memory
from training.process.precision import Precision, device_named
from training.process.state import StateError
from training.runs.alarms import Collapsed
from training.runs.folder import RunFolder
from training.runs.head_to_head import head_to_head
from training.runs.lock import RunError
from training.trainer import STOPPED, Stopped, run
from training.usage import add_config, keys_help, read_run


def distil(
    config: DistillConfig,
    console: Console,
    runs: Path = Path("runs"),
    options: Options = DEFAULTS,
) -> Path:
    """Distil, then pit the policies against others.

    Args:
        config: what to distil.
        console: where to show how it goes.
        runs: the run's folder is made in here.
        options: how it is made.

    Returns:
        the run's folder.

    Raises:
        ConfigError: if the run cannot start from its ``start_from``.
        RunError: if the run of that name was told something else.
        Stopped: when it was asked to stop before it was through.
    """
    path = runs / config.name
    resumed = options.resume and path.exists()
    if not resumed:  # its arithmetic stays the same wherever the run goes on
        precision = Precision.named(config.precision, device_named(config.device))
        config = dataclasses.replace(config, precision=precision.name)
    with RunFolder.resume(path, config) if resumed else RunFolder.begin(path, config) as folder:
        assert isinstance(folder.config, DistillConfig)
        config = folder.config
        if folder.has_checkpoint:  # what the run began with may be gone
            config = dataclasses.replace(config, start_from="")
        console.print(
            f"distilling {config.name}: {get_ruleset(config.rules).title}, "
            f"{config.total_decisions:,} labelled states",
            highlight=False,
            soft_wrap=True,
        )
        run(Distillation(config, path), folder, console, options.minutes)
        if config.evaluation_games:
            result = head_to_head(
                folder.latest, config.rules, config.evaluation_games, console, **config.limits
            )
            folder.write_json("head_to_head.json", result)
    return path


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    command = Command("training.distill", __doc__, keys_help(DistillConfig()))
    add_config(
        command,
        "a YAML file, whose run begins anew without --resume, or a run's folder, which goes on",
    )
    add_running_options(command)
    return command.run(
        _distil, words, errors=(ConfigError, RunError, StateError, Collapsed), stopped=STOPPED
    )


def _distil(arguments: argparse.Namespace) -> int:
    config, runs, goes_on = read_run(arguments, DistillConfig)
    options = Options(resume=arguments.resume or goes_on, minutes=arguments.minutes)
    keep_freed_memory()
    try:
        distil(config, Console(), runs, options)
    except Stopped as stop:
        return stop.say("training.distill")
    return 0


if __name__ == "__main__":
    sys.exit(main())
