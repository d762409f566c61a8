"""Finds wins by the stone without playing a turn, in the Koom Valley games.

``rules/play.py`` defines when the stone ends a battle; this module only looks where a turn may get
it there. Tests compare it with the rules.
"""

from __future__ import annotations

from agents.search.bitboards import steps_between
from agents.search.strikes import put, trample_on
from thud_env.actions import MOVE_BASE, MOVE_TO
from thud_env.board import IS_GOAL_CELL, NUM_DIRECTIONS
from thud_env.jit.bits import trailing_zeros
from thud_env.jit.compile import compiled
from thud_env.rules.moves import count_adjacent, piece_moves
from thud_env.rules.row import (
    DWARFS,
    EMPTY,
    NUM_TROLLS,
    STONE_CELL,
    TROLL,
    TROLL_CELLS,
    stone_moves,
)
from thud_env.rules.traits import stone_wins, trolls_trample
from thud_env.rulesets import TROLLS_TO_SURROUND


@compiled
def wins_by_stone(row, side):
    """Whether a side could win by the stone if it were its turn.

    Args:
        row: [432] a state row at the start of a turn, its battle not over; changed and restored. Of
            a stone on a goal square, which ends every battle that gets there, nothing is known.
        side: 0 dwarfs, 1 trolls.
    """
    if not stone_wins(row):
        return False
    stone = int(row[STONE_CELL])
    if side == DWARFS:
        return stone_moves(row) and _reaches_goal(row, stone)
    return _may_be_surrounded(row, stone)


@compiled
def _reaches_goal(row, stone):
    moves = piece_moves(row, stone)
    while moves != 0:
        if IS_GOAL_CELL[MOVE_TO[MOVE_BASE[stone, 0] + trailing_zeros(moves)]]:
            return True
        moves &= moves - 1
    return False


@compiled
def _may_be_surrounded(row, stone):
    """Whether a turn of one troll leaves enough of them beside the stone. Of a trample
    ``MOST_JUMPS`` are looked at.
    """
    beside = count_adjacent(row, stone, TROLL)
    if beside < TROLLS_TO_SURROUND - 1:
        return False
    for i in range(TROLL_CELLS, TROLL_CELLS + int(row[NUM_TROLLS])):
        cell = int(row[i])
        missing = TROLLS_TO_SURROUND - beside + (steps_between(cell, stone) == 1)
        moves = piece_moves(row, cell) if missing <= 1 else 0
        while moves != 0:
            to = int(MOVE_TO[MOVE_BASE[cell, 0] + trailing_zeros(moves)])
            if missing <= (steps_between(to, stone) == 1):
                return True
            moves &= moves - 1
        if missing <= 1 and trolls_trample(row) and _tramples_to(row, cell, stone):
            return True
    return False


@compiled
def _tramples_to(row, troll, stone):
    """Whether a troll can trample its way to a square beside the stone. Restores the row."""
    here, jumps, way, direction = troll, 0, 0, 0
    reaches = False
    put(row, troll, EMPTY)
    while jumps > 0 or direction < NUM_DIRECTIONS:
        here, jumps, way, direction, jumped = trample_on(row, here, jumps, way, direction)
        reaches |= jumped and steps_between(here, stone) == 1
    put(row, troll, TROLL)
    return reaches
