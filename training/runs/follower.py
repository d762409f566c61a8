"""The run's folder, as the processes other than the first have it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from training.config import RunConfig
from training.process.state import State, load_state
from training.runs.anchors import Best
from training.runs.folder import RunFolder, state_name


class Follower(RunFolder):
    """What a process other than the first has of the run's folder: it reads its state, and leaves
    the rest to the first.

    Args:
        path: the folder.
        config: what the run was told when it began.
        rank: the number of the process.
        resumed: whether the run goes on.
    """

    def __init__(self, path: Path, config: RunConfig, rank: int, resumed: bool) -> None:
        self.path = path
        self.config = config
        self.notices = []
        self.resumed = resumed
        self._rank = rank

    def restore(self, restore: Callable[[State], None]) -> None:
        """Go on from where the first process has decided to.

        Raises:
            StateError: if this process has no state there.
        """
        if self.latest.exists():
            restore(load_state(self.latest, state_name(self._rank)))

    def log(self, decisions: int, metrics: dict[str, float]) -> None:
        """Nothing: the first process does."""

    def checkpoint(self, *_arguments: object) -> Path:
        """Nothing: the first process does."""
        return self.latest

    def point_to_best(self, best: Mapping[str, Best]) -> None:
        """Nothing: the first process does."""

    def close(self) -> None:
        """Nothing is open."""
