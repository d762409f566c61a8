"""Lists the decisions that capture, without listing all the others first.

``thud_env/rules`` defines how pieces capture; this module only looks in the right places, near the
enemy. Tests compare it with the rules: it finds exactly the legal decisions that capture or lead
to a choice of captures.
"""

from __future__ import annotations

from thud_env.actions import CAPTURE_ALL, DONE, MOVE_BASE, MOVE_DISTANCE, MOVE_FROM, MOVE_TO
from thud_env.board import CELL_STEP, NUM_DIRECTIONS
from thud_env.jit.bits import trailing_zeros
from thud_env.jit.compile import compiled, inlined
from thud_env.rules.moves import count_adjacent, empty_run, line_length, piece_moves
from thud_env.rules.row import (
    DWARF,
    DWARFS,
    EMPTY,
    NUM_TROLLS,
    STONE,
    TO_MOVE,
    TROLL,
    TROLL_CELLS,
)
from thud_env.rules.traits import (
    dwarfs_hurl,
    dwarfs_sandwich,
    step_captures,
    trolls_capture_beside,
    trolls_trample,
)
from thud_env.rulesets import STEP_TAKES_NONE


@compiled
def sandwiched_by(row, start, target):
    """How many trolls a dwarf sandwiches by moving from ``start`` to ``target``."""
    captured = 0
    for direction in range(NUM_DIRECTIONS):
        step = CELL_STEP[direction]
        if row[target + step] == TROLL:
            beyond = target + 2 * step
            if row[beyond] == DWARF and beyond != start:
                captured += 1
    return captured


@compiled
def capturable_by(row, action):
    """Count the pieces that a legal move captures at once, or offers to capture.

    Args:
        row: [432] a state row at the start of a turn.
        action: a legal move.
    """
    start = int(MOVE_FROM[action])
    target = int(MOVE_TO[action])
    piece = row[start]
    if piece == DWARF:
        if dwarfs_sandwich(row):
            return sandwiched_by(row, start, target)
        return 1 if row[target] == TROLL else 0
    if piece == STONE:
        return 0
    if trolls_capture_beside(row):
        is_shove = MOVE_DISTANCE[action] > 1 or row[2 * start - target] == TROLL
        if is_shove or step_captures(row) != STEP_TAKES_NONE:
            return count_adjacent(row, target, DWARF)
        return 0
    return 1 if MOVE_DISTANCE[action] == 2 and row[(start + target) >> 1] == DWARF else 0


@compiled
def _hurls(row, out):
    """List the hurls: look outwards from every troll for a line that reaches it."""
    found = 0
    for i in range(TROLL_CELLS, TROLL_CELLS + int(row[NUM_TROLLS])):
        troll = int(row[i])
        for direction in range(NUM_DIRECTIONS):
            step = int(CELL_STEP[direction])
            run = empty_run(row, troll, direction)
            front = troll + (run + 1) * step
            if row[front] == DWARF and (run == 0 or line_length(row, front, -step) > run):
                out[found] = MOVE_BASE[front, direction ^ 4] + run
                found += 1
    return found


@inlined
def _sandwiches_from(row, target, direction):
    """Whether a dwarf that arrives on ``target`` sandwiches the troll in that direction."""
    troll = target + int(CELL_STEP[direction])
    return row[troll] == TROLL and row[troll + int(CELL_STEP[direction])] == DWARF


@inlined
def _is_first_sandwich(row, target, direction):
    """Whether it sandwiches none in a direction before this one: each square counts once."""
    for before in range(direction):
        if _sandwiches_from(row, target, before):
            return False
    return True


@compiled
def _sandwiches(row, out):
    """List the moves that sandwich: look for squares between which a troll is sandwiched, and
    outwards from them for the dwarfs that reach them.
    """
    found = 0
    for i in range(TROLL_CELLS, TROLL_CELLS + int(row[NUM_TROLLS])):
        for direction in range(NUM_DIRECTIONS):
            target = int(row[i]) - int(CELL_STEP[direction])
            if row[target] != EMPTY or not _sandwiches_from(row, target, direction):
                continue
            if not _is_first_sandwich(row, target, direction):
                continue
            for towards in range(NUM_DIRECTIONS):
                run = empty_run(row, target, towards)
                start = target + (run + 1) * int(CELL_STEP[towards])
                if row[start] == DWARF and sandwiched_by(row, start, target) > 0:
                    out[found] = MOVE_BASE[start, towards ^ 4] + run
                    found += 1
    return found


@compiled
def _captures_of_trolls(row, out):
    """List the moves of trolls that capture: they reach few squares."""
    found = 0
    for i in range(TROLL_CELLS, TROLL_CELLS + int(row[NUM_TROLLS])):
        cell = int(row[i])
        moves = piece_moves(row, cell)
        while moves != 0:
            action = MOVE_BASE[cell, 0] + trailing_zeros(moves)
            moves &= moves - 1
            if capturable_by(row, action) > 0:
                out[found] = action
                found += 1
    return found


@compiled
def capturing_moves(row, out):
    """The legal moves that capture or lead to a choice of captures, in no special order.

    Args:
        row: [432] a state row at the start of a turn.
        out: [>= 2048] int32.
    """
    if row[TO_MOVE] != DWARFS:
        if trolls_capture_beside(row) or trolls_trample(row):
            return _captures_of_trolls(row, out)
        return 0
    if dwarfs_sandwich(row):
        return _sandwiches(row, out)
    return _hurls(row, out) if dwarfs_hurl(row) else 0


@compiled
def threatens(row, out):
    """Whether the opponent could capture something if it were its turn.

    Args:
        row: [432] a state row at the start of a turn; changed and restored.
        out: [>= 2048] int32, scratch space.
    """
    side = row[TO_MOVE]
    row[TO_MOVE] = 1 - side
    found = capturing_moves(row, out)
    row[TO_MOVE] = side
    return found > 0


@compiled
def keep_hungry_answers(decisions, count, taken):
    """Keep the greedy ones of the legal decisions in the middle of a turn, and return how many.

    "Capture all" is kept alone where it is legal. Otherwise "done" is dropped until something has
    been captured.
    """
    for i in range(count):
        if decisions[i] == CAPTURE_ALL:
            decisions[0] = CAPTURE_ALL
            return 1
    if taken == 0 and count > 1 and decisions[count - 1] == DONE:
        return count - 1
    return count
