"""Threat planes: what could be captured once the side to move has moved, as input of a network.

The attack planes show what each side could take now. What a move of a dwarf costs is decided a
turn or two later: whether trolls can then capture, and whether a dwarf could be hurled at the troll
that did. Here each piece of the side to move is lifted from the board in turn, and put on each
square that some piece of its could move to, and the captures are looked for afresh. A move does
both, so the sum of the two is nearly what it brings about.

Only games in which dwarfs are hurled and trolls capture beside them have threat planes that are not
zero.
"""

from __future__ import annotations

from agents.search.strikes import captures_at_hand, is_cornered, put, struck_trolls
from thud_env.board import SIZE, STRIDE
from thud_env.jit.bits import count_ones, natural
from thud_env.jit.compile import compiled
from thud_env.rules.row import DWARF, DWARFS, EMPTY, STONE, TO_MOVE, TROLL
from thud_env.views.encoding import Plane

THREAT_PLANES = (
    Plane(
        "unanswered",
        "the most dwarfs that a troll could capture while no other troll could be struck, nor it "
        "after that, once the piece there had gone, or one of the side to move had come there / 4",
    ),
    Plane("capturable", "the most that it could capture, struck or not / 4"),
    Plane("strikable", "how many trolls could be struck then / 4"),
    Plane("cornered", "1 if two could, or one that could step nowhere safe"),
)
NUM_THREAT_PLANES = len(THREAT_PLANES)

_UNANSWERED, _CAPTURABLE, _STRIKABLE, _CORNERED = range(NUM_THREAT_PLANES)


@compiled
def point_of(cell):
    """The point of a plane that shows a cell of the board."""
    return natural((cell // STRIDE - 1) * SIZE + cell % STRIDE)


@compiled
def _show(row, newcomer, planes, point):
    """Write what could be captured in a position at one point of the planes."""
    struck = struck_trolls(row, newcomer)
    unanswered, most = captures_at_hand(row, struck, newcomer)
    planes[_UNANSWERED, point] = unanswered / 4
    planes[_CAPTURABLE, point] = most / 4
    planes[_STRIKABLE, point] = count_ones(struck) / 4
    if is_cornered(row, struck, newcomer):
        planes[_CORNERED, point] = 1


@compiled
def show_threats(row, cell, dwarf_moves, troll_moves, planes):
    """Write the threat planes of a game with hurls and captures beside trolls, at one square.

    Args:
        row: [432] a state row; changed and restored.
        cell: the square.
        dwarf_moves, troll_moves: [225] above 0 where a dwarf, or a troll, could move.
        planes: [4, 225] float32, zeros there; overwritten.
    """
    mine = DWARF if row[TO_MOVE] == DWARFS else TROLL
    moves = dwarf_moves if mine == DWARF else troll_moves
    there = int(row[cell])
    point = point_of(cell)
    if there == STONE or (there != mine and moves[point] == 0):
        return
    put(row, cell, EMPTY if there == mine else mine)
    _show(row, cell if there == EMPTY and mine == TROLL else 0, planes, point)
    put(row, cell, there)
