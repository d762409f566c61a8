"""Draws one legal decision uniformly, without listing any."""

from __future__ import annotations

from thud_env.actions import (
    MAX_MOVES_OF_SQUARE,
    MOVE_BASE,
    MOVE_LINE,
    MOVE_PASSES,
    MOVE_TO,
    NUM_MOVES_OF_CELL,
    OFFER,
)
from thud_env.board import NUM_DIRECTIONS
from thud_env.jit.bits import choose, count_ones, natural, nth_one
from thud_env.jit.compile import compiled, inlined
from thud_env.jit.rng import random_below
from thud_env.rules.legal import legal_actions, may_offer
from thud_env.rules.moves import TROLL_REACH, piece_moves, troll_shoves, troll_steps
from thud_env.rules.row import (
    DWARF,
    DWARF_CELLS,
    DWARFS,
    EMPTY,
    NO_QUESTION,
    NUM_TROLLS,
    PENDING,
    TAKEN_LINES,
    TO_MOVE,
    TROLL_CELLS,
    num_dwarf_cells,
)
from thud_env.rules.traits import trolls_capture_beside
from thud_env.rulesets import MAX_TROLLS

MAX_MOVES_OF_TROLL = NUM_DIRECTIONS + MAX_TROLLS - 1
"""Most moves of a troll that captures beside: a step in each direction, and for every square more
another troll behind. Elsewhere trolls slide."""
MAX_SLIDES_OF_TROLL = NUM_DIRECTIONS * TROLL_REACH


@inlined
def _draw_from_dwarfs(row, rng, game):
    """Draw a piece and one of the moves that start from its square until they make a legal one.
    Blockers are tested first with one mask, to avoid an unpredictable branch.
    """
    moves = num_dwarf_cells(row) * MAX_MOVES_OF_SQUARE
    tickets = moves + (1 if may_offer(row) else 0)
    while True:
        ticket = random_below(rng, game, tickets)
        if ticket == moves:
            return OFFER
        cell = natural(row[DWARF_CELLS + ticket // MAX_MOVES_OF_SQUARE])
        move = ticket % MAX_MOVES_OF_SQUARE
        surplus = choose(move < NUM_MOVES_OF_CELL[cell], 0, move)
        move -= surplus
        action = natural(natural(MOVE_BASE[cell, 0]) + move)
        on_the_way = int(row[TAKEN_LINES + natural(MOVE_LINE[action])]) & MOVE_PASSES[action]
        if on_the_way | surplus == 0:
            glides = (row[cell] == DWARF) & (row[natural(MOVE_TO[action])] == EMPTY)
            if glides or (piece_moves(row, cell) >> move) & 1 == 1:
                return action


@inlined
def _draw_from_trolls(row, rng, game):
    """Draw a troll and a rank until that troll has a move of that rank. Steps are ranked by their
    direction, shoves come after them.
    """
    steps = trolls_capture_beside(row)
    ranks = MAX_MOVES_OF_TROLL if steps else MAX_SLIDES_OF_TROLL
    moves = int(row[NUM_TROLLS]) * ranks
    tickets = moves + (1 if may_offer(row) else 0)
    while True:
        ticket = random_below(rng, game, tickets)
        if ticket == moves:
            return OFFER
        cell = natural(row[TROLL_CELLS + ticket // ranks])
        rank = ticket % ranks
        if steps and rank < NUM_DIRECTIONS:
            if (troll_steps(row, cell) >> rank) & 1 == 1:
                return natural(MOVE_BASE[cell, rank])
            continue
        legal = troll_shoves(row, cell) if steps else piece_moves(row, cell)
        rank -= NUM_DIRECTIONS if steps else 0
        if rank < count_ones(legal):
            return natural(MOVE_BASE[cell, 0]) + nth_one(legal, rank)


@compiled
def draw_legal(row, rng, game, scratch):
    """Draw a decision, each legal one with the same chance.

    At the start of a turn by rejection: a piece and one of as many moves for each are drawn
    evenly until they make a legal one, which takes a few tries.

    Args:
        row: [432] a state row whose battle is not over.
        rng: [N] uint64, one generator a game (``rng.py``).
        game: which of them to draw from.
        scratch: [>= MAX_ANSWERS] int32.
    """
    if row[PENDING] != NO_QUESTION:
        return int(scratch[random_below(rng, game, legal_actions(row, scratch))])
    if row[TO_MOVE] == DWARFS:
        return _draw_from_dwarfs(row, rng, game)
    return _draw_from_trolls(row, rng, game)
