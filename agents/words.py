"""What a person is told of a position: in the terminal and on the page."""

from __future__ import annotations

from thud_env import Position, Termination
from thud_env.outcome import SIDES
from thud_env.rules import row as fields


def standing(position: Position) -> str:
    """The side to move and the score, in a line."""
    turn = f"Turn {position.turn_number + 1}, the {position.to_move} to move"
    if position.row[fields.PENDING] == fields.ANSWER_OFFER:
        turn = f"An offer to end the battle: the {position.to_move} accept or decline"
    if position.outcome is not None:
        turn = f"After {position.turn_number} turns"
    pieces = f"{counted(position.num_dwarfs, 'dwarf')}, {counted(position.num_trolls, 'troll')}"
    if position.rules.reward != "margin":  # pieces do not count, so neither side leads
        return f"{turn}: {pieces}."
    leader = SIDES[position.margin < 0]
    lead = f"the {leader} lead by {abs(position.margin)}" if position.margin else "level"
    return f"{turn}: {pieces}, {lead}."


def counted(count: int, what: str) -> str:
    """A number of things: ``1 game pair``, ``2,000 game pairs``."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def verdict(position: Position) -> str:
    """A sentence on how the battle ended, or that it was left."""
    outcome = position.outcome
    if outcome is None:
        return f"The battle was left in turn {position.turn_number + 1}."
    stone = position.rules.stone_name
    how = {
        Termination.NO_LEGAL_TURN: f"The {position.to_move} have no legal turn",
        Termination.AGREEMENT: "The sides agreed to end it",
        Termination.QUIET_LIMIT: f"Nothing happened for {position.quiet_turns} turns",
        Termination.TURN_LIMIT: f"{position.turn_number} turns have been played",
        Termination.GOAL: f"The {stone} has reached its goal",
        Termination.SURROUNDED: f"Three trolls stand beside the {stone}",
    }[outcome.termination]
    if outcome.winner is None:
        return f"{how}: a draw."
    by = f" by {abs(outcome.margin)}" if position.rules.reward == "margin" else ""
    return f"{how}: the {outcome.winner} win{by}."
