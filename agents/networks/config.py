"""The sizes of a network, as configurations and manifests have them; nothing here needs torch."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

from agents.ranges import Count, NotNegative
from thud_env.board import MIRROR_LEFT_RIGHT, SYMMETRIES
from thud_env.errors import ThudError
from thud_env.rulesets import Ruleset

GROUPS = {8: tuple(range(len(SYMMETRIES))), 2: (0, MIRROR_LEFT_RIGHT)}
"""The numbers of the symmetries, by how many there are."""


@dataclasses.dataclass(frozen=True)
class NetworkConfig:
    """The size of a network; other kinds derive theirs from it, with defaults of their own.

    Raises:
        ThudError: for threat planes without attack planes.
    """

    kind: str = "residual"
    """Its architecture: residual or symmetric (``CONFIG_CLASSES``)."""
    channels: Count = 32
    """Feature planes of the trunk."""
    blocks: NotNegative = 3
    """Residual blocks of two 3 x 3 convolutions."""
    key_size: Count = 16
    """Length of the queries and keys that score moves."""
    pool_layer: bool = False
    """Whether a layer of its own, of twice the channels, leads to what the value is computed from;
    else the value and the policy share the trunk's last planes."""
    attack_planes: bool = False
    """Whether to read, beside the observation, what each side could reach, strike and lose."""
    threat_planes: bool = False
    """Whether to read, beside the attack planes, what could be captured after the next move."""
    afterstates: bool = False
    """Whether to read, for each legal decision, what could be captured in the state after it, and
    whether the stone wins."""

    def __post_init__(self) -> None:
        if self.threat_planes and not self.attack_planes:
            raise ThudError("threat_planes needs attack_planes, too")

    def check_rules(self, rules: Ruleset) -> None:
        """Check that the network can learn a game.

        Raises:
            ThudError: if it cannot.
        """

    def check_weights(self, weights: int) -> None:
        """Check that a file of so many weights can hold the network, before that is built.

        Raises:
            ThudError: if it is too large for them.
        """


@dataclasses.dataclass(frozen=True)
class SymmetricConfig(NetworkConfig):
    """The size of a symmetric network. Channels and keys are counted as a residual network's.

    Raises:
        ThudError: if channels or keys are no fields of one for each symmetry, or as
            ``NetworkConfig``.
    """

    kind: str = "symmetric"
    """See ``NetworkConfig``."""
    channels: Count = 64
    """Feature planes of the trunk, a multiple of ``symmetries``."""
    key_size: Count = 32
    """Length of the queries and keys that score moves, a multiple of ``symmetries``."""
    pool_layer: bool = True
    """See ``NetworkConfig``. Without it a symmetric network's value is learnt slowly."""
    symmetries: Literal[2, 8] = 8
    """8: all of the board; 2: left and right alone, for games with a goal."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.symmetries not in (2, 8):
            raise ThudError(f"symmetries={self.symmetries}: 2 or 8 would be right")
        for name in ("channels", "key_size"):
            size = getattr(self, name)
            if size % self.symmetries:
                raise ThudError(f"{name}={size} must be a multiple of symmetries={self.symmetries}")

    def check_rules(self, rules: Ruleset) -> None:
        """See ``NetworkConfig``."""
        most = len(rules.symmetries)
        if self.symmetries > most:
            raise ThudError(f"symmetries={self.symmetries}: {rules.name} has {most}")
        if not set(GROUPS[self.symmetries]) <= set(rules.symmetries):
            raise ThudError(
                f"symmetries={self.symmetries}: {rules.name} has another than left-right"
            )

    def check_weights(self, weights: int) -> None:
        """See ``NetworkConfig``: to tie weights takes memory for all."""
        heads = 2 * self.key_size + 4 * self.channels
        if self.channels * (heads + 18 * self.channels * self.blocks) > self.symmetries * weights:
            raise ThudError(
                f"it has too few weights for {self.channels} channels, {self.blocks} blocks and "
                f"key_size {self.key_size}"
            )


CONFIG_CLASSES: dict[str, type[NetworkConfig]] = {
    "residual": NetworkConfig,
    "symmetric": SymmetricConfig,
}
"""The classes by kind of network."""


def known_kind(kind: object) -> str:
    """The kind of network that was named.

    Raises:
        ThudError: if there is no such kind.
    """
    if not isinstance(kind, str) or kind not in CONFIG_CLASSES:
        raise ThudError(
            f"no kind of network is called {kind!r}: there is {', '.join(CONFIG_CLASSES)}; one of "
            "your own is to be added to NETWORKS first (docs/training.md)"
        )
    return kind


def config_class(settings: Mapping[str, Any]) -> type[NetworkConfig]:
    """The configuration class of the ``kind`` that settings name, or of the default kind.

    Raises:
        ThudError: if there is no such kind.
    """
    return CONFIG_CLASSES[known_kind(settings.get("kind", NetworkConfig.kind))]
