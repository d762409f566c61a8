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

import argparse
import contextlib
import dataclasses
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from rich.console import Console

import agents
from agents.networks.checkpoint import NotFiniteError
from thud_env.batch.threads import available_cores
from thud_env.command import Command
from thud_env.position import SIDES
from thud_env.rulesets import get_ruleset
from training.config import ConfigError, TrainConfig, load_config
from training.options import DEFAULTS, Options, add_options, given_options
from training.process.memory import keep_freed_memory
from training.process.precision import DeviceError, device_named
from training.process.ranks import Ranks
from training.process.state import State, StateError
from training.runs.alarms import Alarms, Collapsed
from training.runs.anchors import Anchors
from training.runs.display import Display
from training.runs.folder import RunFolder
from training.runs.follower import Follower
from training.runs.head_to_head import head_to_head
from training.runs.lock import RunError
from training.trainer import Trainer, start_from, two_networks
from training.usage import add_config, keys_help

STOPPED = "stopped; the checkpoints written so far are kept"


class Stopped(Exception):  # noqa: N818 (nothing went wrong)
    """A run was asked to stop, and has: it can go on from its newest checkpoint.

    Args:
        folder: the run's.
        reason: ``"time"``, or the name of a signal.
    """

    def __init__(self, folder: RunFolder, reason: str) -> None:
        super().__init__(reason)
        self.folder = folder
        self.reason = reason


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
        options: how it is made.

    Raises:
        ConfigError: if the processes cannot share the battles evenly, or there is no cluster.
        DeviceError: if there is no GPU and one was asked for.
        RunError: if the run of that name was told something else.
        Stopped: when it was asked to stop before it was through.
    """
    device_named(config.device)
    ranks = Ranks.from_environment()
    if options.actors and ranks.size > 1:
        raise ConfigError("--actors: one learner learns from them, not several of torchrun")
    _check_shares(config, options.actors or ranks.size)
    check_players(config)
    if config.start_from and not (options.resume and (runs / config.name).exists()):
        start_from(config.start_from, two_networks(config.network))  # before a folder is made
    with (
        _trainers(ranks, options) as trainer_of,
        _folder(runs / config.name, config, ranks, options.resume) as folder,
    ):
        config = folder.config
        if folder.has_checkpoint:  # what the run began with may be gone
            config = dataclasses.replace(config, start_from="")
        if ranks.rank > 0:
            console = Console(quiet=True)
        together = "" if ranks.size == 1 else f", {ranks.size} processes together"
        if options.actors:
            together = f", {options.actors} actors play"
        console.print(
            f"training {config.name}: {get_ruleset(config.rules).title}, "
            f"{config.total_decisions:,} decisions on {available_cores()} cores{together}",
            highlight=False,
            soft_wrap=True,
        )
        learn(trainer_of(config, folder.path), folder, console, options.minutes)
        if ranks.rank == 0 and config.evaluation_games:
            result = head_to_head(
                folder.latest, config.rules, config.evaluation_games, console, **config.limits
            )
            folder.write_json("head_to_head.json", result)
    return folder


def _folder(path: Path, config: TrainConfig, ranks: Ranks, resume: bool) -> RunFolder:
    """Where the run is written, made or gone on with by the first process."""
    resumed = resume and path.exists()
    ranks.wait()  # before the folder is made, all must have seen whether it was there
    if ranks.rank == 0:
        folder = RunFolder.resume(path, config) if resumed else RunFolder.begin(path, config)
    ranks.wait()
    return Follower(path, config, ranks.rank, resumed) if ranks.rank > 0 else folder


def _check_shares(config: TrainConfig, processes: int) -> None:
    """See that battles, and those against opponents, can be shared out."""
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


def check_players(config: TrainConfig) -> None:
    """See that anchors and opponents can be made, and will play the same wherever the run goes on.

    Raises:
        ConfigError: naming the one that cannot.
    """
    named = {"anchors": config.anchors, "opponents.players": config.opponents.players}
    for key, specs in named.items():
        for spec in specs:
            try:
                agents.make(spec)
            except ValueError as error:
                raise ConfigError(f"{key}: {error}") from None
            if re.search("[:,]time=", spec):
                raise ConfigError(
                    f"{key}: with a time limit {spec} depends on the machine, and no run could be "
                    "repeated: depth, nodes or sims would be right"
                )


@contextlib.contextmanager
def _trainers(ranks: Ranks, options: Options) -> Iterator[Callable[[TrainConfig, Path], Trainer]]:
    """What makes a trainer; for as long as it is needed there is a cluster, if actors are to play.

    Raises:
        ConfigError: if there is none at the address.
    """
    if not options.actors:
        yield lambda config, path: Trainer(config, path, ranks)
        return
    try:
        from training.selfplay.actors import ClusterTrainer, cluster
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise ConfigError('--actors: they need Ray: pip install ".[cluster]"') from None
    with cluster(options.cluster, options.actors):
        yield lambda config, path: ClusterTrainer(config, path, options.actors)


def learn(
    trainer: Trainer, folder: RunFolder, console: Console, minutes: float | None = None
) -> None:
    """The loop of a run: updates until all decisions are played.

    Raises:
        Collapsed: if a number is none any more; the checkpoints are as they were.
        Stopped: after ``minutes``, or at SIGINT or SIGTERM; the update under way is finished and
            a checkpoint written.
    """
    config = trainer.config
    ranks = trainer.ranks
    anchors = Anchors(dataclasses.replace(config, anchor_games=0) if ranks.rank else config)
    alarms = Alarms(config.rules, folder)
    try:
        if folder.resumed:
            _go_on(folder, trainer, anchors)
        started = time.monotonic()  # now: the shortest time must do for some updates
        until = started + 60 * minutes if minutes is not None else float("inf")
        _show(folder.notices, console)
        console.print("compiling the rules, if this is the first time ...")
        with (
            _asked_to_stop() as asked,
            Display(console, config.name, config.total_decisions, trainer.decisions) as display,
        ):
            while trainer.decisions < config.total_decisions:
                if time.monotonic() >= until:
                    asked.append("time")
                if ranks.total(len(asked))[0]:  # one that is asked stops them all
                    _checkpoint(trainer, anchors, folder)
                    raise Stopped(folder, asked[0] if asked else "time")
                metrics = trainer.update()
                last = trainer.decisions >= config.total_decisions
                due = last or trainer.updates % config.checkpoint_every == 0
                if due:
                    metrics |= anchors.measure(
                        trainer.networks, trainer.precision, trainer.decisions
                    )
                folder.log(trainer.decisions, metrics)
                _show(folder.notices, console)
                for said in alarms.check(trainer.decisions, metrics, anchors.best):
                    console.print(f"alarm: {said}", style="bold red", soft_wrap=True)
                display.update(trainer.decisions, metrics)
                if due:
                    _checkpoint(trainer, anchors, folder)
    except NotFiniteError as error:
        raise Collapsed(f"{error} after {trainer.decisions:,} decisions; {folder.good}") from None
    finally:
        trainer.close()
    console.print(f"trained in {(time.monotonic() - started) / 60:.1f} minutes")
    for role in SIDES:
        console.print(f"  {role}: {folder.latest / role}", highlight=False, soft_wrap=True)


def _go_on(folder: RunFolder, trainer: Trainer, anchors: Anchors) -> None:
    """Restore all processes from the checkpoint that the first one chooses."""

    def restore(state: State) -> None:
        _check_size(state, trainer)
        trainer.restore(state.part("trainer"))
        anchors.restore(state.part("anchors"))

    for first in (True, False):
        if first == (trainer.ranks.rank == 0):
            folder.restore(restore)
        trainer.ranks.wait()
    folder.point_to_best(anchors.best)


def _show(notices: list[str], console: Console) -> None:
    """Show what the user should know, once."""
    for notice in notices:
        console.print(notice, highlight=False, soft_wrap=True, markup=False)
    notices.clear()


def _checkpoint(trainer: Trainer, anchors: Anchors, folder: RunFolder) -> None:
    size = State(values={"size": trainer.ranks.size, "actors": trainer.actors})
    parts = {"trainer": trainer.state(), "anchors": anchors.state(), "ranks": size}
    states = trainer.ranks.gather(State.of_parts(parts))
    folder.checkpoint(trainer.decisions, trainer.networks, states, anchors.best)


def _check_size(state: State, trainer: Trainer) -> None:
    before = {"actors": 0, **state.part("ranks").values}
    for kind, now in (("size", trainer.ranks.size), ("actors", trainer.actors)):
        if before[kind] != now:
            what = "processes together" if kind == "size" else "actors"
            raise RunError(
                f"the run was trained by {before[kind]} {what}, not by {now}: it can only go on as "
                "it began"
            )


@contextlib.contextmanager
def _asked_to_stop() -> Iterator[list[str]]:
    """The names of signals that came: the first asks the run to stop, the second stops it."""
    asked: list[str] = []
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def ask(number: int, frame: FrameType | None) -> None:
        asked.append(signal.Signals(number).name)
        signal.signal(number, before[signal.Signals(number)])

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    command = Command("training.train", __doc__, keys_help())
    add_config(
        command,
        "a YAML file, whose run begins anew without --resume, or a run's folder, which goes on",
    )
    add_options(command)
    return command.run(
        _train,
        words,
        errors=(ConfigError, RunError, StateError, DeviceError, Collapsed),
        stopped=STOPPED,
    )


def _train(arguments: argparse.Namespace) -> int:
    options = given_options(arguments)
    config, runs = load_config(config_file(arguments.config), arguments.overrides), Path("runs")
    path = Path(arguments.config)
    if path.is_dir():
        if config.name != path.resolve().name:
            raise ConfigError(f"{path}: the run in it is called {config.name}: rename the folder")
        runs, options = path.resolve().parent, dataclasses.replace(options, resume=True)
    keep_freed_memory()
    try:
        train(config, Console(), runs, options)
    except Stopped as stop:
        why = "the time is up" if stop.reason == "time" else f"stopped by {stop.reason}"
        print(f"{why}; to go on: python -m training.train {stop.folder.path}", file=sys.stderr)
        return 0 if stop.reason == "time" else 128 + signal.Signals[stop.reason]
    return 0


def config_file(name: str) -> Path:
    """The file that a CONFIG means: that file, or the one in the folder of a run.

    Raises:
        ConfigError: if it is a folder without a run.
    """
    path = Path(name)
    if not path.is_dir():
        return path
    if not (path / "config.yaml").exists():
        example = min(path.glob("*.yaml"), default=Path("configs/smoke.yaml"))
        raise ConfigError(
            f"{path} is a folder without a run: the folder of a run, or a file such as "
            f"{example}, would be right"
        )
    return path / "config.yaml"


if __name__ == "__main__":
    sys.exit(main())
