"""What a player finds about a position: its turn, the margin that it expects, what it considers."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.agent import Agent, Opinion, all_on, check_going_on
from agents.asking import check_seat, errors_with_traceback
from agents.opinions import checked_opinion
from agents.planning import opinion_of
from agents.registry import make
from agents.search.thought import Thought
from thud_env import Position
from thud_env.arguments import shown
from thud_env.errors import ThudError
from thud_env.rules.row import is_between_turns

ADVISER = "alphabeta:depth=2"
"""The player that gives hints: strong enough, and quick."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """What a player found about a position."""

    line: tuple[str, ...]
    """Its turn, the reply it expects, and so on."""
    probabilities: NDArray[np.float64]
    """[6470] the share of attention that each decision got; all on its own if it does not say."""
    margin: float | None = None
    """The margin it expects at the end, in Koom Valley games as a share of a win (-1 .. 1), from
    the dwarfs' view; None if it has no evaluation."""
    depth: int | None = None
    """How many turns it looked ahead; None if it does not count turns."""
    visits: int | None = None
    """How many simulations it made; None if it makes none."""


def make_judge(player: str | Agent) -> Agent:
    """A player that can say what a position is worth: of a spec, or one at hand.

    Raises:
        ThudError: as ``make`` does; or if it has no method ``judge``.
        TypeError: if it is neither text nor a player.
    """
    given, player = player, player if isinstance(player, Agent) else make(player)
    if not _can_judge(player):
        raise ThudError(
            f"agent {shown(given)} cannot say what a position is worth: a search such as "
            f"{ADVISER!r}, or a policy, would be right"
        )
    return player


def margin_expected(player: Any, position: Position) -> float:
    """What a player of ``make_judge`` expects at the end of a battle, which may be over.

    Raises:
        ThudError: if it does not play this game, or not the side that moves next.
        AnswerError: if it does not answer with an opinion.
        OwnAgentError: if a player of the user's own fails.
    """
    if position.outcome is not None:
        return float(position.outcome.margin)
    check_seat(player, position.rules, position.to_move)
    with errors_with_traceback(player):
        return _opinion(player, position).margin


def judged(player: Agent, position: Position) -> Finding:
    """What a player of ``make_judge`` finds about a position: its margin, and its turn as the line.

    Raises:
        ThudError: if the battle is over; if the player does not play this game, or not the side
            that moves next.
        AnswerError: if it does not answer with an opinion.
        OwnAgentError: if a player of the user's own fails.
    """
    check_going_on(position, "judge")
    check_seat(player, position.rules, position.to_move)
    with errors_with_traceback(player):
        return finding_of_judge(player, position)


def finding_of_thought(position: Position, thought: Thought, line: tuple[str, ...]) -> Finding:
    """What a search has found so far, with its main line."""
    opinion = opinion_of(position.row, thought)
    visits = thought.simulations or None
    return Finding(line, opinion.probabilities, opinion.margin, thought.depth, visits)


def finding_of_judge(agent: Agent, position: Position) -> Finding:
    """What a player that need not search finds: by its ``judge``, if it has one, else by its turn.
    The line is the turn that it judges likeliest, decision by decision.
    """
    if not _can_judge(agent):
        actions = decisions_of_turn(agent, position)
        return Finding((position.turn_of(actions),), all_on(actions[0]))
    opinion = _opinion(agent, position)
    actions = [int(opinion.probabilities.argmax())]
    here = position.apply(actions[0])
    while not is_between_turns(here.row):
        actions.append(int(_opinion(agent, here).probabilities.argmax()))
        here = here.apply(actions[-1])
    line = (position.turn_of(actions),)
    return Finding(line, opinion.probabilities, opinion.margin)


def _can_judge(player: Agent) -> bool:
    return callable(getattr(player, "judge", None))


def _opinion(player: Any, position: Position) -> Opinion:
    """What a player thinks of a position, checked."""
    return checked_opinion(type(player).__name__, player.judge(position), position)


def decisions_of_turn(
    agent: Agent, position: Position, planned: list[int] | None = None
) -> list[int]:
    """The decisions of a player's turn, of which the first are given."""
    actions: list[int] = []
    here = position
    while not actions or not is_between_turns(here.row):
        actions.append(planned.pop(0) if planned else agent.act(here))
        here = here.apply(actions[-1])
    return actions
