"""The run's folder, as the processes other than the first have it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from training.config import RunConfig
from training.process.state import State, load_state
from training.runs.anchors import Best
from training.runs.folder import RunFolder, state_name


class Follower(RunFolder):
    """The run's folder for a process other than the first: it reads its state, and writes nothing.

    Args:
        path: the folder.
        config: the one that the run began with.
        rank: the number of the process.
        resumed: whether the run goes on.
    """

    def __init__(self, path: Path, config: RunConfig, rank: int, resumed: bool) -> None:
        super().__init__(path, config, None, resumed)
        self._rank = rank

    def restore(self, restore: Callable[[State], None]) -> None:
        """Restore from the checkpoint that the first process chose.

        Raises:
            StateError: if this process has no state there.
        """
        if self.latest.exists():
            restore(load_state(self.latest, state_name(self._rank)))

    def log(self, decisions: int, metrics: dict[str, float]) -> None:
        """Do nothing: the first process does it."""

    def checkpoint(self, *_arguments: object) -> Path:
        """Do nothing: the first process does it."""
        return self.latest

    def point_to_best(self, best: Mapping[str, Best]) -> None:
        """Do nothing: the first process does it."""
