"""Plays the seats of a rollout that the learners do not have.

Most battles are mirror play: both seats are the learners', and both learn from them. In the others
one role meets an opponent that does not learn. A seat's opponent changes only when a battle ends,
so that no decision is ever paid for what another opponent did.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import agents
from agents.agent import answer_of
from thud_env.position import SIDES
from training.arena.players import as_resumed
from training.selfplay.rollout import MIRROR


class Opponents:
    """The seats of B battles that the learners do not have: none, unless a subclass fills some.

    Args:
        sides: [B] the side that an opponent plays, ``MIRROR`` in mirror play.
    """

    def __init__(self, sides: NDArray[np.int8]) -> None:
        self.sides = sides

    @classmethod
    def none(cls, games: int) -> Opponents:
        """Mirror play in all battles."""
        return cls(np.full(games, MIRROR, dtype=np.int8))

    def begin(self) -> None:
        """Prepare for a rollout."""

    def act(
        self,
        side: int,
        games: NDArray[np.int64],
        rows: NDArray[np.int16],
        uniforms: NDArray[np.float64],
    ) -> NDArray[np.int32]:
        """Decide for an opponent's side.

        Args:
            side: 0 dwarfs, 1 trolls; two threads call for the two at once.
            games: [N] which of the battles.
            rows: [N, 432] their states.
            uniforms: [N] numbers in [0, 1) for what is drawn.

        Raises:
            AnswerError: if a player does not answer with a legal action for each.
        """
        raise NotImplementedError

    def finished(self, game: int, margin: int) -> None:
        """Note that a battle has ended with a margin; the next one begins."""

    def add_snapshots(self, decisions: int) -> None:
        """Add snapshots of both roles that have been written."""

    def redraw(self) -> None:
        """Draw other snapshots."""

    def state(self) -> dict[str, Any]:
        """What ``restore`` takes: values that JSON can hold."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""


class OneOpponent(Opponents):
    """The same agent in both seats of every battle: half of them with the dwarfs, half with the
    trolls.

    Args:
        spec: the agent.
        games: battles in each seat.
        seed: seeds the agent.
    """

    def __init__(self, spec: str, games: int, seed: int) -> None:
        super().__init__(np.repeat(np.array([1, 0], dtype=np.int8), games))
        self._spec = spec
        self._agents = [agents.make(spec, seed=seed + side) for side in range(len(SIDES))]

    def begin(self) -> None:
        """See ``Opponents``."""
        as_resumed(self._agents)

    def act(
        self,
        side: int,
        games: NDArray[np.int64],
        rows: NDArray[np.int16],
        uniforms: NDArray[np.float64],
    ) -> NDArray[np.int32]:
        """See ``Opponents``."""
        return answer_of(self._agents[side], self._spec, rows)

    def state(self) -> dict[str, Any]:
        """See ``Opponents``."""
        return {"agents": [agent.get_state() for agent in self._agents]}

    def restore(self, state: dict[str, Any]) -> None:
        """See ``Opponents``."""
        for agent, one in zip(self._agents, state["agents"], strict=True):
            agent.set_state(one)
