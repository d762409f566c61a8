"""Which decisions are legal. Everything follows from ``ray_moves``."""

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
    NUM_ACTIONS,
    OFFER,
)
from thud_env.board import (
    CELL_OF_SQUARE,
    CELL_STEP,
    IS_PERIMETER_CELL,
    NUM_DIRECTIONS,
    NUM_SQUARES,
    SQUARE_OF_CELL,
)
from thud_env.compile import compiled
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
    TERMINATION,
    TO_MOVE,
    TRAMPLE_ON,
    TROLL,
)
from thud_env.rulesets import FOOTBALL, KOOM_VALLEY

VALLEY_TROLL_REACH = 3


@compiled
def empty_run(row, cell, step):
    """How many empty squares lie next to ``cell`` in a row, one ``step`` apart."""
    length = 0
    cell += step
    while row[cell] == EMPTY:
        length += 1
        cell += step
    return length


@compiled
def line_length(row, cell, step):
    """N: the unbroken line of like pieces of which the one on ``cell`` is the front."""
    piece = row[cell]
    length = 1
    cell -= step
    while row[cell] == piece:
        length += 1
        cell -= step
    return length


@compiled
def count_adjacent(row, cell, piece):
    """How many of the eight neighbours of ``cell`` hold ``piece``."""
    count = 0
    for direction in range(NUM_DIRECTIONS):
        if row[cell + CELL_STEP[direction]] == piece:
            count += 1
    return count


@compiled
def _classic_dwarf_moves(row, cell, step):
    """Any distance over empty squares; or hurled, as far as the line behind is long, onto a
    troll. The squares up to the troll are empty, so its distance is one more than theirs.
    """
    run = empty_run(row, cell, step)
    bits = (1 << run) - 1
    if row[cell + (run + 1) * step] == TROLL and line_length(row, cell, step) > run:
        bits |= 1 << run
    return bits


@compiled
def _classic_troll_moves(row, cell, step):
    """One square; or shoved, as far as a line of two or more is long, next to a dwarf."""
    run = empty_run(row, cell, step)
    if run == 0:
        return 0
    bits = 1
    if run > 1:
        for distance in range(2, min(run, line_length(row, cell, step)) + 1):
            if count_adjacent(row, cell + distance * step, DWARF) > 0:
                bits |= 1 << (distance - 1)
    return bits


@compiled
def can_trample(row, cell, step):
    """Whether a troll on ``cell`` can jump a dwarf onto the square behind it."""
    return row[cell + step] == DWARF and row[cell + 2 * step] == EMPTY


@compiled
def _valley_troll_moves(row, cell, step):
    """Up to three squares; or one jump over a dwarf. In Football the edge is out of bounds
    and nothing is trampled.
    """
    football = row[RULES] == FOOTBALL
    if not football and can_trample(row, cell, step):
        return 0b10
    bits = 0
    for distance in range(1, VALLEY_TROLL_REACH + 1):
        target = cell + distance * step
        if row[target] != EMPTY or (football and IS_PERIMETER_CELL[target]):
            break
        bits |= 1 << (distance - 1)
    return bits


@compiled
def _stone_moves(row, cell, step):
    """The Rock goes one square, the ball any distance, from beside a dwarf to beside a dwarf."""
    if count_adjacent(row, cell, DWARF) == 0:
        return 0
    run = empty_run(row, cell, step)
    if row[RULES] != FOOTBALL:
        run = min(run, 1)
    bits = 0
    for distance in range(1, run + 1):
        if count_adjacent(row, cell + distance * step, DWARF) > 0:
            bits |= 1 << (distance - 1)
    return bits


@compiled
def ray_moves(row, cell, direction):
    """The legal moves of the piece on ``cell`` along one direction, at the start of a turn.

    The one place that knows how pieces move. Bit k-1 of the result is set if the piece may
    go k squares. Which side is to move is the caller's business (``may_move``).
    """
    step = CELL_STEP[direction]
    piece = row[cell]
    valley = row[RULES] >= KOOM_VALLEY
    if piece == DWARF:
        return (
            (1 << empty_run(row, cell, step)) - 1
            if valley
            else _classic_dwarf_moves(row, cell, step)
        )
    if piece == TROLL:
        return (
            _valley_troll_moves(row, cell, step)
            if valley
            else _classic_troll_moves(row, cell, step)
        )
    return _stone_moves(row, cell, step)


@compiled
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


@compiled
def has_legal_turn(row):
    """Whether the side to move, at the start of its turn, can move a piece."""
    for square in range(NUM_SQUARES):
        cell = CELL_OF_SQUARE[square]
        if may_move(row, cell):
            for direction in range(NUM_DIRECTIONS):
                if ray_moves(row, cell, direction) != 0:
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
                neighbour = cell + d_row * 16 + d_col
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
        row: [304] a state row.
        out: [>= 2048] any integer type.
    """
    if row[TERMINATION] != ONGOING:
        return 0
    if row[PENDING] != NO_QUESTION:
        return _answers(row, out)
    count = 0
    for square in range(NUM_SQUARES):
        cell = CELL_OF_SQUARE[square]
        if not may_move(row, cell):
            continue
        for direction in range(NUM_DIRECTIONS):
            bits = ray_moves(row, cell, direction)
            action = MOVE_BASE[cell, direction]
            while bits != 0:
                if bits & 1:
                    out[count] = action
                    count += 1
                bits >>= 1
                action += 1
    if may_offer(row):
        out[count] = OFFER
        count += 1
    return count


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
        return (
            pending == NO_QUESTION
            and may_move(row, start)
            and (ray_moves(row, start, direction) >> (distance - 1)) & 1 == 1
        )
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
    d_row, d_col = abs(target // 16 - cell // 16), abs(target % 16 - cell % 16)
    return pending != TAKE_ALL and max(d_row, d_col) == 1 and row[target] == DWARF
