"""Analyses a position with a player: its main line, its score, and which decisions it considers.

Alpha-beta tells what it has found each time it has searched a turn deeper, a tree search each time
it has made twice as many simulations. So there are results while it goes on, and any search can be
watched from outside.

``best_turns`` ranks the turns of a position by what a player expects after each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from agents.agent import Agent, check_going_on
from agents.asking import check_seat, errors_with_traceback
from agents.findings import (
    ADVISER,
    Finding,
    decisions_of_turn,
    finding_of_judge,
    finding_of_thought,
    judged,
    make_judge,
    margin_expected,
)
from agents.mcts import MOST_IN_TIME
from agents.planning import PlanningAgent
from agents.registry import make
from agents.search.thought import Thought
from agents.specs import Spec
from thud_env import Position
from thud_env.actions import OFFER
from thud_env.arguments import as_count, shown
from thud_env.notation.turns import AGREEMENT_WORDS
from thud_env.outcome import SIDES
from thud_env.rules import row as fields
from thud_env.rules.row import is_between_turns

DEEPEST = 12
_NO_END = 10**15
"""Nodes that no search reaches: without ``nodes``, it would end at fifty million."""
_LIMITS = {
    "alphabeta": ("depth", "time", "nodes"),
    "mcts": ("sims", "time"),
    "policy+mcts": ("sims", "time"),
}
"""The options that limit a search; 0 sets no limit."""
_WITHOUT_LIMITS = {"champion": "alphabeta"}
"""What a player is without the limits that it always has."""
_LINE = 4
"""The most turns of a main line."""
_FINISHER = "alphabeta:depth=1"
"""Ends a turn that a tree search has not looked to the end of."""


class Analysis:
    """A player analysing a position: ``run()``, then read ``finding``.

    Args:
        spec: the player. A search runs once if its spec names a limit, as ``depth=3``, ``sims=100``
            or ``time=2.5``, or ``root=gumbel``. Without one it goes on, ever deeper, until
            ``stop()``.
        position: not over.
        endless: go on past the limits of the spec, as the page does; not with ``root=gumbel``.
        own_limits: end where the player ends its turns, though the spec may name no limit.

    Raises:
        ThudError: as ``make`` does, if the battle is over, or the player does not play this game.
        TypeError: if ``position`` is not a ``Position``, or ``spec`` no text.
    """

    def __init__(
        self, spec: str, position: Position, *, endless: bool = False, own_limits: bool = False
    ) -> None:
        check_going_on(position, "analyse")
        if not isinstance(spec, str):
            raise TypeError(
                f"spec {shown(spec)}: text such as 'alphabeta:depth=2', or 'python:MODULE:CLASS' "
                "for a player of your own, would be right"
            )
        self._spec, self._position = spec, position
        self._is_offer = position.row[fields.PENDING] == fields.ANSWER_OFFER
        """Whether an offer is open: a player answers it by what it finds within its own limits."""
        once = self._is_offer or own_limits or (_ends(spec) and not endless)
        self._thinking = make(spec if once else endless_spec(spec))
        """The player that is to be stopped."""
        check_seat(self._thinking, position.rules, position.to_move)
        self._stopped = False
        self.finding: Finding | None = None
        """The newest result."""

    def stop(self) -> None:
        """Make ``run`` end soon. Another thread may call this."""
        self._stopped = True
        self._thinking.stop()

    def run(self) -> None:
        """Analyse until the limits of the spec; or, if it names none, until there is nothing deeper
        to search or another thread calls ``stop``. The main line is what a tree has tried most
        often; alpha-beta searches its later turns anew, a turn less deep each time.

        Raises:
            OwnAgentError: if a player of the user's own fails.
        """
        if self._stopped:
            return
        with errors_with_traceback(self._thinking):
            for found in self._findings():
                # Half a search is worth less than the last finished one, but a tree is never half.
                if self.finding is None or not self._stopped or found.visits:
                    self.finding = found
                if self._stopped:
                    return

    def _findings(self) -> Iterator[Finding]:
        position, agent = self._position, self._thinking
        if not isinstance(agent, PlanningAgent) or self._is_offer:
            yield finding_of_judge(agent, position)
            return
        for thought in agent.deepen(position.row):
            yield finding_of_thought(position, thought, tuple(self._line(thought)))

    def _line(self, thought: Thought) -> Iterator[str]:
        """Yield the turn that a thought begins, and the turns that the player expects after it."""
        if thought.simulations:
            yield from self._line_of_tree(thought)
            return
        here, planned = self._position, list(thought.decisions)
        unlimited = _unlimited(self._spec)
        depth = thought.depth if unlimited.name == "alphabeta" else None
        player = self._thinking
        for ahead in range(_LINE if depth is None else min(_LINE, max(1, depth))):
            if here.outcome is not None or self._stopped:
                break
            if depth is not None and ahead > 0:
                planned = self._expected(str(unlimited.given("depth", depth - ahead)), here)
            turn = here.turn_of(decisions_of_turn(self._thinking, here, planned))
            yield turn
            here, planned = here.play(turn), []
        self._thinking = player

    def _line_of_tree(self, thought: Thought) -> Iterator[str]:
        here, decisions = self._position, list(thought.decisions)
        after = here
        for decision in decisions:
            after = after.apply(decision)
        if not is_between_turns(after.row):
            decisions += decisions_of_turn(make(_FINISHER), after)
        turn = here.turn_of(decisions)
        yield turn
        # What is expected follows the tree's turn, which is whole then.
        for decisions in thought.expected[: _LINE - 1]:
            here = here.play(turn)
            turn = here.turn_of(decisions)
            yield turn

    def _expected(self, spec: str, here: Position) -> list[int]:
        """The turn that a search finds, or begins with if it is stopped."""
        search = self._thinking = make(spec)
        assert isinstance(search, PlanningAgent)
        found: list[int] = []
        for thought in search.deepen(here.row):
            found = list(thought.decisions)
            if self._stopped:
                break
        return found


@dataclasses.dataclass(frozen=True)
class RankedTurn:
    """A turn, and what a player expects after it."""

    turn: str
    """The turn, in notation; in the middle of one, the rest of it."""
    margin: float
    """The margin at the end, from the dwarfs' view, as that of a ``Finding``; if the turn ends the
    battle, the margin of its outcome."""
    line: tuple[str, ...]
    """The turns that follow; empty if the turn ends the battle."""


def best_turns(position: Position, spec: str | Agent = ADVISER, count: int = 5) -> list[RankedTurn]:
    """The best turns of a position. A player judges the position after every turn, within the
    limits that it has in play; so ``alphabeta:depth=2`` looks three turns ahead.

    Args:
        position: not over; it may be in the middle of a turn. An offer to end the battle is left
            out; where one is open, ``accept`` and ``decline`` are ranked.
        spec: a player with a method ``judge``, a search or a policy; or one at hand, whose lines
            are its turn alone.
        count: the most turns to return, 1 or more.

    Returns:
        The turns, best first for the side to move; equal ones in the order of ``Position.turns``.

    Raises:
        ThudError: as ``make`` does; if the battle is over; if the player cannot say what a position
            is worth, or does not play this game, or not the side that moves next; or if ``count``
            is out of range.
        TypeError: if ``position`` is not a ``Position``, or ``spec`` neither text nor a
            player.
        AnswerError: if a player of the user's own does not answer with an opinion.
        OwnAgentError: if a player of the user's own fails.
    """
    check_going_on(position, "analyse")
    count = as_count("count", count)
    player = make_judge(spec)
    after = {turn: position.play(turn) for turn in position.turns()}
    after.pop(AGREEMENT_WORDS[OFFER], None)
    margins = {turn: margin_expected(player, following) for turn, following in after.items()}
    sign = 1 if position.to_move == SIDES[0] else -1
    best = sorted(after, key=lambda turn: -sign * margins[turn])[:count]
    return [RankedTurn(turn, margins[turn], _line_from(spec, after[turn])) for turn in best]


def _line_from(spec: str | Agent, position: Position) -> tuple[str, ...]:
    """The turns that a player expects from a position on; none if the battle is over."""
    if position.outcome is not None:
        return ()
    if not isinstance(spec, str):
        return judged(spec, position).line
    analysis = Analysis(spec, position, own_limits=True)
    analysis.run()
    assert analysis.finding is not None
    return analysis.finding.line


def glimpse(agent: Agent, position: Position) -> Finding | None:
    """What a player has found so far in another thread that waits for its turn.

    Returns:
        None if it does not search, has found nothing yet, or searches a later part of its turn.
    """
    look = getattr(agent, "glimpse", None)
    thought = look(position.row) if look is not None else None
    if thought is None:
        return None
    return finding_of_thought(position, thought, (position.turn_of(thought.decisions),))


def endless_spec(spec: str) -> str:
    """What goes on past the limits of a spec; the same if it is no search, or if it halves its
    candidates, which is planned for a number of simulations and shows nothing before its end.
    """
    if Spec.of(spec).value("root") == "gumbel":
        return spec
    unlimited = _unlimited(spec)
    if unlimited.name == "alphabeta":
        return str(unlimited.given("nodes", _NO_END).given("depth", DEEPEST))
    return str(unlimited.given("sims", MOST_IN_TIME)) if unlimited.name in _LIMITS else spec


def _ends(spec: str) -> bool:
    """Whether a search of this spec ends of itself, or it is no search."""
    told = Spec.of(spec)
    limits = _LIMITS.get(told.name)
    return limits is None or any(_sets(told.value(key)) for key in limits)


def _sets(limit: str | None) -> bool:
    """Whether the value of an option sets a limit; ``make`` refuses what is no number."""
    try:
        return limit is not None and float(limit) != 0
    except ValueError:
        return True


def _unlimited(spec: str) -> Spec:
    """What a player is without its limits."""
    told = Spec.of(spec)
    name = _WITHOUT_LIMITS.get(told.name, told.name)
    return told._replace(name=name).without(*_LIMITS.get(name, ()))
