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

from thud_env.board import CELL_STEP, NUM_DIRECTIONS, SIZE, STRIDE
from thud_env.jit.bits import count_ones, natural, trailing_zeros
from thud_env.jit.compile import compiled
from thud_env.jit.lanes import neighbours
from thud_env.rules.moves import empty_run, line_length
from thud_env.rules.row import (
    DWARF,
    DWARFS,
    EMPTY,
    NUM_TROLLS,
    STONE,
    TO_MOVE,
    TROLL,
    TROLL_CELLS,
    flip_lines,
)
from thud_env.rules.traits import step_captures
from thud_env.rulesets import STEP_TAKES_NONE, STEP_TAKES_ONE
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
def _put(row, cell, piece):
    """Put a piece, or none, on a square. The lists of pieces stay as they are."""
    cell = natural(cell)
    if (row[cell] == EMPTY) != (piece == EMPTY):
        flip_lines(row, cell)
    row[cell] = piece


@compiled
def _is_strikable(row, troll):
    """Whether a dwarf can be hurled at the troll on a square."""
    for direction in range(NUM_DIRECTIONS):
        step = int(CELL_STEP[direction])
        run = empty_run(row, troll, direction)
        front = troll + (run + 1) * step
        if row[natural(front)] == DWARF and (run == 0 or line_length(row, front, -step) > run):
            return True
    return False


@compiled
def _troll(row, number, newcomer):
    """The square of a troll, numbered as in the row's list; the newcomer comes after them."""
    return newcomer if number == row[NUM_TROLLS] else int(row[TROLL_CELLS + number])


@compiled
def _strikable_trolls(row, newcomer):
    """Which trolls can be struck, a bit each."""
    found = 0
    for number in range(int(row[NUM_TROLLS]) + 1):
        troll = _troll(row, number, newcomer)
        if row[natural(troll)] == TROLL and _is_strikable(row, troll):
            found |= 1 << number
    return found


@compiled
def _is_cornered(row, troll):
    """Whether a troll could be struck wherever it steps."""
    steps = neighbours(row, troll, EMPTY)
    _put(row, troll, EMPTY)
    cornered = True
    while steps != 0 and cornered:
        target = troll + CELL_STEP[trailing_zeros(steps)]
        _put(row, target, TROLL)
        cornered = _is_strikable(row, target)
        _put(row, target, EMPTY)
        steps &= steps - 1
    _put(row, troll, TROLL)
    return cornered


@compiled
def _put_beside(row, cell, directions, piece):
    """Put a piece, or none, on the squares beside a square in a set of directions."""
    while directions != 0:
        _put(row, cell + CELL_STEP[trailing_zeros(directions)], piece)
        directions &= directions - 1


@compiled
def _is_answered(row, start, target, captured):
    """Whether a dwarf could be hurled at a troll that went from ``start`` to ``target`` and
    captured the dwarfs beside it in a set of directions.
    """
    _put(row, start, EMPTY)
    _put(row, target, TROLL)
    _put_beside(row, target, captured, EMPTY)
    answered = _is_strikable(row, target)
    _put_beside(row, target, captured, DWARF)
    _put(row, target, EMPTY)
    _put(row, start, TROLL)
    return answered


@compiled
def _captures(row, strikable, newcomer):
    """The most dwarfs that trolls could capture in a turn unanswered, and at all."""
    unanswered, most = 0, 0
    steps_take = step_captures(row)
    for number in range(int(row[NUM_TROLLS]) + 1):
        troll = _troll(row, number, newcomer)
        if row[natural(troll)] != TROLL:
            continue
        others_are_safe = strikable & ~(1 << number) == 0
        for direction in range(NUM_DIRECTIONS):
            step = int(CELL_STEP[direction])
            run = empty_run(row, troll, direction)
            if run == 0:
                continue
            length = line_length(row, troll, step)
            for distance in range(1, min(run, length) + 1):
                target = troll + distance * step
                beside = neighbours(row, target, DWARF)
                if beside == 0 or (length == 1 and steps_take == STEP_TAKES_NONE):
                    continue
                takes_one = length == 1 and steps_take == STEP_TAKES_ONE
                dwarfs = 1 if takes_one else count_ones(beside)
                most = max(most, dwarfs)
                while beside != 0 and others_are_safe and dwarfs > unanswered:
                    captured = beside & -beside if takes_one else beside
                    if not _is_answered(row, troll, target, captured):
                        unanswered = dwarfs
                    beside &= ~captured
    return unanswered, most


@compiled
def _show(row, newcomer, planes, point):
    """Write what could be captured in a position at one point of the planes."""
    strikable = _strikable_trolls(row, newcomer)
    unanswered, most = _captures(row, strikable, newcomer)
    planes[_UNANSWERED, point] = unanswered / 4
    planes[_CAPTURABLE, point] = most / 4
    planes[_STRIKABLE, point] = count_ones(strikable) / 4
    if strikable == 0:
        return
    two = strikable & (strikable - 1) != 0
    if two or _is_cornered(row, _troll(row, trailing_zeros(strikable), newcomer)):
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
    point = natural((cell // STRIDE - 1) * SIZE + cell % STRIDE)
    if there == STONE or (there != mine and moves[point] == 0):
        return
    _put(row, cell, EMPTY if there == mine else mine)
    _show(row, cell if there == EMPTY and mine == TROLL else 0, planes, point)
    _put(row, cell, there)
