"""Lists the decisions that capture, without listing all the others first.

``thud_env/rules`` defines how pieces capture; this module only looks in the right places, near the
enemy. Tests compare it with the rules: it finds exactly the legal decisions that capture or lead
to a choice of captures.
"""

from __future__ import annotations

from thud_env.actions import (
    CAPTURE_ALL,
    DONE,
    MOVE_BASE,
    MOVE_DISTANCE,
    MOVE_FROM,
    MOVE_OFFSET,
    MOVE_TO,
)
from thud_env.board import CELL_STEP, NUM_DIRECTIONS
from thud_env.jit.bits import natural, trailing_zeros
from thud_env.jit.compile import compiled, inlined
from thud_env.jit.lanes import neighbours
from thud_env.rules.moves import (
    can_trample,
    count_adjacent,
    empty_run,
    faced_by,
    glides,
    line_length,
    piece_moves,
    troll_shoves,
    troll_steps,
)
from thud_env.rules.row import (
    DWARF,
    DWARFS,
    EMPTY,
    NUM_TROLLS,
    STONE,
    TO_MOVE,
    TROLL,
    TROLL_CELLS,
    movable_pieces,
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
def sandwiched_at(row, target):
    """How many trolls a dwarf sandwiches by moving to an empty square: it never comes from beyond
    one of them, since the troll is in the way.
    """
    captured = 0
    for direction in range(NUM_DIRECTIONS):
        step = CELL_STEP[direction]
        if row[target + step] == TROLL:
            captured += row[target + 2 * step] == DWARF
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
            return sandwiched_at(row, target)
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
        directions = faced_by(row, troll)
        while directions != 0:
            direction = trailing_zeros(directions)
            directions &= directions - 1
            step = int(CELL_STEP[direction])
            run = empty_run(row, troll, direction)
            front = natural(troll + (run + 1) * step)
            if run < 2 or line_length(row, front, -step) > run:
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
                if row[start] == DWARF:
                    out[found] = MOVE_BASE[start, towards ^ 4] + run
                    found += 1
    return found


@inlined
def _captures_beside(row, cell):
    """The moves of a troll to beside a dwarf that let it capture there: a word of moves."""
    steps = troll_steps(row, cell)
    moves = troll_shoves(row, cell)
    by_step = step_captures(row) != STEP_TAKES_NONE
    while steps != 0:
        direction = trailing_zeros(steps)
        steps &= steps - 1
        step = int(CELL_STEP[direction])
        if neighbours(row, natural(cell + step), DWARF) != 0 and (
            by_step or row[natural(cell - step)] == TROLL
        ):
            moves |= 1 << natural(MOVE_OFFSET[cell, direction])
    return moves


@inlined
def _tramples(row, cell):
    """The jumps of a troll over a dwarf: a word of moves."""
    moves = 0
    for direction in range(NUM_DIRECTIONS):
        if can_trample(row, cell, direction):
            moves |= 0b10 << natural(MOVE_OFFSET[cell, direction])
    return moves


@compiled
def _captures_of_trolls(row, out):
    """List the moves of trolls that capture."""
    found = 0
    beside = trolls_capture_beside(row)
    for i in range(TROLL_CELLS, TROLL_CELLS + int(row[NUM_TROLLS])):
        cell = natural(row[i])
        moves = _captures_beside(row, cell) if beside else _tramples(row, cell)
        while moves != 0:
            out[found] = MOVE_BASE[cell, 0] + trailing_zeros(moves)
            moves &= moves - 1
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
def quiet_moves(row, out):
    """The legal moves that ``capturing_moves`` does not list, ascending.

    Args:
        row: [432] a state row at the start of a turn.
        out: [>= 2048 less the number of captures] int32.
    """
    found = 0
    only_glides = row[TO_MOVE] == DWARFS and not dwarfs_sandwich(row)
    first, count = movable_pieces(row)
    for i in range(first, first + count):
        cell = int(row[i])
        are_quiet = only_glides and row[cell] == DWARF
        moves = glides(row, cell)[0] if are_quiet else piece_moves(row, cell)
        while moves != 0:
            action = MOVE_BASE[cell, 0] + trailing_zeros(moves)
            moves &= moves - 1
            if are_quiet or capturable_by(row, action) == 0:
                out[found] = action
                found += 1
    return found


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
