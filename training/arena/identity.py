"""What battles were played with: hashes of the code, and of the files that agents play by."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterable
from pathlib import Path

from agents.networks.folders import MANIFEST, pair_folder
from agents.registry import own_source
from agents.search.pattern_files import FOLDER
from agents.specs import Spec
from agents.strict_json import parse_json
from thud_env.outcome import SIDES
from thud_env.rulesets import get_ruleset

CHANGED = "thud_env, agents or configs/search have changed"
"""What to say where ``code_of_play`` is another."""
_ROOT = Path(__file__).resolve().parents[2]


def code_of_play() -> str:
    """A hash of the sources of the rules and the agents, and of the published tables and weights
    that the searching players judge by.
    """
    sources = [
        *(path for package in ("thud_env", "agents") for path in (_ROOT / package).rglob("*.py")),
        *(path for kind in ("*.npz", "*.yaml") for path in FOLDER.glob(kind)),
    ]
    return _hash((path.relative_to(_ROOT).as_posix(), path) for path in sorted(sources))


def own_files(specs: Iterable[str], rules: str, *, code: bool = True) -> dict[str, str]:
    """By spec, a hash of the files that the spec names; agents without any are left out.

    These are the file with the class of a ``python:`` agent; the manifests of a policy's
    checkpoints, which have the hash of its weights, and the file with the class of its network, if
    that is the user's own; and a file that ``weights=`` names.

    Args:
        specs: the agents' specs.
        rules: the ruleset that they play, a name or a spec.
        code: False leaves out files of code, of which a process imports each once.

    Raises:
        OSError: naming a file that cannot be read.
    """
    files = {spec: files_of(spec, rules, code=code) for spec in specs}
    return {spec: _hash(("", path) for path in paths) for spec, paths in files.items() if paths}


def files_of(spec: str, rules: str, *, code: bool = True) -> list[Path]:
    """The files that an agent's spec names: see ``own_files``."""
    own = own_source(spec)
    if own is not None:
        return [own] if code else []
    name, words = told = Spec.of(spec)
    weights = told.value("weights")
    files = [Path(weights)] if weights else []
    if name in ("policy", "policy+mcts") and words:
        folder = pair_folder(words[0], get_ruleset(rules))
        manifests = [folder / role / MANIFEST for role in ("", *SIDES)]
        found = [manifest for manifest in manifests if manifest.exists()]
        files += found
        if code:
            files += [
                file for kind in sorted(set(map(_kind, found))) for file in _network_files(kind)
            ]
    return files


def is_own_network(kind: str) -> bool:
    """Whether a kind of network is the user's own."""
    return _own_network(kind) is not None


def _own_network(kind: str) -> type | None:
    """The class of a kind of network, if that is the user's own."""
    from agents.networks.kinds import NETWORKS  # imports torch

    network = NETWORKS.get(kind)
    of_checkout = network is None or network.__module__.partition(".")[0] == "agents"
    return None if of_checkout else network


def _network_files(kind: str) -> list[Path]:
    """The file with the class of a kind of network, if that is the user's own and has one."""
    network = _own_network(kind)
    if network is None:
        return []
    try:
        return [Path(inspect.getfile(network))]
    except (OSError, TypeError):  # it was typed in
        return []


def hash_of_network(kind: str) -> dict[str, str]:
    """By ``network.kind=KIND``, a hash of its file, if that is the user's own."""
    files = _network_files(kind)
    return {f"network.kind={kind}": _hash(("", path) for path in files)} if files else {}


def _kind(manifest: Path) -> str:
    """The kind of the network that a manifest is of; none if it is damaged."""
    try:
        return str(parse_json(manifest.read_bytes())["network"]["kind"])
    except (ValueError, LookupError, TypeError):
        return ""


def _hash(files: Iterable[tuple[str, Path]]) -> str:
    """A hash of names and contents."""
    digest = hashlib.sha256()
    for name, path in files:
        digest.update(name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
