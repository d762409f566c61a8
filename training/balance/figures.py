"""From battles of agents against themselves to figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thud_env.board import CELL_OF_SQUARE, NUM_SQUARES, SQUARE_NAMES, SQUARE_SYMMETRY
from thud_env.outcome import SIDES
from thud_env.position import Position
from thud_env.rules.row import DWARF, TROLL
from thud_env.rulesets import get_ruleset
from training.arena.field import Field
from training.arena.games import Result
from training.arena.intervals import Bounds, Interval
from training.ladder.figures import cell_of, cells_by_place

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
    cells, weights = cells_by_place(results)
    bounds = get_ruleset(field.rules).margins
    found = [_mirror(spec, cells[spec, spec], weights, bounds) for spec in field.agents]
    strongest = found[-1].agent
    standing = _standing(field, list(cells[strongest, strongest].values()))
    return Balance(field.rules, dict(field.limits), found, standing)


def _mirror(
    spec: str, games: dict[int, Result], weights: NDArray[np.int64], bounds: Bounds
) -> Mirror:
    cell = cell_of(spec, spec, games, weights, bounds)
    taken = np.array([_captures(game) for game in games.values()]).mean(axis=0)
    return Mirror(
        spec,
        cell.games,
        won=cell.won,
        lost=cell.lost,
        margin=cell.margin,
        limited=cell.limited,
        turns=cell.moves,
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
