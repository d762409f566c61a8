"""From battles of agents against themselves to figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from thud_env.board import CELL_OF_SQUARE, NUM_SQUARES, SQUARE_NAMES, SQUARE_SYMMETRY
from thud_env.position import SIDES, Position
from thud_env.rules.row import DWARF, TROLL
from thud_env.rulesets import get_ruleset
from training.arena.intervals import Interval, bootstrap_mean, wilson
from training.ladder.figures import LIMITS
from training.ladder.play import Result
from training.ladder.schedule import Field

FIRST_TURN, LAST_TURN = 40, 80
"""The turns after which it is noted where the pieces stand: past the opening, before the end."""


@dataclass(frozen=True)
class Mirror:
    """An agent against itself, from the dwarfs' view."""

    agent: str
    battles: int
    won: Interval
    """The share that the dwarfs won."""
    lost: Interval
    """The share that the trolls won."""
    margin: Interval
    """The mean, with its bootstrap interval over starts."""
    limited: float
    """The share of battles that a limit ended."""
    turns: float
    """Turns a battle, of both sides."""
    dwarfs_taken: float
    """Dwarfs captured in a battle."""
    trolls_taken: float
    """Trolls captured in a battle."""


@dataclass(frozen=True)
class Balance:
    """A ruleset between equals."""

    rules: str
    limits: dict[str, Any]
    """Those of the battles that are not the ruleset's."""
    mirrors: list[Mirror]
    """One an agent, the weakest first."""
    standing: dict[str, dict[str, float]]
    """By kind of piece and square: the share of the last agent's positions in which one stands
    there, after the turns ``FIRST_TURN`` to ``LAST_TURN``; the mean over the mirror images of the
    board under which the rules are the same."""

    def as_json(self) -> dict[str, Any]:
        """The same for programs; an interval is a list of the value, its low and its high end."""
        return asdict(self)


def balance_of(field: Field, results: list[Result]) -> Balance:
    """What the battles of a field's agents against themselves show.

    Args:
        field: what was played.
        results: of each agent one battle or more.
    """
    by_agent = {
        spec: sorted((one for one in results if one.dwarfs == spec), key=lambda one: one.start)
        for spec in field.agents
    }
    found = [_mirror(spec, battles) for spec, battles in by_agent.items()]
    _, strongest = by_agent.popitem()
    return Balance(field.rules, dict(field.limits), found, _standing(field, strongest))


def _mirror(spec: str, battles: list[Result]) -> Mirror:
    margins = np.array([battle.margin for battle in battles], dtype=np.float64)
    endings = Counter(battle.ending for battle in battles)
    taken = np.array([_captures(battle) for battle in battles]).mean(axis=0)
    return Mirror(
        spec,
        len(battles),
        won=wilson(int((margins > 0).sum()), len(battles)),
        lost=wilson(int((margins < 0).sum()), len(battles)),
        margin=bootstrap_mean(margins),
        limited=sum(endings[limit] for limit in LIMITS) / len(battles),
        turns=sum(sum(battle.moves) for battle in battles) / len(battles),
        dwarfs_taken=float(taken[0]),
        trolls_taken=float(taken[1]),
    )


def _captures(battle: Result) -> tuple[int, int]:
    """Dwarfs and trolls captured: one an ``x``; a turn of the trolls begins with ``T``."""
    taken = [0, 0]
    for turn in battle.turns.split():
        taken[not turn.startswith("T")] += turn.count("x")
    return taken[0], taken[1]


def _standing(field: Field, battles: list[Result]) -> dict[str, dict[str, float]]:
    """See ``Balance.standing``."""
    boards = [
        position.row[CELL_OF_SQUARE]
        for battle in battles
        for position in _between(field.beginning(battle.game), battle.turns.split())
    ]
    symmetries = get_ruleset(field.rules).symmetries
    standing: dict[str, dict[str, float]] = {}
    for side, piece in zip(SIDES, (DWARF, TROLL), strict=True):
        shares = (np.array(boards) == piece).mean(axis=0) if boards else np.zeros(NUM_SQUARES)
        shares = np.mean([shares[SQUARE_SYMMETRY[image]] for image in symmetries], axis=0)
        standing[side] = dict(zip(SQUARE_NAMES, shares.round(4).tolist(), strict=True))
    return standing


def _between(start: Position, turns: list[str]) -> Iterator[Position]:
    """The positions of a battle after the turns ``FIRST_TURN`` to ``LAST_TURN``."""
    position = start
    for number, turn in enumerate(turns[:LAST_TURN], start=1):
        position = position.play(turn)
        if number >= FIRST_TURN:
            yield position
