"""Players that think once a turn, and play the turn decision by decision."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from agents.agent import Agent
from agents.search.evaluation import final_value
from thud_env.actions import ACCEPT, DECLINE, OFFER
from thud_env.rules.legal import may_offer
from thud_env.rules.play import apply
from thud_env.rules.row import ANSWER_OFFER, NO_QUESTION, ONGOING, PENDING, TERMINATION, Row

_MOST_PLANS = 10_000


@dataclasses.dataclass(frozen=True)
class Thought:
    """What came of thinking about a position."""

    decisions: list[int]
    """From here to the end of the turn, one at least. Fewer than that are thought on later."""
    value: int
    """For the side to move, in hundredths of a point."""


class PlanningAgent(Agent):
    """A player that thinks once a turn. Subclasses write ``think``.

    It offers to end the battle if it sees nothing better than the score as it stands, and
    accepts if that is worth at least what it sees in playing on.
    """

    def __init__(self) -> None:
        self._plans: dict[bytes, list[int]] = {}

    def think(self, row: Row) -> Thought:
        """Find the best turn, or the best end of the one that is pending.

        Args:
            row: [432] a state row whose battle is not over and no offer is open.
        """
        raise NotImplementedError

    def act_rows(self, rows: NDArray[np.int16]) -> NDArray[np.int32]:
        """See ``BatchPolicy``."""
        return np.array([self._decide(row) for row in rows], dtype=np.int32)

    def _decide(self, row: Row) -> int:
        plan = self._plans.pop(row.tobytes(), None)
        if plan is not None:
            return self._follow(row, plan)
        if row[PENDING] == ANSWER_OFFER:
            declined = row.copy()
            apply(declined, DECLINE)
            worth = -self.think(declined).value
            return ACCEPT if int(final_value(row)) >= worth else DECLINE
        thought = self.think(row)
        at_start = row[PENDING] == NO_QUESTION
        if at_start and may_offer(row) and int(final_value(row)) >= thought.value:
            declined = row.copy()
            apply(declined, OFFER)
            apply(declined, DECLINE)
            self._remember(declined, thought.decisions)
            return OFFER
        return self._follow(row, thought.decisions)

    def _follow(self, row: Row, plan: list[int]) -> int:
        """The first decision of a plan; the rest is kept for when it is asked for."""
        if len(plan) > 1:
            after = row.copy()
            apply(after, plan[0])
            if after[TERMINATION] == ONGOING:
                self._remember(after, plan[1:])
        return plan[0]

    def _remember(self, row: Row, plan: list[int]) -> None:
        if len(self._plans) >= _MOST_PLANS:  # battles that were given up leave plans behind
            self._plans.clear()
        self._plans[row.tobytes()] = plan
