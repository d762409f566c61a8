"""Orders decisions for the search. A good order makes alpha-beta fast; any order is correct."""

from __future__ import annotations

from agents.search.captures import capturable_by
from agents.search.evaluation import POINT
from agents.search.patterns import UNKNOWN
from thud_env.actions import CAPTURE, CAPTURE_ALL, DONE
from thud_env.jit.bits import natural
from thud_env.jit.compile import compiled
from thud_env.rules.row import PENDING, TAKE_ALL, TAKE_ONE, TRAMPLE_ON

FIRST, CAPTURES, KILLERS = 1 << 30, 1 << 24, 1 << 22
MOST_HISTORY = 1 << 20
LOUD = 1 << 26
QUIET = LOUD >> 1
"""Quiet moves score below this, all other decisions above."""
KILLER_BONUS = 50
_PLACE_BITS = 11
"""As many as the number of a decision in a list has."""
SORTED = 12
"""Decisions brought to the front one by one: if so many cause no cutoff, none is likely to."""


@compiled
def score_moves(row, decisions, count, scores, first, killers, history):
    """Score the decisions at the start of a turn: highest the one that proved best before, then
    captures, then those that lately refuted a sibling (killers), then those that often refute
    (history; Schaeffer, "The history heuristic", 1983).

    Args:
        row: [432] a state row at the start of a turn.
        decisions: [count] int32 its legal moves.
        count: how many.
        scores: [count] int32, written.
        first: the decision to try first, or -1.
        killers: [2] int32.
        history: [6470] int32.
    """
    for i in range(count):
        action = decisions[i]
        if action == first:
            scores[i] = FIRST
            continue
        captured = capturable_by(row, action)
        score = history[action]
        if captured > 0:
            score += CAPTURES * (1 + captured)
        elif action == killers[0] or action == killers[1]:
            score += KILLERS
        scores[i] = score


@compiled
def score_captures(row, decisions, count, scores, first):
    """Score moves that capture, the more the higher, and highest the one that proved best before,
    whether it captures or not.

    Args:
        row: [432] a state row at the start of a turn.
        decisions: [count] int32 the moves; ``first`` need not be among them.
        count: how many.
        scores: [count] int32, written: all at least LOUD.
        first: the move to try first, or -1.
    """
    for i in range(count):
        if decisions[i] == first:
            scores[i] = FIRST
        else:
            scores[i] = LOUD + capturable_by(row, decisions[i]) * POINT


@compiled
def score_judged_moves(decisions, count, scores, killers):
    """Score moves that capture nothing by their evaluation, killers a little higher, and moves of
    the stone, which are not evaluated, above all of them.

    Args:
        decisions: [count] int32 the moves.
        count: how many.
        scores: [count] int32, their evaluations (``judge_moves``); changed.
        killers: [2] int32; without any, the score of a move is its evaluation.
    """
    for i in range(count):
        action = decisions[i]
        if scores[i] == UNKNOWN:
            scores[i] = LOUD
        elif action == killers[0] or action == killers[1]:
            scores[i] += KILLER_BONUS


@compiled
def bring_best_forward(decisions, scores, position, count):
    """Swap the best-scored decision of ``position`` .. ``count`` - 1 to ``position``."""
    # The highest score and, of equal ones, the first, in one number: a loop without branches.
    highest = -(1 << 62)
    for i in range(natural(position), natural(count)):
        highest = max(highest, (int(scores[i]) << _PLACE_BITS) - i)
    best = natural(-highest & ((1 << _PLACE_BITS) - 1))
    decision, score = decisions[best], scores[best]
    decisions[best], scores[best] = decisions[position], scores[position]
    decisions[position], scores[position] = decision, score


@compiled
def note_refutation(killers, history, action, depth):
    """Record a decision that caused a cutoff."""
    if killers[0] != action:
        killers[1] = killers[0]
        killers[0] = action
    history[action] = min(history[action] + depth * depth, MOST_HISTORY)


@compiled
def arrange_answers(row, decisions, count, last_captured):
    """Drop decisions in the middle of a turn so that no set of captures is searched twice, and put
    the greediest first. Returns how many are left.

    Captures are made in ascending order of square. "Capture all" is kept at the start only;
    captures one by one stop short of the same set.

    Args:
        row: [432] a state row in the middle of a turn.
        decisions: [count] int32, its legal decisions, ascending; rearranged.
        count: how many.
        last_captured: the decision that captured the last dwarf in this search, or -1.
    """
    pending = row[PENDING]
    if pending == TRAMPLE_ON or pending == TAKE_ONE or pending == TAKE_ALL:
        return count
    at_start = last_captured < 0
    if not at_start and decisions[0] < CAPTURE_ALL and not CAPTURE <= decisions[1] < CAPTURE_ALL:
        decisions[0] = DONE
        return 1
    kept = 0
    for i in range(count):
        decision = decisions[i]
        if decision == CAPTURE_ALL:
            if at_start:
                decisions[kept] = decisions[0]
                decisions[0] = decision
                kept += 1
        elif decision >= CAPTURE_ALL or decision > last_captured:
            decisions[kept] = decision
            kept += 1
    return kept
