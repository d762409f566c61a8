"""Self-play: both roles' policies play many battles, most of them against each other."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from training.config import RunError, TrainConfig
from training.process.roles import Roles
from training.process.state import State
from training.selfplay.battles import OngoingBattles
from training.selfplay.device_play import DevicePlay
from training.selfplay.host_play import HostPlay
from training.selfplay.opponents import Opponents
from training.selfplay.rollout import Rollout


class Play(Protocol):
    """A source of rollouts."""

    def collect(self, steps: int) -> Rollout:
        """Play ``steps`` decisions in each battle."""

    def add_snapshots(self, decisions: int) -> None:
        """Add snapshots of both roles, which have been written, to the opponents."""

    def redraw(self) -> None:
        """Draw other snapshots to be met."""

    def state(self) -> State:
        """The state that the next rollout depends on, besides the networks."""

    def restore(self, state: State) -> None:
        """Go on from a state.

        Raises:
            RunError: if it is of another number of actors.
        """


class Collector(Protocol):
    """Plays battles on."""

    battles: OngoingBattles
    """As they stand, and who plays them."""

    def collect(self, steps: int) -> Rollout:
        """Play ``steps`` decisions in each battle."""


class LocalPlay:
    """Battles of this process: see ``Play``.

    Args:
        collector: plays them.
    """

    def __init__(self, collector: Collector) -> None:
        self.battles = collector.battles
        self._collector = collector

    def collect(self, steps: int) -> Rollout:
        """See ``Play``."""
        return self._collector.collect(steps)

    def add_snapshots(self, decisions: int) -> None:
        """See ``Play``."""
        self.battles.opponents.add_snapshots(decisions)

    def redraw(self) -> None:
        """See ``Play``."""
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


def self_play(
    config: TrainConfig, roles: Roles, opponents: Opponents, seed: np.random.SeedSequence
) -> Play:
    """The battles that a configuration asks for, played where the networks are, if the rules can
    be compiled for that device, else on the host.

    Args:
        config: what to train.
        roles: the learners.
        opponents: who has the seats that the learners do not have.
        seed: of all draws.
    """
    on_device = roles.precision.has_kernels
    battles = OngoingBattles.of(config, opponents, seed, "cuda" if on_device else "cpu")
    return LocalPlay(DevicePlay(battles, roles) if on_device else HostPlay(battles, roles))
