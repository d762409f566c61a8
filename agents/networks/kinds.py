"""Networks by kind: what a configuration asks for, and what a policy's manifest names.

A second architecture is a file with a class like ``network.Network``, and a line in ``NETWORKS``.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping
from typing import Any

from agents.networks.network import NetworkConfig, PolicyNetwork

NETWORKS = {"residual": "agents.networks.network:Network"}
"""``module:Class`` by kind: the only classes that a file can name."""
_GONE = {"trunk": "separate", "result_head": False, "survival_head": False}
"""Settings of older policies that are gone, and the values with which nothing changes."""


def network_class(kind: object) -> type[PolicyNetwork]:
    """The class of a kind.

    Raises:
        ValueError: if there is no such kind.
    """
    if not isinstance(kind, str) or kind not in NETWORKS:
        raise ValueError(f"no kind of network is called {kind!r}: there is {', '.join(NETWORKS)}")
    module, _, name = NETWORKS[kind].partition(":")
    found: type[PolicyNetwork] = getattr(importlib.import_module(module), name)
    return found


def config_class(settings: Mapping[str, Any]) -> type[NetworkConfig]:
    """The class of the sizes of the ``kind`` that settings name, or of the usual one.

    Raises:
        ValueError: if there is no such kind.
    """
    return network_class(settings.get("kind", NetworkConfig.kind)).Config


def network_config(settings: Mapping[str, Any]) -> NetworkConfig:
    """The sizes of a network, from the settings of a manifest or of a model's header.

    Raises:
        ValueError: if there is no such kind, or a setting is unknown or of the wrong type.
    """
    kept = {
        key: value for key, value in settings.items() if key not in _GONE or value != _GONE[key]
    }
    kind = config_class(kept)
    defaults = {field.name: field.default for field in dataclasses.fields(kind)}
    for key, value in kept.items():
        if key not in defaults:
            raise ValueError(f"its network has an unknown setting {key!r}")
        if type(value) is not type(defaults[key]):
            raise ValueError(f"its network's {key} is {value!r}")
    return kind(**kept)


def make_network(config: NetworkConfig) -> PolicyNetwork:
    """A network of these sizes, with random weights."""
    return network_class(config.kind)(config)
