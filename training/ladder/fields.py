"""Fields of agents: named on the command line, or read from a YAML file.

::

    rules: classic
    games: 400            games of every two agents, unless an agent plays fewer
    seed: 1
    max_quiet_turns: 60   limits of a battle: if left out, those of the rules
    max_turns: 400
    agents:
      - random
      - mcts:sims=200
      - spec: mcts:sims=5000
        games: 40         slow: no more than this against any other
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import agents
from agents.registry import is_own
from agents.strict_yaml import YamlError, read_yaml
from thud_env.command import BATTLE_LIMITS
from thud_env.rulesets import get_ruleset
from training.arena.field import Field, FieldError
from training.arena.openings import read_openings

GAMES = 400
RULES = "classic"
_NUMBERS = ("games", "seed", *BATTLE_LIMITS)
_KEYS = {"rules": str, **dict.fromkeys(_NUMBERS, int), "agents": list}
_EVEN = "an even number, 2 or more, would be right"


def make_field(
    specs: list[str],
    *,
    games: int = GAMES,
    rules: str = RULES,
    seed: int = 1,
    most: dict[str, int] | None = None,
    **limits: int,
) -> Field:
    """A field, once all its agents have been made.

    Args:
        specs: the agents.
        games: the games of every two agents.
        rules: the name of a ruleset, or its spec.
        seed: seeds all agents in all games.
        most: by agent, the most games that it plays against any other.
        **limits: some of ``BATTLE_LIMITS``.

    Raises:
        ThudError: if it cannot be played, for example because an agent is unknown.
    """
    if games < 2:
        raise FieldError(f"--games {games}: {_EVEN}")
    rules = get_ruleset(rules).spec
    book = read_openings(rules)
    for number, spec in enumerate(specs):
        if spec in specs[:number]:
            raise FieldError(f"{spec} is named twice")
        agents.make(spec)
    caps = most or {}
    games_of = {spec: min(games, caps.get(spec, games)) for spec in specs}
    return Field(games_of, rules, book, seed, limits)


def read_field(path: Path, *, allow_python: bool = False, **overrides: Any) -> Field:
    """The field of a YAML file.

    Args:
        path: the file, which may come from a stranger.
        allow_python: whether it may name agents ``python:MODULE:CLASS``, whose code will run.
        **overrides: ``games``, ``rules``, ``seed`` and limits to use instead of the file's, if not
            None.

    Raises:
        ThudError: if the file does not describe a field, or the field cannot be played.
    """
    try:
        tree = read_yaml(path)
    except YamlError as error:
        raise FieldError(str(error)) from None
    if not isinstance(tree, dict) or "agents" not in tree:
        raise FieldError(f"{path} names no agents: a list called agents would be right")
    for key, value in tree.items():
        if key not in _KEYS:
            raise FieldError(f"{path}: unknown key {key!r}: there are {', '.join(_KEYS)}")
        if type(value) is not _KEYS[key]:
            raise FieldError(f"{path}: {key}: {value!r} must be of type {_KEYS[key].__name__}")
    if tree.get("games", GAMES) < 2:
        raise FieldError(f"{path}: games: {tree['games']}: {_EVEN}")
    entries = [_entry(path, entry) for entry in tree.pop("agents")]
    settings = {**tree, **{key: value for key, value in overrides.items() if value is not None}}
    for spec, _ in entries:
        if is_own(spec) and not allow_python:
            raise FieldError(
                f"{path} names {spec}, whose code would run: give --allow-python if you trust it"
            )
    most = {spec: games for spec, games in entries if games is not None}
    return make_field([spec for spec, _ in entries], most=most, **settings)


def _entry(path: Path, entry: Any) -> tuple[str, int | None]:
    if isinstance(entry, str):
        return entry, None
    if isinstance(entry, dict) and set(entry) == {"spec", "games"}:
        spec, games = entry["spec"], entry["games"]
        if isinstance(spec, str) and type(games) is int:
            return spec, games
    reason = "a spec, or a mapping of spec and games, would be right"
    raise FieldError(f"{path}: agents: {entry!r}: {reason}")
