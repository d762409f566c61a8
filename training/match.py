"""Playing two agents against each other, many battles at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.agent import BatchPolicy
from thud_env import BatchedGame
from thud_env.actions import MOVE_DISTANCE, MOVE_FROM, MOVE_TO, NUM_MOVES
from thud_env.rules.row import DWARF, NUM_DWARFS, NUM_TROLLS, ONGOING, TERMINATION, TROLL, TURNS


@dataclasses.dataclass(frozen=True)
class Battles:
    """How N battles between two agents went, one entry a battle in every array."""

    margins: NDArray[np.int64]
    """Final margins, from the dwarfs' view."""
    turns: NDArray[np.int64]
    """Turns played."""
    terminations: NDArray[np.int64]
    """How they ended: values of ``Termination``."""
    hurls: NDArray[np.int64]
    """Dwarf moves that landed on a troll."""
    shoves: NDArray[np.int64]
    """Troll moves of two squares or more over empty squares (Classic: those are shoves)."""
    trolls_lost: NDArray[np.int64]
    """Trolls captured."""
    dwarfs_lost: NDArray[np.int64]
    """Dwarfs captured."""


def play_battles(
    dwarfs: BatchPolicy,
    trolls: BatchPolicy,
    games: int,
    rules: str = "classic",
    *,
    on_progress: Callable[[int], None] | None = None,
    **limits: Any,
) -> Battles:
    """Play whole battles from the start.

    Args:
        dwarfs, trolls: the players. Each is asked only about battles where it decides.
        games: how many battles.
        rules: the name of a ruleset.
        on_progress: called now and then with the number of battles that are over.
        **limits: ``max_quiet_turns``, ``max_turns``, ``offer_after``, ``agreement``.
    """
    batch = BatchedGame(
        games, rules, observations=False, masks=None, autoreset_mode="Disabled", **limits
    )
    started_with = batch.rows[0].copy()
    hurls, shoves = np.zeros(games, dtype=np.int64), np.zeros(games, dtype=np.int64)
    actions = np.zeros(games, dtype=np.int32)
    while True:
        alive = batch.rows[:, TERMINATION] == ONGOING
        if on_progress is not None:
            on_progress(games - int(alive.sum()))
        if not alive.any():
            break
        for side, player in enumerate((dwarfs, trolls)):
            asked = np.flatnonzero(alive & (batch.to_move == side))
            if len(asked):
                actions[asked] = player.act_rows(batch.rows[asked])
        _count_strikes(batch.rows, actions, alive, hurls, shoves)
        batch.step(actions)
    return Battles(
        margins=np.array([batch.position(game).margin for game in range(games)]),
        turns=batch.rows[:, TURNS].astype(np.int64),
        terminations=batch.rows[:, TERMINATION].astype(np.int64),
        hurls=hurls,
        shoves=shoves,
        trolls_lost=(started_with[NUM_TROLLS] - batch.rows[:, NUM_TROLLS]).astype(np.int64),
        dwarfs_lost=(started_with[NUM_DWARFS] - batch.rows[:, NUM_DWARFS]).astype(np.int64),
    )


def _count_strikes(
    rows: NDArray[np.int16],
    actions: NDArray[np.int32],
    alive: NDArray[np.bool_],
    hurls: NDArray[np.int64],
    shoves: NDArray[np.int64],
) -> None:
    moving = np.flatnonzero(alive & (actions < NUM_MOVES))
    chosen = actions[moving]
    start = MOVE_FROM[chosen]
    distance = MOVE_DISTANCE[chosen]
    step = (MOVE_TO[chosen] - start) // distance
    piece = rows[moving, start]
    hurls[moving] += (piece == DWARF) & (rows[moving, MOVE_TO[chosen]] == TROLL)
    tramples = rows[moving, start + step] == DWARF
    shoves[moving] += (piece == TROLL) & (distance > 1) & ~tramples
