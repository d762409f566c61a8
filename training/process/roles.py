"""Both roles' networks, and what they run on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

from agents.networks.checkpoint import CheckpointError, load_policy, policy_folder
from agents.networks.kinds import make_network
from agents.networks.network import NetworkConfig, PolicyNetwork
from thud_env.position import SIDES
from thud_env.rulesets import get_ruleset
from training.config import ConfigError, RunConfig
from training.process.clock import Clock
from training.process.precision import Precision, device_named, use_device

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


def two_networks(config: NetworkConfig) -> tuple[PolicyNetwork, PolicyNetwork]:
    """The dwarfs' and the trolls'."""
    return make_network(config), make_network(config)


def start_from(folder: str, networks: tuple[PolicyNetwork, PolicyNetwork], rules: str) -> None:
    """Give both networks the weights of a policy. Blocks that it lacks stay as they are, which is
    the identity at the start.

    Args:
        folder: has a policy of each role, which may have learnt another game.
        networks: the dwarfs' and the trolls'.
        rules: the ruleset that they are to learn.

    Raises:
        ConfigError: if a policy is missing, damaged, or of another size.
    """
    pair = policy_folder(folder)
    if not pair.is_dir():
        raise ConfigError(
            f"start_from: there is no folder {folder}: a run's, one with dwarfs and trolls, or "
            "pretrained/RULES would be right"
        )
    for role, network in zip(SIDES, networks, strict=True):
        path = pair / role
        try:
            policy = load_policy(path)
        except CheckpointError as error:
            raise ConfigError(f"start_from: {error}") from None
        found = policy.network
        blocks = min(found.config.blocks, network.config.blocks)
        wanted = dataclasses.replace(network.config, blocks=blocks)
        if found.config != wanted:
            try:
                found.config.check_rules(get_ruleset(rules))
            except ValueError as error:
                raise ConfigError(
                    f"start_from: the network of {path}, trained for {policy.rules}, cannot learn "
                    f"{rules} ({error}): a policy for {rules} would be right"
                ) from None
            given = dataclasses.asdict(wanted) if type(wanted) is type(found.config) else {}
            words = " ".join(
                f"network.{key}={str(value).lower()}"  # as YAML writes true and false
                for key, value in dataclasses.asdict(found.config).items()
                if given.get(key) != value
            )
            raise ConfigError(
                f"start_from: the network of {path} is another: {words} would be right"
            )
        network.load_state_dict({**network.state_dict(), **found.state_dict()})


def crossing(folder: str, rules: str) -> list[str]:
    """A line for each role whose policy, in the folder of a ``start_from``, learnt another game."""
    pair = policy_folder(folder)
    trained = {role: load_policy(pair / role).rules for role in SIDES}
    return [
        f"the {role} begin with the weights of a policy for {theirs}"
        for role, theirs in trained.items()
        if get_ruleset(theirs) != get_ruleset(rules)
    ]
