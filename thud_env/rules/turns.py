"""Complete turns: counts them, walks their tree, draws one uniformly.

A turn is one or more decisions. Two turns are distinct if they differ in where the piece
goes or in the set of dwarfs captured; tramples also differ by their path. The order in
which captures are decided does not matter.
"""

from __future__ import annotations

import numpy as np

from thud_env.actions import CAPTURE, CAPTURE_ALL, DONE, MOVE_BASE
from thud_env.board import NUM_DIRECTIONS
from thud_env.jit.compile import compiled, compiled_with_arrays
from thud_env.jit.rng import random_below
from thud_env.rules.legal import legal_actions
from thud_env.rules.moves import can_trample, count_adjacent
from thud_env.rules.play import apply
from thud_env.rules.row import (
    DWARF,
    MAX_DECISIONS_AT_ONCE,
    PENDING,
    PENDING_CELL,
    ROW_SIZE,
    TAKE_ALL,
    TAKE_ANY,
    TAKE_ONE,
    TAKE_SOME,
    TAKEN,
    TRAMPLE_ON,
    is_between_turns,
)

MAX_TRAMPLES = 32
"""A turn tramples each dwarf at most once."""


@compiled_with_arrays
def _walk_tramples(row, rows):
    """In how many ways a turn that may trample on can end (here, or after any number of jumps), and
    after how many more jumps at most.

    Depth first, without recursion, which Numba's cache does not survive: ``rows`` [>= 33, 432]
    holds the position after each jump of the path, ``tried`` the directions tried there.
    """
    tried = np.zeros(MAX_TRAMPLES + 1, dtype=np.int64)
    rows[0] = row
    paths = 1
    longest = 0
    depth = 0
    while depth >= 0:
        here = rows[depth]
        direction = tried[depth]
        if direction == NUM_DIRECTIONS:
            depth -= 1
            continue
        tried[depth] += 1
        if not can_trample(here, here[PENDING_CELL], direction):
            continue
        child = rows[depth + 1]
        child[:] = here
        apply(child, MOVE_BASE[here[PENDING_CELL], direction] + 1)
        paths += 1
        longest = max(longest, depth + 1)
        if child[PENDING] == TRAMPLE_ON:
            depth += 1
            tried[depth] = 0
    return paths, longest


@compiled
def count_endings(row, rows):
    """In how many distinct ways the turn that is pending can end; 1 if none is pending.

    Args:
        row: [432] a state row.
        rows: [>= 33, 432] scratch space.
    """
    if is_between_turns(row):
        return 1
    pending = row[PENDING]
    if pending == TRAMPLE_ON:
        return _walk_tramples(row, rows)[0]
    adjacent = count_adjacent(row, row[PENDING_CELL], DWARF)
    if pending == TAKE_ONE:
        return adjacent + 1
    if pending == TAKE_ALL:
        return 2
    if pending == TAKE_SOME:
        return (1 << adjacent) - 1
    return 1 << adjacent


@compiled
def most_captures(row, rows):
    """How many more dwarfs the turn that is pending can capture at most; 0 if none is pending.

    Args:
        row: [432] a state row.
        rows: [>= 33, 432] scratch space.
    """
    if is_between_turns(row):
        return 0
    pending = row[PENDING]
    if pending == TRAMPLE_ON:
        return _walk_tramples(row, rows)[1]
    adjacent = count_adjacent(row, row[PENDING_CELL], DWARF)
    return min(adjacent, 1) if pending == TAKE_ONE else adjacent


@compiled_with_arrays
def count_turns(row, rows):
    """How many distinct complete turns the side to move has at the start of its turn.

    Args:
        row: [432] a state row.
        rows: [>= 34, 432] scratch space.
    """
    decisions = np.empty(MAX_DECISIONS_AT_ONCE, dtype=np.int32)
    turns = 0
    child = rows[MAX_TRAMPLES + 1]
    for i in range(legal_actions(row, decisions)):
        child[:] = row
        apply(child, decisions[i])
        turns += count_endings(child, rows)
    return turns


@compiled
def repeats_turn(row, decision, last_captured):
    """Whether a decision leads only to turns that others lead to. Those that do not visit each set
    of captures once: one dwarf after the other, in ascending order of square.

    Args:
        row: [432] a state row.
        decision: a legal decision.
        last_captured: the turn's last decision, if that captured; else -1.
    """
    if decision == CAPTURE_ALL:
        return row[PENDING] != TAKE_ALL
    return CAPTURE <= decision < CAPTURE_ALL and decision < last_captured


@compiled_with_arrays
def perft(row, depth):
    """How many sequences of ``depth`` complete turns start here: move generation's usual test.

    A battle that ends earlier contributes nothing.

    Args:
        row: [432] a state row at the start of a turn.
        depth: turns, 0 or more.
    """
    scratch = np.empty((MAX_TRAMPLES + 2, ROW_SIZE), dtype=np.int16)
    if depth == 0:
        return 1
    if depth == 1:
        return count_turns(row, scratch)
    levels = depth * (MAX_TRAMPLES + 1)
    rows = np.empty((levels, ROW_SIZE), dtype=np.int16)
    decisions = np.empty((levels, MAX_DECISIONS_AT_ONCE), dtype=np.int32)
    unvisited = np.empty(levels, dtype=np.int64)
    turns_left = np.empty(levels, dtype=np.int64)
    last_captured = np.empty(levels, dtype=np.int64)
    rows[0] = row
    unvisited[0] = legal_actions(row, decisions[0])
    turns_left[0] = depth
    last_captured[0] = -1
    nodes = 0
    level = 0
    while level >= 0:
        if unvisited[level] == 0:
            level -= 1
            continue
        unvisited[level] -= 1
        here = rows[level]
        decision = decisions[level, unvisited[level]]
        if repeats_turn(here, decision, last_captured[level]):
            continue
        child = rows[level + 1]
        child[:] = here
        apply(child, decision)
        turn_is_over = is_between_turns(child)
        left = turns_left[level] - (1 if turn_is_over else 0)
        if left == 1 and turn_is_over:
            nodes += count_turns(child, scratch)
            continue
        level += 1
        unvisited[level] = legal_actions(child, decisions[level])
        turns_left[level] = left
        last_captured[level] = decision if CAPTURE <= decision < CAPTURE_ALL else -1
    return nodes


@compiled
def _draw_capture(row, decisions, count, rng, game):
    """Draw the next capture, or to stop, so that every set of dwarfs that the turn may still
    capture is equally likely.

    Of ``total`` dwarfs, ``taken`` are captured. Each set of a size is as likely as any other
    if the next dwarf is drawn evenly; it remains to stop at each size as often as sets
    have that size: C(total, taken) of those that reach it.
    """
    taken = int(row[TAKEN])
    captures = 0
    while captures < count and decisions[captures] < CAPTURE_ALL:
        captures += 1
    sets_of_size = 1
    sets_reaching = 1
    for more in range(1, captures + 1):
        # C(total, taken + more), relative to C(total, taken), kept whole by scaling both.
        sets_of_size *= taken + more
        sets_reaching = sets_reaching * (taken + more) + _falling(captures, more)
    if row[PENDING] == TAKE_ANY and random_below(rng, game, sets_reaching) < sets_of_size:
        return DONE
    return decisions[random_below(rng, game, captures)]


@compiled
def _falling(n, k):
    product = 1
    for i in range(k):
        product *= n - i
    return product


@compiled_with_arrays
def random_turn_decision(row, rng, game, decisions, rows):
    """Draw the next decision of a complete turn drawn uniformly from all distinct ones.

    Decision by decision this needs no memory: each is drawn in proportion to the number of
    turns that go through it.

    Args:
        row: [432] a state row whose battle is not over.
        rng: [N] uint64, one generator a game (``rng.py``).
        game: which of them to draw from.
        decisions: [>= 2048] scratch space, int32.
        rows: [>= 34, 432] scratch space, int16.
    """
    count = legal_actions(row, decisions)
    pending = row[PENDING]
    if pending == TAKE_ANY or pending == TAKE_SOME:
        return _draw_capture(row, decisions, count, rng, game)
    total = 0
    child = rows[MAX_TRAMPLES + 1]
    for i in range(count):
        child[:] = row
        apply(child, decisions[i])
        total += count_endings(child, rows)
    ticket = random_below(rng, game, total)
    for i in range(count):
        child[:] = row
        apply(child, decisions[i])
        ticket -= count_endings(child, rows)
        if ticket < 0:
            return decisions[i]
    return decisions[count - 1]
