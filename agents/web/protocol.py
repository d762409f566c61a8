"""Reads and checks every message of the page.

A message is a JSON object. ``BadRequest`` refuses anything else, in one line for a person to read.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

from agents.strict_json import parse_json
from thud_env import Position
from thud_env.errors import ThudError
from thud_env.notation.turns import normalise_turn
from thud_env.rules.row import LIMITS
from thud_env.rulesets import RULESETS, Ruleset, get_ruleset

MOST_BYTES = 256 * 1024
"""The longest body: a record of the longest battle has some 30,000."""
MOST_TURNS = 4000
"""The most turns in a record."""
MOST_DECISIONS = 40
"""The most decisions in a turn: a move, one for each dwarf, and one to stop."""
MOST_SECONDS = 30.0
"""The most seconds for an agent to think."""
MOST_RULESETS = 1000
"""The most rulesets of their own that clients may name."""
_LONGEST_RULESET = 600
_LONGEST_POSITION = 400
_LONGEST_TURN = 400
_THOUGHT = re.compile(r"[A-Za-z0-9-]{8,40}")

Kind = TypeVar("Kind", str, list[Any])


class BadRequest(ThudError):  # noqa: N818 - HTTP's own name for it
    """A message cannot be answered: the status gives the kind of reason, the text the reason."""

    def __init__(self, reason: str, status: int = 400) -> None:
        super().__init__(reason[:500])
        self.status = status


def read_message(body: bytes) -> dict[str, Any]:
    """The JSON object in a body.

    Raises:
        BadRequest: if it is not a JSON object, or nested too deeply.
    """
    try:
        message = parse_json(body)
    except ValueError:
        raise BadRequest("the body is not JSON") from None
    if not isinstance(message, dict):
        raise BadRequest("the body is not a JSON object")
    return message


def field(
    message: dict[str, Any], name: str, kind: type[Kind], default: Kind | None = None
) -> Kind:
    """A field of a message.

    Raises:
        BadRequest: if it is missing and has no default, or is of another kind.
    """
    value = message.get(name, default)
    if not isinstance(value, kind):
        raise BadRequest(f"{name!r} must be {'text' if kind is str else 'a list'}")
    return value


class NamedRulesets:
    """The rulesets that clients have named: their number is limited, because ``thud_env`` keeps
    every ruleset as long as the process runs.
    """

    def __init__(self) -> None:
        self._specs = set(RULESETS)

    def admit(self, spec: str) -> Ruleset:
        """The ruleset of that name or spec, which counts from now on. A misspelt one does not.

        Raises:
            BadRequest: if there is none, or it is a new one, and too long or too many.
        """
        if spec not in self._specs:
            self._check_new(spec)
        try:
            ruleset = get_ruleset(spec)
        except ThudError as error:
            raise BadRequest(str(error)) from None
        self._specs.add(spec)
        return ruleset

    def _check_new(self, spec: str) -> None:
        if len(spec) > _LONGEST_RULESET:
            raise BadRequest("that is not a ruleset: it is too long")
        if len(self._specs) >= len(RULESETS) + MOST_RULESETS:
            raise BadRequest(
                f"{MOST_RULESETS:,} rulesets of your own have been named, the most that a server "
                "keeps: start it again to name others",
                429,
            )


def read_rules(message: dict[str, Any], named: NamedRulesets) -> Ruleset:
    """The ruleset whose name or spec a message gives as ``rules``."""
    return named.admit(field(message, "rules", str))


def read_position(message: dict[str, Any], named: NamedRulesets) -> Position:
    """The position in a message: its ``rules``, its limits and its text, ``position``; without a
    text, the start.
    """
    rules = read_rules(message, named)
    limits = {name: message[name] for name in LIMITS if message.get(name) is not None}
    text = field(message, "position", str, "")
    if len(text) > _LONGEST_POSITION:
        raise BadRequest("that is not a position: it is too long")
    try:
        if not text:
            return Position.start(rules, **limits)
        return Position.from_text(" ".join(text.split()), rules, **limits)
    except ThudError as error:
        raise BadRequest(str(error)) from None


def read_decisions(message: dict[str, Any]) -> list[int]:
    """The decisions of a turn, or of the beginning of one."""
    actions = field(message, "actions", list)
    if not 1 <= len(actions) <= MOST_DECISIONS:
        raise BadRequest(f"'actions' must hold 1 to {MOST_DECISIONS} decisions")
    if not all(isinstance(action, int) and not isinstance(action, bool) for action in actions):
        raise BadRequest("'actions' must hold whole numbers")
    return actions


def read_last_turn(message: dict[str, Any]) -> str | None:
    """The turn that led to a position, in notation, or None if a message has none."""
    return None if message.get("last") is None else _turn(field(message, "last", str))


def read_turns(message: dict[str, Any]) -> list[str]:
    """The turns of a battle, in notation."""
    turns = field(message, "turns", list)
    if len(turns) > MOST_TURNS:
        raise BadRequest(f"'turns' must hold {MOST_TURNS} at most")
    return [_turn(turn) for turn in turns]


def _turn(turn: Any) -> str:
    if not isinstance(turn, str) or len(turn) > _LONGEST_TURN:
        raise BadRequest("that is not a turn")
    try:
        return normalise_turn(turn)
    except ThudError as error:
        raise BadRequest(str(error)) from None


def read_seconds(message: dict[str, Any]) -> float:
    """The seconds that an agent may think."""
    seconds = message.get("seconds", 10.0)
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not 0.1 <= seconds <= MOST_SECONDS:
        raise BadRequest(f"'seconds' must be a number in 0.1 .. {MOST_SECONDS:g}")
    return float(seconds)


def read_name(message: dict[str, Any]) -> str:
    """The name that the page gives to a search, to stop it by."""
    name = field(message, "id", str)
    if not _THOUGHT.fullmatch(name):
        raise BadRequest("'id' must be 8 to 40 letters, digits and hyphens")
    return name
