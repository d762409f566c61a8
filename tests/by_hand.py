"""Positions set up by hand, and helpers for tests on them."""

from __future__ import annotations

from typing import Any

from positions import text_of
from reference import State, named, squares

from thud_env import Position, Termination
from thud_env.actions import describe_action


def place(
    rules: str,
    dwarfs: str = "",
    trolls: str = "",
    side: str = "d",
    *,
    rock: str = "H8",
    quiet: int = 0,
    played: int = 0,
    **limits: Any,
) -> Position:
    """Build a position: ``place("classic", "F1 G1", "H3", side="t")``."""
    state = State(rules, squares(dwarfs), squares(trolls), named(rock), side, quiet, played)
    return Position.from_text(text_of(state), rules, **limits)


def turns_of(position: Position, prefix: str) -> list[str]:
    """The turns of one piece to one square, say: those that begin with ``prefix``."""
    return [turn for turn in position.turns() if turn.startswith(prefix)]


def decisions(position: Position) -> list[str]:
    return [describe_action(action) for action in position.legal_actions().tolist()]


def decide(position: Position, word: str) -> Position:
    """Play the decision that ``word`` describes."""
    return position.apply(position.legal_actions()[decisions(position).index(word)])


def ended(position: Position) -> tuple[Termination, int] | None:
    outcome = position.outcome
    return None if outcome is None else (outcome.termination, outcome.margin)
