"""Frozen snapshots of one role on disk, drawn so that matches are even.

A snapshot is drawn with the weight x (1 - x), where x is what the learner has scored against it
of late: prioritised fictitious self-play with the variance as its weight (Vinyals et al.,
"Grandmaster level in StarCraft II", 2019). Snapshots that are beaten every time, or never, teach
little and are met seldom.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from agents.checkpoint import load_policy, save_policy
from agents.network import Network

RECENT = 0.05
"""How much a battle counts in the running mean of the score."""
LEAST_WEIGHT = 1e-3
"""So that no snapshot is given up for ever."""


class Pool:
    """The snapshots of one role.

    Args:
        folder: where they are, ``DECISIONS/``. Those that lie there already are not drawn until
            they are added again: a run that goes on adds them in its own time.
        role: ``"dwarfs"`` or ``"trolls"``.
        rules: the ruleset they play.
        device: where they run.
    """

    def __init__(self, folder: Path, role: str, rules: str, device: str = "cpu") -> None:
        self._device = device
        self._folder = folder
        self._role = role
        self._rules = rules
        self._loaded: dict[str, Network] = {}
        self.scores: dict[str, float] = {}
        """By snapshot, what the other role's learner scores against it, 0 .. 1."""

    def add(self, network: Network, decisions: int, *, write: bool = True) -> None:
        """Freeze a network as it is; of several processes, one writes."""
        name = f"{decisions:012d}"
        if write and not (self._folder / name).exists():
            save_policy(
                self._folder / name,
                network,
                role=self._role,
                rules=self._rules,
                decisions=decisions,
            )
        self.scores[name] = 0.5

    def weights(self) -> dict[str, float]:
        """How likely each snapshot is to be drawn."""
        weights = {name: x * (1 - x) + LEAST_WEIGHT for name, x in self.scores.items()}
        total = sum(weights.values())
        return {name: weight / total for name, weight in weights.items()}

    def draw(self, random: np.random.Generator) -> str:
        """The name of a snapshot.

        Raises:
            ValueError: if there is none yet.
        """
        weights = self.weights()
        return str(random.choice(list(weights), p=list(weights.values())))

    def record(self, name: str, score: float) -> None:
        """Count a battle that a learner played against a snapshot, ``score`` in 0 .. 1."""
        self.scores[name] += RECENT * (score - self.scores[name])

    def network(self, name: str) -> Network:
        """A snapshot's network, read from disk once."""
        if name not in self._loaded:
            network = load_policy(self._folder / name).network.to(self._device)
            network.requires_grad_(False)
            self._loaded[name] = network
        return self._loaded[name]

    def forget_all_but(self, names: set[str]) -> None:
        """Let go of the networks that nobody plays at the moment; they stay on disk."""
        self._loaded = {name: one for name, one in self._loaded.items() if name in names}

    def state(self) -> dict[str, Any]:
        """What ``restore`` takes."""
        return {"scores": dict(self.scores)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.scores = dict(state["scores"])
