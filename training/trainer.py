"""A run: collect, advantages, learn, measure, save, until all decisions are played.

A ``Trainer`` is put together from parts: who plays (``selfplay.rollout.Play``) and who learns
(``learner.ppo.Learner``). ``update`` is one round of both; ``run`` repeats it, measures the
policies against anchors and writes checkpoints.
"""

from __future__ import annotations

import dataclasses
import signal
import time
from pathlib import Path
from typing import Protocol

from rich.console import Console

from agents.networks.checkpoint import NotFiniteError
from thud_env.command import say
from thud_env.position import SIDES
from thud_env.rulesets import get_ruleset
from training.config import RunConfig, TrainConfig
from training.learner.batches import Batch, Pace, batches_of, with_progress_paid
from training.learner.ppo import Learner, ppo_learners
from training.process.ranks import Ranks
from training.process.roles import Roles
from training.process.state import State, StateError
from training.process.stopping import asked_to_stop
from training.runs.alarms import Alarms, Collapsed
from training.runs.anchors import Anchors
from training.runs.display import Display
from training.runs.folder import RunFolder
from training.runs.lock import RunError
from training.selfplay.device_play import self_play
from training.selfplay.opponents import opponents_of
from training.selfplay.rollout import Play, battle_metrics
from training.selfplay.snapshots import pool_folder, write_snapshot

STOPPED = "stopped; the checkpoints written so far are kept"


class Stopped(Exception):  # noqa: N818 (nothing went wrong)
    """A run was stopped on request; its newest checkpoint continues it.

    Args:
        folder: the run's.
        reason: ``"time"``, or the name of a signal.
    """

    def __init__(self, folder: RunFolder, reason: str) -> None:
        super().__init__(reason)
        self.folder = folder
        self.reason = reason

    def say(self, command: str) -> int:
        """Print how to continue the run, by ``python -m COMMAND``; returns the exit code."""
        why = "the time is up" if self.reason == "time" else f"stopped by {self.reason}"
        code = 0 if self.reason == "time" else 128 + signal.Signals[self.reason]
        return say(f"{why}; to go on: python -m {command} {self.folder.path}", code)


class Learning(Protocol):
    """A run that improves update by update, however it learns."""

    @property
    def config(self) -> RunConfig:
        """The configuration of the run."""

    @property
    def roles(self) -> Roles:
        """The networks."""

    @property
    def ranks(self) -> Ranks:
        """The processes of the run."""

    @property
    def actors(self) -> int:
        """How many processes play for this one."""

    @property
    def decisions(self) -> int:
        """How far the run is, of ``config.total_decisions``."""

    @property
    def updates(self) -> int:
        """Updates so far."""

    def update(self) -> dict[str, float]:
        """Play and learn; returns the update's metrics, each named ``group/name``."""

    def state(self) -> State:
        """The state that the next update depends on."""

    def restore(self, state: State) -> None:
        """Go on from a state of a run of the same configuration."""


class Trainer:
    """Self-play and learning in turns.

    Args:
        config: what to train.
        roles: the networks.
        play: who plays.
        learners: who learns: the dwarfs' and the trolls' learner.
        ranks: the processes of the run.
        snapshots: where frozen snapshots are kept; None: none are taken.
    """

    def __init__(
        self,
        config: TrainConfig,
        roles: Roles,
        play: Play,
        learners: tuple[Learner, Learner],
        ranks: Ranks | None = None,
        snapshots: Path | None = None,
    ) -> None:
        self.config = config
        self.roles = roles
        self.play = play
        self.learners = learners
        self.ranks = ranks or Ranks()
        self.pace = Pace(config, self.ranks)
        self.decisions = 0
        """Played so far, by both roles together."""
        self.updates = 0
        """Rollouts played so far."""
        self._ruleset = get_ruleset(config.rules)
        self._snapshots = snapshots

    @property
    def actors(self) -> int:
        """How many processes play for this one."""
        return self.play.actors

    def update(self) -> dict[str, float]:
        """Play a rollout and learn from it.

        Returns:
            the update's metrics, each named ``group/name``.
        """
        started, progress = time.perf_counter(), self._progress()
        rollout = self.play.collect(self.config.rollout_decisions)
        batches = batches_of(with_progress_paid(rollout, self.config, progress), self.config)
        self.pace.follow(rollout)
        batches = {
            side: batch
            for side, batch in batches.items()
            if not self.pace.rests(side, self.updates)
        }
        learnt = self.learn(batches, progress)
        played = int(self.ranks.total(rollout.actions.size)[0])
        self.decisions += played
        self.updates += 1
        self._freeze(progress)
        seconds = self.roles.clock.take()
        return {
            "speed/decisions_per_second": played / (time.perf_counter() - started),
            **{f"speed/{part}": spent / sum(seconds.values()) for part, spent in seconds.items()},
            **battle_metrics(rollout, self._ruleset),
            **learnt,
        }

    def _progress(self) -> float:
        """How much of the run is done, 0 .. 1."""
        return min(1.0, self.decisions / self.config.total_decisions)

    def learn(self, batches: dict[int, Batch], progress: float) -> dict[str, float]:
        """Let all learners learn at once, each in a thread of its own.

        Args:
            batches: by side, what its learner learns from.
            progress: how much of the run is done, 0 .. 1.

        Returns:
            their metrics, each named ``role/name``.
        """
        learning = [
            self.roles.threads.submit(learner.learn, batches.get(side, Batch.empty()), progress)
            for side, learner in enumerate(self.learners)
        ]
        metrics: dict[str, float] = {}
        for side, work in enumerate(learning):
            measured, role = work.result(), SIDES[side]
            metrics |= {f"{role}/{name}": value for name, value in measured.items()}
            if side in batches:
                metrics[f"{role}/explained_variance"] = batches[side].explained_variance
        return metrics

    def _freeze(self, before: float) -> None:
        """Take snapshots where ``snapshots`` equal parts of the run end, and draw anew now and
        then.

        Args:
            before: how much of the run was done before this update.
        """
        wanted = self.config.opponents
        if not wanted.frozen or self._snapshots is None:
            return
        if int(self._progress() * wanted.snapshots) > int(before * wanted.snapshots):
            if self.ranks.rank == 0:
                networks = self.roles.networks
                write_snapshot(self._snapshots, networks, self.config, self.decisions)
            self.ranks.wait()
            self.play.add_snapshots(self.decisions)
        if self.updates % wanted.redraw_every == 0:
            self.play.redraw()

    def state(self) -> State:
        """The state that the next update depends on."""
        counts = {"decisions": self.decisions, "updates": self.updates, "lead": self.pace.lead}
        parts: dict[str, State] = {"counts": State(values=counts), "play": self.play.state()}
        for number, learner in enumerate(self.learners):
            parts[f"learner{number}"] = learner.state()
        return State.of_parts(parts)

    def restore(self, state: State) -> None:
        """Go on from a state of a run of the same configuration.

        Raises:
            StateError: if its values cannot be those of a run.
        """
        for number, learner in enumerate(self.learners):
            learner.restore(state.part(f"learner{number}"))
        self.play.restore(state.part("play"))
        counts = state.part("counts").values
        decisions, updates, lead = (counts[name] for name in ("decisions", "updates", "lead"))
        right = (type(decisions), type(updates), type(lead)) == (int, int, float)
        if not (right and min(decisions, updates) >= 0 and abs(lead) <= 1):
            raise StateError(f"the counts of a run cannot be {counts}")
        self.decisions, self.updates, self.pace.lead = decisions, updates, lead


def self_play_trainer(
    config: TrainConfig, folder: Path | None = None, ranks: Ranks | None = None
) -> Trainer:
    """A trainer whose battles are played in this process.

    Args:
        config: what to train.
        folder: the run's, in which frozen snapshots are kept; needed if there are to be any.
        ranks: the processes of the run.

    Raises:
        ConfigError: if the run cannot start from its ``start_from``.
    """
    ranks = ranks or Ranks()
    roles = Roles.of(config)
    streams, snapshots = config.streams, pool_folder(folder)
    games = config.num_games // ranks.size
    met = opponents_of(config, games, snapshots, roles.precision, ranks.mine(streams.opponents))
    play = self_play(config, roles, met, ranks.mine(streams.play))
    return Trainer(config, roles, play, ppo_learners(config, roles, ranks), ranks, snapshots)


def run(
    trainer: Learning, folder: RunFolder, console: Console, minutes: float | None = None
) -> None:
    """Update until all decisions are played; measure and save now and then.

    Raises:
        Collapsed: if a metric became NaN or infinite; the checkpoints are as they were.
        Stopped: after ``minutes``, or at SIGINT, SIGTERM or SIGHUP; the update under way is
            finished and a checkpoint written.
    """
    config, ranks = trainer.config, trainer.ranks
    anchors = Anchors(dataclasses.replace(config, anchor_games=0) if ranks.rank else config)
    alarms = Alarms(config.rules, folder)
    try:
        if folder.resumed:
            _go_on(trainer, anchors, folder)
        started = time.monotonic()  # now: the shortest time must do for some updates
        until = started + 60 * minutes if minutes is not None else float("inf")
        _show(folder.notices, console)
        with (
            asked_to_stop(console) as asked,
            Display(console, config.name, config.total_decisions, trainer.decisions) as display,
        ):
            while trainer.decisions < config.total_decisions:
                if time.monotonic() >= until:
                    asked.append("time")
                if ranks.total(len(asked))[0]:  # one that is asked stops them all
                    _save(trainer, anchors, folder)
                    raise Stopped(folder, asked[0] if asked else "time")
                metrics = trainer.update()
                last = trainer.decisions >= config.total_decisions
                due = last or trainer.updates % config.checkpoint_every == 0
                if due:
                    metrics |= anchors.measure(trainer.roles, trainer.decisions)
                folder.log(trainer.decisions, metrics)
                _show(folder.notices, console)
                for alarm in alarms.check(trainer.decisions, metrics, anchors.best):
                    console.print(f"alarm: {alarm}", style="bold red", soft_wrap=True)
                display.update(trainer.decisions, metrics)
                if due:
                    _save(trainer, anchors, folder)
    except NotFiniteError as error:
        raise Collapsed(f"{error} after {trainer.decisions:,} decisions; {folder.good}") from None
    finally:
        trainer.roles.close()
    console.print(f"trained in {(time.monotonic() - started) / 60:.1f} minutes")
    for role in SIDES:
        console.print(f"  {role}: {folder.latest / role}", highlight=False, soft_wrap=True)


def _save(trainer: Learning, anchors: Anchors, folder: RunFolder) -> None:
    """Write a checkpoint."""
    size = State(values={"size": trainer.ranks.size, "actors": trainer.actors})
    parts = {"trainer": trainer.state(), "anchors": anchors.state(), "ranks": size}
    states = trainer.ranks.gather(State.of_parts(parts))
    folder.checkpoint(trainer.decisions, trainer.roles.networks, states, anchors.best)


def _go_on(trainer: Learning, anchors: Anchors, folder: RunFolder) -> None:
    """Restore all processes from the checkpoint that the first one chooses."""

    def restore(state: State) -> None:
        _check_size(trainer, state)
        trainer.restore(state.part("trainer"))
        anchors.restore(state.part("anchors"))

    for first in (True, False):
        if first == (trainer.ranks.rank == 0):
            folder.restore(restore)
        trainer.ranks.wait()
    folder.point_to_best(anchors.best)


def _check_size(trainer: Learning, state: State) -> None:
    """Raise a ``RunError`` if the run was trained by another number of processes."""
    before = {"actors": 0, **state.part("ranks").values}
    for kind, now in (("size", trainer.ranks.size), ("actors", trainer.actors)):
        if before[kind] != now:
            what = "processes together" if kind == "size" else "actors"
            raise RunError(
                f"the run was trained by {before[kind]} {what}, not by {now}: it can only go on as "
                "it began"
            )


def _show(notices: list[str], console: Console) -> None:
    """Print notices once."""
    for notice in notices:
        console.print(notice, highlight=False, soft_wrap=True, markup=False)
    notices.clear()
