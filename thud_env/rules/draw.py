"""Drawing one legal decision uniformly, without listing any."""

from __future__ import annotations

from thud_env.actions import (
    MAX_MOVES_OF_SQUARE,
    MOVE_BASE,
    MOVE_DIRECTION,
    MOVE_DISTANCE,
    NUM_MOVES_OF_CELL,
    OFFER,
)
from thud_env.compile import compiled
from thud_env.rng import random_below
from thud_env.rules.legal import empty_run, legal_actions, may_offer, ray_moves
from thud_env.rules.row import NO_QUESTION, PENDING, movable_pieces


@compiled
def draw_legal(row, rng, game, scratch):
    """Draw a decision, each legal one with the same chance.

    At the start of a turn by rejection: a piece and one of 56 moves are drawn evenly until
    they make a legal one. Some six tries do, and a try looks along a single ray.

    Args:
        row: [432] a state row whose battle is not over.
        rng: [N] uint64, one generator a game (``rng.py``).
        game: which of them to draw from.
        scratch: [>= 16] int32.
    """
    if row[PENDING] != NO_QUESTION:
        return int(scratch[random_below(rng, game, legal_actions(row, scratch))])
    first, pieces = movable_pieces(row)
    moves = pieces * MAX_MOVES_OF_SQUARE
    tickets = moves + (1 if may_offer(row) else 0)
    while True:
        ticket = random_below(rng, game, tickets)
        if ticket == moves:
            return OFFER
        cell = int(row[first + ticket // MAX_MOVES_OF_SQUARE])
        move = ticket % MAX_MOVES_OF_SQUARE
        if move < NUM_MOVES_OF_CELL[cell]:
            action = int(MOVE_BASE[cell, 0]) + move
            direction = int(MOVE_DIRECTION[action])
            legal = ray_moves(row, cell, direction, empty_run(row, cell, direction))
            if (legal >> (MOVE_DISTANCE[action] - 1)) & 1:
                return action
