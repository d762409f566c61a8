"""What either side could capture in its next turn, on a board that may be changed to find out.

A troll *can be struck* if a dwarf could capture it: by a hurl in Classic Thud, by a sandwich in
Koom Valley. All functions but ``put`` and ``trample_on`` restore the row that they change. Its
lists of pieces stay as they are meanwhile, so a troll put on the board is no part of them: it is
the *newcomer*, or 0.
"""

from __future__ import annotations

from thud_env.actions import MOVE_BASE, MOVE_DIRECTION, MOVE_DISTANCE, MOVE_TO
from thud_env.board import CELL_STEP, NUM_DIRECTIONS
from thud_env.jit.bits import count_ones, natural, trailing_zeros
from thud_env.jit.compile import compiled, inlined
from thud_env.jit.lanes import neighbours
from thud_env.rules.moves import can_trample, empty_run, line_length, piece_moves
from thud_env.rules.row import (
    DWARF,
    EMPTY,
    NUM_TROLLS,
    TROLL,
    TROLL_CELLS,
    flip_lines,
)
from thud_env.rules.traits import (
    dwarfs_hurl,
    dwarfs_sandwich,
    step_captures,
    trolls_capture_beside,
    trolls_trample,
)
from thud_env.rulesets import STEP_TAKES_NONE, STEP_TAKES_ONE

MOST_JUMPS = 4
"""Jumps of a trample that are looked at: a troll might go over all of a crowd, in countless
orders."""


@compiled
def put(row, cell, piece):
    """Put a piece, or none, on a square. The lists of pieces stay as they are."""
    cell = natural(cell)
    if (row[cell] == EMPTY) != (piece == EMPTY):
        flip_lines(row, cell)
    row[cell] = piece


@compiled
def _can_be_hurled_at(row, troll):
    for direction in range(NUM_DIRECTIONS):
        step = int(CELL_STEP[direction])
        run = empty_run(row, troll, direction)
        front = troll + (run + 1) * step
        if row[natural(front)] == DWARF and (run == 0 or line_length(row, front, -step) > run):
            return True
    return False


@compiled
def _is_reached_by_a_dwarf(row, cell):
    for direction in range(NUM_DIRECTIONS):
        first = cell + (empty_run(row, cell, direction) + 1) * CELL_STEP[direction]
        if row[natural(first)] == DWARF:
            return True
    return False


@compiled
def _can_be_sandwiched(row, troll):
    """Whether a dwarf can move to where it has a troll between itself and another.

    That other cannot be the one that moves: the troll is in its way.
    """
    for direction in range(NUM_DIRECTIONS):
        step = int(CELL_STEP[direction])
        near, across = natural(troll + step), natural(troll - step)
        if row[near] == EMPTY and row[across] == DWARF and _is_reached_by_a_dwarf(row, near):
            return True
    return False


@compiled
def can_be_struck(row, troll):
    """Whether a dwarf could capture the troll on a square."""
    if dwarfs_hurl(row):
        return _can_be_hurled_at(row, troll)
    return dwarfs_sandwich(row) and _can_be_sandwiched(row, troll)


@compiled
def troll_cell(row, number, newcomer):
    """The square of a troll, numbered as in the row's list; the newcomer comes after them."""
    return newcomer if number == row[NUM_TROLLS] else int(row[TROLL_CELLS + number])


@compiled
def struck_trolls(row, newcomer):
    """Which trolls can be struck, a bit each."""
    found = 0
    for number in range(int(row[NUM_TROLLS]) + 1):
        troll = troll_cell(row, number, newcomer)
        if row[natural(troll)] == TROLL and can_be_struck(row, troll):
            found |= 1 << number
    return found


@compiled
def _can_be_struck_after(row, start, move):
    """Whether a troll can be struck once it has made a move; it is off the board already."""
    target = natural(MOVE_TO[move])
    between = natural((start + target) // 2)
    jumps = MOVE_DISTANCE[move] == 2 and row[between] == DWARF
    if jumps:
        put(row, between, EMPTY)
    put(row, target, TROLL)
    struck = can_be_struck(row, target)
    put(row, target, EMPTY)
    if jumps:
        put(row, between, DWARF)
    return struck


@compiled
def is_cornered(row, struck, newcomer):
    """Whether two trolls can be struck, or one that could be after each of its own moves: steps
    where trolls capture beside, what they capture left standing, else moves and single jumps. What
    other trolls could do about it is not looked at.

    Args:
        row: [432] a state row.
        struck: the trolls that can be struck, a bit each.
        newcomer: the square of a troll that is not listed, or 0.
    """
    if struck == 0 or struck & (struck - 1) != 0:
        return struck != 0
    troll = natural(troll_cell(row, trailing_zeros(struck), newcomer))
    first, moves = int(MOVE_BASE[troll, 0]), piece_moves(row, troll)
    put(row, troll, EMPTY)
    cornered = True
    while moves != 0 and cornered:
        move = first + trailing_zeros(moves)
        if MOVE_DISTANCE[move] == 1 or not trolls_capture_beside(row):
            cornered = _can_be_struck_after(row, troll, move)
        moves &= moves - 1
    put(row, troll, TROLL)
    return cornered


@compiled
def _put_beside(row, cell, directions, piece):
    """Put a piece, or none, on the squares beside a square in a set of directions."""
    while directions != 0:
        put(row, cell + CELL_STEP[trailing_zeros(directions)], piece)
        directions &= directions - 1


@compiled
def _is_answered(row, start, target, captured):
    """Whether a troll can be struck that went from ``start`` to ``target`` and captured the dwarfs
    beside it in a set of directions.
    """
    put(row, start, EMPTY)
    put(row, target, TROLL)
    _put_beside(row, target, captured, EMPTY)
    answered = can_be_struck(row, target)
    _put_beside(row, target, captured, DWARF)
    put(row, target, EMPTY)
    put(row, start, TROLL)
    return answered


@compiled
def _count_beside(row, troll, others_are_safe, unanswered, most):
    """See ``captures_at_hand``: steps and shoves, with what has been found of other trolls."""
    steps_take = step_captures(row)
    first, moves = int(MOVE_BASE[natural(troll), 0]), piece_moves(row, troll)
    while moves != 0:
        move = first + trailing_zeros(moves)
        moves &= moves - 1
        target = int(MOVE_TO[move])
        beside = neighbours(row, target, DWARF)
        if beside == 0:
            continue
        step = int(CELL_STEP[MOVE_DIRECTION[move]])
        is_shove = row[natural(troll - step)] == TROLL  # a step in line may be one
        if not is_shove and steps_take == STEP_TAKES_NONE:
            continue
        takes_one = not is_shove and steps_take == STEP_TAKES_ONE
        dwarfs = 1 if takes_one else count_ones(beside)
        most = max(most, dwarfs)
        while beside != 0 and others_are_safe and dwarfs > unanswered:
            captured = beside & -beside if takes_one else beside
            if not _is_answered(row, troll, target, captured):
                unanswered = dwarfs
            beside &= ~captured
    return unanswered, most


@inlined
def trample_on(row, here, jumps, way, direction):
    """One step through all ways of a troll over dwarfs, and back again: a jump in a direction if
    there is one, else the next direction, or if none is left the last jump taken back.

    Begin with the troll lifted from its square, at ``here``, no jumps and direction 0; end when
    there are no jumps and no directions left, with the board as it was.

    Args:
        row: [432] a state row, from which dwarfs are taken on the way.
        here: the square that the troll has come to.
        jumps: how many jumps led there, ``MOST_JUMPS`` at most.
        way: their directions, three bits each.
        direction: the next to try, or 8.

    Returns:
        the next ``here``, ``jumps``, ``way`` and ``direction``, and whether it was a jump.
    """
    if direction == NUM_DIRECTIONS or jumps == MOST_JUMPS:
        last = way % NUM_DIRECTIONS
        here -= 2 * int(CELL_STEP[last])
        put(row, here + CELL_STEP[last], DWARF)
        return here, jumps - 1, way // NUM_DIRECTIONS, last + 1, False
    if can_trample(row, natural(here), direction):
        step = int(CELL_STEP[direction])
        put(row, here + step, EMPTY)
        return here + 2 * step, jumps + 1, NUM_DIRECTIONS * way + direction, 0, True
    return here, jumps, way, direction + 1, False


@compiled
def _count_trampled(row, troll, others_are_safe, unanswered, most):
    """See ``captures_at_hand``: tramples, with what has been found of other trolls."""
    here, jumps, way, direction = troll, 0, 0, 0
    put(row, troll, EMPTY)
    while jumps > 0 or direction < NUM_DIRECTIONS:
        here, jumps, way, direction, jumped = trample_on(row, here, jumps, way, direction)
        if not jumped:
            continue
        most = max(most, jumps)
        if others_are_safe and jumps > unanswered:
            put(row, here, TROLL)
            if not can_be_struck(row, here):
                unanswered = jumps
            put(row, here, EMPTY)
    put(row, troll, TROLL)
    return unanswered, most


@compiled
def captures_at_hand(row, struck, newcomer):
    """The most dwarfs that a troll could capture in a turn while no other troll can be struck, nor
    it afterwards; and the most at all. Of a trample ``MOST_JUMPS`` are counted.

    Args:
        row: [432] a state row.
        struck: the trolls that can be struck, a bit each.
        newcomer: the square of a troll that is not listed, or 0.
    """
    unanswered, most = 0, 0
    for number in range(int(row[NUM_TROLLS]) + 1):
        troll = troll_cell(row, number, newcomer)
        if row[natural(troll)] != TROLL:
            continue
        others_are_safe = struck & ~(1 << number) == 0
        if trolls_capture_beside(row):
            unanswered, most = _count_beside(row, troll, others_are_safe, unanswered, most)
        elif trolls_trample(row):
            unanswered, most = _count_trampled(row, troll, others_are_safe, unanswered, most)
    return unanswered, most
