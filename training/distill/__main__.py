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

import sys
from pathlib import Path

from rich.console import Console

from thud_env.rulesets import get_ruleset
from training.distill.config import DistillConfig
from training.distill.distillation import Distillation
from training.launch import check_run, complete, config_in, open_folder, run_command
from training.options import DEFAULTS, Options, add_running_options


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
        DeviceError: if there is no GPU and one was asked for.
        RunError: if the run of that name has another configuration.
        Stopped: when it was asked to stop before it was through.
    """
    check_run(config, runs)
    path = runs / config.name
    with open_folder(path, config, options.resume and path.exists()) as folder:
        config = config_in(folder, DistillConfig)
        console.print(
            f"distilling {config.name}: {get_ruleset(config.rules).title}, "
            f"{config.total_decisions:,} labelled states",
            highlight=False,
            soft_wrap=True,
        )
        complete(Distillation(config, path), folder, console, options.minutes)
    return path


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    return run_command(
        "training.distill", __doc__, DistillConfig(), distil, add_running_options, words
    )


if __name__ == "__main__":
    sys.exit(main())
