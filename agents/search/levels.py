"""One level of the search: lists its decisions, orders them, and uses the transposition table."""

from __future__ import annotations

from agents.search.captures import (
    capturable_by,
    capturing_moves,
    keep_hungry_answers,
    quiet_moves,
)
from agents.search.evaluation import INFINITE, SEEN_WIN, WIN
from agents.search.ordering import (
    FIRST,
    arrange_answers,
    note_refutation,
    score_captures,
    score_judged_moves,
    score_moves,
)
from agents.search.patterns import judge_moves
from agents.search.pruning import (
    is_calm,
    is_in_doubt,
    margin_of_quiet_moves,
    sees_win,
    static_value,
)
from agents.search.table import (
    AT_LEAST,
    AT_MOST,
    EXACT,
    clocks_matter,
    entry_bound,
    entry_depth,
    entry_move,
    entry_value,
    look_up,
    store,
)
from agents.search.workspace import (
    ALPHA,
    BEST,
    BEST_MOVE,
    BETA,
    BY_PATTERNS,
    COUNT,
    EXTENDED,
    EXTENSIONS,
    FIRST_MOVE,
    GENERATION,
    IN_TABLE,
    LAST_CAPTURED,
    LINE,
    MARGIN,
    OLD_ALPHA,
    ORDERED,
    QUIESCENCE,
    REDUCTIONS,
    TRIED,
    TRY_FIRST,
    TURNS_LEFT,
    UNLISTED,
    USE_TABLE,
)
from thud_env.actions import OFFER
from thud_env.jit.compile import inlined, merged
from thud_env.rules.legal import is_legal, legal_actions
from thud_env.rules.row import NO_QUESTION, PENDING, TAKEN, TO_MOVE


@merged
def _list_answers(work, level):
    """List the decisions in the middle of a turn; returns how many."""
    row, frame, decisions = work.rows[level], work.frames[level], work.moves[level]
    count = legal_actions(row, decisions)
    if frame[TURNS_LEFT] > 0:
        return arrange_answers(row, decisions, count, frame[LAST_CAPTURED])
    return keep_hungry_answers(decisions, count, row[TAKEN])


@merged
def _settle_quietly(work, level):
    """Beyond the depth the side to move may stand pat or capture. Returns whether it is settled."""
    row, frame = work.rows[level], work.frames[level]
    frame[BEST] = static_value(work, level)
    if frame[BEST] >= frame[BETA] or frame[TURNS_LEFT] <= -work.control[QUIESCENCE]:
        return True
    frame[COUNT] = capturing_moves(row, work.moves[level])
    return frame[COUNT] == 0


@merged
def _settle_by_table(work, level):
    """Whether the table has the position's value at the depth wanted here. A deeper result is not
    the minimax value of this depth: it is used only with reductions, which give that up.
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


@merged
def _list_promising_moves(work, level, first):
    """List the moves at the start of a turn that cut off most levels: the one to try first, if it
    is legal, and the captures. To list and judge all the others would take most of the time.
    """
    row, frame, decisions = work.rows[level], work.frames[level], work.moves[level]
    count = capturing_moves(row, decisions)
    if first >= 0 and is_legal(row, first) and capturable_by(row, first) == 0:
        decisions[count] = first
        count += 1
    score_captures(row, decisions, count, work.scores[level], first)
    frame[TRY_FIRST] = first
    frame[COUNT] = count
    frame[UNLISTED] = 1


@inlined
def list_quiet_moves(work, level):
    """List the moves at the start of a turn that ``_list_promising_moves`` left out."""
    row, frame = work.rows[level], work.frames[level]
    listed = frame[COUNT]
    decisions, scores = work.moves[level, listed:], work.scores[level, listed:]
    count = quiet_moves(row, decisions)
    if frame[TRY_FIRST] >= 0:
        kept = 0
        for i in range(count):
            decisions[kept] = decisions[i]
            kept += decisions[i] != frame[TRY_FIRST]
        count = kept
    frame[COUNT] = listed + count
    frame[UNLISTED] = 0
    killers = work.killers[frame[TURNS_LEFT]]
    codes, sums = work.codes[level], work.sums[level]
    judge_moves(row, decisions, count, work.tables, codes, sums, work.arrivals, scores)
    if frame[TURNS_LEFT] == 1:
        killers = work.killers[0]  # none
    frame[MARGIN] = margin_of_quiet_moves(work, level)
    score_judged_moves(decisions, count, scores, killers)


@inlined
def open_level(work, level):
    """Set up a level whose row, window, turns left, extension and last capture are in place.

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
    frame[MARGIN] = -1
    frame[UNLISTED] = 0
    at_start = row[PENDING] == NO_QUESTION
    needs_no_turn = level > 0 or frame[TURNS_LEFT] <= 0
    if at_start and needs_no_turn and sees_win(work, level, row[TO_MOVE]):
        frame[BEST] = WIN if frame[TURNS_LEFT] > 0 else SEEN_WIN
        return True
    if at_start and frame[TURNS_LEFT] == 0 and is_in_doubt(work, level):
        frame[TURNS_LEFT] = 1
        frame[EXTENDED] += 1
    turns_left = frame[TURNS_LEFT]
    if not at_start:
        frame[COUNT] = _list_answers(work, level)
    elif turns_left <= 0:
        if _settle_quietly(work, level):
            return True
    elif turns_left == 1 and is_calm(work, level):
        return True
    else:
        first = work.control[FIRST_MOVE] if level == 0 else -1
        if work.control[USE_TABLE] == 1:
            reach = turns_left + work.control[EXTENSIONS] + work.control[QUIESCENCE]
            if not clocks_matter(row, reach) and _settle_by_table(work, level):
                return True
            if level > 0:
                first = frame[BEST_MOVE]
            frame[BEST] = -INFINITE
            frame[BEST_MOVE] = -1
        ordered = work.control[ORDERED] == 1
        if ordered and work.control[BY_PATTERNS] == 1:
            _list_promising_moves(work, level, first)
            return False
        decisions = work.moves[level]
        count = legal_actions(row, decisions)
        if decisions[count - 1] == OFFER:
            count -= 1
        frame[COUNT] = count
        if ordered:
            killers, history = work.killers[turns_left], work.history[row[TO_MOVE]]
            score_moves(row, decisions, count, scores, first, killers, history)
            return False
    for i in range(frame[COUNT]):
        # Even a search that is interrupted must have tried what the one before it found.
        first = level == 0 and work.moves[level, i] == work.control[FIRST_MOVE]
        scores[i] = FIRST if first else 0
    return False


@merged
def close_level(work, level):
    """Store the result of a finished level in the table, and note what caused a cutoff."""
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
        key, generation = work.path_keys[level], work.control[GENERATION]
        value, move = frame[BEST], frame[BEST_MOVE]
        store(work.keys, work.entries, key, generation, value, turns_left, bound, move)
