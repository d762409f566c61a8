"""Finds a network's class by its kind, which configurations and manifests name.

To add an architecture, write a class like ``network.Network`` and add a line to ``NETWORKS``, and
one to ``config.CONFIG_CLASSES``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from agents.networks.config import NetworkConfig, config_class, known_kind
from agents.networks.network import Network, PolicyNetwork
from agents.networks.symmetric import SymmetricNetwork
from thud_env.errors import ThudError

NETWORKS: dict[str, type[PolicyNetwork]] = {"residual": Network, "symmetric": SymmetricNetwork}
"""The classes by kind, as ``config.CONFIG_CLASSES``: the only ones that a file can name."""


def network_config(settings: Mapping[str, Any]) -> NetworkConfig:
    """The configuration of a network, from the settings in a manifest or a model's header.

    Raises:
        ThudError: if there is no such kind, or a setting is unknown or of the wrong type.
    """
    kind = config_class(settings)
    defaults = {field.name: field.default for field in dataclasses.fields(kind)}
    for key, value in settings.items():
        if key not in defaults:
            raise ThudError(f"its network has an unknown setting {key!r}")
        if type(value) is not type(defaults[key]):
            raise ThudError(f"its network's {key} is {value!r}")
    return kind(**settings)


def make_network(config: NetworkConfig) -> PolicyNetwork:
    """Build a network with random weights.

    Raises:
        ThudError: if there is no such kind.
    """
    return NETWORKS[known_kind(config.kind)](config)
