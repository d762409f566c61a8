"""The folder of a run: configuration, metrics, checkpoints.

::

    runs/NAME/
        config.yaml            the configuration, in full
        lock                   names the process that writes the run
        run.json               of every start: versions, commit, machine, hashes of players' files
        metrics.jsonl          one line an update
        tensorboard/           the same for TensorBoard
        checkpoints/
            000000123456/      after so many decisions: dwarfs/ and trolls/, and the state of the
                               run, state.safetensors and state.json
            latest             -> the newest of them
            best/              dwarfs and trolls -> each role's best, by the anchors
        lessons/               of a distillation: the labelled states
        pool/                  snapshots of the roles to play against
        head_to_head.json      the table at the end
        exploit.json           of training.exploit: how strong the best response is

Whatever a checkpoint needs is on the disk before the checkpoint has its name, so that a run goes on
after a power cut at any moment. The links shown here are the only ones there may be; on Windows
copies stand in their place.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import yaml

from agents.durable import (
    free_name,
    new_folder,
    replace_flushed,
    sweep,
    write_flushed,
)
from agents.networks.network import PolicyNetwork
from thud_env.outcome import SIDES
from training.commands.lock import FolderLock
from training.config import RunConfig
from training.config_file import STORED
from training.errors import RunError
from training.process.state import State
from training.runs.anchors import Best
from training.runs.checkpoints import Checkpoints
from training.runs.links import check_links
from training.runs.log import RunLog
from training.runs.metrics import FILE as METRICS
from training.runs.metrics import keep_until
from training.runs.provenance import add_start
from training.runs.stored_config import config_to_go_on, settled_config, stored_config


class RunFolder:
    """Where a run is written, by one process at a time. Made by ``begin`` or ``resume``; a context
    manager, which releases the folder at its end.

    Args:
        path: the folder.
        config: the one that the run goes by.
        lock: this process's; None if another one writes the folder, and this one only reads.
        resumed: whether the run goes on; ``restore`` then finds the checkpoint.
    """

    def __init__(
        self, path: Path, config: RunConfig, lock: FolderLock | None, resumed: bool
    ) -> None:
        self.path = path
        self.config = config
        self.checkpoints = Checkpoints(path / "checkpoints", config)
        """What has been saved of it."""
        self.notices: list[str] = []
        """Notices for the user, a line each."""
        self.resumed = resumed
        self._lock = lock
        self._log: RunLog | None = None

    @classmethod
    def begin(cls, path: Path, config: RunConfig) -> Self:
        """A new run. A folder that exists is moved aside, to ``NAME.1`` and so on: a run is never
        written over another.

        Raises:
            DeviceError: if there is no GPU and one was asked for.
            RunError: if another process is writing a run of that name, or something else is kept in
                the folder, such as a ladder.
        """
        if path.is_dir() and any(path.iterdir()) and not (path / STORED).exists():
            raise RunError(f"{path} holds something else, no run: another name= would be right")
        config = settled_config(config)
        with new_folder(path) as temporary:
            lock = FolderLock(temporary)
            write_flushed(temporary / STORED, _as_yaml(config))
            write_flushed(temporary / METRICS, b"")
            add_start(temporary / "run.json", config, 0)
            moved_to = _move_aside_unused(path)
            lock.let_move()
        folder = cls(path, config, lock.moved_to(path), resumed=False)
        if moved_to is not None:
            folder.notices.append(f"an earlier run of that name is now {moved_to}")
        folder._log = RunLog(path, None, folder.notices)
        return folder

    @classmethod
    def resume(cls, path: Path, config: RunConfig) -> Self:
        """A run that continues, perhaps with other ``total_decisions``; ``restore`` finds the
        checkpoint, and stores these.

        Raises:
            RunError: if there is no run, another process is writing it, or its configuration is
                another.
        """
        stored_config(path, type(config))  # first: a lock is written into no other folder
        lock = FolderLock(path)
        try:
            check_links(path)
            for folder in _written_folders(path):
                sweep(folder)
            return cls(path, config_to_go_on(path, config), lock, resumed=True)
        except BaseException:
            lock.release()
            raise

    def restore(self, restore: Callable[[State], None]) -> None:
        """Go on from a checkpoint: see ``Checkpoints.restore``. Lines of metrics beyond it are
        removed: they will be written again.
        """
        decisions, notices = self.checkpoints.restore(restore)
        was, now = stored_config(self.path, type(self.config)), self.config
        if was != now:
            replace_flushed(self.path / STORED, _as_yaml(now))
            totals = f"{was.total_decisions:,}, and is {now.total_decisions:,}"
            self.notices.append(f"total_decisions was {totals} now")
        step = self.config.decisions_per_update
        notices += keep_until(self.path / METRICS, decisions, step)
        notices += add_start(self.path / "run.json", self.config, decisions)
        begins = f"going on from {decisions:,} decisions"
        if decisions >= self.config.total_decisions:
            begins += ", which are all: a larger total_decisions= would add some"
        self.notices += [*notices, begins]
        self._log = RunLog(self.path, decisions, self.notices)

    @property
    def log(self) -> RunLog:
        """Where its metrics are written."""
        assert self._log is not None, "a run that is resumed must be restored first"
        return self._log

    def checkpoint(
        self,
        decisions: int,
        networks: tuple[PolicyNetwork, PolicyNetwork],
        states: Sequence[State],
        best: Mapping[str, Best],
    ) -> None:
        """Write a checkpoint: see ``Checkpoints.write``. The metrics so far are on the disk before.

        Raises:
            NotFiniteError: if a number of the networks or of a state is infinite or NaN.
        """
        self.log.flush()
        self.checkpoints.write(decisions, networks, states, best)

    def write_json(self, name: str, content: Any) -> None:
        """Write a JSON file into the run's folder."""
        replace_flushed(self.path / name, (json.dumps(content, indent=2) + "\n").encode())

    def close(self) -> None:
        """Flush and close the metrics, and release the folder."""
        try:
            if self._log is not None:
                self._log.close()
        finally:
            if self._lock is not None:
                self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _as_yaml(config: RunConfig) -> bytes:
    return yaml.safe_dump(dataclasses.asdict(config), sort_keys=False).encode()


def _written_folders(path: Path) -> Iterator[Path]:
    """The folders in which files are renamed, which a kill may leave half done."""
    yield from (path, path / "checkpoints", path / "checkpoints" / "best")
    yield from (path / "pool" / role for role in SIDES)


def _move_aside_unused(path: Path) -> Path | None:
    """Rename a run that no process is writing."""
    if not os.path.lexists(path):
        return None
    with FolderLock(path) if path.is_dir() else contextlib.nullcontext() as lock:
        aside = free_name(path)
        if lock is not None:
            lock.let_move()
        path.rename(aside)
    return aside
