"""What the search need not look at, or not so deep.

Exact: one turn before the end of the search, quiet moves to positions that look too bad need not
be carried out, since the opponent may stand pat there. All else may miss a turn.

``reductions=1``: quiet moves that come late in the order are searched a turn or two less deep, and
again in full if they turn out better than what there is already (late-move reductions).

``reductions=2``: this from two turns left on, and besides

- quiet moves to positions that look far too bad are not searched at all (futility pruning; Heinz,
  "Extended futility pruning", 1998);
- a side that stands well enough, and is threatened by nothing, need not show how it goes on. The
  margins are what searches without threats lost now and then against the evaluation: one in
  twenty lost 20 hundredths of a point for dwarfs, 60 for trolls, who have fewer moves.
"""

from __future__ import annotations

from agents.search.captures import threatens
from agents.search.evaluation import LARGEST_EVALUATION, evaluate
from agents.search.ordering import QUIET, SORTED, bring_best_forward
from agents.search.workspace import (
    ALPHA,
    BEST,
    BEST_MOVE,
    BETA,
    BY_PATTERNS,
    COUNT,
    LINE,
    MARGIN,
    NODES,
    ORDERED,
    REDUCTIONS,
    TRIED,
    TURNS_LEFT,
)
from thud_env.jit.compile import inlined
from thud_env.rules.row import DWARFS, NO_QUESTION, PENDING, TO_MOVE

LATE, VERY_LATE = (0, 8, 20), (0, 30, 60)
"""Decisions searched in full depth, and with at most one turn less, by ``reductions``."""
SHALLOWEST, DEEP = (0, 3, 2), (0, 5, 4)
"""Turns left from which on late moves are searched one turn less deep, and very late ones two."""
FUTILE, FUTILE_TURN, FUTILE_TURNS = 80, 60, 4
"""By how much a move must look too bad if two turns are left, how much more if one turn more is,
and the most turns left at which that says anything. Hundredths of a point, as below."""
CALM_DWARFS, CALM_TROLLS = 20, 40
"""By how much a side must stand too well if it is threatened by nothing."""


@inlined
def standing(work, level):
    """What a position looks worth to the side to move."""
    row = work.rows[level]
    if work.control[BY_PATTERNS] == 0:
        return evaluate(row, work.weights, work.scratch)
    side = int(row[TO_MOVE])
    value = min(max(work.sums[level, side], -LARGEST_EVALUATION), LARGEST_EVALUATION)
    return value if side == DWARFS else -value


@inlined
def is_calm(work, level):
    """Whether the side to move, which has one turn left and only has to show that the opponent will
    not allow this position, stands well enough. BEST is then what it looks worth.
    """
    row, frame = work.rows[level], work.frames[level]
    if work.control[REDUCTIONS] < 2 or frame[BETA] > frame[ALPHA] + 1:
        return False
    margin = CALM_DWARFS if row[TO_MOVE] == DWARFS else CALM_TROLLS
    value = standing(work, level)
    if value - margin < frame[BETA] or threatens(row, work.moves[level]):
        return False
    frame[BEST] = value
    return True


@inlined
def margin_of_quiet_moves(work, level, exact):
    """By how much a judged quiet move must look too bad not to be searched; -1: all are.

    Args:
        work: the arrays.
        level: at the start of a turn, the moves judged by patterns.
        exact: whether no quiet move leads to the end of the battle, if one turn is left.
    """
    turns_left = work.frames[level, TURNS_LEFT]
    if turns_left == 1:
        return 0 if exact else -1
    if work.control[REDUCTIONS] < 2 or turns_left > FUTILE_TURNS:
        return -1
    return FUTILE + FUTILE_TURN * (turns_left - 2)


@inlined
def next_is_hopeless(work, level):
    """Bring the most promising of the decisions left forward. If even that is a quiet move to a
    position that looks too bad, so are all the others, and they count as tried.
    """
    frame, scores = work.frames[level], work.scores[level]
    i = frame[TRIED]
    if work.control[ORDERED] == 1 and (i < SORTED or work.control[BY_PATTERNS] == 1 or level == 0):
        bring_best_forward(work.moves[level], scores, i, frame[COUNT])
    margin = frame[MARGIN]
    if margin < 0 or scores[i] >= QUIET:
        return False
    value = min(max(int(scores[i]), -LARGEST_EVALUATION), LARGEST_EVALUATION)
    floor = max(frame[ALPHA], frame[BEST])
    if value + margin > floor:
        return False
    if margin > 0 and (frame[BEST_MOVE] < 0 or floor > LARGEST_EVALUATION):
        return False
    if margin == 0 and value > frame[BEST]:  # the opponent need only stand pat
        frame[BEST] = value
        frame[BEST_MOVE] = work.moves[level, i]
        frame[LINE] = 0
    work.control[NODES] += frame[COUNT] - i
    frame[TRIED] = frame[COUNT]
    return True


@inlined
def may_be_reduced(work, level):
    """Whether the decision whose turn it is may be searched less deep at first."""
    frame, reductions = work.frames[level], work.control[REDUCTIONS]
    return (
        reductions > 0
        and frame[TURNS_LEFT] >= SHALLOWEST[reductions]
        and frame[TRIED] >= LATE[reductions]
        and work.rows[level, PENDING] == NO_QUESTION
        and work.scores[level, frame[TRIED]] < QUIET
    )


@inlined
def reduction(work, level):
    """By how many turns."""
    frame, reductions = work.frames[level], work.control[REDUCTIONS]
    very_late = frame[TRIED] >= VERY_LATE[reductions]
    return 2 if frame[TURNS_LEFT] >= DEEP[reductions] and very_late else 1
