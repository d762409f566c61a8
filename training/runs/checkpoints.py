"""The checkpoints of a run: each written whole, and the newest that is whole gone on from."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from agents.durable import (
    free_name,
    link_flushed,
    make_folder,
    new_folder,
    remove,
    rename_flushed,
)
from agents.networks.checkpoint import CheckpointError, load_policy
from agents.networks.network import PolicyNetwork
from thud_env.outcome import SIDES
from training.config import RunConfig
from training.errors import RunError
from training.process.roles import save_role
from training.process.state import (
    NUMBERED,
    State,
    StateError,
    load_state,
    name_after,
    save_state,
)
from training.runs.anchors import Best


class Checkpoints:
    """A folder of checkpoints, each named by the number of decisions after which it was written.

    Args:
        path: the folder, ``checkpoints`` in that of the run; the first checkpoint makes it.
        config: of the run.
    """

    def __init__(self, path: Path, config: RunConfig) -> None:
        self.path = path
        self._config = config

    @property
    def latest(self) -> Path:
        """The newest checkpoint of both roles."""
        return self.path / "latest"

    @property
    def best(self) -> Path:
        """Each role's best checkpoint."""
        return self.path / "best"

    @property
    def good(self) -> str:
        """The last good checkpoint, in words."""
        if self.latest.exists():
            return f"the last good checkpoint is {self.latest}"
        return "no checkpoint has been written"

    def numbered(self) -> list[Path]:
        """The checkpoints, oldest first."""
        if not self.path.exists():
            return []
        return sorted(path for path in self.path.iterdir() if re.fullmatch(NUMBERED, path.name))

    def restore(self, restore: Callable[[State], None]) -> tuple[int, list[str]]:
        """Go on from the newest checkpoint that is whole, or from the start if there is none.
        Damaged ones are set aside.

        Args:
            restore: takes the state of the first process over.

        Returns:
            the decisions it was written after, and notices for the user, a line each.

        Raises:
            RunError: if there are checkpoints and none will do, or from ``restore``.
        """
        damaged: list[tuple[Path, Exception]] = []
        checkpoints = self.numbered()
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
            run, (_, reason) = self.path.parent, damaged[0]
            raise RunError(f"{run} can go on from none of its checkpoints: {reason}")
        notices = []
        for checkpoint, reason in damaged:
            aside = free_name(checkpoint, ".damaged")
            rename_flushed(checkpoint, aside)
            notices.append(f"{reason}; the checkpoint is now {aside}")
        if found is None:
            return 0, notices
        self._point("latest", Path(found.name))
        return int(found.name), notices

    def state_of(self, rank: int) -> State | None:
        """The state of another process than the first in the newest checkpoint; None if there is
        no checkpoint yet.

        Raises:
            StateError: if this process has none there, or it is damaged.
        """
        return load_state(self.latest, _state_name(rank)) if self.latest.exists() else None

    def write(
        self,
        decisions: int,
        networks: tuple[PolicyNetwork, PolicyNetwork],
        states: Sequence[State],
        best: Mapping[str, Best],
    ) -> None:
        """Write both roles' policies and the states of the run's processes, to a temporary name and
        renamed; point ``latest`` and ``best`` at them; remove the oldest but for the best.

        Raises:
            NotFiniteError: if a number of the networks or of a state is infinite or NaN.
        """
        folder = self.path / name_after(decisions)
        if not folder.exists():
            with new_folder(folder) as temporary:
                for role, network in zip(SIDES, networks, strict=True):
                    save_role(temporary / role, role, network, self._config, decisions)
                for rank, state in enumerate(states):
                    save_state(temporary, state, _state_name(rank))
        self._point("latest", Path(folder.name))
        self.point_to_best(best)
        kept = {name_after(one.decisions) for one in best.values()}
        kept |= {name_after(one.equal) for one in best.values() if one.equal}
        for old in self.numbered()[: -self._config.keep_checkpoints]:
            if old.name not in kept:
                remove(old)

    def still_there(self, best: Mapping[str, Best]) -> dict[str, Best]:
        """Those of the best checkpoints that have not been removed since."""

        def exists(decisions: int) -> bool:
            return (self.path / name_after(decisions)).exists()

        return {
            role: dataclasses.replace(one, equal=one.equal if exists(one.equal) else 0)
            for role, one in best.items()
            if exists(one.decisions)
        }

    def point_to_best(self, best: Mapping[str, Best]) -> None:
        """Point ``best/dwarfs`` and ``best/trolls`` at each role's best checkpoint, if any is."""
        for role in SIDES:
            if role in best:
                self._point(f"best/{role}", Path("..", name_after(best[role].decisions), role))
            elif os.path.lexists(self.best / role):
                remove(self.best / role)

    def _point(self, name: str, target: Path) -> None:
        link = self.path / name
        make_folder(link.parent)
        link_flushed(link, target)


def _state_name(rank: int) -> str:
    """The name of the state of a process."""
    return f"state-{rank}" if rank else "state"


def _restore_from(checkpoint: Path, restore: Callable[[State], None]) -> None:
    """Take over the first process's state of a checkpoint of which every file is whole.

    Raises:
        StateError, CheckpointError: naming the file and what is wrong with it.
    """
    for role in SIDES:
        load_policy(checkpoint / role)
    state = load_state(checkpoint)
    try:
        for rank in range(1, state.part("ranks").values["size"]):
            load_state(checkpoint, _state_name(rank))
        restore(state)
    except (RunError, StateError, CheckpointError):
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise StateError(f"{checkpoint / 'state.json'} does not fit the run: {error!r}") from None
    except RuntimeError as error:  # torch's, of tensors of other shapes
        reason = str(error).splitlines()[0]
        raise StateError(f"{checkpoint / 'state.json'} does not fit the run: {reason}") from None
