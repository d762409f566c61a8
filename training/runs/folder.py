"""The folder of a run: configuration, metrics, checkpoints.

::

    runs/NAME/
        config.yaml            the configuration, in full
        lock                   names the process that writes the run
        run.json               versions, commit and machine of every start
        metrics.jsonl          one line an update
        tensorboard/           the same for TensorBoard
        checkpoints/
            000000123456/      after so many decisions: dwarfs/ and trolls/, and the state of the
                               run, state.safetensors and state.json
            latest             -> the newest of them
            best/              dwarfs and trolls -> each role's best, by the anchors
        head_to_head.json      the table at the end

Whatever a checkpoint needs is on the disk before the checkpoint has its name, so that a run goes on
after a power cut at any moment. The links shown here are the only ones there may be.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml
from torch.utils.tensorboard import SummaryWriter

from agents.durable import (
    flush_folder,
    link_flushed,
    make_folder,
    rename_flushed,
    replace_flushed,
    sweep,
    temporary_path,
    write_flushed,
)
from agents.networks.checkpoint import CheckpointError, load_policy, save_policy
from agents.networks.network import PolicyNetwork
from thud_env.position import SIDES
from training.config import RunConfig, RunError
from training.process.state import State, StateError, load_state, save_state
from training.runs.anchors import Best
from training.runs.links import check_links
from training.runs.lock import RunLock
from training.runs.metrics import FILE as METRICS
from training.runs.metrics import MetricsFile, keep_until
from training.runs.starts import add_start, free_name
from training.runs.stored_config import CONFIG, settled_config, unchanged_config

_CHECKPOINT = re.compile(r"[0-9]{12,}")


class RunFolder:
    """Where a run is written, by one process at a time. Made by ``begin`` or ``resume``; a context
    manager, which releases the folder at its end.

    Args:
        path: the folder.
        config: the one that the run began with.
        lock: this process's; None if another one writes the folder, and this one only reads.
        resumed: whether the run goes on; ``restore`` then finds the checkpoint.
    """

    def __init__(self, path: Path, config: RunConfig, lock: RunLock | None, resumed: bool) -> None:
        self.path = path
        self.config = config
        self.notices: list[str] = []
        """Notices for the user, a line each."""
        self.resumed = resumed
        self._lock = lock
        self._metrics: MetricsFile | None = None
        self._tensorboard: SummaryWriter | None = None

    @classmethod
    def begin(cls, path: Path, config: RunConfig) -> Self:
        """A new run. A folder that exists is moved aside, to ``NAME.1`` and so on: a run is never
        written over another.

        Raises:
            DeviceError: if there is no GPU and one was asked for.
            RunError: if another process is writing a run of that name.
        """
        config = settled_config(config)
        make_folder(path.parent)
        temporary = temporary_path(path)
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        try:
            lock = RunLock(temporary)
            text = yaml.safe_dump(dataclasses.asdict(config), sort_keys=False)
            write_flushed(temporary / CONFIG, text.encode())
            write_flushed(temporary / METRICS, b"")
            add_start(temporary / "run.json", config.seed, 0)
            moved_to = _move_aside_unused(path)
            rename_flushed(temporary, path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        folder = cls(path, config, lock, resumed=False)
        if moved_to is not None:
            folder.notices.append(f"an earlier run of that name is now {moved_to}")
        folder._open(None)
        return folder

    @classmethod
    def resume(cls, path: Path, config: RunConfig) -> Self:
        """A run that continues; ``restore`` finds the checkpoint.

        Raises:
            RunError: if another process is writing it, or its configuration is another.
        """
        lock = RunLock(path)
        check_links(path)
        for folder in _written_folders(path):
            sweep(folder)
        return cls(path, unchanged_config(path, config), lock, resumed=True)

    @property
    def has_checkpoint(self) -> bool:
        """Whether there is one to go on from."""
        return bool(_numbered(self.checkpoints))

    def restore(self, restore: Callable[[State], None]) -> None:
        """Go on from the newest checkpoint that is whole, or from the start if there is none.
        Damaged ones are set aside. Lines of metrics beyond it are removed: they will be written
        again.

        Args:
            restore: takes the state of this process over.

        Raises:
            RunError: if there are checkpoints and none will do, or from ``restore``.
        """
        damaged: list[tuple[Path, Exception]] = []
        checkpoints = _numbered(self.checkpoints)
        found: Path | None = None
        for checkpoint in reversed(checkpoints):
            try:
                _restore_from(checkpoint, restore)
            except (StateError, CheckpointError) as error:
                damaged.append((checkpoint, error))
                continue
            found = checkpoint
            break
        if checkpoints and found is None:
            raise RunError(f"{self.path} can go on from none of its checkpoints: {damaged[0][1]}")
        for checkpoint, reason in damaged:
            aside = free_name(checkpoint, ".damaged")
            rename_flushed(checkpoint, aside)
            self.notices.append(f"{reason}; the checkpoint is now {aside}")
        decisions = int(found.name) if found else 0
        step = self.config.num_games * self.config.rollout_decisions
        self.notices += keep_until(self.path / METRICS, decisions, step)
        self.notices += add_start(self.path / "run.json", self.config.seed, decisions)
        self.notices.append(f"going on from {decisions:,} decisions")
        self._open(decisions)
        if found is not None:
            self._point("latest", Path(found.name))

    def _open(self, decisions: int | None) -> None:
        self._metrics = MetricsFile(self.path / METRICS)
        step = None if decisions is None else decisions + 1
        with self._tensorboard_may_fail():
            self._tensorboard = SummaryWriter(str(self.path / "tensorboard"), purge_step=step)

    @contextlib.contextmanager
    def _tensorboard_may_fail(self) -> Iterator[None]:
        """Open TensorBoard's files, a copy of the metrics: a run does without if that fails."""
        try:
            yield
        except OSError as error:
            self._tensorboard = None
            self.notices.append(f"TensorBoard's files are not written any more: {error}")

    @property
    def checkpoints(self) -> Path:
        """Where the checkpoints are."""
        return self.path / "checkpoints"

    @property
    def latest(self) -> Path:
        """The newest checkpoint of both roles."""
        return self.checkpoints / "latest"

    @property
    def good(self) -> str:
        """The last good checkpoint, in words."""
        if self.latest.exists():
            return f"the last good checkpoint is {self.latest}"
        return "no checkpoint has been written"

    @property
    def best(self) -> Path:
        """Each role's best checkpoint."""
        return self.checkpoints / "best"

    def log(self, decisions: int, metrics: dict[str, float]) -> None:
        """Write one update's numbers, each named ``group/name``."""
        assert self._metrics is not None, "a run that is resumed must be restored first"
        self._metrics.add(decisions, metrics)
        with self._tensorboard_may_fail():
            if self._tensorboard is not None:
                for name, value in metrics.items():
                    self._tensorboard.add_scalar(name, value, decisions)

    def checkpoint(
        self,
        decisions: int,
        networks: tuple[PolicyNetwork, PolicyNetwork],
        states: Sequence[State],
        best: Mapping[str, Best] | None = None,
    ) -> Path:
        """Write both roles' policies and the states of the run's processes, to a temporary name and
        renamed; point ``latest`` and ``best`` at them; remove the oldest but for the best. The
        metrics so far are on the disk before.

        Raises:
            NotFiniteError: if a number of the networks or of a state is infinite or NaN.
        """
        assert self._metrics is not None, "a run that is resumed must be restored first"
        self._metrics.flush()
        folder = self.checkpoints / f"{decisions:012d}"
        if not folder.exists():
            temporary, config = temporary_path(folder), self.config
            shutil.rmtree(temporary, ignore_errors=True)
            try:
                for role, network in zip(SIDES, networks, strict=True):
                    save_policy(
                        temporary / role,
                        network,
                        role=role,
                        rules=config.rules,
                        decisions=decisions,
                        agreement=config.agreement,
                    )
                for rank, state in enumerate(states):
                    save_state(temporary, state, state_name(rank))
                flush_folder(temporary)
                rename_flushed(temporary, folder)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
        self._point("latest", Path(folder.name))
        self.point_to_best(best or {})
        kept = {f"{one.decisions:012d}" for one in (best or {}).values()}
        for old in _numbered(self.checkpoints)[: -self.config.keep_checkpoints]:
            if old.name not in kept:
                shutil.rmtree(old)
        return folder

    def point_to_best(self, best: Mapping[str, Best]) -> None:
        """Point ``best/dwarfs`` and ``best/trolls`` at each role's best checkpoint."""
        for role, one in best.items():
            assert role in SIDES
            target = Path(f"{one.decisions:012d}", role)
            # After going on from an older checkpoint, the best before it may be gone.
            if (self.checkpoints / target).exists():
                self._point(f"best/{role}", ".." / target)

    def _point(self, name: str, target: Path) -> None:
        link = self.checkpoints / name
        make_folder(link.parent)
        link_flushed(link, target)

    def write_json(self, name: str, content: Any) -> None:
        """Write a JSON file into the run's folder."""
        replace_flushed(self.path / name, (json.dumps(content, indent=2) + "\n").encode())

    def close(self) -> None:
        """Flush and close the metrics, and release the folder."""
        with contextlib.suppress(OSError):
            if self._tensorboard is not None:
                self._tensorboard.close()
        try:
            if self._metrics is not None:
                self._metrics.close()
        finally:
            if self._lock is not None:
                self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def state_name(rank: int) -> str:
    """The name of the state of a process."""
    return f"state-{rank}" if rank else "state"


def _written_folders(path: Path) -> Iterator[Path]:
    """The folders in which files are renamed, which a kill may leave half done."""
    yield from (path, path / "checkpoints", path / "checkpoints" / "best")
    yield from (path / "pool" / role for role in SIDES)


def _restore_from(checkpoint: Path, restore: Callable[[State], None]) -> None:
    """Take over the first process's state of a checkpoint of which every file is whole.

    Raises:
        StateError, CheckpointError: naming the file and what is wrong with it.
    """
    for role in SIDES:
        load_policy(checkpoint / role)
    for path in checkpoint.glob("state-*.json"):
        load_state(checkpoint, path.stem)
    state = load_state(checkpoint)
    try:
        restore(state)
    except (RunError, StateError):
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise StateError(f"{checkpoint / 'state.json'} does not fit the run: {error!r}") from None
    except RuntimeError as error:  # torch's, of tensors of other shapes
        reason = str(error).splitlines()[0]
        raise StateError(f"{checkpoint / 'state.json'} does not fit the run: {reason}") from None


def _numbered(checkpoints: Path) -> list[Path]:
    """The checkpoints, oldest first."""
    if not checkpoints.exists():
        return []
    return sorted(path for path in checkpoints.iterdir() if _CHECKPOINT.fullmatch(path.name))


def _move_aside_unused(path: Path) -> Path | None:
    """Rename a run that no process is writing."""
    if not os.path.lexists(path):
        return None
    with RunLock(path) if path.is_dir() else contextlib.nullcontext():
        aside = free_name(path)
        path.rename(aside)
    return aside
