"""Self-play: both roles' policies play many battles, most of them against each other."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from thud_env.batch.options import Device
from training.config import PlayConfig
from training.errors import RunError
from training.process.roles import Roles
from training.process.state import State
from training.selfplay.battles import OngoingBattles
from training.selfplay.device_play import DeviceCollector
from training.selfplay.host_play import HostCollector
from training.selfplay.opponents import Opponents
from training.selfplay.rollout import Rollout


class Change(NamedTuple):
    """A change of who is met as a frozen snapshot."""

    snapshots: tuple[int, ...] = ()
    """New ones of both roles, which have been written, by the decisions they were taken after."""
    redraw: bool = False
    """Whether to draw others to be met."""


class Play(Protocol):
    """A source of rollouts."""

    def collect(self, steps: int) -> Rollout:
        """Play ``steps`` decisions in each battle."""

    def change(self, change: Change) -> None:
        """Change who is met."""

    def state(self) -> State:
        """The state that the next rollout depends on, besides the networks."""

    def restore(self, state: State) -> None:
        """Go on from a state.

        Raises:
            RunError: if it is of another number of actors.
        """


class LocalPlay:
    """Battles of this process, played where the networks are, if the rules can be compiled for that
    device, else on the host: see ``Play``.

    Args:
        config: what to train.
        roles: the learners.
        games: how many battles.
        for_play, for_opponents: seed the learners' decisions and the opponents.
        snapshots: where those of the run are; needed if any are to be met.
    """

    def __init__(
        self,
        config: PlayConfig,
        roles: Roles,
        games: int,
        for_play: np.random.SeedSequence,
        for_opponents: np.random.SeedSequence,
        snapshots: Path | None,
    ) -> None:
        opponents = Opponents(config, games, for_opponents, roles.precision, snapshots)
        on_device = roles.precision.has_kernels
        device: Device = "cuda" if on_device else "cpu"
        self.battles = OngoingBattles.of(config, opponents, for_play, device)
        self._collector = (DeviceCollector if on_device else HostCollector)(self.battles, roles)

    def collect(self, steps: int) -> Rollout:
        """See ``Play``."""
        return self._collector.collect(steps)

    def change(self, change: Change) -> None:
        """See ``Play``."""
        for decisions in change.snapshots:
            self.battles.opponents.add_snapshots(decisions)
        if change.redraw:
            self.battles.opponents.redraw()

    def state(self) -> State:
        """See ``Play``."""
        return self.battles.state()

    def restore(self, state: State) -> None:
        """See ``Play``."""
        check_actors(state, 0)
        self.battles.restore(state)


def check_actors(state: State, now: int) -> None:
    """Raise unless a state of ``Play`` is of so many actors, each a part by its number; 0: of none.

    Raises:
        RunError: if it is of others.
    """
    before = sum(name.isdecimal() for name in state.values)
    if before != now:
        right = f"--actors {before}" if before else "no --actors"
        raise RunError(f"the run was trained by {before} actors: {right} would be right")
