"""Loads, saves and scores battles."""

from __future__ import annotations

from typing import Any

from agents.web.protocol import MOST_TURNS, BadRequest, NamedRulesets
from thud_env import Position
from thud_env.record.files import Record
from thud_env.record.text import RecordText
from thud_env.rulesets import MOST_POINTS


def load(text: str, named: NamedRulesets) -> dict[str, Any]:
    """The battle in a record, with all its positions.

    Raises:
        BadRequest: if it has too many turns; naming the line, if its ruleset is none, or one too
            many.
        RecordError: for anything else, naming the line and the reason.
    """
    too_long = BadRequest(f"a record has {MOST_TURNS} turns at most")
    if text.count("\n") > 2 * MOST_TURNS:  # before it costs the time to read it
        raise too_long
    source = RecordText(text)
    try:
        named.admit(source.tags.get("Rules", "classic"))
    except BadRequest as error:
        raise BadRequest(f"line {source.tag_lines['Rules']}: {error}", error.status) from None
    record = Record.from_text(text)
    if len(record.turns) > MOST_TURNS:
        raise too_long
    return {
        "rules": record.rules.spec,
        **record.start.limits,
        "turns": list(record.turns),
        "positions": [position.text for position in record.positions()],
        "tags": record.tags,
    }


def save(start: Position, turns: list[str], names: dict[str, str]) -> str:
    """The text of a record.

    Raises:
        RecordError: if a turn is not legal.
    """
    tags = {side.title(): name for side, name in names.items() if name}
    return Record(start, tuple(turns), tags).text


def points(margins: list[Any]) -> list[int]:
    """The points of the two players, first of the one who had the dwarfs in the first battle
    (docs/rules.md, section 6).

    Args:
        margins: those of the battles so far, one or two, from the dwarfs' view.

    Raises:
        BadRequest: if these are not margins.
    """
    for margin in margins:
        if not isinstance(margin, int) or isinstance(margin, bool) or abs(margin) > MOST_POINTS:
            raise BadRequest(
                f"'margins' must hold whole numbers in -{MOST_POINTS} .. {MOST_POINTS}"
            )
    if not 1 <= len(margins) <= 2:
        raise BadRequest("a game has two battles")
    first = sum(margin if number == 0 else -margin for number, margin in enumerate(margins))
    return [first, -first]
