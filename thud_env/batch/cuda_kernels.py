"""The CUDA kernels of a batch: the rules' own functions, called from one thread each.

====================  ===================================  ===================================
kernel                one thread for                       because
====================  ===================================  ===================================
step, draw, play      a game                               a turn is one thing after another
legal decisions       a game and one of 32 pieces          pieces move independently
byte masks            eight bytes in 128 of a game         neighbouring threads write neighbours
observations          a point in 128 of a game             the same
====================  ===================================  ===================================

docs/performance.md says what else was tried.
"""

from __future__ import annotations

import numpy as np
from numba import cuda, types

from thud_env.actions import MOVE_BASE, OFFER
from thud_env.batch.one_game import play_game, step_game, write_game_end
from thud_env.jit.bits import count_ones, natural
from thud_env.jit.gpu import kernel
from thud_env.rules.draw import draw_legal
from thud_env.rules.legal import NUM_WORDS, is_legal, legal_actions, may_offer
from thud_env.rules.moves import piece_moves
from thud_env.rules.row import (
    MAX_ANSWERS,
    NO_QUESTION,
    ONGOING,
    PENDING,
    ROW_SIZE,
    TERMINATION,
    TO_MOVE,
    copy_row,
    movable_pieces,
)
from thud_env.rulesets import MAX_DWARFS
from thud_env.views.encoding import NUM_PLANES, NUM_POINTS, level_at, value_at
from thud_env.views.masks import NUM_BYTE_WORDS

_EACH_BYTE = np.uint64(0x0101010101010101)
_OWN_BIT = np.uint64(0x8040201008040201)
_FILL = np.uint64(0x7F7F7F7F7F7F7F7F)
_SEVEN, _ONE, _LAST_BIT = np.uint64(7), np.uint64(1), np.uint64(63)
NO_GAME = np.int32(2**31 - 1)


@kernel
def find_illegal(rows, games, actions, found):
    """Write the lowest number of a game whose action is not legal into ``found``."""
    index = cuda.grid(1)
    if index < games.shape[0]:
        game = games[index]
        row = rows[game]
        if row[TERMINATION] == ONGOING and not is_legal(row, actions[game]):
            cuda.atomic.min(found, 0, game)


@kernel
def step(rows, games, actions, start_row, results, modes):
    """Play one legal decision in some games."""
    index = cuda.grid(1)
    if index < games.shape[0]:
        game = games[index]
        step_game(rows[game], actions[game], start_row, results, game, modes)


@kernel
def write_ends(rows, games, start_row, resets_at_once, results):
    """Write the results of states that were set."""
    index = cuda.grid(1)
    if index < games.shape[0]:
        game = games[index]
        write_game_end(rows[game], start_row, results, game, resets_at_once)


@kernel
def set_rows(rows, games, states):
    """Set some games to states of their own."""
    index = cuda.grid(1)
    place, entry = index // ROW_SIZE, index % ROW_SIZE
    if place < games.shape[0]:
        rows[games[place], entry] = states[place, entry]


@kernel
def reset(rows, results, start_row, games):
    """Set some games to the start."""
    index = cuda.grid(1)
    if index < games.shape[0]:
        game = games[index]
        copy_row(rows[game], start_row)
        results.rewards[game, 0] = 0
        results.rewards[game, 1] = 0
        results.terminated[game] = False
        results.truncated[game] = False


@kernel
def look(rows, to_move):
    """Write who decides in every game."""
    game = cuda.grid(1)
    if game < rows.shape[0]:
        to_move[game] = rows[game, TO_MOVE]


@kernel
def forget_legal(words, legal_counts):
    """Before ``mark_legal``: a block for a game. ``words`` are [B, 103] or [0, 103]."""
    game = cuda.blockIdx.x
    if cuda.threadIdx.x == 0:
        legal_counts[game] = 0
    if game < words.shape[0]:
        for word in range(cuda.threadIdx.x, NUM_WORDS + 1, cuda.blockDim.x):
            words[game, word] = 0


@cuda.jit(device=True)
def _put(words, game, first, moves):
    """Set bits from bit ``first`` on, beside other threads that set other bits."""
    if words.shape[0] == 0 or moves == 0:
        return
    bits = np.uint64(moves)
    word, shift = first >> 6, np.uint64(first & 63)
    cuda.atomic.or_(words, (game, word), bits << shift)
    spilt = (bits >> _ONE) >> (_LAST_BIT - shift)
    if spilt != 0:
        cuda.atomic.or_(words, (game, word + 1), spilt)


@kernel
def mark_legal(rows, words, legal_counts):
    """Set a bit for each legal decision, and count them; after ``forget_legal``."""
    index = cuda.grid(1)
    game, slot = index // MAX_DWARFS, index % MAX_DWARFS
    if game >= rows.shape[0] or rows[game, TERMINATION] != ONGOING:
        return
    row = rows[game]
    if row[PENDING] != NO_QUESTION:
        if slot == 0:
            answers = cuda.local.array(MAX_ANSWERS, types.int32)
            count = legal_actions(row, answers)
            legal_counts[game] = count
            for i in range(count):
                _put(words, game, answers[i], 1)
        return
    first, pieces = movable_pieces(row)
    if slot < pieces:
        cell = natural(row[first + slot])
        moves = piece_moves(row, cell)
        _put(words, game, natural(MOVE_BASE[cell, 0]), moves)
        cuda.atomic.add(legal_counts, game, count_ones(moves))
    if slot == 0 and may_offer(row):
        _put(words, game, OFFER, 1)
        cuda.atomic.add(legal_counts, game, 1)


@kernel
def spread_bytes(words, byte_words):
    """A block for a game. Eight bits are copied into each of eight bytes, byte i keeps bit i only,
    and a carry out of its lower seven bits, or its own top bit, becomes the 1.
    """
    game = cuda.blockIdx.x
    for part in range(cuda.threadIdx.x, NUM_BYTE_WORDS, cuda.blockDim.x):
        eight = (words[game, part >> 3] >> np.uint64(8 * (part & 7))) & np.uint64(0xFF)
        kept = (eight * _EACH_BYTE) & _OWN_BIT
        byte_words[game, part] = ((kept + _FILL) >> _SEVEN) & _EACH_BYTE


@kernel
def encode(rows, planes, unit):
    """Write the observation of a game: a block for each. What a plane shows everywhere is computed
    once.
    """
    game, thread = cuda.blockIdx.x, cuda.threadIdx.x
    row = rows[game]
    levels = cuda.shared.array(NUM_PLANES, types.float32)
    if thread < NUM_PLANES:
        levels[thread] = level_at(row, thread, unit)
    cuda.syncthreads()
    for point in range(thread, NUM_POINTS, cuda.blockDim.x):
        for plane in range(NUM_PLANES):
            planes[game, plane, point] = value_at(row, plane, point, levels[plane])


@kernel
def sample(rows, rng, actions):
    """Draw a decision uniformly from the legal ones of every game; 0 where there is none."""
    game = cuda.grid(1)
    if game < rows.shape[0]:
        scratch = cuda.local.array(MAX_ANSWERS, types.int32)
        row = rows[game]
        actions[game] = 0 if row[TERMINATION] != ONGOING else draw_legal(row, rng, game, scratch)


@kernel
def play(rows, rng, lengths, margins):
    """Play every game to its end by random decisions."""
    game = cuda.grid(1)
    if game < rows.shape[0]:
        scratch = cuda.local.array(MAX_ANSWERS, types.int32)
        play_game(rows[game], rng, game, lengths, margins, scratch)
