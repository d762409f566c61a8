"""The folder of a run: configuration, metrics, checkpoints.

::

    runs/NAME/
        config.yaml            what the run was told, in full
        metrics.jsonl          one line an update
        tensorboard/           the same for TensorBoard
        checkpoints/
            000000123456/      after so many decisions: dwarfs/ and trolls/
            latest             -> the newest of them
        head_to_head.json      the table at the end
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
from pathlib import Path
from typing import Any

import yaml
from torch.utils.tensorboard import SummaryWriter

from agents.checkpoint import save_policy
from agents.network import Network
from thud_env.position import SIDES
from training.config import TrainConfig


class RunFolder:
    """Where a run is written.

    Args:
        path: the folder. One that exists is moved aside, to ``NAME.1`` and so on: a run is
            never written over another.
        config: saved with the run.
    """

    def __init__(self, path: Path, config: TrainConfig) -> None:
        self.path = path
        self.moved_to = _move_aside(path)
        path.mkdir(parents=True)
        (path / "config.yaml").write_text(
            yaml.safe_dump(dataclasses.asdict(config), sort_keys=False)
        )
        self._metrics = (path / "metrics.jsonl").open("a")
        self._tensorboard = SummaryWriter(str(path / "tensorboard"))
        self._rules = config.rules
        self._keep = config.keep_checkpoints

    @property
    def checkpoints(self) -> Path:
        """Where the checkpoints are."""
        return self.path / "checkpoints"

    @property
    def latest(self) -> Path:
        """The newest checkpoint of both roles."""
        return self.checkpoints / "latest"

    def log(self, decisions: int, metrics: dict[str, float]) -> None:
        """Write one update's numbers, each named ``group/name``."""
        self._metrics.write(json.dumps({"decisions": decisions, **metrics}) + "\n")
        self._metrics.flush()
        for name, value in metrics.items():
            self._tensorboard.add_scalar(name, value, decisions)

    def checkpoint(self, decisions: int, networks: tuple[Network, Network]) -> Path:
        """Write both roles' policies, point ``latest`` at them, remove the oldest."""
        folder = self.checkpoints / f"{decisions:012d}"
        if folder.exists():
            return folder
        temporary = self.checkpoints / f".{folder.name}.{os.getpid()}.tmp"
        shutil.rmtree(temporary, ignore_errors=True)
        try:
            for role, network in zip(SIDES, networks, strict=True):
                save_policy(
                    temporary / role, network, role=role, rules=self._rules, decisions=decisions
                )
            temporary.rename(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        link = self.checkpoints / f".latest.{os.getpid()}.tmp"
        link.unlink(missing_ok=True)
        link.symlink_to(folder.name)
        link.replace(self.latest)
        kept = sorted(path for path in self.checkpoints.iterdir() if path.name.isdigit())
        for old in kept[: -self._keep]:
            shutil.rmtree(old)
        return folder

    def write_json(self, name: str, content: Any) -> None:
        """Write a JSON file into the run's folder."""
        (self.path / name).write_text(json.dumps(content, indent=2) + "\n")

    def close(self) -> None:
        """Flush and close the metrics."""
        self._metrics.close()
        with contextlib.suppress(OSError):
            self._tensorboard.close()


def _move_aside(path: Path) -> Path | None:
    if not path.exists():
        return None
    number = 1
    while (aside := path.with_name(f"{path.name}.{number}")).exists():
        number += 1
    path.rename(aside)
    return aside
