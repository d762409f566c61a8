"""The agents of a field, and the games that they play: every start in both seats, for every two."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from thud_env.errors import ThudError
from thud_env.position import Position
from training.arena.openings import Openings


class FieldError(ThudError):
    """A field cannot be played, or results cannot be used."""


class Game(NamedTuple):
    """One game of the schedule, identified by these fields."""

    dwarfs: str
    """The agent with the dwarfs, as its spec."""
    trolls: str
    start: int
    """The number of the start in the book."""


@dataclass(frozen=True)
class Field:
    """Agents, and the settings of the games between them."""

    agents: dict[str, int]
    """The agents' specs, and the most games that each plays against any other."""
    rules: str
    openings: Openings
    seed: int = 1
    limits: dict[str, Any] = field(default_factory=dict)
    """What ``Position.from_text`` takes besides the rules: those of ``BATTLE_LIMITS`` in a ladder.
    What is left out or None is as the ruleset has it."""

    def __post_init__(self) -> None:
        if not self.agents:
            raise FieldError("a field needs an agent or more")
        if not 0 <= self.seed < 2**63:
            raise FieldError(f"seed {self.seed}: 0 or more would be right")
        for spec in self.agents:
            if not spec.isprintable():
                raise FieldError(
                    f"{spec!r} has unprintable characters: another path would be right"
                )
        most = 2 * len(self.openings.starts)
        for spec, games in self.agents.items():
            if games < 2 or games % 2:
                reason = "every start is played in both seats, so an even number, 2 or more,"
                raise FieldError(f"{games} games of {spec}: {reason} would be right")
            if games > most:
                reason = f"the book has {most // 2} starts, enough for {most}"
                raise FieldError(f"{games} games of {spec}: {reason}")
        if self.limits:
            self.openings.rows(max(self.agents.values()) // 2, **self.limits)  # none is over

    def games(self) -> Iterator[Game]:
        """Yield all games, start by start, so that a ladder that is stopped has played the same
        starts with all agents.

        Two agents play every start twice, with the seats swapped; an agent plays it once against
        itself. So all cells of the matrix of dwarfs against trolls have equally many games, which
        makes the ratings of the two sides comparable.
        """
        for start in range(max(self.agents.values()) // 2):
            able = [spec for spec, games in self.agents.items() if start < games // 2]
            for dwarfs in able:
                for trolls in able:
                    yield Game(dwarfs, trolls, start)

    def beginning(self, game: Game) -> Position:
        """The position in which a game begins, with the limits of the field."""
        start = self.openings.starts[game.start]
        return Position.from_text(start.text, start.rules, **self.limits) if self.limits else start

    def seeds(self, game: Game) -> tuple[int, int]:
        """The seeds of a game's dwarfs and trolls, which depend only on the game and the seed."""
        name = f"{self.seed} {game.start} {game.dwarfs} {game.trolls}"
        digest = hashlib.sha256(name.encode()).digest()
        return int.from_bytes(digest[:4]), int.from_bytes(digest[4:8])
