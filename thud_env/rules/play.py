"""Carries out a decision: moves, captures, the end of a turn and of a battle."""

from __future__ import annotations

from thud_env.actions import (
    ACCEPT,
    CAPTURE,
    CAPTURE_ALL,
    DONE,
    MOVE_DIRECTION,
    MOVE_DISTANCE,
    MOVE_FROM,
    MOVE_TO,
    OFFER,
)
from thud_env.board import CELL_OF_SQUARE, CELL_STEP, IS_GOAL_CELL, NUM_DIRECTIONS
from thud_env.jit.bits import natural, trailing_zeros
from thud_env.jit.compile import compiled
from thud_env.jit.lanes import neighbours, put_in, take_out
from thud_env.rules.legal import has_legal_turn, has_trample
from thud_env.rules.moves import count_adjacent
from thud_env.rules.row import (
    AGREED,
    ANSWER_OFFER,
    DWARF,
    DWARF_CELLS,
    DWARFS,
    EMPTY,
    GOAL,
    MAX_QUIET_TURNS,
    MAX_TURNS,
    NO_LEGAL_TURN,
    NO_QUESTION,
    NUM_DWARFS,
    NUM_TROLLS,
    OFFER_AFTER,
    OFFER_WAIT,
    ONGOING,
    PENDING,
    PENDING_CELL,
    QUIET_LIMIT,
    QUIET_TURNS,
    STONE_CELL,
    SURROUNDED,
    TAKE_ALL,
    TAKE_ANY,
    TAKE_ONE,
    TAKE_SOME,
    TAKEN,
    TERMINATION,
    TO_MOVE,
    TRAMPLE_ON,
    TROLL,
    TROLL_CELLS,
    TROLLS,
    TURN_LIMIT,
    TURNS,
    flip_lines,
)
from thud_env.rules.traits import (
    dwarfs_sandwich,
    scored_by_points,
    shoves_take_all,
    step_captures,
    stone_wins,
    trolls_capture_beside,
)
from thud_env.rulesets import (
    MAX_DWARFS,
    MAX_TROLLS,
    STEP_TAKES_ALL,
    STEP_TAKES_ANY,
    STEP_TAKES_NONE,
    STEP_TAKES_ONE,
    TROLL_VALUE,
    TROLLS_TO_SURROUND,
)

ASKED, QUIET, LOUD = range(3)
"""Results of a decision: a question to the same side; the end of its turn; the end of a turn that
starts the quiet count anew."""


@compiled
def _move_piece(row, start, target):
    """Put the piece on ``start`` on the empty square ``target``. It is the mover's."""
    start, target = natural(start), natural(target)
    row[target] = row[start]
    row[start] = EMPTY
    flip_lines(row, start)
    flip_lines(row, target)
    if row[TO_MOVE] == TROLLS:
        take_out(row, TROLL_CELLS, MAX_TROLLS, start)
        put_in(row, TROLL_CELLS, MAX_TROLLS, target)
    else:
        take_out(row, DWARF_CELLS, MAX_DWARFS, start)
        put_in(row, DWARF_CELLS, MAX_DWARFS, target)


@compiled
def _remove_dwarf(row, cell):
    row[natural(cell)] = EMPTY
    flip_lines(row, cell)
    take_out(row, DWARF_CELLS, MAX_DWARFS, cell)
    row[NUM_DWARFS] -= 1


@compiled
def _remove_troll(row, cell):
    row[natural(cell)] = EMPTY
    flip_lines(row, cell)
    take_out(row, TROLL_CELLS, MAX_TROLLS, cell)
    row[NUM_TROLLS] -= 1


@compiled
def _capture_dwarf(row, cell):
    _remove_dwarf(row, cell)
    row[TAKEN] += 1


@compiled
def _capture_adjacent_dwarfs(row, cell):
    around = neighbours(row, cell, DWARF)
    while around != 0:
        _capture_dwarf(row, cell + CELL_STEP[trailing_zeros(around)])
        around &= around - 1


@compiled
def _capture_sandwiched_trolls(row, cell):
    """Every troll between the dwarf on ``cell`` and another dwarf, in line (section 3)."""
    captured = 0
    for direction in range(NUM_DIRECTIONS):
        step = CELL_STEP[direction]
        if row[cell + step] == TROLL and row[cell + 2 * step] == DWARF:
            _remove_troll(row, cell + step)
            captured += 1
    return captured


@compiled
def _ask(row, question, cell):
    row[PENDING] = question
    row[PENDING_CELL] = cell
    return ASKED


@compiled
def settle(row):
    """Set TERMINATION at the start of a turn: the object of the game first, then no legal
    turn, then the limits (docs/rules.md, sections 2 and 3).

    Ruling, section 2: two limits end a battle.
    """
    termination = ONGOING
    if stone_wins(row):
        stone = row[STONE_CELL]
        if row[TO_MOVE] == TROLLS and IS_GOAL_CELL[stone]:
            termination = GOAL
        elif row[TO_MOVE] == DWARFS and count_adjacent(row, stone, TROLL) >= TROLLS_TO_SURROUND:
            termination = SURROUNDED
    if termination == ONGOING:
        if not has_legal_turn(row):
            termination = NO_LEGAL_TURN
        elif row[QUIET_TURNS] >= row[MAX_QUIET_TURNS]:
            termination = QUIET_LIMIT
        elif row[TURNS] >= row[MAX_TURNS]:
            termination = TURN_LIMIT
    row[TERMINATION] = termination


@compiled
def _end_turn(row, quiet):
    """Pass the turn. ``quiet``: whether the quiet count goes on."""
    side = row[TO_MOVE]
    row[PENDING] = NO_QUESTION
    row[PENDING_CELL] = 0
    row[TAKEN] = 0
    row[QUIET_TURNS] = row[QUIET_TURNS] + 1 if quiet else 0
    row[TURNS] += 1
    if row[OFFER_WAIT + side] > 0:
        row[OFFER_WAIT + side] -= 1
    row[TO_MOVE] = 1 - side
    settle(row)


@compiled
def _play_dwarf(row, start, target):
    captured = 0
    if row[natural(target)] == TROLL:
        _remove_troll(row, target)
        captured = 1
    _move_piece(row, start, target)
    if dwarfs_sandwich(row):
        captured += _capture_sandwiched_trolls(row, target)
    return LOUD if captured > 0 else QUIET


@compiled
def _step_question(row, is_shove_too):
    """The question after a move of one square beside dwarfs (section 2, the table).

    Ruling, section 2: a step in line may be a shove.
    """
    captures = step_captures(row)
    if is_shove_too:
        return TAKE_ALL if shoves_take_all(row) and captures != STEP_TAKES_ANY else TAKE_ANY
    if captures == STEP_TAKES_NONE:
        return NO_QUESTION
    if captures == STEP_TAKES_ONE:
        return TAKE_ONE
    return TAKE_ALL if captures == STEP_TAKES_ALL else TAKE_ANY


@compiled
def _play_step_or_shove(row, start, target, step, distance):
    """Move, then ask what to capture if there is a choice."""
    in_line = row[natural(start - step)] == TROLL
    _move_piece(row, start, target)
    adjacent = count_adjacent(row, target, DWARF)
    if adjacent == 0:
        return QUIET
    if distance > 1:
        if adjacent > 1 and not shoves_take_all(row):
            return _ask(row, TAKE_SOME, target)
        _capture_adjacent_dwarfs(row, target)
        return LOUD
    question = _step_question(row, in_line)
    return QUIET if question == NO_QUESTION else _ask(row, question, target)


@compiled
def _play_slide_or_trample(row, start, target, step, distance):
    tramples = distance == 2 and row[start + step] == DWARF
    _move_piece(row, start, target)
    if not tramples:
        return QUIET
    _capture_dwarf(row, start + step)
    return _ask(row, TRAMPLE_ON, target) if has_trample(row, target) else LOUD


@compiled
def _play_move(row, action):
    action = natural(action)
    start = natural(MOVE_FROM[action])
    step = int(CELL_STEP[natural(MOVE_DIRECTION[action])])
    distance = int(MOVE_DISTANCE[action])
    target = natural(MOVE_TO[action])
    piece = row[start]
    if piece == DWARF:
        return _play_dwarf(row, start, target)
    if piece == TROLL:
        if trolls_capture_beside(row):
            return _play_step_or_shove(row, start, target, step, distance)
        return _play_slide_or_trample(row, start, target, step, distance)
    _move_piece(row, start, target)
    row[STONE_CELL] = target
    return LOUD  # Ruling, section 3: a move of the stone is not quiet.


@compiled
def _answer(row, action):
    """Captures, and stopping, in the middle of a turn."""
    cell = row[PENDING_CELL]
    if action == DONE:
        return LOUD if row[TAKEN] > 0 else QUIET
    if action == CAPTURE_ALL:
        _capture_adjacent_dwarfs(row, cell)
        return LOUD
    _capture_dwarf(row, CELL_OF_SQUARE[action - CAPTURE])
    if row[PENDING] == TAKE_ONE or count_adjacent(row, cell, DWARF) == 0:
        return LOUD
    return _ask(row, TAKE_ANY, cell)


@compiled
def _agree(row, action):
    """Offers to end the battle and their answers (docs/rules.md, section 5)."""
    if action == ACCEPT:
        row[PENDING] = NO_QUESTION
        row[TERMINATION] = AGREED
        return
    other = 1 - row[TO_MOVE]
    row[TO_MOVE] = other
    if action == OFFER:
        row[PENDING] = ANSWER_OFFER
    else:
        row[PENDING] = NO_QUESTION
        row[OFFER_WAIT + other] = row[OFFER_AFTER]


@compiled
def apply(row, action):
    """Carry out ``action`` in place. It must be legal; it is not checked."""
    if action >= OFFER:
        _agree(row, action)
        return
    happened = _play_move(row, action) if action < CAPTURE else _answer(row, action)
    if happened != ASKED:
        _end_turn(row, happened == QUIET)


@compiled
def margin(row):
    """The score, from the dwarfs' view.

    By points (section 2): dwarfs left less four times the trolls left, -32 .. 32, at any time.
    By the result (section 3): 1, 0 or -1 as the battle ended, 0 until then.
    """
    dwarfs = int(row[NUM_DWARFS])
    trolls = int(row[NUM_TROLLS])
    if scored_by_points(row):
        return dwarfs - TROLL_VALUE * trolls
    termination = row[TERMINATION]
    if termination == GOAL:
        return 1
    if termination == SURROUNDED:
        return -1
    if termination == NO_LEGAL_TURN:
        # Ruling, section 3: who cannot move loses to a side that can still win.
        if row[TO_MOVE] == TROLLS:
            return 1 if dwarfs > 0 else 0
        return -1 if trolls >= TROLLS_TO_SURROUND else 0
    return 0
