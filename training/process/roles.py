"""Both roles' networks, and what they run on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import torch

from agents.networks.checkpoint import save_policy
from agents.networks.config import NetworkConfig
from agents.networks.kinds import make_network
from agents.networks.network import PolicyNetwork
from thud_env.outcome import SIDES, Side
from training.config import RunConfig
from training.process.clock import Clock
from training.process.precision import Precision, device_named, use_device
from training.process.start_from import start_from

Result = TypeVar("Result")


@dataclasses.dataclass(frozen=True)
class Roles:
    """The dwarfs and the trolls: their networks, and what those run on."""

    networks: tuple[PolicyNetwork, PolicyNetwork]
    """The dwarfs' and the trolls'."""
    precision: Precision = dataclasses.field(default_factory=lambda: Precision(bfloat16=False))
    """The arithmetic of the networks, and their device."""
    threads: ThreadPoolExecutor = dataclasses.field(default_factory=lambda: _threads("cpu"))
    """A worker for each role: that beats sharing every operation among the cores."""
    clock: Clock = dataclasses.field(default_factory=Clock)
    """Adds up the time by part."""

    @classmethod
    def of(cls, config: RunConfig) -> Roles:
        """Those that a run begins with. Lets torch use one thread for an operation.

        Raises:
            ConfigError: if the run cannot start from its ``start_from``.
            DeviceError: if there is no GPU and one was asked for.
        """
        torch.set_num_threads(1)
        torch.manual_seed(config.seed)
        networks = two_networks(config.network)
        if config.start_from:
            start_from(config.start_from, networks, config.rules)
        precision = Precision.named(config.precision, device_named(config.device))
        use_device(precision.device)
        for network in networks:
            network.to(precision.device)
            network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
            if config.compile:
                network.compile_trunk()
        return cls(networks, precision, _threads(precision.device), Clock(precision.device))

    def at_once(self, work: Callable[[int], Result]) -> list[Result]:
        """Do something for both roles at once, each in its own thread. On a GPU one comes after the
        other: it is busy with either, and the time of each can be told.

        Args:
            work: called with 0 for the dwarfs and with 1 for the trolls.

        Returns:
            what it returned for each.
        """
        if self.precision.device == "cuda":
            return [work(side) for side in range(len(SIDES))]
        working = [self.threads.submit(work, side) for side in range(len(SIDES))]
        return [one.result() for one in working]

    def close(self) -> None:
        """End the worker threads."""
        self.threads.shutdown()


def by_role(metrics: list[dict[str, float]]) -> dict[str, float]:
    """Both roles' metrics together, each named ``role/name``."""
    return {
        f"{role}/{name}": value
        for role, mine in zip(SIDES, metrics, strict=True)
        for name, value in mine.items()
    }


def _threads(device: str) -> ThreadPoolExecutor:
    """A worker for each role, on a device."""
    return ThreadPoolExecutor(2, "role", use_device, (device,))


def save_role(
    path: Path, role: Side, network: PolicyNetwork, config: RunConfig, decisions: int
) -> None:
    """Write the policy that a run has after so many decisions: see ``save_policy``."""
    save_policy(
        path,
        network,
        role=role,
        rules=config.rules,
        decisions=decisions,
        agreement=config.agreement,
    )


def two_networks(config: NetworkConfig) -> tuple[PolicyNetwork, PolicyNetwork]:
    """The dwarfs' and the trolls'."""
    return make_network(config), make_network(config)
