"""Reads and checks the lines of ``games.jsonl``, which may come from a stranger."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from thud_env.command import BATTLE_LIMITS
from thud_env.errors import ThudError
from thud_env.outcome import Termination
from thud_env.rulesets import get_ruleset
from training.arena.games import Result
from training.arena.openings import MOST_STARTS


@dataclasses.dataclass(frozen=True)
class Header:
    """A header of a ladder: what the games below it have in common."""

    rules: str
    seed: int
    book: str
    """The digest of the opening book."""
    agents: dict[str, int]
    """As in ``Field``."""
    code: str
    """A hash of the code and the published tables that the games were played with."""
    limits: dict[str, int] = dataclasses.field(default_factory=dict)
    """As in ``Field``."""
    own_code: dict[str, str] = dataclasses.field(default_factory=dict)
    """By spec, a hash of the files that the spec names, as ``own_files`` has it."""
    ladder: int = 1
    """The version of this format."""


_MOST_GAMES = 2 * MOST_STARTS
"""The most games of two agents: each start once in either seat."""
_ENDINGS = {one.name.lower() for one in Termination}


def read_header(entry: dict[str, Any]) -> Header:
    """The header in a line.

    Raises:
        ValueError, TypeError, KeyError: if the line is invalid.
    """
    if type(entry["ladder"]) is not int or entry["ladder"] != Header.ladder:
        raise ThudError(f"version {entry['ladder']} of the format is unknown")
    header = Header(**entry)
    get_ruleset(_checked("rules", header.rules, _is_text))
    _checked("seed", header.seed, _is_count)
    for name in ("book", "code"):
        _checked(name, getattr(header, name), _is_text)
    for name, is_key, kind in (
        ("agents", _is_text, _is_number_of_games),
        ("limits", BATTLE_LIMITS.__contains__, _is_count),
        ("own_code", _is_text, _is_text),
    ):
        for spec, value in _checked(name, getattr(header, name), _is_mapping).items():
            _checked(name, spec, is_key)
            _checked(f"{name}: {spec}", value, kind)
    return header


def read_result(entry: dict[str, Any], headers: list[Header]) -> Result:
    """The game in a line.

    Args:
        entry: the line's JSON object.
        headers: the headers above it.

    Raises:
        ValueError, TypeError, KeyError: if the line is invalid.
    """
    pairs = {name: tuple(entry[name]) for name in ("moves", "seconds", "nodes")}
    result = Result(**{**entry, **pairs})
    if not headers:
        raise ThudError("it is a game, and there is no header above it")
    games: dict[str, int] = {}
    for header in headers:
        games |= header.agents
    for name in ("dwarfs", "trolls"):
        _checked(name, getattr(result, name), lambda spec: _is_text(spec) and spec in games)
    _checked("start", result.start, lambda start: _is_count(start) and start < MOST_STARTS)
    largest = get_ruleset(headers[0].rules).largest_margin
    _checked("margin", result.margin, lambda value: type(value) is int and abs(value) <= largest)
    _checked("ending", result.ending, lambda value: value in _ENDINGS)
    _checked("moves", result.moves, _pair_of(_is_count))
    _checked("seconds", result.seconds, _pair_of(_is_time))
    _checked("nodes", result.nodes, _pair_of(lambda value: value is None or _is_count(value)))
    _checked("turns", result.turns, _is_text)
    return result


def _checked(name: str, value: Any, is_right: Callable[[Any], bool]) -> Any:
    if not is_right(value):
        raise ThudError(f"{name} cannot be {repr(value)[:100]}")
    return value


def _is_text(value: object) -> bool:
    """Whether it is printable text, safe for a terminal or a picture."""
    return isinstance(value, str) and value.isprintable()


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _is_number_of_games(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MOST_GAMES


def _is_time(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value < math.inf  # type: ignore[operator]


def _is_mapping(value: object) -> bool:
    return isinstance(value, dict)


def _pair_of(is_right: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda values: len(values) == 2 and all(map(is_right, values))
