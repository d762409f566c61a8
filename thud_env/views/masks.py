"""Action masks from the words of bits that the rules write.

::

    words   [102] int64    a bit an action: action a is bit a % 64 of word a // 64
    bits    [809] uint8    the same memory, cut off after action 6469
    bytes   [6470] int8    a byte an action, 0 or 1

Both kinds are kept in whole words, of which callers see the part that means something.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thud_env.actions import NUM_ACTIONS
from thud_env.jit.bits import trailing_zeros
from thud_env.jit.compile import compiled, compiled_with_arrays
from thud_env.jit.lanes import differing, spread
from thud_env.rules.check import as_rows, check_rows
from thud_env.rules.legal import NUM_WORDS, legal_words
from thud_env.rules.row import MAX_ANSWERS

NUM_BYTE_WORDS = 8 * NUM_WORDS
NUM_BIT_BYTES = (NUM_ACTIONS + 7) // 8


@compiled
def update_bit_mask(fresh, words):
    """Bring a game's bit mask up to date.

    Args:
        fresh: [103] int64, the legal decisions now.
        words: [102] int64, overwritten.
    """
    for i in range(NUM_WORDS):
        words[i] = fresh[i]


@compiled
def update_byte_mask(fresh, words, byte_words):
    """Bring a game's bit mask and byte mask up to date, writing only what changed.

    Args:
        fresh: [103] int64, the legal decisions now.
        words: [102] int64, overwritten.
        byte_words: [816] uint64, overwritten.
    """
    for start in (0, NUM_WORDS - 64):
        changed = differing(fresh, words, start)
        while changed != 0:
            i = start + trailing_zeros(changed)
            words[i] = fresh[i]
            spread(fresh[i], byte_words, 8 * i)
            changed &= changed - 1


@compiled_with_arrays
def _write_mask(row, byte_words):
    words = np.empty(NUM_WORDS + 1, dtype=np.int64)
    scratch = np.empty(MAX_ANSWERS, dtype=np.int32)
    legal_words(row, words, scratch)
    for i in range(NUM_WORDS):
        spread(words[i], byte_words, 8 * i)


@compiled_with_arrays
def _write_masks(rows, byte_words):
    for game in range(rows.shape[0]):
        _write_mask(rows[game], byte_words[game])


def bits_view(words: NDArray[np.int64]) -> NDArray[np.uint8]:
    """[B, 102] words as [B, 809] bytes of bits, least significant first; no copy."""
    return words.view(np.uint8)[:, :NUM_BIT_BYTES]


def bytes_view(byte_words: NDArray[np.uint64]) -> NDArray[np.int8]:
    """[B, 816] words as [B, 6470] bytes of 0 or 1; no copy."""
    return byte_words.view(np.int8)[:, :NUM_ACTIONS]


def action_masks(rows: NDArray[np.integer[Any]], *, check: bool = True) -> NDArray[np.int8]:
    """1 for each legal decision of [N, 432] state rows of any rulesets, 0 for every other,
    [N, 6470] int8. Where a battle is over all are 0.

    Args:
        rows: any integers.
        check: whether to look at them first. Pass False for rows that are known to be sound, as a
            batch's are: what others give means nothing, and reading them may end the process.

    Raises:
        RowError: if no play leads to one of them; the message names the row and the entry.
    """
    sound = check_rows(rows) if check else as_rows(rows)
    byte_words = np.empty((len(sound), NUM_BYTE_WORDS), dtype=np.uint64)
    _write_masks(sound, byte_words)
    return bytes_view(byte_words)


def mask_of(row: NDArray[np.int16]) -> NDArray[np.int8]:
    """The same of one state row, [6470] int8."""
    byte_words = np.empty(NUM_BYTE_WORDS, dtype=np.uint64)
    _write_mask(row, byte_words)
    return byte_words.view(np.int8)[:NUM_ACTIONS]
