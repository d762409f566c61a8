"""Self-play spread over a Ray cluster: actors play wherever a core is free, one learner learns.

::

    python -m training.train configs/gpu.yaml --actors 32 --cluster auto

Every actor plays its share of the battles and ships whole rollouts; nothing else crosses the
network but the weights. While the learner learns from one rollout, the actors play the next with
the networks as they were before: what is learnt from is one update old, which the ratio in PPO's
objective allows for, as it compares with the probabilities that decisions were drawn with.

What an actor plays is a function of its order alone: the weights, the battles as they stand, the
opponents, what will be drawn. An actor that is lost is replaced by Ray, plays the same rollout
again, and on the same kind of machine the run continues exactly. All nodes see the run's folder,
for the snapshots in it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import ray

from agents.networks.network import PolicyNetwork
from training.config import PlayConfig
from training.errors import ConfigError, RunError
from training.process.memory import keep_freed_memory
from training.process.roles import Roles
from training.process.state import State, restore_network, state_of_network
from training.selfplay.play import Change, LocalPlay, check_actors
from training.selfplay.rollout import Rollout, joined


@dataclasses.dataclass(frozen=True)
class Order:
    """The actors' next task."""

    networks: State
    """The weights of both roles."""
    steps: int
    """Decisions in each battle."""
    change: Change
    """Of the opponents, since the last order."""


class Actor:
    """A share of the battles, played by networks that it is sent.

    Args:
        config: what ``config_of_actors`` makes of that of the run.
        games: how many battles are this actor's.
        snapshots: where those of the run are.
        for_play, for_opponents: seed its decisions and its opponents.
    """

    def __init__(
        self,
        config: PlayConfig,
        games: int,
        snapshots: Path | None,
        for_play: np.random.SeedSequence,
        for_opponents: np.random.SeedSequence,
    ) -> None:
        keep_freed_memory()
        self._roles = Roles.of(config)
        self._play = LocalPlay(config, self._roles, games, for_play, for_opponents, snapshots)

    def start(self) -> State:
        """The battles before the first order."""
        return self._play.state()

    def play(self, order: Order, state: State) -> tuple[Rollout, State, dict[str, float]]:
        """Play on from a state: the rollout, the state after it, and the seconds by part."""
        for number, network in enumerate(self._roles.networks):
            restore_network(network, order.networks.part(str(number)))
        self._play.restore(state)
        self._play.change(order.change)
        rollout = self._play.collect(order.steps)
        return rollout, self._play.state(), self._roles.clock.take()

    def process(self) -> tuple[int, str]:
        """The number of the actor's process, and the node it runs on."""
        return os.getpid(), ray.get_runtime_context().get_node_id()


def config_of_actors(config: PlayConfig, device: str) -> PlayConfig:
    """The configuration of a run's actors. The weights come with every order, and run on a core of
    the actor's own, where compiled trunks are no faster. What precision suits a GPU says nothing
    of that core.

    Args:
        config: of the run.
        device: the learner's.
    """
    precision = config.precision if device == "cpu" else "auto"
    return dataclasses.replace(
        config, start_from="", device="cpu", compile=False, precision=precision
    )


class Actors:
    """The battles of a run, spread evenly over actors: see ``play.Play``.

    Args:
        count: how many actors; they must share ``num_games`` evenly.
        config: of the run.
        roles: the learner's, whose weights are sent along with every order.
        snapshots: where those of the run are.
    """

    def __init__(
        self,
        count: int,
        config: PlayConfig,
        roles: Roles,
        snapshots: Path | None,
    ) -> None:
        self._roles = roles
        streams = config.streams
        theirs = config_of_actors(config, roles.precision.device)
        # Ray restarts a lost actor, on any node, and repeats the call.
        kind = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1)(Actor)
        self.handles = [
            kind.remote(theirs, config.num_games // count, snapshots, *seeds)
            for seeds in zip(streams.play.spawn(count), streams.opponents.spawn(count), strict=True)
        ]
        """The handles of the actors."""
        self._states: list[State] = ray.get([actor.start.remote() for actor in self.handles])
        self._order: Order | None = None
        self._under_way: list[Any] = []
        self._change = Change()

    def collect(self, steps: int) -> Rollout:
        """See ``Play``: what was under way; the next is ordered at once."""
        if self._order is None:
            self._send(self._next(steps))
        played = ray.get(self._under_way)
        self._states = [state for _, state, _ in played]
        for _, _, seconds in played:
            self._roles.clock.add(seconds)
        self._send(self._next(steps))
        return joined([rollout for rollout, _, _ in played])

    def change(self, change: Change) -> None:
        """See ``Play``; from the next order on."""
        self._change = change

    def _next(self, steps: int) -> Order:
        order = Order(_weights(self._roles.networks), steps, self._change)
        self._change = Change()
        return order

    def _send(self, order: Order) -> None:
        self._order, sent = order, ray.put(order)
        self._under_way = [
            actor.play.remote(sent, state)
            for actor, state in zip(self.handles, self._states, strict=True)
        ]

    def state(self) -> State:
        """See ``Play``: the battles before the order under way, and the order."""
        values: dict[str, Any] = self._change._asdict()
        parts = {str(number): state for number, state in enumerate(self._states)}
        if order := self._order:
            values["order"] = [order.steps, *order.change]
            parts["networks"] = order.networks
        return State.of_parts({**parts, "orders": State(values=values)})

    def restore(self, state: State) -> None:
        """Go on from a state: the order that was under way is given again."""
        check_actors(state, len(self.handles))
        values = state.part("orders").values
        self._states = [state.part(str(number)) for number in range(len(self.handles))]
        self._change = Change(tuple(values["snapshots"]), values["redraw"])
        self._order, self._under_way = None, []  # of a newer checkpoint that could not be read
        if "order" in values:
            steps, snapshots, redraw = values["order"]
            change = Change(tuple(snapshots), redraw)
            self._send(Order(state.part("networks"), steps, change))


def _weights(networks: tuple[PolicyNetwork, PolicyNetwork]) -> State:
    """A copy of both roles' weights, on the CPU."""
    parts = {str(number): state_of_network(network) for number, network in enumerate(networks)}
    both = State.of_parts(parts)
    copied = {name: value.to("cpu", copy=True) for name, value in both.tensors.items()}
    return State(copied, both.values)


@contextlib.contextmanager
def cluster(address: str | None, actors: int) -> Iterator[None]:
    """Join a cluster, or start one of this machine for as long as it is needed.

    Args:
        address: ``HOST:PORT`` of the cluster's head, ``auto`` for the one that this machine
            belongs to, or None to start one.
        actors: how many must find room. In a cluster that is joined, those for which no core is
            free are waited for, which a line on standard error says.

    Raises:
        ConfigError: if there is no cluster at that address.
        RunError: if Ray cannot start one, or join it.
    """
    if address is None:
        # More actors than cores wait for each other, but they do play.
        _begin(address="local", num_cpus=actors)
    else:
        _join(address)
        _say_who_waits(actors)
    try:
        yield
    finally:
        ray.shutdown()


def _begin(**options: Any) -> None:
    try:
        ray.init(log_to_driver=False, **options)
    except (OSError, ValueError):
        raise
    except Exception as error:  # Ray's own are of no other kind: a start takes 30 s at most
        reason = str(error).partition("\n")[0]
        raise RunError(f"--actors: Ray did not start: {reason}") from error


def _join(address: str) -> None:
    host, _, port = address.rpartition(":")
    if address != "auto" and not (host and port.isdigit()):
        raise ConfigError(f"--cluster {address}: HOST:PORT, or auto, would be right")
    try:
        if address != "auto":  # Ray itself would wait for minutes
            socket.create_connection((host, int(port)), timeout=10).close()
        _begin(address=address)
    except (OSError, OverflowError) as error:  # a port may be too large a number
        reason = "this machine belongs to none" if address == "auto" else error
        raise ConfigError(f"--cluster {address}: {reason}") from None


def _say_who_waits(actors: int) -> None:
    """Say that cores are short. They may come: others let go of theirs, and clusters grow."""
    cores, free = (
        found.get("CPU", 0) for found in (ray.cluster_resources(), ray.available_resources())
    )
    if free < actors:
        print(
            f"--actors {actors}: {free:g} of the cluster's {cores:g} cores are free: others wait",
            file=sys.stderr,
            flush=True,
        )
