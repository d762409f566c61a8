"""Policies on disk: a folder of ``model.safetensors`` and ``manifest.json``, no pickle."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

import thud_env
from agents.durable import new_folder, write_flushed
from agents.networks.afterstates import AFTERSTATE_FEATURES
from agents.networks.config import NetworkConfig
from agents.networks.folders import MANIFEST, MODEL, policy_folder
from agents.networks.inputs import planes_read
from agents.networks.kinds import make_network, network_config
from agents.networks.network import PolicyNetwork
from agents.strict_json import parse_json
from thud_env.actions import NUM_ACTIONS
from thud_env.arguments import as_count, one_of
from thud_env.errors import ThudError
from thud_env.outcome import SIDES
from thud_env.rulesets import get_ruleset

FORMAT = "thud-policy"
FORMAT_VERSION = 1
OWN_HASH = "manifest_sha256"
"""The key of a manifest's hash of all its other keys."""
_KINDS = {
    "format": str,
    "format_version": int,
    "role": str,
    "rules": str,
    "decisions": int,
    "network": dict,
    "planes": list,
    "actions": int,
    "sha256": str,
    "thud_env": str,
    "agreement": bool,
    OWN_HASH: str,
}
_MOST_BYTES = 1 << 20
"""The longest manifest that is read; one of ours has some 1,000 bytes."""
_MOST_OF_MODEL = 1 << 30
"""The longest model that is read; the largest of ours has some 700,000 bytes."""
_BLOCK = 1 << 20
_MANY_BLOCKS = 100
"""A network with more blocks is built only if the model has as many tensors."""


class CheckpointError(ThudError):
    """A checkpoint is missing, damaged or not one of ours."""


class NotFiniteError(ThudError):
    """A number became infinite or NaN, and must not be saved."""


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """One role's policy, as loaded."""

    network: PolicyNetwork
    role: str
    """``"dwarfs"`` or ``"trolls"``."""
    rules: str
    decisions: int
    """Decisions played in training."""
    agreement: bool = False
    """Whether battles could end by agreement in training; if not, the policy has not learnt to
    offer or accept."""


def check_finite(tensors: Mapping[str, Tensor], whose: str) -> None:
    """Check that all numbers are finite.

    Raises:
        NotFiniteError: naming the first tensor with a number that is not.
    """
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise NotFiniteError(f"{whose} {name} has numbers that are infinite or NaN")


def save_policy(
    folder: str | Path,
    network: PolicyNetwork,
    *,
    role: str,
    rules: str,
    decisions: int,
    agreement: bool = False,
) -> None:
    """Write a policy into a new folder: under a temporary name, flushed, then renamed.

    Raises:
        FileExistsError: if ``folder`` exists; nothing is overwritten.
        NotFiniteError: if a weight is infinite or NaN.
        ThudError: if there is no such role or ruleset, the network cannot learn that game, is too
            large or of no known kind, or ``decisions`` is not an integer, 0 or more.
        TypeError: if the network is of another library.
    """
    if not isinstance(network, PolicyNetwork):
        raise TypeError(f"a {type(network).__name__} is no policy: a PolicyNetwork would be right")
    one_of("role", role, SIDES)
    ruleset = get_ruleset(rules)
    network.config.check_rules(ruleset)
    decisions = as_count("decisions", decisions, least=0)
    folder = Path(folder)
    if folder.exists():
        raise FileExistsError(f"{folder} exists: a checkpoint is never overwritten")
    check_finite(network.state_dict(), f"the network of the {role}:")
    config = dataclasses.asdict(network.config)
    network_config(config)  # or it could not be read again
    with new_folder(folder) as temporary:
        # The network's sizes are in the model's own header too, so that one file is a whole policy;
        # under a single key, because several would be written in a different order each time.
        model = save_tensors(
            {
                name: value.detach().cpu().contiguous()
                for name, value in network.state_dict().items()
            },
            metadata={"network": json.dumps(config)},
        )
        if len(model) > _MOST_OF_MODEL:
            raise ThudError(
                f"the network takes {len(model)} bytes: {_MOST_OF_MODEL} at most can be read again"
            )
        manifest = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "role": role,
            "rules": ruleset.spec,
            "decisions": decisions,
            "agreement": agreement,
            "network": config,
            **names_read(config),
            "actions": NUM_ACTIONS,
            "sha256": hashlib.sha256(model).hexdigest(),
            "thud_env": thud_env.__version__,
        }
        manifest[OWN_HASH] = _hash(manifest)
        write_flushed(temporary / MODEL, model)
        write_flushed(temporary / MANIFEST, (json.dumps(manifest, indent=2) + "\n").encode())


def load_policy(folder: str | Path) -> Checkpoint:
    """Read a policy that ``save_policy`` wrote.

    Args:
        folder: one role's, such as ``runs/NAME/checkpoints/best/dwarfs`` or, from anywhere,
            ``pretrained/classic/dwarfs``.

    Raises:
        CheckpointError: naming the file and what is wrong with it.
    """
    folder = policy_folder(folder)
    manifest = _read_manifest(folder)
    try:
        with (folder / MODEL).open("rb") as file:
            model = bytearray()  # in blocks: a bound alone would reserve all that it allows
            while len(model) <= _MOST_OF_MODEL and (block := file.read(_BLOCK)):
                model += block
    except OSError as error:
        raise CheckpointError(f"{folder / MODEL} cannot be read: {error.strerror}") from None
    if len(model) > _MOST_OF_MODEL:
        raise CheckpointError(f"{folder / MODEL} is longer than {_MOST_OF_MODEL} bytes")
    if hashlib.sha256(model).hexdigest() != manifest["sha256"]:
        raise CheckpointError(f"{folder / MODEL} is damaged: it does not match its manifest")
    try:
        tensors = load_tensors(bytes(model))
        config = network_config(manifest["network"])
        _check_shapes(config, tensors)
        check_finite(tensors, "its tensor")
        network = make_network(config)
        network.load_state_dict(tensors)
    except Exception as error:
        reason = str(error).splitlines()[0]
        raise CheckpointError(f"{folder / MODEL} does not fit its manifest: {reason}") from None
    network.eval()
    said = {key: manifest[key] for key in ("role", "rules", "decisions", "agreement")}
    return Checkpoint(network, **said)


def _check_shapes(config: NetworkConfig, tensors: Mapping[str, Tensor]) -> None:
    """Check that a network of this size has tensors of these shapes before one is built: a damaged
    manifest may ask for any size.
    """
    if config.blocks > max(len(tensors), _MANY_BLOCKS):
        raise ThudError(f"it has too few tensors for {config.blocks} blocks")
    config.check_weights(sum(one.numel() for one in tensors.values()))
    wanted = _shapes(config)
    for name in sorted(wanted.keys() | tensors.keys()):
        shape = tensors[name].shape if name in tensors else None
        if wanted.get(name) != shape:
            raise ThudError(f"{name} is {_shape(shape)}, not {_shape(wanted.get(name))}")


@lru_cache(maxsize=8)  # of the networks at hand; finding them takes half the time of loading one
def _shapes(config: NetworkConfig) -> dict[str, torch.Size]:
    """The shapes of a network's tensors, by name."""
    with torch.device("meta"):  # shapes without memory
        return {name: one.shape for name, one in make_network(config).state_dict().items()}


def _shape(shape: torch.Size | None) -> str:
    return "missing" if shape is None else f"of shape {tuple(shape)}"


def _hash(manifest: Mapping[str, Any]) -> str:
    """The hash of all keys of a manifest except the hash itself."""
    said = {key: value for key, value in manifest.items() if key != OWN_HASH}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def names_read(network: object) -> dict[str, list[str]]:
    """The names of what a network of these settings reads, by keys of its manifest: there is no
    ``afterstates`` if it reads none.
    """
    settings = network if isinstance(network, dict) else {}
    read = (settings.get(key) is True for key in ("attack_planes", "threat_planes"))
    names = {"planes": [plane.name for plane in planes_read(*read)]}
    if settings.get("afterstates") is True:
        names["afterstates"] = [feature.name for feature in AFTERSTATE_FEATURES]
    return names


def check_no_file(folder: Path) -> None:
    """Refuse a file of a policy where its folder is to be named.

    Raises:
        CheckpointError: naming the folder.
    """
    if folder.is_file() and (folder.parent / MANIFEST).is_file():
        raise CheckpointError(f"{folder} is a file: its folder, {folder.parent}, would be right")


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    check_no_file(folder)
    if not folder.is_dir():
        spec = str(folder).startswith(("policy:", "policy+mcts:"))
        hint = ": a folder, not a spec, would be right" if spec else ""
        raise CheckpointError(f"{folder} is not a policy: there is no such folder{hint}")
    roles = [str(folder / role) for role in SIDES if (folder / role / MANIFEST).is_file()]
    if roles:
        raise CheckpointError(f"{folder} is of both roles: {' or '.join(roles)} would be right")
    if not path.is_file():
        raise CheckpointError(f"{folder} is not a policy: it has no {MANIFEST}")
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}") from None
    if len(text) > _MOST_BYTES:
        raise CheckpointError(f"{path} is not a manifest: it is longer than {_MOST_BYTES} bytes")
    try:
        manifest = parse_json(text)
    except ValueError:
        raise CheckpointError(f"{path} is damaged: it is not JSON") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise CheckpointError(f"{path} is not the manifest of a {FORMAT} checkpoint")
    expected: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        **names_read(manifest.get("network")),
        "actions": NUM_ACTIONS,
    }
    for key, value in expected.items():
        if manifest.get(key) != value:
            raise CheckpointError(
                f"{path} has {key} {_short(manifest.get(key))}: this version of thud_env reads "
                f"{value!r}"
            )
    for key, kind in _KINDS.items():
        if type(manifest.get(key)) is not kind:
            raise CheckpointError(f"{path} is damaged: {key} is missing or of the wrong kind")
    for key in manifest.keys() - _KINDS.keys() - expected.keys():
        raise CheckpointError(f"{path} is damaged: it has an unknown key {_short(key)}")
    if manifest[OWN_HASH] != _hash(manifest):
        raise CheckpointError(f"{path} is damaged: it does not match its own hash")
    if manifest["role"] not in SIDES:
        raise CheckpointError(f"{path} names an unknown role: {_short(manifest['role'])}")
    try:
        get_ruleset(manifest["rules"])
    except ThudError as error:
        raise CheckpointError(f"{path} names an unknown ruleset: {error}") from None
    return manifest


def _short(value: object) -> str:
    """A value from a file, cut short for a message: it may be of any length."""
    shown = repr(value)
    return shown if len(shown) <= 200 else f"{shown[:200]}..."
