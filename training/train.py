"""Train a dwarf and a troll policy by self-play PPO.

::

    python -m training.train configs/smoke.yaml
    python -m training.train configs/smoke.yaml total_decisions=50_000 ppo.learning_rate=3e-4
    python -m training.train configs/gpu.yaml --resume --minutes 10
    python -m training.train runs/smoke
    python -m training.train configs/gpu.yaml --actors 32 --cluster auto

Both roles learn from mirror play: in every battle the current dwarfs meet the current
trolls. A rollout is T decisions in each of B battles; then each role's network improves on
the decisions it made. Rewards are captures as they happen, so that the undiscounted return
is the rest of the final margin, in 1/32; in the Koom Valley games, the result at the end.

A run that was stopped, by Ctrl-C, a signal, ``--minutes`` or a power cut, goes on from its newest
checkpoint: name its folder, or give ``--resume``, which starts the run if there is none yet. On
the CPU it then ends as it would have without the stop, to the last bit.

With ``--actors``, battles are played by so many processes of a Ray cluster, the one at
``--cluster`` or one of this machine: see docs/scaling.md.
"""

from __future__ import annotations

import contextlib
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from thud_env.batch.cpu import available_cores
from thud_env.command import Command, counted
from thud_env.rulesets import get_ruleset
from training.checks import check_run
from training.config import TrainConfig, check_kind
from training.errors import ConfigError
from training.keys_help import keys_help
from training.launch import complete, open_run, run_command
from training.options import DEFAULTS, Options, add_options
from training.process.ranks import Ranks
from training.runs.folder import RunFolder
from training.trainer import self_play_trainer
from training.usage import CONFIG_OR_RUN, add_config, read_run


def train(
    config: TrainConfig,
    console: Console,
    runs: Path = Path("runs"),
    options: Options = DEFAULTS,
) -> RunFolder:
    """Train, then pit the policies against others.

    Args:
        config: what to train.
        console: where to show how it goes.
        runs: the run's folder is made in here.
        options: of the command line.

    Raises:
        AnswerError: if a player answers with an illegal action.
        Collapsed: if a metric became NaN or infinite.
        ConfigError: if the processes cannot share the battles evenly, there is no cluster, or
            ``check_run`` refuses the run.
        DeviceError: if there is no GPU and one was asked for.
        RunError: if the run of that name has another configuration or is being written, none of
            its checkpoints is whole, another of the processes has ended, or Ray does not start.
        Stopped: after ``options.minutes``, or when a signal asks for it.
        TypeError: if it is no ``TrainConfig``.
    """
    check_kind(config, TrainConfig)
    check_run(config, runs, options)
    ranks = Ranks.from_environment()
    if options.actors and ranks.size > 1:
        raise ConfigError("--actors: one learner learns from them, not several of torchrun")
    _check_shares(config, options.actors or ranks.size)
    if config.ppo.minibatch_size < ranks.size:
        raise ConfigError(
            f"ppo.minibatch_size: {ranks.size} processes cannot share {config.ppo.minibatch_size}"
        )
    with _cluster(options), open_run(config, runs, options, ranks) as (folder, config):
        if ranks.rank > 0:
            console = Console(quiet=True)
        together = "" if ranks.size == 1 else f", {ranks.size} processes together"
        if options.actors:
            together = f", {options.actors} actors play"
        console.print(
            f"training {config.name}: {get_ruleset(config.rules).title}, "
            f"{config.whole_decisions:,} decisions, {config.decisions_per_update:,} an update, "
            f"on {counted(available_cores(), 'core')}{together}",
            soft_wrap=True,
        )
        trainer = self_play_trainer(config, folder.path, ranks, options.actors)
        complete(trainer, folder, console, options.minutes)
    return folder


def _check_shares(config: TrainConfig, processes: int) -> None:
    """Raise unless the battles, and those against opponents, can be shared out evenly."""
    if config.num_games % processes:
        raise ConfigError(f"num_games: {processes} processes cannot share {config.num_games}")
    each = config.num_games // processes
    for kind, seats in zip(
        ("scripted", "frozen"), config.opponents.in_each_seat(each), strict=True
    ):
        share = getattr(config.opponents, kind)
        if share and not seats:
            raise ConfigError(
                f"opponents.{kind}: {share:g} of the {each} battles of a process is less than one "
                "for each role: a larger share or num_games, or fewer processes, would be right"
            )


def _cluster(options: Options) -> contextlib.AbstractContextManager[None]:
    """The cluster of the actors, if there are any; joined before a folder is made.

    Raises:
        ConfigError: if Ray is not installed, or there is no cluster at the address.
        RunError: if Ray does not start.
    """
    if not options.actors:
        return contextlib.nullcontext()
    ray = find_spec("ray")
    if ray is None or ray.origin is None:  # a folder of that name, without code, is not Ray
        raise ConfigError('--actors: they need Ray: pip install ".[cluster]"')
    from training.selfplay.actors import cluster

    return cluster(options.cluster, options.actors)


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    command = Command("training.train", __doc__, lambda: keys_help(TrainConfig()))
    add_config(command, CONFIG_OR_RUN)
    add_options(command)
    return run_command(command, partial(read_run, kind=TrainConfig), train, words)


if __name__ == "__main__":
    sys.exit(main())
