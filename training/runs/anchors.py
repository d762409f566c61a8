"""How strong each role is against players that never change, and which checkpoint was best.

The mean margin of self-play shows little, since both sides change. So each role regularly plays
some battles against fixed anchors. The best checkpoint of a role is the one with the highest mean
over the anchors; of equals, the newest with which it is known to have gone on exploring.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

import agents
from agents.networks.network import PolicyNetwork
from agents.registry import is_own
from thud_env.outcome import SIDES
from thud_env.rules.row import DWARFS
from training.arena.battles import play_battles
from training.config import RunConfig
from training.process.precision import Precision
from training.process.roles import Roles
from training.process.state import State, StateError
from training.selfplay.battle_metrics import AGAINST

SCORE = "mean_anchor_margin"
"""The metric of a role that is its mean margin over the anchors."""


class LivePolicy:
    """Plays by a network as it is at the moment, for ``play_battles``.

    Args:
        network: of the role that plays.
        precision: the arithmetic of the network.
        seed: seeds the draws.
    """

    def __init__(self, network: PolicyNetwork, precision: Precision, seed: int) -> None:
        self._network = network
        self._precision = precision
        self._random = np.random.default_rng(seed)

    def act_rows(self, rows: NDArray[np.int16]) -> NDArray[np.int32]:
        """See ``agents.agent.BatchPolicy``."""
        return self._precision.draw(self._network, rows, self._random.random(len(rows)))


@dataclasses.dataclass(frozen=True)
class Best:
    """A role's best checkpoint so far."""

    score: float
    """Its mean margin over the anchors, from the role's view."""
    decisions: int
    """After how many decisions it was written."""
    equal: int = 0
    """After how many one was written that is as good, and may be the best once an update has shown
    that the role went on exploring; 0: none."""


def _better(best: Best | None, score: float, decisions: int, explores: bool) -> Best:
    """The best now that another checkpoint has a score, and the role is known to explore or not."""
    if best is None or score > best.score:
        return Best(score, decisions)
    if best.equal and explores:
        best = Best(best.score, best.equal)
    return dataclasses.replace(best, equal=decisions if score == best.score else 0)


class Anchors:
    """Measures both roles against the anchors, and remembers each role's best.

    Args:
        config: who the anchors are and how many battles each plays; its seed, with the number of
            decisions, seeds all draws: nothing is carried over.
        measures: whether this process is the one of the run that measures.
    """

    def __init__(self, config: RunConfig, measures: bool = True) -> None:
        self._config = config
        self.best: dict[str, Best] = {}
        """By role, once measured."""
        kept = [spec for spec in config.anchors if not is_own(spec)]
        made = SIDES if measures and config.anchor_games else ()
        self._players = [{spec: agents.make(spec) for spec in kept} for _ in made]
        """By side, as both are measured at once, and by spec: those of the checkout. Made once, as
        a policy of a run that goes on would be another later.
        """

    def measure(self, roles: Roles, decisions: int, certain: Collection[str]) -> dict[str, float]:
        """Play, and return the mean margin of each role against each anchor, and over them all,
        from its view.

        Args:
            roles: their networks.
            decisions: how far the run is.
            certain: the roles that explore no more.
        """
        config = self._config
        if config.anchor_games == 0:
            return {}
        seeds = np.random.SeedSequence([config.seed, decisions]).generate_state(
            2 * len(SIDES) * len(config.anchors)
        )
        shares = np.split(seeds, len(SIDES))

        def play(side: int) -> list[float]:
            drawn = iter(shares[side].tolist())
            return [
                self._margin(roles, side, anchor, next(drawn), next(drawn))
                for anchor in config.anchors
            ]

        metrics = {}
        for role, margins in zip(SIDES, roles.at_once(play), strict=True):
            for anchor, margin in zip(config.anchors, margins, strict=True):
                metrics[f"{role}/{AGAINST}{anchor}"] = margin
            score = float(np.mean(margins))
            metrics[f"{role}/{SCORE}"] = score
            explores = role not in certain
            self.best[role] = _better(self.best.get(role), score, decisions, explores)
        return metrics

    def _margin(self, roles: Roles, side: int, anchor: str, *seeds: int) -> float:
        """The mean margin of one role against one anchor, from the role's view.

        Args:
            roles: their networks.
            side: the role: 0 dwarfs, 1 trolls.
            anchor: the spec of whom it meets.
            seeds: of the role and of the anchor.
        """
        config = self._config
        policy = LivePolicy(roles.networks[side], roles.precision, seeds[0])
        other = self._player(side, anchor, seeds[1])
        dwarfs, trolls = (policy, other) if side == DWARFS else (other, policy)
        battles = play_battles(dwarfs, trolls, config.anchor_games, config.rules, **config.limits)
        return float(battles.margins.mean()) * (1 if side == DWARFS else -1)

    def _player(self, side: int, anchor: str, seed: int) -> agents.Agent:
        """An anchor whose decisions depend on a seed alone. One of the user's own may draw by the
        seed that it was made with.
        """
        player = self._players[side].get(anchor)
        if player is None:
            return agents.make(anchor, seed=seed)
        player.seed(seed)
        return player

    def state(self) -> State:
        """The best so far."""
        return State(values={role: dataclasses.asdict(best) for role, best in self.best.items()})

    def restore(self, state: State) -> None:
        """Go on from a state.

        Raises:
            StateError: if it is of no roles, or has no numbers.
        """
        best = {role: Best(**one) for role, one in state.values.items()}
        for role, one in best.items():
            kinds = type(one.score), type(one.decisions), type(one.equal)
            if role not in SIDES or kinds != (float, int, int):
                raise StateError(f"the best checkpoints cannot be {state.values}")
        self.best = best
