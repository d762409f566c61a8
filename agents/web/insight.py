"""What a player thinks of a position, as the page shows it."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from agents.agent import Opinion
from agents.findings import Finding
from thud_env import Position
from thud_env.render import heat
from thud_env.rules.row import is_between_turns

if TYPE_CHECKING:  # imports torch
    from agents.policy import PolicyAgent

_TURNS = 6
_LOOKS = 40
"""The most positions in the middle of a turn to evaluate, to find a policy's best turns."""
_PICTURE = 360


def opinion_view(policy: PolicyAgent, position: Position) -> dict[str, Any]:
    """A policy's probabilities, best turns and value of a position."""
    opinion = policy.judge(position)
    return {
        "margin": opinion.margin,
        "turns": likeliest_turns(policy.judge, position),
        "heat": heat(position, opinion.probabilities, size=_PICTURE),
    }


def likeliest_turns(
    judge: Callable[[Position], Opinion], position: Position
) -> list[tuple[str, float]]:
    """A policy's most likely turns and their probabilities, most likely first.

    A turn's probability is the product of those of its decisions; for a turn that can be decided in
    several orders, the sum over the orders that were evaluated.
    """
    found: dict[str, float] = {}
    waiting: list[tuple[float, int, list[int], Position]] = [(-1.0, 0, [], position)]
    looks = 0
    while waiting and looks < _LOOKS:
        negative, _, actions, here = heapq.heappop(waiting)
        if actions and is_between_turns(here.row):
            turn = position.turn_of(actions)
            found[turn] = found.get(turn, 0.0) - negative
            if len(found) >= _TURNS:
                break
            continue
        looks += 1
        chances = judge(here).probabilities
        for action in np.argsort(-chances, kind="stable")[: 2 * _TURNS].tolist():
            if chances[action] > 0:
                order = (negative * float(chances[action]), len(waiting) + 1000 * looks)
                heapq.heappush(waiting, (*order, [*actions, action], here.apply(action)))
    return sorted(found.items(), key=lambda item: -item[1])


def finding_view(finding: Finding, position: Position) -> dict[str, Any]:
    """A search's finding about a position, in words and numbers."""
    chances = finding.probabilities
    shown = np.argsort(-chances, kind="stable")[:_TURNS]
    return {
        "line": list(finding.line),
        "margin": finding.margin,
        "depth": finding.depth,
        "visits": finding.visits,
        "turns": [
            (position.turn_of([action]), float(chances[action]))
            for action in shown.tolist()
            if chances[action] > 0
        ],
    }


def finding_with_heat(finding: Finding, position: Position) -> dict[str, Any]:
    """A search's finding, with a heat map of the decisions that it considers."""
    picture = heat(position, finding.probabilities, size=_PICTURE)
    return {**finding_view(finding, position), "heat": picture}


def curve_view(policy: PolicyAgent, positions: list[Position]) -> dict[str, Any]:
    """The margins of a battle, and the final margins that a policy expected."""
    rows: NDArray[np.int16] = np.array([position.row for position in positions])
    return {
        "margins": [position.margin for position in positions],
        "expected": [round(value, 2) for value in policy.expected_margins(rows).tolist()],
    }
