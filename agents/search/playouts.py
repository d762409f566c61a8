"""Values a leaf of the tree: by a short search, by a playout, or by the evaluation at once.

Values are on the scale of ``scale.py``, from the dwarfs' view.

A playout draws legal moves uniformly, and takes the captures that they offer. After ``length``
turns it is cut off and evaluated.
"""

from __future__ import annotations

from agents.search import negamax
from agents.search.captures import keep_hungry_answers
from agents.search.evaluation import INFINITE
from agents.search.judge import judge_position
from agents.search.scale import current_score, share_for_dwarfs
from agents.search.workspace import BEST, LINE, NODES
from thud_env.actions import OFFER
from thud_env.jit.compile import compiled, merged
from thud_env.jit.rng import random_below
from thud_env.rules.draw import draw_legal
from thud_env.rules.legal import legal_actions
from thud_env.rules.play import apply
from thud_env.rules.row import (
    NO_QUESTION,
    ONGOING,
    PENDING,
    TAKEN,
    TERMINATION,
)

BY_SEARCH, BY_EVALUATION, BY_RANDOM_PLAY = range(3)
"""How a leaf of the tree is valued."""

LEAF_DEPTH = 1
"""Turns that a leaf is searched."""


@compiled
def finish_turn(row, decisions, rng):
    """Play a pending turn to its end, capturing as much as possible.

    Args:
        row: [432] a state row, no offer open; changed.
        decisions: [>= 2048] scratch space, int32.
        rng: [1] uint64.
    """
    while row[TERMINATION] == ONGOING and row[PENDING] != NO_QUESTION:
        count = keep_hungry_answers(decisions, legal_actions(row, decisions), row[TAKEN])
        apply(row, decisions[random_below(rng, 0, count)])


@compiled
def evaluated_value(row, work):
    """Value a position for the dwarfs by the evaluation. No turn may be pending."""
    if row[TERMINATION] != ONGOING:
        return current_score(row)
    return share_for_dwarfs(row, judge_position(row, work))


@merged
def searched_value(row, depth, work, rng):
    """Value a position for the dwarfs by a search, a turn that is pending counting as one.

    Args:
        row: [432] a state row, no offer open.
        depth: turns to look ahead, 1 or more.
        work: see ``judging``.
        rng: [1] uint64.
    """
    if row[TERMINATION] != ONGOING:
        return current_score(row)
    work.control[NODES] = 0  # those of this search decide whether it can be stopped
    finished = negamax.search(work, row, depth, -INFINITE, INFINITE, rng)
    if not finished and work.frames[0, LINE] == 0:
        return share_for_dwarfs(row, judge_position(row, work))
    return share_for_dwarfs(row, work.frames[0, BEST])


@compiled
def _random_move(row, decisions, rng):
    """Draw a legal move uniformly."""
    while True:
        action = draw_legal(row, rng, 0, decisions)
        if action != OFFER:
            return action


@merged
def leaf_value(row, how, length, work, decisions, rng):
    """Value a position for the dwarfs as ``how`` says.

    Args:
        row: [432] a state row, no offer open; changed.
        how: BY_SEARCH, BY_EVALUATION or BY_RANDOM_PLAY.
        length: the most turns of a playout.
        work: see ``judging``.
        decisions: [>= 2048] scratch space, int32.
        rng: [1] uint64.
    """
    if how == BY_SEARCH:
        return searched_value(row, LEAF_DEPTH, work, rng)
    finish_turn(row, decisions, rng)
    if how == BY_RANDOM_PLAY:
        for _ in range(length):
            if row[TERMINATION] != ONGOING:
                break
            apply(row, _random_move(row, decisions, rng))
            finish_turn(row, decisions, rng)
    return evaluated_value(row, work)
