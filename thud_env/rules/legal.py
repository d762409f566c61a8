"""Which decisions are legal. Everything follows from ``piece_moves``."""

from __future__ import annotations

from thud_env.actions import (
    ACCEPT,
    CAPTURE,
    CAPTURE_ALL,
    DECLINE,
    DONE,
    MOVE_BASE,
    MOVE_DIRECTION,
    MOVE_DISTANCE,
    MOVE_FROM,
    MOVE_OFFSET,
    NUM_ACTIONS,
    OFFER,
)
from thud_env.bits import choose, count_ones, leading_zeros, natural, trailing_zeros
from thud_env.board import (
    CELL_OF_SQUARE,
    CELL_STEP,
    IS_PERIMETER_CELL,
    LINE_OF_CELL,
    NUM_AXES,
    NUM_DIRECTIONS,
    POINT_OF_CELL,
    SQUARE_OF_CELL,
    STRIDE,
)
from thud_env.compile import compiled, inlined
from thud_env.lanes import neighbours
from thud_env.rules.row import (
    AGREEMENT,
    ANSWER_OFFER,
    DWARF,
    DWARFS,
    EMPTY,
    NO_QUESTION,
    OFFER_AFTER,
    OFFER_WAIT,
    ONGOING,
    PENDING,
    PENDING_CELL,
    QUIET_TURNS,
    RULES,
    STONE,
    TAKE_ALL,
    TAKE_ONE,
    TAKE_SOME,
    TAKEN_LINES,
    TERMINATION,
    TO_MOVE,
    TRAMPLE_ON,
    TROLL,
    movable_pieces,
)
from thud_env.rulesets import FOOTBALL, KOOM_VALLEY

VALLEY_TROLL_REACH = 3
NUM_WORDS = (NUM_ACTIONS + 63) // 64
"""64-bit words that hold a bit for each action."""


@inlined
def _run_up(line, point):
    """How many squares of a line are free next above a point."""
    return trailing_zeros(line >> (point + 1))


@inlined
def _run_down(line, point):
    """How many squares of a line are free next below a point."""
    return min(leading_zeros((line << (63 - point)) << 1), point)


@inlined
def empty_run(row, cell, direction):
    """How many empty squares lie next to ``cell`` in a row, in one direction."""
    axis = direction % NUM_AXES
    line = int(row[TAKEN_LINES + natural(LINE_OF_CELL[cell, axis])])
    point = natural(POINT_OF_CELL[cell, axis])
    return choose(direction < NUM_AXES, _run_up(line, point), _run_down(line, point))


@compiled
def line_length(row, cell, step):
    """N: the unbroken line of like pieces of which the one on ``cell`` is the front."""
    piece = row[natural(cell)]
    length = 1
    cell -= step
    while row[natural(cell)] == piece:
        length += 1
        cell -= step
    return length


@inlined
def count_adjacent(row, cell, piece):
    """How many of the eight neighbours of ``cell`` hold ``piece``."""
    return count_ones(neighbours(row, cell, piece))


@inlined
def can_trample(row, cell, step):
    """Whether a troll on ``cell`` can jump a dwarf onto the square behind it."""
    return row[natural(cell + step)] == DWARF and row[natural(cell + 2 * step)] == EMPTY


@compiled
def _valley_troll_ray(row, cell, step, run):
    """Up to three squares; or one jump over a dwarf. In Football the edge is out of bounds
    and nothing is trampled.
    """
    reach = min(run, VALLEY_TROLL_REACH)
    if row[RULES] != FOOTBALL:
        return 0b10 if can_trample(row, cell, step) else (1 << reach) - 1
    moves = 0
    for distance in range(1, reach + 1):
        if IS_PERIMETER_CELL[cell + distance * step]:
            break
        moves |= 1 << (distance - 1)
    return moves


@compiled
def _stone_ray(row, cell, step, run):
    """The Rock goes one square, the ball any distance, from beside a dwarf to beside a dwarf."""
    if count_adjacent(row, cell, DWARF) == 0:
        return 0
    moves = 0
    for distance in range(1, (run if row[RULES] == FOOTBALL else min(run, 1)) + 1):
        if count_adjacent(row, cell + distance * step, DWARF) > 0:
            moves |= 1 << (distance - 1)
    return moves


@inlined
def _opposite(directions):
    """The set of the directions opposite to those of a set of bits."""
    return (directions << 4 | directions >> 4) & 0xFF


@inlined
def _glide(row, cell):
    """Any distance over empty squares, in every direction; and the directions in which a troll
    is what ends them.
    """
    moves = 0
    trolls = 0
    for axis in range(NUM_AXES):
        line = int(row[TAKEN_LINES + natural(LINE_OF_CELL[cell, axis])])
        point = natural(POINT_OF_CELL[cell, axis])
        up = _run_up(line, point)
        down = _run_down(line, point)
        moves |= ((1 << up) - 1) << natural(MOVE_OFFSET[cell, axis])
        moves |= ((1 << down) - 1) << natural(MOVE_OFFSET[cell, axis + NUM_AXES])
        step = int(CELL_STEP[axis])
        trolls |= (row[natural(cell + (up + 1) * step)] == TROLL) << axis
        trolls |= (row[natural(cell - (down + 1) * step)] == TROLL) << (axis + NUM_AXES)
    return moves, trolls


@inlined
def _classic_dwarf_moves(row, cell):
    """Any distance over empty squares; or hurled, as far as the line behind is long, onto a
    troll. The squares up to the troll are empty, so its distance is one more than theirs.
    """
    moves, targets = _glide(row, cell)
    # A line of one reaches a neighbour, and a longer one has a dwarf behind.
    targets &= neighbours(row, cell, TROLL) | _opposite(neighbours(row, cell, DWARF))
    while targets != 0:
        direction = trailing_zeros(targets)
        run = empty_run(row, cell, direction)
        if line_length(row, cell, int(CELL_STEP[direction])) > run:
            moves |= 1 << (run + natural(MOVE_OFFSET[cell, direction]))
        targets &= targets - 1
    return moves


@inlined
def troll_steps(row, cell):
    """Classic: one square in any direction. A set of directions."""
    return neighbours(row, cell, EMPTY)


@inlined
def troll_shoves(row, cell):
    """Classic: two squares or more for the front of a line of trolls. A word of moves."""
    moves = 0
    shoved = neighbours(row, cell, EMPTY) & _opposite(neighbours(row, cell, TROLL))
    while shoved != 0:
        direction = trailing_zeros(shoved)
        moves |= _shoves(row, cell, direction) << natural(MOVE_OFFSET[cell, direction])
        shoved &= shoved - 1
    return moves


@inlined
def _classic_troll_moves(row, cell):
    moves = troll_shoves(row, cell)
    steps = troll_steps(row, cell)
    for direction in range(NUM_DIRECTIONS):
        moves |= ((steps >> direction) & 1) << natural(MOVE_OFFSET[cell, direction])
    return moves


@compiled
def _shoves(row, cell, direction):
    """Along one direction: as far as the line of trolls is long, onto squares next to a dwarf."""
    step = int(CELL_STEP[direction])
    moves = 0
    reach = min(empty_run(row, cell, direction), line_length(row, cell, step))
    for distance in range(2, reach + 1):
        if count_adjacent(row, cell + distance * step, DWARF) > 0:
            moves |= 1 << (distance - 1)
    return moves


@compiled
def _valley_moves(row, cell):
    """The moves of a troll or the stone in the Koom Valley games."""
    moves = 0
    for direction in range(NUM_DIRECTIONS):
        step = int(CELL_STEP[direction])
        run = empty_run(row, cell, direction)
        if row[cell] == TROLL:
            reach = _valley_troll_ray(row, cell, step, run)
        else:
            reach = _stone_ray(row, cell, step, run)
        moves |= reach << natural(MOVE_OFFSET[cell, direction])
    return moves


@compiled
def piece_moves(row, cell):
    """All legal moves of the piece on ``cell``, at the start of a turn: bit b of the result is
    the action ``MOVE_BASE[cell, 0] + b``. The one place that knows how pieces move; which side
    is to move is the caller's business (``may_move``).
    """
    cell = natural(cell)
    piece = row[cell]
    if row[RULES] < KOOM_VALLEY:
        if piece == DWARF:
            return _classic_dwarf_moves(row, cell)
        return _classic_troll_moves(row, cell)
    if piece == DWARF:
        return _glide(row, cell)[0]
    return _valley_moves(row, cell)


@inlined
def may_move(row, cell):
    """Whether ``cell`` holds a piece that the side to move may move: dwarfs also carry the Rock."""
    piece = row[cell]
    if row[TO_MOVE] == DWARFS:
        return piece == DWARF or (piece == STONE and row[RULES] >= KOOM_VALLEY)
    return piece == TROLL


@compiled
def may_offer(row):
    """Whether the side to move may offer to end the battle (docs/rules.md, section 5)."""
    return (
        row[AGREEMENT] == 1
        and row[QUIET_TURNS] >= row[OFFER_AFTER]
        and row[OFFER_WAIT + row[TO_MOVE]] == 0
    )


@compiled
def may_stop(row):
    """Whether a pending turn may end here: always, but for a shove that has captured nothing."""
    return row[PENDING] != TAKE_SOME


@compiled
def may_take_all(row, adjacent):
    """Whether "capture all" is offered: where all may be captured, and it is not the same
    decision as capturing the only one.
    """
    return row[PENDING] == TAKE_ALL or (row[PENDING] != TAKE_ONE and adjacent > 1)


@inlined
def may_step(row, cell):
    """Whether a piece that may go to any empty neighbour has one. It may have other moves."""
    steps_anywhere = row[cell] == DWARF or row[RULES] < KOOM_VALLEY
    return steps_anywhere and neighbours(row, cell, EMPTY) != 0


@compiled
def has_legal_turn(row):
    """Whether the side to move, at the start of its turn, can move a piece."""
    first, count = movable_pieces(row)
    for i in range(first, first + count):
        if may_step(row, row[i]) or piece_moves(row, row[i]) != 0:
            return True
    return False


@compiled
def has_trample(row, cell):
    """Whether the troll on ``cell`` can jump a dwarf."""
    for direction in range(NUM_DIRECTIONS):
        if can_trample(row, cell, CELL_STEP[direction]):
            return True
    return False


@compiled
def _answers(row, out):
    """The legal decisions in the middle of a turn."""
    pending = row[PENDING]
    cell = row[PENDING_CELL]
    count = 0
    if pending == ANSWER_OFFER:
        out[0] = ACCEPT
        out[1] = DECLINE
        return 2
    if pending == TRAMPLE_ON:
        for direction in range(NUM_DIRECTIONS):
            if can_trample(row, cell, CELL_STEP[direction]):
                out[count] = MOVE_BASE[cell, direction] + 1
                count += 1
    elif pending != TAKE_ALL:
        # Neighbours in row-major order, so that the list ascends.
        for d_row in range(-1, 2):
            for d_col in range(-1, 2):
                neighbour = cell + d_row * STRIDE + d_col
                if row[neighbour] == DWARF:
                    out[count] = CAPTURE + SQUARE_OF_CELL[neighbour]
                    count += 1
    if pending != TRAMPLE_ON and may_take_all(row, count):
        out[count] = CAPTURE_ALL
        count += 1
    if may_stop(row):
        out[count] = DONE
        count += 1
    return count


@compiled
def legal_actions(row, out):
    """Write the legal decisions into ``out`` in ascending order; return how many there are.

    Args:
        row: [432] a state row.
        out: [>= 2048] any integer type.
    """
    if row[TERMINATION] != ONGOING:
        return 0
    if row[PENDING] != NO_QUESTION:
        return _answers(row, out)
    total = 0
    first, count = movable_pieces(row)
    for i in range(first, first + count):
        cell = int(row[i])
        moves = piece_moves(row, cell)
        action = MOVE_BASE[cell, 0]
        while moves != 0:
            out[total] = action + trailing_zeros(moves)
            total += 1
            moves &= moves - 1
    if may_offer(row):
        out[total] = OFFER
        total += 1
    return total


@inlined
def _put(words, first, bits):
    """Set bits of a long row of 64-bit words, from bit ``first`` on."""
    word = first >> 6
    shift = first & 63
    words[word] |= bits << shift
    words[word + 1] |= (bits >> 1) >> (63 - shift)


@compiled
def legal_words(row, words, scratch):
    """Set a bit for each legal decision; return how many there are.

    Args:
        row: [432] a state row.
        words: [103] int64, written: action a is bit a % 64 of word a // 64. The last word
            is room to spill, and stays 0.
        scratch: [>= 16] any integer type.
    """
    for word in range(NUM_WORDS + 1):
        words[word] = 0
    if row[TERMINATION] != ONGOING:
        return 0
    total = 0
    if row[PENDING] != NO_QUESTION:
        total = _answers(row, scratch)
        for i in range(total):
            _put(words, scratch[i], 1)
        return total
    first, count = movable_pieces(row)
    for i in range(first, first + count):
        cell = int(row[i])
        moves = piece_moves(row, cell)
        _put(words, MOVE_BASE[cell, 0], moves)
        total += count_ones(moves)
    if may_offer(row):
        _put(words, OFFER, 1)
        total += 1
    return total


@compiled
def is_legal(row, action):
    """Whether ``action``, any integer, is a legal decision."""
    if action < 0 or action >= NUM_ACTIONS or row[TERMINATION] != ONGOING:
        return False
    pending = row[PENDING]
    cell = row[PENDING_CELL]
    if action < CAPTURE:
        start = MOVE_FROM[action]
        direction = MOVE_DIRECTION[action]
        distance = MOVE_DISTANCE[action]
        if pending == TRAMPLE_ON:
            return start == cell and distance == 2 and can_trample(row, cell, CELL_STEP[direction])
        if pending != NO_QUESTION or not may_move(row, start):
            return False
        return (piece_moves(row, start) >> (action - natural(MOVE_BASE[start, 0]))) & 1 == 1
    if pending == NO_QUESTION:
        return action == OFFER and may_offer(row)
    if pending == ANSWER_OFFER:
        return action == ACCEPT or action == DECLINE
    if action == DONE:
        return may_stop(row)
    if pending == TRAMPLE_ON or action > CAPTURE_ALL:
        return False
    if action == CAPTURE_ALL:
        return may_take_all(row, count_adjacent(row, cell, DWARF))
    target = CELL_OF_SQUARE[action - CAPTURE]
    rows_apart = abs(target // STRIDE - cell // STRIDE)
    columns_apart = abs(target % STRIDE - cell % STRIDE)
    return pending != TAKE_ALL and max(rows_apart, columns_apart) == 1 and row[target] == DWARF
