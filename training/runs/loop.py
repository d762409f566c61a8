"""A run from its start, or its newest checkpoint, to its end: update, measure, save, until all
decisions are played, whatever learns in it.
"""

from __future__ import annotations

import time
from typing import Protocol

from rich.console import Console

from agents.networks.checkpoint import NotFiniteError
from thud_env.outcome import SIDES
from training.config import RunConfig
from training.errors import RunError
from training.process.ranks import Ranks
from training.process.roles import Roles
from training.process.state import State
from training.process.stopping import TIME, asked_to_stop, reason_of_all
from training.runs.alarms import Alarms, Collapsed
from training.runs.anchors import Anchors
from training.runs.display import Display
from training.runs.folder import RunFolder
from training.runs.foresight import Foresight


class Stopped(Exception):  # noqa: N818 (nothing went wrong)
    """A run was stopped on request; its newest checkpoint continues it.

    Args:
        folder: the run's.
        reason: as ``reason_of_all`` has it.
        ranks: the processes of the run, of which the first one speaks.
    """

    def __init__(self, folder: RunFolder, reason: str, ranks: Ranks) -> None:
        super().__init__(reason)
        self.folder = folder
        self.reason = reason
        self.ranks = ranks


class Kept(Protocol):
    """A part of a run whose state is in its checkpoints."""

    def state(self) -> State:
        """The state that the next update depends on."""

    def restore(self, state: State) -> None:
        """Go on from a state of a run of the same configuration."""


class Learning(Kept, Protocol):
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
    def decisions(self) -> int:
        """How far the run is, of ``config.total_decisions``."""

    @property
    def updates(self) -> int:
        """Updates so far."""

    def update(self) -> dict[str, float]:
        """Play and learn; returns the update's metrics, each named ``group/name``."""


def run(
    trainer: Learning, folder: RunFolder, console: Console, minutes: float | None = None
) -> None:
    """Update until all decisions are played; measure and save now and then. Of the processes of a
    run the first one measures and writes.

    Raises:
        Collapsed: if a metric became NaN or infinite; the checkpoints are as they were.
        Stopped: after ``minutes``, or at SIGINT, SIGTERM or SIGHUP; the update under way is
            finished and a checkpoint written.
    """
    config, ranks = trainer.config, trainer.ranks
    checkpoints, writes = folder.checkpoints, ranks.rank == 0
    anchors, foresight = Anchors(config, measures=writes), Foresight(config)
    alarms = Alarms(config.rules, checkpoints)
    kept: dict[str, Kept] = {"trainer": trainer, "anchors": anchors, "alarms": alarms}

    def save() -> None:
        """Write a checkpoint."""
        size = State(values={"size": ranks.size})
        parts = {name: one.state() for name, one in kept.items()}
        states = ranks.gather(State.of_parts({**parts, "ranks": size}))
        if states:
            folder.checkpoint(trainer.decisions, trainer.roles.networks, states, anchors.best)

    try:
        if folder.resumed:
            _go_on(kept, anchors, folder, ranks)
        started = time.monotonic()  # now: the shortest time must do for some updates
        until = started + 60 * minutes if minutes is not None else float("inf")
        _show(folder.notices, console)
        with (
            asked_to_stop(console) as asked,
            Display(
                console, config.name, config.whole_decisions, config.anchors, trainer.decisions
            ) as display,
        ):
            while trainer.decisions < config.total_decisions:
                if time.monotonic() >= until:
                    asked.append(TIME)
                if reason := reason_of_all(asked, ranks):
                    save()
                    raise Stopped(folder, reason, ranks)
                before, began = trainer.decisions, time.perf_counter()
                metrics = trainer.update()
                seconds = time.perf_counter() - began
                metrics |= trainer.roles.clock.speed(trainer.decisions - before, seconds)
                last = trainer.decisions >= config.total_decisions
                due = last or trainer.updates % config.checkpoint_every == 0
                if due and writes:
                    certain = alarms.certain(metrics)
                    metrics |= anchors.measure(trainer.roles, trainer.decisions, certain)
                    metrics |= foresight.measure(trainer.roles)
                if writes:
                    folder.log.add(trainer.decisions, metrics)
                _show(folder.notices, console)
                for alarm in alarms.check(trainer.decisions, metrics, anchors.best):
                    console.print(f"alarm: {alarm}", style="bold red", soft_wrap=True)
                display.update(trainer.decisions, metrics)
                if due:
                    save()
            if reason := reason_of_all(asked, ranks):  # during the last update, which was saved
                raise Stopped(folder, reason, ranks)
    except NotFiniteError as error:
        where = f"after {trainer.decisions:,} decisions; {checkpoints.good}"
        raise Collapsed(f"{error} {where}") from None
    finally:
        trainer.roles.close()
    console.print(f"trained in {(time.monotonic() - started) / 60:.1f} minutes")
    for role in SIDES:
        console.print(f"  {role}: {checkpoints.latest / role}", soft_wrap=True)


def _go_on(kept: dict[str, Kept], anchors: Anchors, folder: RunFolder, ranks: Ranks) -> None:
    """Restore all processes from the checkpoint that the first one chooses."""

    def restore(state: State) -> None:
        _check_size(ranks, state)
        for name, one in kept.items():
            one.restore(state.part(name))

    if ranks.rank == 0:
        folder.restore(restore)
        # After going on from an older checkpoint, the best before it may be gone.
        anchors.best = folder.checkpoints.still_there(anchors.best)
        folder.checkpoints.point_to_best(anchors.best)
    ranks.wait()
    if ranks.rank > 0 and (state := folder.checkpoints.state_of(ranks.rank)):
        restore(state)
    ranks.wait()  # before the first one writes another


def _check_size(ranks: Ranks, state: State) -> None:
    """Raise a ``RunError`` if the run was trained by another number of processes."""
    before, now = state.part("ranks").values["size"], ranks.size
    if before != now:
        right = f"torchrun --nproc-per-node {before}" if before > 1 else "no torchrun"
        raise RunError(
            f"the run was trained by {before} processes together, not by {now}: "
            f"{right} would be right"
        )


def _show(notices: list[str], console: Console) -> None:
    """Print notices once."""
    for notice in notices:
        console.print(notice, soft_wrap=True)
    notices.clear()
