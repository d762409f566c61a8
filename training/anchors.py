"""How strong each role is against players that never change, and which checkpoint was best.

What self-play itself shows, the mean margin of its battles, says little: both sides change.
Every so often each role therefore plays some battles against fixed anchors. The best
checkpoint of a role is the one with the highest mean over the anchors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import agents
from agents.network import Network
from thud_env.position import SIDES
from training.match import play_battles
from training.opponents import SCRIPTED, decide
from training.precision import Precision
from training.state import State

ANCHORS = tuple(SCRIPTED)
"""Specs of the players that every role is measured against."""


class LivePolicy:
    """Plays by networks as they are at the moment, for ``play_battles``.

    Args:
        network: of the role that is asked.
        precision: the arithmetic of the network.
        seed: seeds the draws.
    """

    def __init__(self, network: Network, precision: Precision, seed: int) -> None:
        self._network = network
        self._precision = precision
        self._random = np.random.default_rng(seed)

    def act_rows(self, rows: NDArray[np.int16]) -> NDArray[np.int32]:
        """See ``agents.agent.BatchPolicy``."""
        return decide(self._network, self._precision, rows, self._random.random(len(rows)))


@dataclasses.dataclass(frozen=True)
class Best:
    """A role's best checkpoint so far."""

    score: float
    """Its mean margin over the anchors, from the role's view."""
    decisions: int
    """After how many decisions it was written."""


def score_of(role: str, metrics: Mapping[str, float]) -> float | None:
    """A role's mean margin over the anchors, if it was measured."""
    names = [f"{role}/margin_against_{anchor}" for anchor in ANCHORS]
    if any(name not in metrics for name in names):
        return None
    return float(np.mean([metrics[name] for name in names]))


class Anchors:
    """Measures both roles against the anchors, and remembers each role's best.

    Args:
        rules: the name of the ruleset.
        games: battles against each anchor; 0 measures nothing.
        seed: with the number of decisions, seeds all draws: nothing is carried over.
        limits: those of the battles that are learnt from.
    """

    def __init__(self, rules: str, games: int, seed: int, limits: dict[str, Any]) -> None:
        self._rules = rules
        self._games = games
        self._seed = seed
        self._limits = limits
        self.best: dict[str, Best] = {}
        """By role, once measured."""

    def measure(
        self, networks: tuple[Network, Network], precision: Precision, decisions: int
    ) -> dict[str, float]:
        """Play, and return the mean margin of each role against each anchor, from its view.

        Args:
            networks: the dwarfs' and the trolls'.
            precision: their arithmetic.
            decisions: how far the run is.
        """
        if self._games == 0:
            return {}
        seeds = np.random.SeedSequence([self._seed, decisions]).generate_state(
            2 * len(SIDES) * len(ANCHORS)
        )
        drawn = iter(seeds.tolist())
        metrics = {}
        for side, role in enumerate(SIDES):
            for anchor in ANCHORS:
                policy = LivePolicy(networks[side], precision, next(drawn))
                other = agents.make(anchor, seed=next(drawn))
                dwarfs, trolls = (policy, other) if side == 0 else (other, policy)
                battles = play_battles(dwarfs, trolls, self._games, self._rules, **self._limits)
                margin = float(battles.margins.mean()) * (1 if side == 0 else -1)
                metrics[f"{role}/margin_against_{anchor}"] = margin
            score = score_of(role, metrics)
            assert score is not None
            if role not in self.best or score > self.best[role].score:
                self.best[role] = Best(score, decisions)
        return metrics

    def state(self) -> State:
        """What is carried over: the best so far."""
        return State(values={role: dataclasses.asdict(best) for role, best in self.best.items()})

    def restore(self, state: State) -> None:
        """Go on from a state."""
        self.best = {role: Best(**best) for role, best in state.values.items()}
