"""Distil a search into a dwarf and a troll policy.

::

    python -m training.distill configs/distill/classic.yaml
    python -m training.distill configs/distill/classic.yaml --resume --minutes 10
    python -m training.distill runs/distill-classic

In battles from the book of openings and from random starts, a search (the teacher) scores the legal
decisions of every state that occurs. Both policies (the students) learn these scores and the values
of what followed. Students soon play most seats themselves, so that they learn in states that they
will meet. A lesson is a number of decisions in each battle; after each lesson the students learn
from all lessons so far.

A stopped run resumes like one of ``training.train``, and ends bit for bit as it would have without
the stop.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from rich.console import Console

from thud_env.command import Command
from thud_env.rulesets import get_ruleset
from training.checks import check_run
from training.config import check_kind
from training.distill.config import DistillConfig
from training.distill.distillation import Distillation
from training.keys_help import keys_help
from training.launch import complete, open_run, run_command
from training.options import DEFAULTS, Options, add_running_options
from training.usage import CONFIG_OR_RUN, add_config, read_run


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
        runs: the folder to make the run's folder in.
        options: whether to resume, and how long to run.

    Returns:
        the run's folder.

    Raises:
        AnswerError: if a player answers with an illegal action.
        Collapsed: if a metric became NaN or infinite.
        ConfigError: if ``check_run`` refuses the run.
        DeviceError: if there is no GPU and one was asked for.
        RunError: if the run of that name has another configuration or is being written, or none of
            its checkpoints is whole.
        Stopped: after ``options.minutes``, or when a signal asks for it.
        TypeError: if it is no ``DistillConfig``.
    """
    check_kind(config, DistillConfig)
    check_run(config, runs, options)
    with open_run(config, runs, options) as (folder, config):
        console.print(
            f"distilling {config.name}: {get_ruleset(config.rules).title}, "
            f"{config.whole_decisions:,} labelled states",
            soft_wrap=True,
        )
        complete(Distillation(config, folder.path), folder, console, options.minutes)
    return folder.path


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    command = Command("training.distill", __doc__, lambda: keys_help(DistillConfig()))
    add_config(command, CONFIG_OR_RUN)
    add_running_options(command)
    example = Path("configs/distill/classic.yaml")
    read = partial(read_run, kind=DistillConfig, example=example)
    return run_command(command, read, distil, words)


if __name__ == "__main__":
    sys.exit(main())
