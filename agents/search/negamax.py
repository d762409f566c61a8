"""Alpha-beta search over turns: the value of the best play to a given depth, and the best turn.

A turn is one or more decisions of one side, and the tree is one of decisions. The depth counts down
only where a turn ends; values and window change their sign only where the side to decide changes.
The search makes no offers to end the battle: an offer is worth what accepting or declining it is.

It goes depth first without recursion, which Numba cannot cache: every decision on the path is a
level with a row, a list of decisions and a *frame* of numbers. It is fail-soft (Fishburn 1983). A
null window shows whether a decision beats the best so far before a full window shows by how much
(principal variation search; Marsland and Campbell 1982). With quiescence and reductions off, its
value is exactly the minimax value.

``levels.py`` opens and closes a level, and ``pruning.py`` decides what is left out.
"""

from __future__ import annotations

from agents.search.evaluation import final_value
from agents.search.levels import close_level, list_quiet_moves, open_level
from agents.search.patterns import copy_codes, judge_afresh, judge_change
from agents.search.pruning import may_be_reduced, next_is_hopeless, reduction
from agents.search.table import key_after, position_key, prepare
from agents.search.workspace import (
    ALPHA,
    BEST,
    BEST_MOVE,
    BETA,
    BY_PATTERNS,
    CERTAIN,
    COUNT,
    EXTENDED,
    FLOOR,
    HURRY,
    IN_FULL,
    LAST_CAPTURED,
    LINE,
    MAX_LINE,
    NODE_LIMIT,
    NODES,
    REDUCED,
    SCOUTED,
    STOP,
    TRIED,
    TURNS_LEFT,
    UNLISTED,
)
from thud_env.actions import CAPTURE, CAPTURE_ALL
from thud_env.jit.compile import compiled, inlined, merged
from thud_env.jit.rng import random_below
from thud_env.rules.play import apply
from thud_env.rules.row import (
    NO_QUESTION,
    ONGOING,
    PENDING,
    TERMINATION,
    TO_MOVE,
    copy_row,
)


@merged
def _carry_out(work, level):
    """Play the decision to be tried now on the next level, and set HURRY to how to search it.

    Returns:
        whether that ended the battle; BEST of the next level is then its value, from its own view.
    """
    frame, child_frame = work.frames[level], work.frames[level + 1]
    decision = work.moves[level, frame[TRIED]]
    row, child = work.rows[level], work.rows[level + 1]
    copy_row(child, row)
    apply(child, decision)
    work.control[NODES] += 1
    frame[FLOOR] = max(frame[ALPHA], frame[BEST])
    frame[HURRY] = IN_FULL
    child_frame[LINE] = 0
    if child[TERMINATION] != ONGOING:
        child_frame[BEST] = final_value(child)
        return True
    turn_is_over = child[PENDING] == NO_QUESTION
    if frame[TURNS_LEFT] - (1 if turn_is_over else 0) >= 0:
        key = key_after(row, child, work.path_keys[level])
        work.path_keys[level + 1] = key
        if turn_is_over and frame[TURNS_LEFT] > 1:
            prepare(work.keys, work.entries, key)
    if work.control[BY_PATTERNS] == 1:
        codes, sums = work.codes[level + 1], work.sums[level + 1]
        copy_codes(codes, work.codes[level], work.tables)
        sums[0], sums[1] = work.sums[level, 0], work.sums[level, 1]
        judge_change(row, child, work.tables, codes, sums)
    child_frame[LAST_CAPTURED] = decision if CAPTURE <= decision < CAPTURE_ALL else -1
    if turn_is_over and may_be_reduced(work, level):
        frame[HURRY] = REDUCED
    elif frame[TRIED] > 0 and frame[BETA] > frame[FLOOR] + 1:
        frame[HURRY] = SCOUTED
    return False


@merged
def _open_child(work, level):
    """Open the next level, whose row is in place, as HURRY says.

    Returns:
        whether the child is settled already; BEST is then its value, from its own view.
    """
    frame, child_frame = work.frames[level], work.frames[level + 1]
    row, child = work.rows[level], work.rows[level + 1]
    alpha = frame[FLOOR]
    beta = frame[BETA] if frame[HURRY] == IN_FULL else alpha + 1
    turns_left = frame[TURNS_LEFT] - (1 if child[PENDING] == NO_QUESTION else 0)
    if frame[HURRY] == REDUCED:
        turns_left -= reduction(work, level)
    child_frame[TURNS_LEFT] = turns_left
    child_frame[EXTENDED] = frame[EXTENDED]
    if child[TO_MOVE] == row[TO_MOVE]:
        child_frame[ALPHA], child_frame[BETA] = alpha, beta
    else:
        child_frame[ALPHA], child_frame[BETA] = -beta, -alpha
    return open_level(work, level + 1)


@inlined
def _settled_value(work, level):
    """The value of a settled child, for the side that decides at ``level``."""
    value = work.frames[level + 1, BEST]
    return value if work.rows[level + 1, TO_MOVE] == work.rows[level, TO_MOVE] else -value


@merged
def _wants_another_look(work, level):
    """Whether the child just settled with a null window or less deep exceeds FLOOR, so that it must
    be searched again. Sets HURRY to the search that is wanted.
    """
    frame = work.frames[level]
    if frame[HURRY] == IN_FULL:
        return False
    value = _settled_value(work, level)
    if value <= frame[FLOOR]:
        return False
    if frame[HURRY] == REDUCED and frame[BETA] > frame[FLOOR] + 1:
        frame[HURRY] = SCOUTED
        return True
    if frame[HURRY] == SCOUTED and value >= frame[BETA]:
        return False
    frame[HURRY] = IN_FULL
    return True


@merged
def _take_child(work, level, in_first_turn):
    """Compare a settled child's value with the best so far."""
    frame, child_frame = work.frames[level], work.frames[level + 1]
    value = _settled_value(work, level)
    decision = work.moves[level, frame[TRIED]]
    frame[TRIED] += 1
    if value <= frame[BEST]:
        return
    frame[BEST] = value
    frame[BEST_MOVE] = decision
    if level > MAX_LINE or not in_first_turn:
        return
    same_side = work.rows[level + 1, TO_MOVE] == work.rows[level, TO_MOVE]
    length = child_frame[LINE] if same_side else 0
    work.lines[level, 0] = decision
    for i in range(length):
        work.lines[level, i + 1] = work.lines[level + 1, i]
    frame[LINE] = length + 1


@compiled
def _shuffle(decisions, scores, count, rng):
    """Shuffle both lists alike (Fisher-Yates)."""
    for i in range(count - 1, 0, -1):
        j = random_below(rng, 0, i + 1)
        decisions[i], decisions[j] = decisions[j], decisions[i]
        scores[i], scores[j] = scores[j], scores[i]


@compiled
def search(work, row, depth, alpha, beta, rng):
    """Search a position ``depth`` turns deep, a turn that is pending counting as one.

    Args:
        work: the arrays; ``work.control`` says how to search and when to stop.
        row: [432] a state row whose battle is not over and no offer is open.
        depth: 0 .. MAX_DEPTH; 0, for which no turn may be pending, searches captures only.
        alpha, beta: the window; a value outside it is a bound only.
        rng: [1] uint64, shuffles the decisions at the root: this breaks ties among equally
            promising best ones.

    Returns:
        whether the search was finished. ``work.frames[0, BEST]`` is its value for the side to
        move, and the first ``work.frames[0, LINE]`` of ``work.lines[0]`` are the best turn. If the
        search was stopped, both cover the decisions finished so far, and LINE may be 0.
    """
    frames, control = work.frames, work.control
    copy_row(work.rows[0], row)
    work.path_keys[0] = position_key(row)
    if control[BY_PATTERNS] == 1:
        judge_afresh(row, work.tables, work.codes[0], work.sums[0])
    frames[0, ALPHA] = alpha
    frames[0, BETA] = beta
    frames[0, TURNS_LEFT] = depth
    frames[0, LAST_CAPTURED] = -1
    frames[0, EXTENDED] = 0
    if open_level(work, 0):
        return True
    if frames[0, UNLISTED] == 1:
        list_quiet_moves(work, 0)
    _shuffle(work.moves[0], work.scores[0], frames[0, COUNT], rng)
    level = 0
    while True:
        frame = frames[level]
        if frame[TRIED] < frame[COUNT] and frame[BEST] < frame[BETA]:
            stopped = control[STOP] != 0 and (depth > 1 or control[NODES] >= CERTAIN)
            if stopped or control[NODES] >= control[NODE_LIMIT]:
                return False
            if next_is_hopeless(work, level):
                continue
            settled = _carry_out(work, level)
        elif frame[UNLISTED] == 1 and frame[BEST] < frame[BETA]:
            list_quiet_moves(work, level)
            continue
        else:
            close_level(work, level)
            if level == 0:
                return True
            level -= 1
            settled = True
        while not settled or _wants_another_look(work, level):
            settled = _open_child(work, level)
            if not settled:
                break
        if settled:
            _take_child(work, level, frames[level, TURNS_LEFT] == depth)
        else:
            level += 1
