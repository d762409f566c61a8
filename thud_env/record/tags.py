"""What the tags and the setup line of a record say of its battle."""

from __future__ import annotations

import re
from typing import Any

from thud_env.board import CELL_OF_SQUARE, SQUARE_NAMES
from thud_env.notation.turns import PIECES
from thud_env.outcome import Termination
from thud_env.position import Position
from thud_env.record.text import RecordError, RecordText, check_tag
from thud_env.rules.row import AGREEMENT, LIMITS
from thud_env.rulesets import LARGEST_LIMIT, Ruleset, get_ruleset

PLAIN_START = " d - 0 0"
"""The end of a start's position text where the setup line alone describes it."""
_LIMIT_OF_TAG = {
    "MaxQuietTurns": "max_quiet_turns",
    "MaxTurns": "max_turns",
    "OfferAfter": "offer_after",
}
_YES_NO = {"yes": True, "no": False}
_NUMBER = re.compile(r"[1-9][0-9]{0,4}")


def read_limits(source: RecordText) -> dict[str, Any]:
    """The limits that the tags of a file state, as keyword arguments.

    Raises:
        RecordError: naming the tag that states none.
    """
    limits: dict[str, Any] = {}
    for tag, name in _LIMIT_OF_TAG.items():
        if tag not in source.tags:
            continue
        value = source.tags[tag]
        if not _NUMBER.fullmatch(value) or int(value) > LARGEST_LIMIT:
            reason = f"{tag} {value!r}: a number in 1 .. {LARGEST_LIMIT} would be right"
            raise RecordError(reason, tag=tag)
        limits[name] = int(value)
    agreement = source.tags.get("Agreement", "no")
    if agreement not in _YES_NO:
        raise RecordError(f"Agreement {agreement!r}: yes or no would be right", tag="Agreement")
    return {**limits, "agreement": _YES_NO[agreement]}


def _facts(start: Position, final: Position) -> dict[str, str]:
    """The value of every tag that states a fact, in the order in which they are written."""
    limits = {tag: str(start.row[LIMITS[name]]) for tag, name in _LIMIT_OF_TAG.items()}
    outcome = final.outcome
    return {
        "Rules": start.rules.spec,
        **limits,
        "Agreement": "yes" if start.row[AGREEMENT] else "no",
        "Position": start.text,
        "Result": str(outcome.margin) if outcome else "*",
        "Termination": _words_for(outcome.termination) if outcome else "unfinished",
    }


def _words_for(termination: Termination) -> str:
    return termination.name.lower().replace("_", "-")


def completed(given: dict[str, str], start: Position, final: Position) -> dict[str, str]:
    """The tags of a record: the facts it states or has to state, then all others.

    Raises:
        RecordError: naming a tag that is malformed or contradicts the battle.
    """
    facts = _facts(start, final)
    if "Rules" in given and _is_spelt(given["Rules"], start.rules):
        given = {**given, "Rules": start.rules.spec}
    for name, value in given.items():
        check_tag(name, value)
        if value != facts.get(name, value):
            reason = f"tag {name} says {value!r}, but the battle {facts[name]!r}"
            raise RecordError(reason, tag=name)
    plain = Position.start(start.rules)
    usual = _facts(plain, plain)
    needed = {
        "Rules",
        *(name for name in (*_LIMIT_OF_TAG, "Agreement") if facts[name] != usual[name]),
    }
    if not start.text.endswith(PLAIN_START):
        needed.add("Position")
    if final.outcome is not None:
        needed |= {"Result", "Termination"}
    stated = {name: fact for name, fact in facts.items() if name in needed or name in given}
    return {**stated, **{name: value for name, value in given.items() if name not in stated}}


def _is_spelt(spec: object, rules: Ruleset) -> bool:
    """Whether a spec, in any spelling, is that of a ruleset."""
    try:
        return isinstance(spec, str) and get_ruleset(spec) == rules
    except ValueError:
        return False


def setup_of(position: Position) -> dict[str, str]:
    """What stands on which square: the dwarfs first, then the trolls, then the stone."""
    on_squares = position.row[CELL_OF_SQUARE].tolist()
    return {
        SQUARE_NAMES[square]: letter
        for piece, letter in PIECES.items()
        for square, found in enumerate(on_squares)
        if found == piece
    }
