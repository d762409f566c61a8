"""The transposition table: what the search already knows about a position.

A position's key is Zobrist's (1970): one random word for each piece on each cell and one for
the side to move, all XORed. It covers what stands where and whose turn it is, at the start
of a turn only. It does not cover the clocks, so whoever asks must see to it that no limit
is within the search's reach (``clocks_matter``).
"""

from __future__ import annotations

import numpy as np

from thud_env.board import NUM_CELLS
from thud_env.jit.compile import compiled
from thud_env.rules.row import (
    DWARF_CELLS,
    MAX_QUIET_TURNS,
    MAX_TURNS,
    NUM_TROLLS,
    QUIET_TURNS,
    TO_MOVE,
    TROLL_CELLS,
    TROLLS,
    TURNS,
    num_dwarf_cells,
)

_PIECES = 5
_WORDS = np.random.SeedSequence(1970).generate_state(_PIECES * NUM_CELLS + 1, dtype=np.uint64)
ZOBRIST = _WORDS[:-1].reshape(_PIECES, NUM_CELLS)
"""[5, 272] one word for each piece on each cell."""
TROLLS_TO_MOVE = _WORDS[-1]

VALUE, DEPTH, BOUND, MOVE, ENTRY_SIZE = range(5)
"""The columns of an entry."""
EXACT, AT_LEAST, AT_MOST = range(3)
"""What an entry's value says."""


@compiled
def position_key(row, salt):
    """The key of a row at the start of a turn.

    Args:
        row: [432] a state row.
        salt: uint64, another in every search: it makes the entries of earlier ones strangers,
            which costs less than clearing them.
    """
    key = salt
    for i in range(DWARF_CELLS, DWARF_CELLS + num_dwarf_cells(row)):
        cell = int(row[i])
        key ^= ZOBRIST[row[cell], cell]
    for i in range(TROLL_CELLS, TROLL_CELLS + int(row[NUM_TROLLS])):
        cell = int(row[i])
        key ^= ZOBRIST[row[cell], cell]
    if row[TO_MOVE] == TROLLS:
        key ^= TROLLS_TO_MOVE
    return key


@compiled
def clocks_matter(row, turns):
    """Whether a battle might be ended by a limit within so many turns."""
    return row[QUIET_TURNS] + turns >= row[MAX_QUIET_TURNS] or row[TURNS] + turns >= row[MAX_TURNS]


@compiled
def look_up(keys, key):
    """The slot that holds ``key``, or -1. Tables have a power of two of slots."""
    slot = np.int64(key & np.uint64(keys.shape[0] - 1))
    return slot if keys[slot] == key else -1


@compiled
def store(keys, entries, key, value, depth, bound, move):
    """Remember a position, in place of whatever shared its slot.

    Args:
        keys: [K] uint64.
        entries: [K, 4] int32.
        key: the position's.
        value, depth, bound, move: what was found out, searching ``depth`` turns deep.
    """
    slot = np.int64(key & np.uint64(keys.shape[0] - 1))
    keys[slot] = key
    entries[slot, VALUE] = value
    entries[slot, DEPTH] = depth
    entries[slot, BOUND] = bound
    entries[slot, MOVE] = move
