"""Alpha-beta over turns: what the best play of so many turns comes to, and how it begins.

A turn is one or more decisions, and the same side is asked again until it is over. The tree
is one of decisions; only where a turn ends does the depth count down, and only where the
side to decide changes does a value change its sign and the window turn round. Nobody offers
to end the battle inside the search: an offer is worth what accepting or declining it is.

Depth first without recursion (Numba's cache does not survive it): every decision on the
path is a level with a row, a list of decisions and a *frame* of numbers. The search is
fail-soft (Fishburn 1983), and looks with a null window whether a decision beats the best so far
before it looks by how much (principal variation search; Marsland and Campbell 1982). With
quiescence and reductions off its value is exactly the minimax value.

Reductions: quiet moves that come late in the order are searched a turn or two less deep, and again
in full if they turn out better than what there is already.
"""

from __future__ import annotations

from agents.search.captures import capturing_moves, keep_hungry_answers
from agents.search.evaluation import INFINITE, LARGEST_EVALUATION, evaluate, final_value
from agents.search.ordering import (
    FIRST,
    QUIET,
    SORTED,
    arrange_answers,
    bring_best_forward,
    note_refutation,
    score_judged_moves,
    score_moves,
)
from agents.search.patterns import copy_codes, has_replies, judge_afresh, judge_change, judge_moves
from agents.search.table import (
    AT_LEAST,
    AT_MOST,
    EXACT,
    clocks_matter,
    entry_bound,
    entry_depth,
    entry_move,
    entry_value,
    key_after,
    look_up,
    position_key,
    store,
)
from agents.search.workspace import (
    ALPHA,
    BEST,
    BEST_MOVE,
    BETA,
    BY_PATTERNS,
    COUNT,
    FIRST_MOVE,
    FLOOR,
    GENERATION,
    HURRY,
    IN_FULL,
    IN_TABLE,
    JUDGED,
    LAST_CAPTURED,
    LINE,
    MAX_LINE,
    NODE_LIMIT,
    NODES,
    OLD_ALPHA,
    ORDERED,
    QUIESCENCE,
    REDUCED,
    REDUCTIONS,
    SCOUTED,
    STOP,
    TRIED,
    TURNS_LEFT,
    USE_TABLE,
)
from thud_env.actions import CAPTURE, CAPTURE_ALL, OFFER
from thud_env.jit.compile import compiled, inlined
from thud_env.jit.rng import random_below
from thud_env.rules.legal import legal_actions
from thud_env.rules.play import apply
from thud_env.rules.row import (
    DWARFS,
    NO_QUESTION,
    ONGOING,
    PENDING,
    TAKEN,
    TERMINATION,
    TO_MOVE,
    copy_row,
)

LATE, VERY_LATE = 8, 30
"""Decisions searched in full depth, and with at most one turn less."""
SHALLOWEST, DEEP = 3, 4
"""Turns left from which on moves are searched one turn less deep, and replies two."""


@inlined
def _judge(work, level):
    """What a position looks worth to the side to move."""
    row = work.rows[level]
    if work.control[BY_PATTERNS] == 0:
        return evaluate(row, work.weights, work.scratch)
    side = int(row[TO_MOVE])
    value = min(max(work.sums[level, side], -LARGEST_EVALUATION), LARGEST_EVALUATION)
    return value if side == DWARFS else -value


@inlined
def _list_answers(work, level):
    """The decisions in the middle of a turn."""
    row, frame, decisions = work.rows[level], work.frames[level], work.moves[level]
    count = legal_actions(row, decisions)
    if frame[TURNS_LEFT] > 0:
        return arrange_answers(row, decisions, count, frame[LAST_CAPTURED])
    return keep_hungry_answers(decisions, count, row[TAKEN])


@inlined
def _settle_quietly(work, level):
    """Beyond the depth: the side to move may stand pat, or capture."""
    row, frame = work.rows[level], work.frames[level]
    frame[BEST] = _judge(work, level)
    if frame[BEST] >= frame[BETA] or frame[TURNS_LEFT] <= -work.control[QUIESCENCE]:
        return True
    frame[COUNT] = capturing_moves(row, work.moves[level])
    return frame[COUNT] == 0


@inlined
def _settle_by_table(work, level):
    """Whether the table knows the value of the position, searched as deep as is wanted here.
    Results from deeper down would not be the minimax value of this depth: they are taken only
    where reductions have given that up.
    """
    frame, control = work.frames[level], work.control
    frame[IN_TABLE] = 1
    entry = look_up(work.keys, work.entries, work.path_keys[level], control[GENERATION])
    if entry == 0:
        return False
    frame[BEST_MOVE] = entry_move(entry)
    deeper = entry_depth(entry) - frame[TURNS_LEFT]
    if level == 0 or deeper < 0 or (deeper > 0 and control[REDUCTIONS] == 0):
        return False
    frame[BEST] = entry_value(entry)
    bound = entry_bound(entry)
    if bound == AT_LEAST:
        return frame[BEST] >= frame[BETA]
    return bound == EXACT or frame[BEST] <= frame[ALPHA]


@inlined
def _score_turn(work, level, first):
    """Say how promising the moves at the start of a turn are."""
    row, frame, scores = work.rows[level], work.frames[level], work.scores[level]
    decisions, count = work.moves[level], frame[COUNT]
    killers = work.killers[frame[TURNS_LEFT]]
    if work.control[BY_PATTERNS] == 0:
        score_moves(row, decisions, count, scores, first, killers, work.history[row[TO_MOVE]])
        return
    judge_moves(
        row, decisions, count, work.tables, work.codes[level], work.sums[level],
        work.arrivals, scores,
    )  # fmt: skip
    if frame[TURNS_LEFT] == 1:
        killers = work.killers[0]  # none
        frame[JUDGED] = not clocks_matter(row, 1) and has_replies(row)
    score_judged_moves(row, decisions, count, scores, first, killers)


@inlined
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
    frame[JUDGED] = 0
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
            _score_turn(work, level, first)
            return False
    for i in range(frame[COUNT]):
        # An interrupted search must have tried first what the one before it found.
        first = level == 0 and work.moves[level, i] == work.control[FIRST_MOVE]
        scores[i] = FIRST if first else 0
    return False


@inlined
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
            work.keys, work.entries, work.path_keys[level], work.control[GENERATION],
            frame[BEST], turns_left, bound, frame[BEST_MOVE],
        )  # fmt: skip


@inlined
def _next_is_hopeless(work, level):
    """Bring the most promising of the decisions left forward. If even that is a quiet move to a
    position whose evaluation is too low, so are all the others: the opponent need only stand
    pat. They count as tried then.
    """
    frame, scores = work.frames[level], work.scores[level]
    i = frame[TRIED]
    if work.control[ORDERED] == 1 and (i < SORTED or work.control[BY_PATTERNS] == 1 or level == 0):
        bring_best_forward(work.moves[level], scores, i, frame[COUNT])
    if frame[JUDGED] == 0 or scores[i] >= QUIET:
        return False
    value = min(max(int(scores[i]), -LARGEST_EVALUATION), LARGEST_EVALUATION)
    if value > max(frame[ALPHA], frame[BEST]):
        return False
    if value > frame[BEST]:
        frame[BEST] = value
        frame[BEST_MOVE] = work.moves[level, i]
        frame[LINE] = 0
    work.control[NODES] += frame[COUNT] - i
    frame[TRIED] = frame[COUNT]
    return True


@inlined
def _may_be_reduced(work, level):
    """Whether the decision whose turn it is may be searched less deep at first."""
    frame = work.frames[level]
    return (
        work.control[REDUCTIONS] == 1
        and frame[TURNS_LEFT] >= SHALLOWEST
        and frame[TRIED] >= LATE
        and work.rows[level, PENDING] == NO_QUESTION
        and work.scores[level, frame[TRIED]] < QUIET
    )


@inlined
def _carry_out(work, level):
    """Carry out the decision whose turn it is on the next level, and say how to search it.

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
    if frame[TURNS_LEFT] - (1 if turn_is_over else 0) > 0:
        work.path_keys[level + 1] = key_after(row, child, work.path_keys[level])
    if work.control[BY_PATTERNS] == 1:
        codes, sums = work.codes[level + 1], work.sums[level + 1]
        copy_codes(codes, work.codes[level])
        sums[0], sums[1] = work.sums[level, 0], work.sums[level, 1]
        judge_change(row, child, work.tables, codes, sums)
    child_frame[LAST_CAPTURED] = decision if CAPTURE <= decision < CAPTURE_ALL else -1
    if turn_is_over and _may_be_reduced(work, level):
        frame[HURRY] = REDUCED
    elif frame[TRIED] > 0 and frame[BETA] > frame[FLOOR] + 1:
        frame[HURRY] = SCOUTED
    return False


@inlined
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
        turns_left -= 2 if turns_left >= DEEP and frame[TRIED] >= VERY_LATE else 1
    child_frame[TURNS_LEFT] = turns_left
    if child[TO_MOVE] == row[TO_MOVE]:
        child_frame[ALPHA], child_frame[BETA] = alpha, beta
    else:
        child_frame[ALPHA], child_frame[BETA] = -beta, -alpha
    return _open_level(work, level + 1)


@inlined
def _settled_value(work, level):
    """The value of a settled child, for the side that decides at ``level``."""
    value = work.frames[level + 1, BEST]
    return value if work.rows[level + 1, TO_MOVE] == work.rows[level, TO_MOVE] else -value


@inlined
def _wants_another_look(work, level):
    """Whether the child just settled in a hurry turned out better than it had to, so that it must
    be searched again. The search that is wanted is noted in HURRY.
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


@inlined
def _take_child(work, level, first_turn_ends):
    """Hold a settled child's value against the best so far."""
    frame, child_frame = work.frames[level], work.frames[level + 1]
    value = _settled_value(work, level)
    decision = work.moves[level, frame[TRIED]]
    frame[TRIED] += 1
    if value <= frame[BEST]:
        return
    frame[BEST] = value
    frame[BEST_MOVE] = decision
    if level > MAX_LINE or not first_turn_ends:
        return
    same_side = work.rows[level + 1, TO_MOVE] == work.rows[level, TO_MOVE]
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
    work.path_keys[0] = position_key(row)
    if control[BY_PATTERNS] == 1:
        judge_afresh(row, work.tables, work.codes[0], work.sums[0])
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
            if _next_is_hopeless(work, level):
                continue
            settled = _carry_out(work, level)
        else:
            _close_level(work, level)
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
