"""The transposition table: the results of a search, by position.

A position's key is Zobrist's (1970): one random word for each piece on each cell and one for the
side to move, all XORed, so that a turn updates it with a few words. It covers the pieces and the
side to move, at the start of a turn. It does not cover the clocks, so the table is used only where
no limit is within the search's reach (``clocks_matter``).

A key belongs to one bucket of four slots. Entries of earlier searches count as empty slots, so that
no search depends on those before it. Of four entries in use, the one that was searched least deep
is replaced.
"""

from __future__ import annotations

import numpy as np

from thud_env.board import NUM_CELLS
from thud_env.jit.bits import natural, trailing_zeros
from thud_env.jit.compile import compiled, inlined
from thud_env.jit.lanes import differing, fetch
from thud_env.rules.row import (
    EMPTY,
    MAX_QUIET_TURNS,
    MAX_TURNS,
    OFF_BOARD,
    QUIET_TURNS,
    TO_MOVE,
    TROLLS,
    TURNS,
)

_PIECES = 5
_WORDS = np.random.SeedSequence(1970).generate_state(_PIECES * NUM_CELLS + 1, dtype=np.uint64)
ZOBRIST = _WORDS[:-1].reshape(_PIECES, NUM_CELLS)
"""[5, 272] one word for each piece on each cell."""
ZOBRIST[[EMPTY, OFF_BOARD]] = 0
TROLLS_TO_MOVE = _WORDS[-1]

BUCKET = 4
"""Slots in a bucket."""
EXACT, AT_LEAST, AT_MOST = range(3)
"""How an entry's value bounds the position's."""

_VALUE_BITS, _MOVE_BITS, _BOUND_BITS, _DEPTH_BITS = 22, 13, 2, 6
_MOVE = _VALUE_BITS
_BOUND = _MOVE + _MOVE_BITS
_DEPTH = _BOUND + _BOUND_BITS
_GENERATION = _DEPTH + _DEPTH_BITS
_ZERO_VALUE = 1 << (_VALUE_BITS - 1)
LAST_GENERATION = (1 << (63 - _GENERATION)) - 1
"""The number of the last search before the table has to be cleared; the first is 1."""


@compiled
def position_key(row):
    """The key of a row at the start of a turn."""
    key = TROLLS_TO_MOVE if row[TO_MOVE] == TROLLS else np.uint64(0)
    for cell in range(NUM_CELLS):
        key ^= ZOBRIST[natural(row[cell]), cell]
    return key


@compiled
def key_after(before, after, key):
    """The key of ``after``, from the key of ``before``."""
    if before[TO_MOVE] != after[TO_MOVE]:
        key ^= TROLLS_TO_MOVE
    for first in range(0, NUM_CELLS - 63, 64):
        changed = differing(before, after, first)
        while changed != 0:
            cell = natural(first + trailing_zeros(changed))
            changed &= changed - 1
            key ^= ZOBRIST[natural(before[cell]), cell] ^ ZOBRIST[natural(after[cell]), cell]
    return key


@compiled
def clocks_matter(row, turns):
    """Whether a limit might end the battle within so many turns."""
    return row[QUIET_TURNS] + turns >= row[MAX_QUIET_TURNS] or row[TURNS] + turns >= row[MAX_TURNS]


@inlined
def entry_value(entry):
    """The value of an entry."""
    return (entry & ((1 << _VALUE_BITS) - 1)) - _ZERO_VALUE


@inlined
def entry_move(entry):
    """The decision that proved best, or -1."""
    return ((entry >> _MOVE) & ((1 << _MOVE_BITS) - 1)) - 1


@inlined
def entry_bound(entry):
    """EXACT, AT_LEAST or AT_MOST."""
    return (entry >> _BOUND) & ((1 << _BOUND_BITS) - 1)


@inlined
def entry_depth(entry):
    """How many turns deep the search was."""
    return (entry >> _DEPTH) & ((1 << _DEPTH_BITS) - 1)


@inlined
def _bucket_of(keys, key):
    """The bucket in which a key is stored."""
    return natural(np.int64(key & np.uint64(keys.shape[0] - 1)))


@inlined
def prepare(keys, entries, key):
    """Fetch the bucket of a key, which is soon looked up, into the caches."""
    bucket = _bucket_of(keys, key)
    fetch(keys[bucket])
    fetch(entries[bucket])


@compiled
def look_up(keys, entries, key, generation):
    """The entry that this search stored for ``key``, or 0."""
    bucket = _bucket_of(keys, key)
    for slot in range(BUCKET):
        if keys[bucket, slot] == key and entries[bucket, slot] >> _GENERATION == generation:
            return entries[bucket, slot]
    return 0


@compiled
def store(keys, entries, key, generation, value, depth, bound, move):
    """Store the result of a position.

    Args:
        keys: [K, 4] uint64, K a power of two.
        entries: [K, 4] int64.
        key: the position's.
        generation: the search's number, 1 .. LAST_GENERATION.
        value, depth, bound, move: the result of searching it ``depth`` turns deep.
    """
    bucket = _bucket_of(keys, key)
    chosen = 0
    least = 1 << _DEPTH_BITS
    for slot in range(BUCKET):
        entry = entries[bucket, slot]
        if entry >> _GENERATION != generation:
            if least >= 0:
                chosen, least = slot, -1
        elif keys[bucket, slot] == key:
            chosen = slot
            break
        elif entry_depth(entry) < least:
            chosen, least = slot, entry_depth(entry)
    keys[bucket, chosen] = key
    entries[bucket, chosen] = (
        (value + _ZERO_VALUE)
        | (move + 1) << _MOVE
        | bound << _BOUND
        | depth << _DEPTH
        | generation << _GENERATION
    )
