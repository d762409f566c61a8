"""Writes a run's metrics: ``metrics.jsonl``, and a copy of it for TensorBoard."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

from training.commands.journal import Journal
from training.runs.metrics import FILE


class RunLog:
    """The metrics of a run, to be added to.

    Args:
        folder: the run's.
        decisions: how far a run is that goes on; None for a new one.
        notices: takes a line for the user if TensorBoard's copy fails.

    Raises:
        OSError: if ``metrics.jsonl`` cannot be opened.
    """

    def __init__(self, folder: Path, decisions: int | None, notices: list[str]) -> None:
        self._metrics = Journal(folder / FILE)
        self._tensorboard: SummaryWriter | None = None
        self._notices = notices
        step = None if decisions is None else decisions + 1
        with self._tensorboard_may_fail():
            self._tensorboard = SummaryWriter(str(folder / "tensorboard"), purge_step=step)

    @contextlib.contextmanager
    def _tensorboard_may_fail(self) -> Iterator[None]:
        """Write TensorBoard's files, a copy: a run does without if that fails."""
        try:
            yield
        except OSError as error:
            self._tensorboard = None
            self._notices.append(f"TensorBoard's files are not written any more: {error}")

    def add(self, decisions: int, metrics: dict[str, float]) -> None:
        """Write one update's numbers, each named ``group/name``."""
        self._metrics.add(json.dumps({"decisions": decisions, **metrics}))
        with self._tensorboard_may_fail():
            if self._tensorboard is not None:
                # If it is gone, its own thread would say so in a traceback.
                Path(self._tensorboard.log_dir).stat()
                for name, value in metrics.items():
                    self._tensorboard.add_scalar(name, value, decisions)
                self._tensorboard.flush()  # or that thread might find it gone later

    def flush(self) -> None:
        """Wait until ``metrics.jsonl`` is on the disk."""
        self._metrics.flush()

    def close(self) -> None:
        """Flush and close the files."""
        with contextlib.suppress(OSError):
            if self._tensorboard is not None:
                self._tensorboard.close()
        self._metrics.close()
