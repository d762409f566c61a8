"""Decides what the search leaves out, searches less deep, or looks at more closely.

Always by patterns, and exact: with one turn left, quiet moves to positions that look too bad are
not played, since the opponent may stand pat there. All else may miss a turn, and is done with
``reductions=1``:

- quiet moves late in the order are searched a turn or two less deep, and again in full if they beat
  the best so far (late-move reductions);
- by patterns, quiet moves to positions that look far too bad are not searched (futility pruning;
  Heinz, "Extended futility pruning", 1998);
- a side that stands well enough and is not threatened is not searched. The dwarfs' margin is
  measured: of their searches without threats, one in twenty fell short of the evaluation by more
  than 17 hundredths of a point. The trolls, who have fewer moves, get twice as much;
- none of this where a limit may end the battle first: then the score counts, not the evaluation;
- a side that is threatened at the end of the search, with a capture or with a win by the stone,
  gets one more turn if its value may matter: the evaluation is least certain there. One threat
  often answers another: a search by patterns of at most two turns adds up to three, any other one
  turn, since its time is better spent otherwise.
"""

from __future__ import annotations

from agents.search.captures import threatens
from agents.search.evaluation import LARGEST_EVALUATION, evaluate, to_mover, within_bounds
from agents.search.ordering import QUIET, SORTED, bring_best_forward
from agents.search.patterns import has_replies
from agents.search.stone import wins_by_stone
from agents.search.table import clocks_matter
from agents.search.workspace import (
    ALPHA,
    BEST,
    BEST_MOVE,
    BETA,
    BY_PATTERNS,
    COUNT,
    EXTENDED,
    EXTENSIONS,
    LINE,
    MARGIN,
    NODES,
    ORDERED,
    REDUCTIONS,
    TRIED,
    TURNS_LEFT,
    WITHIN_BOUNDS,
)
from thud_env.jit.compile import inlined, merged
from thud_env.rules.row import DWARFS, NO_QUESTION, PENDING, TO_MOVE
from thud_env.rules.traits import scored_by_points

LATE, VERY_LATE = 4, 15
"""Decisions searched in full depth, and with at most one turn less."""
SHALLOWEST, DEEP = 2, 4
"""Turns left from which on late moves are searched one turn less deep, and very late ones two."""
FUTILE, FUTILE_TURN, FUTILE_TURNS = 80, 60, 3
"""The futility margin with two turns left, how much each further turn adds, and the most turns
left at which it is used. Hundredths of a point, as below."""
CALM_DWARFS, CALM_TROLLS = 20, 40
"""By how much the evaluation must exceed beta for a side that is not threatened."""
DOUBT_DWARFS, DOUBT_TROLLS = 30, 200
"""How far outside the window the evaluation of a threatened side may lie to be looked at again. A
further turn of dwarfs is dear."""
SHALLOW, EXTENSIONS_IF_SHALLOW = 2, 3
"""A search by patterns of at most so many turns adds up to so many, any other one."""


def most_extensions(depth: int, by_patterns: bool) -> int:
    """The most turns that a search of this depth adds on the way to a position: by features all its
    moves are played, which is dear.
    """
    return EXTENSIONS_IF_SHALLOW if by_patterns and depth <= SHALLOW else 1


@inlined
def static_value(work, level):
    """The evaluation of a position for the side to move."""
    row = work.rows[level]
    if work.control[BY_PATTERNS] == 0:
        value = evaluate(row, work.weights, work.scratch)
    else:
        value = to_mover(row, work.sums[level, int(row[TO_MOVE])])
    return within_bounds(row, value) if work.control[WITHIN_BOUNDS] else value


@inlined
def sees_win(work, level, side):
    """Whether a side could win by the stone if it were its turn, in a game that is played to win:
    where points count, such an end is worth its points. The evaluation by features stays as it is:
    others are measured against it.
    """
    row = work.rows[level]
    return work.control[BY_PATTERNS] == 1 and wins_by_stone(row, side) and not scored_by_points(row)


@inlined
def _is_threatened(work, level):
    """Whether the opponent of the side to move could capture or win if it were its turn."""
    row = work.rows[level]
    return sees_win(work, level, 1 - row[TO_MOVE]) or threatens(row, work.moves[level])


@merged
def is_calm(work, level):
    """Whether the side to move, with one turn left and a null window, stands well enough and is not
    threatened. BEST is then its evaluation.
    """
    row, frame = work.rows[level], work.frames[level]
    if work.control[REDUCTIONS] == 0 or frame[BETA] > frame[ALPHA] + 1:
        return False
    margin = CALM_DWARFS if row[TO_MOVE] == DWARFS else CALM_TROLLS
    value = static_value(work, level)
    if value - margin < frame[BETA] or clocks_matter(row, 1) or _is_threatened(work, level):
        return False
    frame[BEST] = value
    return True


@merged
def is_in_doubt(work, level):
    """Whether the side to move, with no turn left, is threatened and its value may matter."""
    row, frame = work.rows[level], work.frames[level]
    if frame[EXTENDED] >= work.control[EXTENSIONS]:
        return False
    margin = DOUBT_DWARFS if row[TO_MOVE] == DWARFS else DOUBT_TROLLS
    value = static_value(work, level)
    if value <= frame[ALPHA] - margin or value >= frame[BETA] + margin:
        return False
    return _is_threatened(work, level)


@merged
def margin_of_quiet_moves(work, level):
    """By how much an evaluated quiet move must look too bad to be left out; -1: none is.

    Args:
        work: the arrays.
        level: at the start of a turn, its moves evaluated by patterns.
    """
    row, turns_left = work.rows[level], work.frames[level, TURNS_LEFT]
    if clocks_matter(row, turns_left):
        return -1
    if turns_left > (FUTILE_TURNS if work.control[REDUCTIONS] == 1 else 1) or not has_replies(row):
        return -1
    if turns_left == 1:
        return 0
    return FUTILE + FUTILE_TURN * (turns_left - 2)


@merged
def next_is_hopeless(work, level):
    """Bring the most promising decision left to the front. If even that is a quiet move to a
    position that looks too bad, count all decisions left as tried and return True.
    """
    row, frame, scores = work.rows[level], work.frames[level], work.scores[level]
    i = frame[TRIED]
    if work.control[ORDERED] == 1 and (i < SORTED or work.control[BY_PATTERNS] == 1 or level == 0):
        bring_best_forward(work.moves[level], scores, i, frame[COUNT])
    margin = frame[MARGIN]
    if margin < 0 or scores[i] >= QUIET:
        return False
    value = min(max(int(scores[i]), -LARGEST_EVALUATION), LARGEST_EVALUATION)
    value = within_bounds(row, value)  # the bounds are the same after a quiet move
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


@merged
def may_be_reduced(work, level):
    """Whether the decision to be tried now may be searched less deep at first. A search of two
    turns tries all of its first moves in full.
    """
    frame = work.frames[level]
    return (
        work.control[REDUCTIONS] == 1
        and frame[TURNS_LEFT] >= (SHALLOWEST if level > 0 else SHALLOWEST + 1)
        and frame[TRIED] >= LATE
        and work.rows[level, PENDING] == NO_QUESTION
        and work.scores[level, frame[TRIED]] < QUIET
    )


@merged
def reduction(work, level):
    """By how many turns less deep it is searched."""
    frame = work.frames[level]
    return 2 if frame[TURNS_LEFT] >= DEEP and frame[TRIED] >= VERY_LATE else 1
