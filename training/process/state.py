"""The state from which a run continues exactly: tensors and JSON, no pickle.

Every part of a run that keeps something from one update to the next returns it as a ``State``, or
as values that JSON can hold, and restores it from that. States nest, so that a run's is made of its
parts'.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor, nn

from agents.durable import write_flushed
from agents.networks.checkpoint import check_finite
from agents.strict_json import parse_json
from thud_env.errors import ThudError

FORMAT = "thud-training-state"
FORMAT_VERSION = 4


class StateError(ThudError):
    """A state that is missing, damaged or of another version."""


@dataclasses.dataclass(frozen=True)
class State:
    """Tensors, and values that JSON can hold."""

    tensors: dict[str, Tensor] = dataclasses.field(default_factory=dict)
    values: dict[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def of_parts(cls, parts: Mapping[str, State]) -> State:
        """One state that holds others by name; ``part`` gives them back."""
        return cls(
            {
                f"{name}/{key}": tensor
                for name, part in parts.items()
                for key, tensor in part.tensors.items()
            },
            {name: part.values for name, part in parts.items()},
        )

    def part(self, name: str) -> State:
        """The state that was put in under a name.

        Raises:
            StateError: if it is missing.
        """
        if name not in self.values:
            raise StateError(f"the state has no part {name!r}")
        start = f"{name}/"
        return State(
            {
                key.removeprefix(start): tensor
                for key, tensor in self.tensors.items()
                if key.startswith(start)
            },
            self.values[name],
        )


def state_of_generator(random: np.random.Generator) -> dict[str, Any]:
    """What ``restore_generator`` takes: plain numbers."""
    return dict(random.bit_generator.state)


def restore_generator(random: np.random.Generator, state: dict[str, Any]) -> None:
    """Let a generator go on from a state."""
    random.bit_generator.state = state


def state_of_network(network: nn.Module) -> State:
    """A network's weights."""
    return State({name: value.detach() for name, value in network.state_dict().items()})


def restore_network(network: nn.Module, state: State) -> None:
    """Give a network its weights, in place."""
    network.load_state_dict(state.tensors)


def state_of_optimiser(optimiser: torch.optim.Optimizer) -> State:
    """An optimiser's running averages and counts, by the number of the parameter."""
    kept = optimiser.state_dict()["state"]
    return State(
        {
            f"{number}.{name}": torch.as_tensor(value)
            for number, averages in kept.items()
            for name, value in averages.items()
        }
    )


def restore_optimiser(optimiser: torch.optim.Optimizer, state: State) -> None:
    """Give an optimiser its averages, laid out in memory as its parameters are."""
    parameters = [p for group in optimiser.param_groups for p in group["params"]]
    kept: dict[int, dict[str, Tensor]] = {}
    for key, value in state.tensors.items():
        number, _, name = key.partition(".")
        like = parameters[int(number)]
        if value.shape == like.shape:
            value = torch.empty_like(like, dtype=value.dtype).copy_(value)
        kept.setdefault(int(number), {})[name] = value
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": kept, "param_groups": groups})


def state_of_learning(
    network: nn.Module, optimisers: Mapping[str, torch.optim.Optimizer], random: np.random.Generator
) -> State:
    """The state that a network's next gradient step depends on, besides its batch."""
    return State.of_parts(
        {
            "network": state_of_network(network),
            **{name: state_of_optimiser(one) for name, one in optimisers.items()},
            "random": State(values=state_of_generator(random)),
        }
    )


def restore_learning(
    state: State,
    network: nn.Module,
    optimisers: Mapping[str, torch.optim.Optimizer],
    random: np.random.Generator,
) -> None:
    """Put a ``state_of_learning`` back in place."""
    restore_network(network, state.part("network"))
    for name, optimiser in optimisers.items():
        restore_optimiser(optimiser, state.part(name))
    restore_generator(random, state.part("random").values)


NUMBERED = r"[0-9]{12,}"
"""What ``name_after`` returns, as a regular expression."""


def name_after(decisions: int) -> str:
    """The name of what a run writes after so many decisions; names sort as the numbers do."""
    return f"{decisions:012d}"


def save_state(
    folder: Path, state: State, name: str = "state", metadata: dict[str, str] | None = None
) -> None:
    """Write ``NAME.safetensors``, with metadata for other readers, and ``NAME.json`` into a folder
    that is not read yet.

    Raises:
        NotFiniteError: if a number is infinite or NaN.
    """
    check_finite(state.tensors, "the state of the run:")
    tensors = save_tensors(
        {key: value.detach().cpu().contiguous().clone() for key, value in state.tensors.items()},
        metadata,
    )
    described = {"format": FORMAT, "format_version": FORMAT_VERSION, "values": state.values}
    described["sha256"] = _hash(described, tensors)
    write_flushed(folder / f"{name}.safetensors", tensors)
    write_flushed(folder / f"{name}.json", (json.dumps(described, indent=1) + "\n").encode())


def _hash(described: Mapping[str, Any], tensors: bytes) -> str:
    """The hash of both files of a state, without the hash itself."""
    said = {key: value for key, value in described.items() if key != "sha256"}
    # Read back as it will be: JSON's keys are strings.
    said = json.loads(json.dumps(said))
    digest = hashlib.sha256(json.dumps(said, sort_keys=True).encode())
    digest.update(tensors)
    return digest.hexdigest()


def load_state(folder: Path, name: str = "state") -> State:
    """Read what ``save_state`` wrote.

    Raises:
        StateError: naming the file and what is wrong with it.
    """
    path = folder / f"{name}.json"
    try:
        described = parse_json(path.read_bytes())
        tensors = (folder / f"{name}.safetensors").read_bytes()
    except OSError as error:
        raise StateError(f"{error.filename} cannot be read: {error.strerror}") from None
    except ValueError:
        raise StateError(f"{path} is damaged: it is not JSON") from None
    if not isinstance(described, dict) or described.get("format") != FORMAT:
        raise StateError(f"{path} is not a {FORMAT}")
    if described.get("format_version") != FORMAT_VERSION:
        found = str(described.get("format_version"))[:20]
        raise StateError(f"{path} is of version {found}: {FORMAT_VERSION} would be right")
    if described.get("sha256") != _hash(described, tensors):
        raise StateError(f"{path} or {name}.safetensors is damaged: its hash does not match")
    try:
        return State(load_tensors(tensors), dict(described["values"]))
    except Exception as error:  # the hash is right, but the content is not of this version
        raise StateError(f"{folder / name}.safetensors is not a state: {error}") from None
