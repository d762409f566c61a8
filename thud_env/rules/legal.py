"""Which decisions are legal: the moves of ``moves.py`` at the start of a turn, and the questions
that may follow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
    NUM_DIRECTIONS,
    SQUARE_OF_CELL,
    STRIDE,
)
from thud_env.jit.bits import count_ones, natural, signed, trailing_zeros
from thud_env.jit.compile import compiled, inlined
from thud_env.rules.moves import can_trample, count_adjacent, may_step, piece_moves
from thud_env.rules.row import (
    AGREEMENT,
    ANSWER_OFFER,
    DWARF,
    DWARFS,
    MAX_DECISIONS_AT_ONCE,
    NO_QUESTION,
    OFFER_AFTER,
    OFFER_WAIT,
    ONGOING,
    PENDING,
    PENDING_CELL,
    QUIET_TURNS,
    STONE,
    TAKE_ALL,
    TAKE_ONE,
    TAKE_SOME,
    TERMINATION,
    TO_MOVE,
    TRAMPLE_ON,
    TROLL,
    Row,
    movable_pieces,
    stone_moves,
)

NUM_WORDS = (NUM_ACTIONS + 63) // 64
"""How many 64-bit words hold a bit for each action."""


@inlined
def may_move(row, cell):
    """Whether ``cell`` holds a piece that the side to move may move: dwarfs also carry the Rock."""
    piece = row[cell]
    if row[TO_MOVE] == DWARFS:
        return piece == DWARF or (piece == STONE and stone_moves(row))
    return piece == TROLL


@compiled
def may_offer(row):
    """Whether the side to move may offer to end the battle (docs/rules.md, section 5).

    Ruling, section 5: an offer waits.
    """
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
    """Whether "capture all" is offered: where all may be captured, and there are several, or it is
    that or none.
    """
    return row[PENDING] == TAKE_ALL or (row[PENDING] != TAKE_ONE and adjacent > 1)


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
        if can_trample(row, cell, direction):
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
            if can_trample(row, cell, direction):
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


def legal_list(row: Row) -> NDArray[np.int32]:
    """The legal decisions of a state row, [432], as [n] int32, ascending; empty once the battle is
    over.
    """
    out = np.empty(MAX_DECISIONS_AT_ONCE, dtype=np.int32)
    return out[: legal_actions(row, out)].copy()


@inlined
def _put(words, first, bits):
    """Set bits of a long row of 64-bit words, from bit ``first`` on."""
    first = natural(first)
    word = first >> 6
    shift = first & 63
    words[word] |= signed(bits << shift)
    words[word + 1] |= (bits >> 1) >> (63 - shift)


@compiled
def legal_words(row, words, scratch):
    """Set a bit for each legal decision; return how many there are.

    Args:
        row: [432] a state row.
        words: [103] int64, written: action a is bit a % 64 of word a // 64. The last word
            is room to spill, and stays 0.
        scratch: [>= MAX_ANSWERS] any integer type.
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
            return start == cell and distance == 2 and can_trample(row, cell, direction)
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
