"""What a person is told of a position: in the terminal and on the page."""

from __future__ import annotations

from thud_env import Position, Termination
from thud_env.command import counted
from thud_env.outcome import SIDES
from thud_env.rules import row as fields
from thud_env.rulesets import TROLL_VALUE, TROLLS_TO_SURROUND, Ruleset

_DWARFS_CAPTURE = {
    "hurl": "Dwarfs are hurled onto trolls",
    "sandwich": "Dwarfs capture a troll between two of them",
    "nothing": "Dwarfs capture nothing",
}
_TROLLS_CAPTURE = {
    "beside": "trolls capture dwarfs beside them",
    "trample": "trolls jump over dwarfs and trample them",
    "nothing": "trolls capture nothing",
}


def aim(rules: Ruleset) -> str:
    """How the sides of a game capture and what wins it, in two or three sentences."""
    if rules.dwarfs_capture == rules.trolls_capture:
        told = ["Nothing is captured."]
    else:
        dwarfs = _DWARFS_CAPTURE[rules.dwarfs_capture]
        trolls = _TROLLS_CAPTURE[rules.trolls_capture]
        told = [f"{dwarfs}; {trolls}."]
    if rules.stone_wins:
        dwarfs = f"{rules.stone_name} on a goal square"
        trolls = f"{TROLLS_TO_SURROUND} trolls beside it"
        told.append(
            f"The dwarfs win with the {dwarfs}, the trolls with {trolls}."
            if rules.reward == "outcome"
            else f"The {dwarfs} or {trolls} end the battle."
        )
    if rules.reward == "margin":
        points = f"a dwarf counts 1, a troll {TROLL_VALUE}"
        told.append(f"Whoever has more points left at the end wins: {points}.")
    return " ".join(told)


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
