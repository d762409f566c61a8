"""Evaluates a position by a few features, and scores a finished battle.

The evaluation is a weighted sum of a few counts, the *features*. The weights depend on the ruleset
and on the side to move: a dwarf within a troll's reach is half lost if the trolls move next, and in
little danger otherwise. They stand in ``configs/search/weights.yaml`` and are frozen, because
searches with this evaluation are the fixed yardstick of the ladder. The evaluation of
``patterns.py`` is stronger.
"""

from __future__ import annotations

from agents.search.bitboards import (
    BOARD,
    EAST,
    SOUTH,
    SOUTH_EAST,
    SOUTH_WEST,
    all_pieces,
    all_trolls,
    beside,
    both,
    down,
    either,
    size,
    steps_between,
    the_stone,
    up,
    without,
)
from thud_env.board import CELL_STEP, STRIDE
from thud_env.jit.compile import compiled, inlined
from thud_env.rules.moves import count_adjacent
from thud_env.rules.play import margin
from thud_env.rules.row import (
    DWARF,
    DWARF_CELLS,
    DWARFS,
    EMPTY,
    NUM_DWARFS,
    NUM_TROLLS,
    STONE_CELL,
    TO_MOVE,
    TROLL,
    TROLL_CELLS,
    num_dwarf_cells,
)
from thud_env.rules.traits import scored_by_points, stone_wins
from thud_env.rulesets import TROLL_VALUE, TROLLS_TO_SURROUND

POINT = 100
"""One point of the margin."""
WIN = 100_000
"""The value of a won Koom Valley battle, above every evaluation."""
SEEN_WIN = WIN - 1
"""The value of a turn beyond the depth that would win it: a win within the depth comes sooner."""
LARGEST_EVALUATION = 50_000
INFINITE = 1_000_000

CLASSIC_FEATURES = (
    "constant",
    "dwarfs",
    "trolls",
    "dwarf_pairs",  # adjacent to each other, each pair once
    "lone_dwarfs",  # without another dwarf beside them
    "dwarfs_in_reach",  # that a troll's step could capture
    "trolls_touched",  # with a dwarf beside them: capturable
    "trolls_aimed_at",  # two squares ahead of a line of two dwarfs
    "squares_aimed_at",  # empty ones two squares ahead of such a line
    "troll_reach",  # empty squares beside trolls
    "troll_safe_reach",  # those of them without a dwarf beside them
    "troll_pairs",
    "dwarf_threes",  # straight unbroken lines of three dwarfs
)
VALLEY_FEATURES = (
    "constant",
    "dwarfs",
    "trolls",
    "stone_row",  # rows between the stone and the goal's row
    "dwarfs_at_stone",  # beside it
    "trolls_at_stone",
    "dwarfs_near_stone",  # within two squares
    "trolls_near_stone",
    "dwarfs_ahead",  # in rows nearer to the goal than the stone
    "trolls_ahead",
    "way_open",  # free squares among the three ahead of the stone
    "troll_distance",  # from the stone, summed over the trolls
    "lone_dwarfs",
    "dwarfs_touched",  # with a troll beside them
    "stone_at_two",  # 1 if exactly two trolls are beside the stone
    "dwarf_distance",  # from the stone, summed over the dwarfs
)
NUM_FEATURES = 16


@compiled
def _aim_up(dwarfs, empty, step):
    """The squares that lines of two dwarfs aim at in one direction, across one empty square."""
    fronts = both(dwarfs, up(dwarfs, step))
    return up(both(up(fronts, step), empty), step)


@compiled
def _aim_down(dwarfs, empty, step):
    fronts = both(dwarfs, down(dwarfs, step))
    return down(both(down(fronts, step), empty), step)


@compiled
def _pairs(pieces):
    return (
        size(both(pieces, up(pieces, EAST)))
        + size(both(pieces, up(pieces, SOUTH_WEST)))
        + size(both(pieces, up(pieces, SOUTH)))
        + size(both(pieces, up(pieces, SOUTH_EAST)))
    )


@compiled
def _threes_along(pieces, step):
    return size(both(both(pieces, up(pieces, step)), down(pieces, step)))


@compiled
def _classic_features(row, out):
    taken = both(all_pieces(row), BOARD)
    trolls = all_trolls(row)
    dwarfs = without(taken, either(trolls, the_stone(row)))
    empty = without(BOARD, taken)
    by_dwarfs = beside(dwarfs)
    aims = either(
        either(
            either(_aim_up(dwarfs, empty, EAST), _aim_down(dwarfs, empty, EAST)),
            either(_aim_up(dwarfs, empty, SOUTH_WEST), _aim_down(dwarfs, empty, SOUTH_WEST)),
        ),
        either(
            either(_aim_up(dwarfs, empty, SOUTH), _aim_down(dwarfs, empty, SOUTH)),
            either(_aim_up(dwarfs, empty, SOUTH_EAST), _aim_down(dwarfs, empty, SOUTH_EAST)),
        ),
    )
    reach = both(beside(trolls), empty)
    out[3] = _pairs(dwarfs)
    out[4] = size(without(dwarfs, by_dwarfs))
    out[5] = size(both(dwarfs, beside(reach)))
    out[6] = size(both(trolls, by_dwarfs))
    out[7] = size(both(trolls, aims))
    out[8] = size(both(empty, aims))
    out[9] = size(reach)
    out[10] = size(without(reach, by_dwarfs))
    out[11] = _pairs(trolls)
    out[12] = (
        _threes_along(dwarfs, EAST)
        + _threes_along(dwarfs, SOUTH_WEST)
        + _threes_along(dwarfs, SOUTH)
        + _threes_along(dwarfs, SOUTH_EAST)
    )


@compiled
def _valley_features(row, out):
    stone = int(row[STONE_CELL])
    stone_row = stone // STRIDE
    for i in range(3, NUM_FEATURES):
        out[i] = 0
    out[3] = stone_row - 1
    out[4] = count_adjacent(row, stone, DWARF)
    out[5] = count_adjacent(row, stone, TROLL)
    out[14] = 1 if out[5] == 2 else 0
    for direction in (7, 0, 1):
        if row[stone + CELL_STEP[direction]] == EMPTY:
            out[10] += 1
    for i in range(DWARF_CELLS, DWARF_CELLS + num_dwarf_cells(row)):
        cell = int(row[i])
        if cell == stone:
            continue
        distance = steps_between(cell, stone)
        out[15] += distance
        out[6] += 1 if distance <= 2 else 0
        out[8] += 1 if cell // STRIDE < stone_row else 0
    for i in range(TROLL_CELLS, TROLL_CELLS + int(row[NUM_TROLLS])):
        cell = int(row[i])
        distance = steps_between(cell, stone)
        out[11] += distance
        out[7] += 1 if distance <= 2 else 0
        out[9] += 1 if cell // STRIDE < stone_row else 0
    trolls = all_trolls(row)
    dwarfs = without(both(all_pieces(row), BOARD), either(trolls, the_stone(row)))
    out[12] = size(without(dwarfs, beside(dwarfs)))
    out[13] = size(both(dwarfs, beside(trolls)))


@compiled
def features(row, out):
    """Write the features of a row at the start of a turn: CLASSIC_FEATURES or VALLEY_FEATURES.

    Args:
        row: [432] a state row.
        out: [16] int64; entries without a name are left alone, so start from zeros.
    """
    out[0] = 1
    out[1] = row[NUM_DWARFS]
    out[2] = row[NUM_TROLLS]
    if stone_wins(row):
        _valley_features(row, out)
    else:
        _classic_features(row, out)


@inlined
def to_mover(row, value):
    """The evaluation for the side to move, from its value for the dwarfs: cut, so that no
    evaluation counts as a win.
    """
    value = min(max(value, -LARGEST_EVALUATION), LARGEST_EVALUATION)
    return value if row[TO_MOVE] == DWARFS else -value


@inlined
def _squeezed(distance):
    """A distance from a bound, of at most a point, as one above 0: half a point for none, less for
    what lies beyond, in the same order.
    """
    return max(POINT * POINT // (2 * POINT - distance), 1)


@inlined
def within_bounds(row, value):
    """An evaluation for the side to move, kept within what the battle can still come to.

    If a battle that goes on counted for more than its best end, the last capture would be put off
    for ever. Two trolls cannot surround the stone, so they have no more than a draw.
    """
    dwarfs, trolls = int(row[NUM_DWARFS]), int(row[NUM_TROLLS])
    for_dwarfs = row[TO_MOVE] == DWARFS
    if stone_wins(row):
        if trolls >= TROLLS_TO_SURROUND or scored_by_points(row):
            return value
        return max(value, 0) if for_dwarfs else min(value, 0)
    if not scored_by_points(row):
        return value
    best, worst = POINT * dwarfs, -POINT * TROLL_VALUE * trolls
    if not for_dwarfs:
        best, worst = -worst, -best
    if value < worst + POINT:
        return worst + _squeezed(value - worst)
    if value > best - POINT:
        return best - _squeezed(best - value)
    return value


@compiled
def evaluate(row, weights, scratch):
    """Evaluate a position for the side to move, in hundredths of a point.

    Args:
        row: [432] a state row at the start of a turn, its battle not over.
        weights: [2, 16] int64, by side to move and feature, from the dwarfs' view.
        scratch: [16] int64.
    """
    side = int(row[TO_MOVE])
    features(row, scratch)
    value = 0
    for i in range(NUM_FEATURES):
        value += weights[side, i] * scratch[i]
    return to_mover(row, value)


@compiled
def final_value(row):
    """The value to the side to move if the battle ended, or has ended, with this position."""
    value = margin(row) * (POINT if scored_by_points(row) else WIN)
    return value if row[TO_MOVE] == DWARFS else -value
