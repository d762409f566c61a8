"""The folder of a run: configuration, metrics, checkpoints.

::

    runs/NAME/
        config.yaml            what the run was told, in full
        run.json               versions, commit and machine of every start
        metrics.jsonl          one line an update
        tensorboard/           the same for TensorBoard
        checkpoints/
            000000123456/      after so many decisions: dwarfs/ and trolls/, and the state of the
                               run, state.safetensors and state.json
            latest             -> the newest of them
            best/              dwarfs and trolls -> each role's best, by the anchors
        head_to_head.json      the table at the end
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import yaml
from torch.utils.tensorboard import SummaryWriter

from agents.networks.checkpoint import save_policy
from agents.networks.network import Network
from thud_env.position import SIDES
from training.config import ConfigError, TrainConfig, load_config
from training.process.state import State, StateError, load_state, save_state
from training.runs.anchors import Best


class RunError(ValueError):
    """A run that cannot go on as asked."""


class RunFolder:
    """Where a run is written. Made by ``begin`` or ``resume``."""

    def __init__(self, path: Path, config: TrainConfig, decisions: int | None = None) -> None:
        self.path = path
        self.state: State | None = None
        """What to go on from, if the run was resumed."""
        self.notices: list[str] = []
        """What the user should know of earlier runs, a line each."""
        self._rules = config.rules
        self._keep = config.keep_checkpoints
        _add_start(path / "run.json", config, decisions or 0)
        self._metrics = (path / "metrics.jsonl").open("a")
        self._tensorboard = SummaryWriter(
            str(path / "tensorboard"), purge_step=None if decisions is None else decisions + 1
        )

    @classmethod
    def begin(cls, path: Path, config: TrainConfig) -> RunFolder:
        """A new run. A folder that exists is moved aside, to ``NAME.1`` and so on: a run is never
        written over another.
        """
        moved_to = _move_aside(path)
        told = yaml.safe_dump(dataclasses.asdict(config), sort_keys=False)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        (temporary / "config.yaml").write_text(told)
        temporary.rename(path)
        folder = cls(path, config)
        if moved_to is not None:
            folder.notices.append(f"an earlier run of that name is now {moved_to}")
        return folder

    @classmethod
    def resume(cls, path: Path, config: TrainConfig) -> RunFolder:
        """Go on with a run from its newest checkpoint that is whole, or from its start.

        Lines of metrics beyond the checkpoint are removed: they will be written again.

        Raises:
            RunError: if the run was told something else, or none of its checkpoints is whole.
        """
        _check_same(path, config)
        state, decisions, damaged = None, 0, []
        checkpoints = _numbered(path / "checkpoints")
        for checkpoint in reversed(checkpoints):
            try:
                state = load_state(checkpoint)
            except StateError as error:
                damaged.append((checkpoint, error))
                continue
            decisions = int(checkpoint.name)
            break
        if checkpoints and state is None:
            raise RunError(f"{path}: none of its checkpoints is whole. {damaged[0][1]}")
        notices = [
            f"{error}; the checkpoint is now {_move_aside(checkpoint, '.damaged')}"
            for checkpoint, error in damaged
        ]
        _keep_lines(path / "metrics.jsonl", decisions)
        folder = cls(path, config, decisions)
        folder.state = state
        if state is not None:
            folder._point("latest", Path(f"{decisions:012d}"))
        folder.notices = [*notices, f"going on from {decisions:,} decisions"]
        return folder

    @property
    def checkpoints(self) -> Path:
        """Where the checkpoints are."""
        return self.path / "checkpoints"

    @property
    def latest(self) -> Path:
        """The newest checkpoint of both roles."""
        return self.checkpoints / "latest"

    @property
    def best(self) -> Path:
        """Each role's best checkpoint."""
        return self.checkpoints / "best"

    def log(self, decisions: int, metrics: dict[str, float]) -> None:
        """Write one update's numbers, each named ``group/name``."""
        self._metrics.write(json.dumps({"decisions": decisions, **metrics}) + "\n")
        self._metrics.flush()
        for name, value in metrics.items():
            self._tensorboard.add_scalar(name, value, decisions)

    def checkpoint(
        self,
        decisions: int,
        networks: tuple[Network, Network],
        states: Sequence[State],
        best: Mapping[str, Best] | None = None,
    ) -> Path:
        """Write both roles' policies and the states of the run's processes, to a temporary name and
        renamed; point ``latest`` and ``best`` at them; remove the oldest but for the best.
        """
        folder = self.checkpoints / f"{decisions:012d}"
        if not folder.exists():
            temporary = self.checkpoints / f".{folder.name}.{os.getpid()}.tmp"
            shutil.rmtree(temporary, ignore_errors=True)
            try:
                for role, network in zip(SIDES, networks, strict=True):
                    save_policy(
                        temporary / role, network, role=role, rules=self._rules, decisions=decisions
                    )
                for rank, state in enumerate(states):
                    save_state(temporary, state, state_name(rank))
                temporary.rename(folder)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
        self._point("latest", Path(folder.name))
        self.point_to_best(best or {})
        kept = {f"{one.decisions:012d}" for one in (best or {}).values()}
        for old in _numbered(self.checkpoints)[: -self._keep]:
            if old.name not in kept:
                shutil.rmtree(old)
        return folder

    def point_to_best(self, best: Mapping[str, Best]) -> None:
        """Point ``best/dwarfs`` and ``best/trolls`` at each role's best checkpoint."""
        for role, one in best.items():
            target = Path(f"{one.decisions:012d}", role)
            # After going on from an older checkpoint, the best before it may be gone.
            if (self.checkpoints / target).exists():
                self._point(f"best/{role}", ".." / target)

    def _point(self, name: str, target: Path) -> None:
        """Make a link anew, in one step."""
        link = self.checkpoints / name
        link.parent.mkdir(exist_ok=True)
        temporary = link.with_name(f".{link.name}.{os.getpid()}.tmp")
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(target)
        temporary.replace(link)

    def write_json(self, name: str, content: Any) -> None:
        """Write a JSON file into the run's folder."""
        _write(self.path / name, json.dumps(content, indent=2) + "\n")

    def close(self) -> None:
        """Flush and close the metrics."""
        self._metrics.close()
        with contextlib.suppress(OSError):
            self._tensorboard.close()


class Follower(RunFolder):
    """What a process other than the first has of the run's folder: it reads its state, and leaves
    the rest to the first.

    Args:
        path: the folder.
        rank: the number of the process.
        resumed: whether the run goes on; the first process has decided from where.

    Raises:
        StateError: if this process has no state there.
    """

    def __init__(self, path: Path, rank: int, resumed: bool) -> None:
        self.path = path
        self.notices = []
        latest = path / "checkpoints" / "latest"
        self.state = load_state(latest, state_name(rank)) if resumed and latest.exists() else None

    def log(self, decisions: int, metrics: dict[str, float]) -> None:
        """Nothing: the first process does."""

    def checkpoint(self, *_arguments: object) -> Path:
        """Nothing: the first process does."""
        return self.latest

    def point_to_best(self, best: Mapping[str, Best]) -> None:
        """Nothing: the first process does."""

    def close(self) -> None:
        """Nothing is open."""


def state_name(rank: int) -> str:
    """The name of the state of a process."""
    return f"state-{rank}" if rank else "state"


def _numbered(checkpoints: Path) -> list[Path]:
    """The checkpoints, oldest first."""
    if not checkpoints.exists():
        return []
    return sorted(path for path in checkpoints.iterdir() if path.name.isdigit())


def _check_same(path: Path, config: TrainConfig) -> None:
    try:
        before = load_config(path / "config.yaml")
    except ConfigError as error:
        raise RunError(f"{path} is no run to go on with: {error}") from None
    told, now = _flat(dataclasses.asdict(before)), _flat(dataclasses.asdict(config))
    changed = [f"{key} was {told[key]!r}, not {now[key]!r}" for key in now if told[key] != now[key]]
    if changed:
        raise RunError(f"{path} cannot go on otherwise than it began: {', '.join(changed)}")


def _flat(tree: Mapping[str, Any], start: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{start}{key}.")
        else:
            flat[f"{start}{key}"] = value
    return flat


def _keep_lines(path: Path, decisions: int) -> None:
    """Remove the lines beyond a number of decisions, and one that a power cut broke off."""
    kept = []
    for line in path.read_text().splitlines(keepends=True) if path.exists() else []:
        try:
            if json.loads(line)["decisions"] > decisions:
                break
        except ValueError:
            break
        kept.append(line)
    _write(path, "".join(kept))


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_text(text)
    temporary.replace(path)


def _add_start(path: Path, config: TrainConfig, decisions: int) -> None:
    """Add to ``run.json`` with what the run starts or goes on."""
    starts = json.loads(path.read_text()) if path.exists() else []
    packages = ("thud-env", "torch", "numpy", "numba", "gymnasium", "pettingzoo")
    starts.append(
        {
            "decisions": decisions,
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "seed": config.seed,
            "commit": _commit(),
            "python": platform.python_version(),
            "machine": f"{platform.system()} {platform.machine()}",
            "versions": {name: _version(name) for name in packages},
            "command": sys.argv[1:],
        }
    )
    _write(path, json.dumps(starts, indent=2) + "\n")


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The commit of this checkout, with ``+`` if files were changed; None if it is none."""
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--abbrev=40", "--dirty=+", "--exclude=*"],
            cwd=Path(__file__).parent, capture_output=True, text=True, timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip()


def _move_aside(path: Path, suffix: str = "") -> Path | None:
    if not path.exists():
        return None
    number = 1
    while (aside := path.with_name(f"{path.name}{suffix}.{number}")).exists():
        number += 1
    path.rename(aside)
    return aside
