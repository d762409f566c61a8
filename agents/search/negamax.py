"""Alpha-beta over turns: what the best play of so many turns comes to, and how it begins.

A turn is one or more decisions, and the same side is asked again until it is over. The tree
is one of decisions; only where a turn ends does the depth count down, and only where the
side to decide changes does a value change its sign and the window turn round. Nobody offers
to end the battle inside the search: an offer is worth what accepting or declining it is.

Depth first without recursion (Numba's cache does not survive it): every decision on the
path is a level with a row, a list of decisions and a *frame* of numbers. The search is
fail-soft (Fishburn 1983). With quiescence off its value is exactly the minimax value.
"""

from __future__ import annotations

from agents.search.captures import capturing_moves, keep_hungry_answers
from agents.search.evaluation import INFINITE, evaluate, final_value
from agents.search.ordering import (
    FIRST,
    SORTED,
    arrange_answers,
    bring_best_forward,
    note_refutation,
    score_moves,
)
from agents.search.table import (
    AT_LEAST,
    AT_MOST,
    BOUND,
    DEPTH,
    EXACT,
    MOVE,
    VALUE,
    clocks_matter,
    look_up,
    position_key,
    store,
)
from agents.search.workspace import (
    ALPHA,
    BEST,
    BEST_MOVE,
    BETA,
    COUNT,
    FIRST_MOVE,
    IN_TABLE,
    LAST_CAPTURED,
    LINE,
    MAX_LINE,
    NODE_LIMIT,
    NODES,
    OLD_ALPHA,
    ORDERED,
    QUIESCENCE,
    STOP,
    TRIED,
    TURNS_LEFT,
    USE_TABLE,
)
from thud_env.actions import CAPTURE, CAPTURE_ALL, OFFER
from thud_env.jit.compile import compiled
from thud_env.jit.rng import random_below
from thud_env.rules.legal import legal_actions
from thud_env.rules.play import apply
from thud_env.rules.row import (
    NO_QUESTION,
    ONGOING,
    PENDING,
    TAKEN,
    TERMINATION,
    TO_MOVE,
    copy_row,
)


@compiled
def _list_answers(work, level):
    """The decisions in the middle of a turn."""
    row, frame, decisions = work.rows[level], work.frames[level], work.moves[level]
    count = legal_actions(row, decisions)
    if frame[TURNS_LEFT] > 0:
        return arrange_answers(row, decisions, count, frame[LAST_CAPTURED])
    return keep_hungry_answers(decisions, count, row[TAKEN])


@compiled
def _settle_quietly(work, level):
    """Beyond the depth: the side to move may stand pat, or capture."""
    row, frame = work.rows[level], work.frames[level]
    frame[BEST] = evaluate(row, work.weights, work.scratch)
    if frame[BEST] >= frame[BETA] or frame[TURNS_LEFT] <= -work.control[QUIESCENCE]:
        return True
    frame[COUNT] = capturing_moves(row, work.moves[level])
    return frame[COUNT] == 0


@compiled
def _settle_by_table(work, level):
    """Whether the table knows the value of the position, searched as deep as is wanted here.
    Results from deeper down would not be the minimax value of this depth.
    """
    frame = work.frames[level]
    key = position_key(work.rows[level], work.salt[0])
    work.path_keys[level] = key
    frame[IN_TABLE] = 1
    slot = look_up(work.keys, key)
    if slot < 0:
        return False
    entry = work.entries[slot]
    frame[BEST_MOVE] = entry[MOVE]
    if level == 0 or entry[DEPTH] != frame[TURNS_LEFT]:
        return False
    frame[BEST] = entry[VALUE]
    if entry[BOUND] == AT_LEAST:
        return frame[BEST] >= frame[BETA]
    return entry[BOUND] == EXACT or frame[BEST] <= frame[ALPHA]


@compiled
def _open_level(work, level):
    """Set up a level whose row, window, turns left and last capture are in place.

    Returns:
        whether it is settled already; BEST is then its value.
    """
    row, frame, scores = work.rows[level], work.frames[level], work.scores[level]
    frame[OLD_ALPHA] = frame[ALPHA]
    frame[BEST] = -INFINITE
    frame[BEST_MOVE] = -1
    frame[TRIED] = 0
    frame[IN_TABLE] = 0
    frame[LINE] = 0
    turns_left = frame[TURNS_LEFT]
    if row[PENDING] != NO_QUESTION:
        frame[COUNT] = _list_answers(work, level)
    elif turns_left <= 0:
        if _settle_quietly(work, level):
            return True
    else:
        first = work.control[FIRST_MOVE]
        if work.control[USE_TABLE] == 1:
            reach = turns_left + work.control[QUIESCENCE]
            if not clocks_matter(row, reach) and _settle_by_table(work, level):
                return True
            if level > 0:
                first = frame[BEST_MOVE]
            frame[BEST] = -INFINITE
            frame[BEST_MOVE] = -1
        count = legal_actions(row, work.moves[level])
        if work.moves[level, count - 1] == OFFER:
            count -= 1
        frame[COUNT] = count
        if work.control[ORDERED] == 1:
            score_moves(
                row, work.moves[level], count, scores,
                first, work.killers[turns_left], work.history[row[TO_MOVE]],
            )  # fmt: skip
            return False
    frame[TRIED] = 0
    for i in range(frame[COUNT]):
        # An interrupted search must have tried first what the one before it found.
        first = level == 0 and work.moves[level, i] == work.control[FIRST_MOVE]
        scores[i] = FIRST if first else 0
    return False


@compiled
def _close_level(work, level):
    """Remember what a level whose decisions are tried, or need no trying, came to."""
    row, frame = work.rows[level], work.frames[level]
    turns_left = frame[TURNS_LEFT]
    if turns_left <= 0 or row[PENDING] != NO_QUESTION:
        return
    bound = EXACT
    if frame[BEST] >= frame[BETA]:
        bound = AT_LEAST
        history = work.history[row[TO_MOVE]]
        note_refutation(work.killers[turns_left], history, frame[BEST_MOVE], turns_left)
    elif frame[BEST] <= frame[OLD_ALPHA]:
        bound = AT_MOST
    if frame[IN_TABLE] == 1:
        store(
            work.keys, work.entries, work.path_keys[level],
            frame[BEST], turns_left, bound, frame[BEST_MOVE],
        )  # fmt: skip


@compiled
def _prepare_child(work, level):
    """Carry out the decision whose turn it is on the next level.

    Returns:
        whether the child is settled already; BEST is then its value, from its own view.
    """
    frame, child_frame = work.frames[level], work.frames[level + 1]
    decisions = work.moves[level]
    i = frame[TRIED]
    if work.control[ORDERED] == 1 and (i < SORTED or level == 0):
        bring_best_forward(decisions, work.scores[level], i, frame[COUNT])
    decision = decisions[i]
    row, child = work.rows[level], work.rows[level + 1]
    copy_row(child, row)
    apply(child, decision)
    work.control[NODES] += 1
    child_frame[LINE] = 0
    if child[TERMINATION] != ONGOING:
        child_frame[BEST] = final_value(child)
        return True
    turn_is_over = child[PENDING] == NO_QUESTION
    child_frame[TURNS_LEFT] = frame[TURNS_LEFT] - (1 if turn_is_over else 0)
    child_frame[LAST_CAPTURED] = decision if CAPTURE <= decision < CAPTURE_ALL else -1
    alpha = max(frame[ALPHA], frame[BEST])
    if child[TO_MOVE] == row[TO_MOVE]:
        child_frame[ALPHA], child_frame[BETA] = alpha, frame[BETA]
    else:
        child_frame[ALPHA], child_frame[BETA] = -frame[BETA], -alpha
    return _open_level(work, level + 1)


@compiled
def _take_child(work, level, first_turn_ends):
    """Hold a settled child's value against the best so far."""
    frame, child_frame = work.frames[level], work.frames[level + 1]
    value = child_frame[BEST]
    same_side = work.rows[level + 1, TO_MOVE] == work.rows[level, TO_MOVE]
    if not same_side:
        value = -value
    decision = work.moves[level, frame[TRIED]]
    frame[TRIED] += 1
    if value <= frame[BEST]:
        return
    frame[BEST] = value
    frame[BEST_MOVE] = decision
    if level > MAX_LINE or not first_turn_ends:
        return
    length = child_frame[LINE] if same_side else 0
    work.lines[level, 0] = decision
    for i in range(length):
        work.lines[level, i + 1] = work.lines[level + 1, i]
    frame[LINE] = length + 1


@compiled
def _shuffle(decisions, scores, count, rng):
    """Fisher-Yates, both lists alike."""
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
        depth: 1 .. MAX_DEPTH.
        alpha, beta: the window; a value outside it is a bound only.
        rng: [1] uint64, shuffles the decisions at the root: of several best ones that are
            equally promising the first is kept.

    Returns:
        whether the search was finished. Its value is ``work.frames[0, BEST]``, for the side to
        move, and the best turn the first ``work.frames[0, LINE]`` of ``work.lines[0]``. If
        it was stopped, both are of the decisions finished so far, and LINE may be 0.
    """
    frames, control = work.frames, work.control
    copy_row(work.rows[0], row)
    frames[0, ALPHA] = alpha
    frames[0, BETA] = beta
    frames[0, TURNS_LEFT] = depth
    frames[0, LAST_CAPTURED] = -1
    _open_level(work, 0)
    _shuffle(work.moves[0], work.scores[0], frames[0, COUNT], rng)
    level = 0
    while True:
        frame = frames[level]
        if frame[TRIED] < frame[COUNT] and frame[BEST] < frame[BETA]:
            if control[STOP] != 0 or control[NODES] >= control[NODE_LIMIT]:
                return False
            if not _prepare_child(work, level):
                level += 1
                continue
        else:
            _close_level(work, level)
            if level == 0:
                return True
            level -= 1
        _take_child(work, level, frames[level, TURNS_LEFT] == depth)
