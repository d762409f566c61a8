"""Policies on disk: a folder of ``model.safetensors`` and ``manifest.json``, no pickle."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors

import thud_env
from agents.networks.network import Network, NetworkConfig
from thud_env.actions import NUM_ACTIONS
from thud_env.position import SIDES
from thud_env.views.encoding import PLANES

FORMAT = "thud-policy"
FORMAT_VERSION = 1
MODEL, MANIFEST = "model.safetensors", "manifest.json"
LATEST = Path("checkpoints", "latest")
"""In a run's folder: the newest checkpoint."""


PRETRAINED = Path(__file__).parents[1] / "pretrained"
"""Policies that come with the checkout, a folder for each ruleset that has some."""


def policy_folder(path: str | Path) -> Path:
    """The folder of policies that a path means.

    Args:
        path: that folder; or ``pretrained/RULES``, which is found from anywhere, unless there is
            such a folder where the program runs; or a run's folder, for its latest checkpoint.
    """
    path = Path(path)
    if path.parts[:1] == (PRETRAINED.name,) and not path.exists():
        return PRETRAINED.parent / path
    latest = path / LATEST
    return latest if latest.is_dir() else path


class CheckpointError(ValueError):
    """A checkpoint that is missing, damaged or not one of ours."""


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """One role's policy, as loaded."""

    network: Network
    role: str
    """``"dwarfs"`` or ``"trolls"``."""
    rules: str
    decisions: int
    """Decisions played in training."""


def write_flushed(path: Path, data: bytes) -> None:
    """Write a file, and wait until it is on the disk: a power cut leaves no part of it."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def save_policy(folder: Path, network: Network, *, role: str, rules: str, decisions: int) -> None:
    """Write a policy into a new folder: to a temporary name, flushed, then renamed.

    Raises:
        FileExistsError: if ``folder`` exists; nothing is overwritten.
    """
    if folder.exists():
        raise FileExistsError(f"{folder} exists: a checkpoint is never overwritten")
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        config = dataclasses.asdict(network.config)
        # The network's sizes stand in the model's own header too: one file is a whole policy. Under
        # a single key, as several would be written in a different order each time.
        model = save_tensors(
            {
                name: value.detach().cpu().contiguous()
                for name, value in network.state_dict().items()
            },
            metadata={"network": json.dumps(config)},
        )
        manifest = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "role": role,
            "rules": rules,
            "decisions": decisions,
            "network": config,
            "planes": [plane.name for plane in PLANES],
            "actions": NUM_ACTIONS,
            "sha256": hashlib.sha256(model).hexdigest(),
            "thud_env": thud_env.__version__,
        }
        write_flushed(temporary / MODEL, model)
        write_flushed(temporary / MANIFEST, (json.dumps(manifest, indent=2) + "\n").encode())
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def load_policy(folder: str | Path) -> Checkpoint:
    """Read a policy that ``save_policy`` wrote.

    Raises:
        CheckpointError: naming the file and what is wrong with it.
    """
    folder = Path(folder)
    manifest = _read_manifest(folder)
    try:
        model = (folder / MODEL).read_bytes()
    except OSError as error:
        raise CheckpointError(f"{folder / MODEL} cannot be read: {error.strerror}") from None
    if hashlib.sha256(model).hexdigest() != manifest["sha256"]:
        raise CheckpointError(f"{folder / MODEL} is damaged: it does not match its manifest")
    try:
        network = Network(NetworkConfig(**manifest["network"]))
        network.load_state_dict(load_tensors(model))
    except Exception as error:
        reason = str(error).splitlines()[0]
        raise CheckpointError(f"{folder / MODEL} does not fit its manifest: {reason}") from None
    network.eval()
    return Checkpoint(network, manifest["role"], manifest["rules"], manifest["decisions"])


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not path.is_file():
        raise CheckpointError(f"{folder} is no policy: it has no {MANIFEST}")
    try:
        manifest = json.loads(path.read_bytes())
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise CheckpointError(f"{path} is damaged: it is not JSON") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise CheckpointError(f"{path} is not the manifest of a {FORMAT} checkpoint")
    expected: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "planes": [plane.name for plane in PLANES],
        "actions": NUM_ACTIONS,
    }
    for key, value in expected.items():
        if manifest.get(key) != value:
            raise CheckpointError(
                f"{path} has {key} {manifest.get(key)!r}: this version of thud_env reads {value!r}"
            )
    kinds = {"role": str, "rules": str, "decisions": int, "network": dict, "sha256": str}
    for key, kind in kinds.items():
        if not isinstance(manifest.get(key), kind):
            raise CheckpointError(f"{path} is damaged: {key} is missing or of the wrong kind")
    if manifest["role"] not in SIDES or manifest["rules"] not in thud_env.RULESETS:
        raise CheckpointError(f"{path} names an unknown role or ruleset")
    return manifest
