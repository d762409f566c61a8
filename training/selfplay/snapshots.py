"""Frozen snapshots of one role on disk, drawn so that matches are even.

A snapshot is drawn with the weight x (1 - x), where x is what the learner has scored against it
of late: prioritised fictitious self-play with the variance as its weight (Vinyals et al.,
"Grandmaster level in StarCraft II", 2019). There x is a share of wins; here it is the margin, 0
for the worst and 1 for the best, as sides that are not equally strong may win, or lose, every
battle and yet do better against one snapshot than another. Snapshots that always lose, or
always win, are seldom drawn.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from agents.durable import remove
from agents.networks.checkpoint import load_policy
from agents.networks.network import PolicyNetwork
from thud_env.outcome import SIDES
from training.config import RunConfig
from training.process.roles import save_role
from training.process.state import StateError, name_after

RECENT = 0.05
"""How much a battle counts in the running mean of the score."""
LEAST_WEIGHT = 1e-3
"""The least weight of a snapshot, so that each may be drawn again."""


def write_snapshot(
    folder: Path, networks: tuple[PolicyNetwork, PolicyNetwork], config: RunConfig, decisions: int
) -> None:
    """Freeze both roles as they are, in ``dwarfs/NAME`` and ``trolls/NAME``. One that is there is
    of a run that was killed before its next checkpoint, and may have gone on by another length: no
    checkpoint names it, and it is replaced.
    """
    for role, network in zip(SIDES, networks, strict=True):
        path = folder / role / name_after(decisions)
        if path.exists() or path.is_symlink():
            remove(path)
        save_role(path, role, network, config, decisions)


class Pool:
    """The snapshots of one role.

    Args:
        folder: where they are, ``DECISIONS/``. Those that lie there already are not drawn until
            they are added again: a run that goes on adds them in its own time.
        device: where they run.
    """

    def __init__(self, folder: Path, device: str = "cpu") -> None:
        self._device = device
        self._folder = folder
        self._loaded: dict[str, PolicyNetwork] = {}
        self._whole: set[str] = set()
        """The snapshots that have been read whole, or written by this run since it began."""
        self.scores: dict[str, float] = {}
        """By snapshot, what the other role's learner scores against it, 0 .. 1."""

    def add(self, decisions: int) -> None:
        """Add a snapshot that ``write_snapshot`` has written."""
        self.scores[name_after(decisions)] = 0.5
        self._whole.add(name_after(decisions))

    def draw(self, random: np.random.Generator) -> str:
        """The name of a snapshot, of which there must be one."""
        weights = np.array([x * (1 - x) + LEAST_WEIGHT for x in self.scores.values()])
        return str(random.choice(list(self.scores), p=weights / weights.sum()))

    def record(self, name: str, score: float) -> None:
        """Count a battle that a learner played against a snapshot, ``score`` in 0 .. 1."""
        self.scores[name] += RECENT * (score - self.scores[name])

    def network(self, name: str) -> PolicyNetwork:
        """A snapshot's network, read from disk once."""
        if name not in self._loaded:
            network = load_policy(self._folder / name).network.to(self._device)
            network.requires_grad_(False)
            self._loaded[name] = network
        return self._loaded[name]

    def forget_all_but(self, names: set[str]) -> None:
        """Drop the networks that are not in play from memory; they stay on disk."""
        self._loaded = {name: one for name, one in self._loaded.items() if name in names}

    def state(self) -> dict[str, Any]:
        """What ``restore`` takes."""
        return {"scores": dict(self.scores)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state.

        Raises:
            StateError: if its scores cannot be those of snapshots.
            CheckpointError: if one of these is missing or damaged.
        """
        scores = dict(state["scores"])
        if not all(type(score) is float and 0 <= score <= 1 for score in scores.values()):
            raise StateError(f"the scores of snapshots cannot be {scores}")
        for name in scores.keys() - self._whole:  # now, rather than when it is drawn
            load_policy(self._folder / name)
            self._whole.add(name)
        self.scores = scores
