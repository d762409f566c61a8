"""The base of players that search once a turn, and then play the turn decision by decision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.agent import DrawingAgent, Opinion, all_on, check_going_on, read_rows
from agents.search.evaluation import POINT, final_value
from agents.search.scale import as_share
from agents.search.thought import Thought
from thud_env import Position
from thud_env.actions import ACCEPT, DECLINE, NUM_ACTIONS, OFFER
from thud_env.rules.legal import may_offer
from thud_env.rules.play import apply, margin
from thud_env.rules.row import (
    ANSWER_OFFER,
    DWARFS,
    NO_QUESTION,
    ONGOING,
    PENDING,
    TERMINATION,
    TO_MOVE,
    Row,
    ruleset_of,
)
from thud_env.rules.traits import scored_by_points

_MOST_PLANS = 10_000


def opinion_of(row: Row, thought: Thought) -> Opinion:
    """What a search's thought says of the row that it searched.

    A tree search's probabilities are its visits, as shares. Any other search has them all on its
    first decision.

    Args:
        row: [432] a state row, its battle not over and no offer open.
        thought: what the search found.
    """
    if thought.simulations > 0:
        probabilities = np.zeros(NUM_ACTIONS)
        probabilities[list(thought.visits)] = list(thought.visits.values())
        probabilities /= probabilities.sum()
    else:
        probabilities = all_on(thought.decisions[0])
    by_points = scored_by_points(row)
    expected = thought.value / POINT if by_points else as_share(float(thought.value), False)
    most = float(ruleset_of(row).largest_margin)
    sign = 1 if row[TO_MOVE] == DWARFS else -1
    return Opinion(probabilities, max(-most, min(most, sign * expected)))


def _without_offer(row: Row) -> Row:
    """The position after an open offer is declined; the same if none is open."""
    if row[PENDING] == ANSWER_OFFER:
        row = row.copy()
        apply(row, DECLINE)
    return row


class PlanningAgent(DrawingAgent):
    """A player that searches once a turn. Subclasses implement ``think``, or ``think_rows``.

    It offers to end the battle if the search finds nothing better than the current score, and
    accepts if the current score is worth at least as much as playing on.

    Args:
        seed: seeds its random choices.
    """

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self._plans: dict[bytes, list[int]] = {}

    def seed(self, seed: int) -> None:
        """See ``Agent``."""
        super().seed(seed)
        self._plans.clear()

    def get_state(self) -> dict[str, Any]:
        """See ``Agent``."""
        plans = {row.hex(): list(plan) for row, plan in self._plans.items()}
        return {**super().get_state(), "plans": plans}

    def set_state(self, state: dict[str, Any]) -> None:
        """See ``Agent``."""
        super().set_state(state)
        self._plans = {bytes.fromhex(row): list(plan) for row, plan in state["plans"].items()}

    def think(self, row: Row) -> Thought:
        """Find the best turn, or the best way to finish the one that is pending.

        Args:
            row: [432] a state row, its battle not over and no offer open.
        """
        raise NotImplementedError

    def deepen(self, row: Row) -> Iterator[Thought]:
        """Yield what ``think`` would find, first at a glance and then better and better. Override
        it where a search may take long.
        """
        yield self.think(row)

    def glimpse(self, row: Row) -> Thought | None:
        """What the search of this row in another thread has found so far; None if there is no such
        search, or it has found nothing yet.
        """
        return None

    def think_rows(self, rows: Sequence[Row]) -> Sequence[Thought]:
        """``think`` about several positions. Override it if a batch is faster."""
        return [self.think(row) for row in rows]

    def judge(self, position: Position) -> Opinion:
        """Search a position, and say what it is worth and how much each decision was looked at.

        With ``visits``, as tree searches have, each decision's probability is the share of its
        simulations; else all is on the decision found best. An offer is never searched, so ``act``
        may offer where this says nothing of it; where an offer is open, all is on the answer. It
        changes nothing that the player decides later.

        Args:
            position: not over; it may be in the middle of a turn.

        Returns:
            The opinion, its margin from the dwarfs' view, as a policy's is.

        Raises:
            ThudError: if the battle is over.
            TypeError: if it is not a ``Position``.
        """
        check_going_on(position, "judge")
        row, rng, counted = position.row.copy(), self._rng.copy(), self.searched
        searched = _without_offer(row)
        try:
            [thought] = self.think_rows([searched])
        finally:
            self._rng[:] = rng
            self.searched = counted  # which is of its turns alone
        found = opinion_of(searched, thought)
        if row[PENDING] != ANSWER_OFFER:
            return found
        answer = self._decide(row, thought)
        expected = float(margin(row)) if answer == ACCEPT else found.margin
        return Opinion(all_on(answer), expected)

    def act_rows(self, rows: NDArray[np.int16]) -> NDArray[np.int32]:
        """See ``BatchPolicy``."""
        rows = read_rows(rows)
        actions = np.empty(len(rows), dtype=np.int32)
        unplanned = []
        for i, row in enumerate(rows):
            plan = self._plans.pop(row.tobytes(), None)
            if plan is None:
                unplanned.append(i)
            else:
                actions[i] = self._follow(row, plan)
        thoughts = self.think_rows([_without_offer(rows[i]) for i in unplanned])
        for i, thought in zip(unplanned, thoughts, strict=True):
            actions[i] = self._decide(rows[i], thought)
        return actions

    def _decide(self, row: Row, thought: Thought) -> int:
        if row[PENDING] == ANSWER_OFFER:  # the search was of the offerer's turn
            return ACCEPT if int(final_value(row)) >= -thought.value else DECLINE
        at_start = row[PENDING] == NO_QUESTION
        if at_start and may_offer(row) and int(final_value(row)) >= thought.value:
            declined = row.copy()
            apply(declined, OFFER)
            self._remember(_without_offer(declined), thought.decisions)
            return OFFER
        return self._follow(row, thought.decisions)

    def _follow(self, row: Row, plan: list[int]) -> int:
        """Return the first decision of a plan, and keep the rest for the next calls."""
        if len(plan) > 1:
            after = row.copy()
            apply(after, plan[0])
            if after[TERMINATION] == ONGOING:
                self._remember(after, plan[1:])
        return plan[0]

    def _remember(self, row: Row, plan: list[int]) -> None:
        if len(self._plans) >= _MOST_PLANS:  # abandoned battles leave plans behind
            self._plans.clear()
        self._plans[row.tobytes()] = plan
