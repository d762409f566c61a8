"""The compiled loops over many games that ``BatchedGame`` runs on slices of its arrays.

Every loop works on the games ``first`` .. ``last`` - 1, or on those numbers of a list of games,
and touches nothing of the others, so that slices may run on several threads at once.
"""

from __future__ import annotations

import numpy as np

from thud_env.actions import NUM_ACTIONS
from thud_env.batch.one_game import Modes, Results, View, play_game, step_game, write_game_end
from thud_env.jit.compile import compiled, compiled_with_arrays, inlined
from thud_env.jit.lanes import fetch
from thud_env.rules.draw import draw_legal
from thud_env.rules.legal import NUM_WORDS, is_legal, legal_words
from thud_env.rules.row import (
    MAX_ANSWERS,
    ONGOING,
    TERMINATION,
    TO_MOVE,
)
from thud_env.views.encoding import CHANGING_PLANES, update_planes
from thud_env.views.masks import update_bit_mask, update_byte_mask

AHEAD = 8
"""How many games ahead of the one that is played memory is prefetched."""


@inlined
def _show_game(row, view, game, fresh, scratch):
    """Write the changed parts of a game's observation and mask."""
    view.to_move[game] = row[TO_MOVE]
    if view.planes.shape[0] > 0:
        update_planes(row, view.shown_rows[game], view.planes[game], view.unit)
    if view.words.shape[0] > 0:
        view.legal_counts[game] = legal_words(row, fresh, scratch)
        if view.byte_words.shape[0] > 0:
            update_byte_mask(fresh, view.words[game], view.byte_words[game])
        else:
            update_bit_mask(fresh, view.words[game])


@inlined
def _is_playable(row, action, words, are_ours, game):
    """Whether an action may be played; in a game that is over any may."""
    if row[TERMINATION] != ONGOING:
        return True
    if not are_ours:
        return is_legal(row, action)
    in_range = 0 <= action < NUM_ACTIONS
    return in_range and (words[game, action >> 6] >> (action & 63)) & 1 == 1


@compiled
def first_illegal(rows, games, actions, words, are_ours, first, last):
    """The first of some games whose action is not legal, or -1. A game that is over takes any.

    Args:
        rows: [B, 432] the games.
        games: [N] int64, which of them.
        actions: [B] int64.
        words: [B, 102] int64, of their masks, if they have any.
        are_ours: whether there are words that nothing else can write, so that they are trusted.
        first, last: the part of ``games`` to look at.
    """
    for i in range(first, last):
        game = games[i]
        if not _is_playable(rows[game], actions[game], words, are_ours, game):
            return game
    return -1


@compiled
def _show_slice(rows, games, view, fresh, scratch, first, last):
    for i in range(first, last):
        game = games[i]
        _show_game(rows[game], view, game, fresh, scratch)


@compiled
def _step_slice(rows, games, actions, start_row, results, modes, view, fresh, scratch, first, last):
    for i in range(first, last):
        if i + AHEAD < last:
            soon = games[i + AHEAD]
            fetch(rows[soon])
            if view.words.shape[0] > 0:
                fetch(view.words[soon])
            if view.planes.shape[0] > 0:
                fetch(view.shown_rows[soon])
                for plane in CHANGING_PLANES:
                    fetch(view.planes[soon, plane])
        game = games[i]
        row = rows[game]
        step_game(row, actions[game], start_row, results, game, modes)
        _show_game(row, view, game, fresh, scratch)


# Numba types every argument of every call from Python: arrays cheaply, tuples at some cost. So the
# outer loops take all arrays one by one.


@compiled_with_arrays
def show_games(
    rows, games, shown_rows, planes, unit, words, byte_words, legal_counts, to_move, first, last
):
    """Write the changed parts of some games' observations and masks.

    Args:
        rows: [B, 432] the games.
        games: [N] int64, which of them.
        shown_rows, planes, unit, words, byte_words, legal_counts, to_move: a ``View``, written.
        first, last: the part of ``games`` to look at.
    """
    view = View(shown_rows, planes, unit, words, byte_words, legal_counts, to_move)
    fresh = np.empty(NUM_WORDS + 1, dtype=np.int64)
    _show_slice(rows, games, view, fresh, np.empty(MAX_ANSWERS, dtype=np.int32), first, last)


@compiled_with_arrays
def step_games(
    rows,
    games,
    actions,
    start_row,
    are_checked,
    by_outcome,
    resets_first,
    resets_at_once,
    rewards,
    terminated,
    truncated,
    final_rows,
    shown_rows,
    planes,
    unit,
    words,
    byte_words,
    legal_counts,
    to_move,
    first,
    last,
):
    """Play one decision in some games, and write observations and masks.

    Args:
        rows: [B, 432] the games.
        games: [N] int64, which of them are played.
        actions: [B] int64.
        start_row: [432] what a game is reset to.
        are_checked: whether the actions are known to be legal; otherwise nothing is played if
            one is not.
        by_outcome: whether rewards are by outcome or by margin.
        resets_first: whether a game that was over before this step is reset by it, or stays as
            it is. It is paid nothing either way.
        resets_at_once: whether a game that ends in this step is reset in it.
        rewards, terminated, truncated, final_rows: ``Results``, written.
        shown_rows, planes, unit, words, byte_words, legal_counts, to_move: a ``View``, written.
        first, last: the part of ``games`` to play.

    Returns:
        The first game whose action is not legal, or -1.
    """
    view = View(shown_rows, planes, unit, words, byte_words, legal_counts, to_move)
    if not are_checked:
        are_ours = byte_words.shape[0] > 0  # masks of bits are the words, which callers see
        illegal = first_illegal(rows, games, actions, words, are_ours, first, last)
        if illegal >= 0:
            return illegal
    results = Results(rewards, terminated, truncated, final_rows)
    modes = Modes(by_outcome, resets_first, resets_at_once)
    fresh = np.empty(NUM_WORDS + 1, dtype=np.int64)
    scratch = np.empty(MAX_ANSWERS, dtype=np.int32)
    _step_slice(rows, games, actions, start_row, results, modes, view, fresh, scratch, first, last)
    return -1


@compiled_with_arrays
def write_ends(
    rows, games, start_row, resets_at_once, rewards, terminated, truncated, final_rows, first, last
):
    """Write the results of states that were set: which are over.

    Args:
        rows: [B, 432] the games.
        games: [N] int64, which of them were set.
        start_row: [432] what a game is reset to.
        resets_at_once: whether a game that is over is reset.
        rewards, terminated, truncated, final_rows: ``Results``, written.
        first, last: the part of ``games`` to look at.
    """
    results = Results(rewards, terminated, truncated, final_rows)
    for i in range(first, last):
        game = games[i]
        write_game_end(rows[game], start_row, results, game, resets_at_once)


@compiled_with_arrays
def count_games(rows, legal_counts, first, last):
    """Count the legal decisions of every game."""
    fresh = np.empty(NUM_WORDS + 1, dtype=np.int64)
    scratch = np.empty(MAX_ANSWERS, dtype=np.int32)
    for game in range(first, last):
        legal_counts[game] = legal_words(rows[game], fresh, scratch)


@compiled
def _sample_slice(rows, rng, actions, scratch, first, last):
    for game in range(first, last):
        if game + AHEAD < last:
            fetch(rows[game + AHEAD])
        row = rows[game]
        actions[game] = 0 if row[TERMINATION] != ONGOING else draw_legal(row, rng, game, scratch)


@compiled_with_arrays
def sample_games(rows, rng, actions, first, last):
    """Draw a decision uniformly from the legal ones of every game; 0 where there is none.

    Args:
        rows: [B, 432] the games.
        rng: [B] uint64, one generator a game.
        actions: [B] int64, written.
        first, last: the games to draw for.
    """
    _sample_slice(rows, rng, actions, np.empty(MAX_ANSWERS, dtype=np.int32), first, last)


@compiled
def _play_slice(rows, rng, lengths, margins, scratch, first, last):
    for game in range(first, last):
        play_game(rows[game], rng, game, lengths, margins, scratch)


@compiled_with_arrays
def play_games(rows, rng, lengths, margins, first, last):
    """Play every game to its end by decisions drawn uniformly from the legal ones.

    Args:
        rows: [B, 432] the games; their last states when this returns.
        rng: [B] uint64, one generator a game.
        lengths: [B] int32, receives the number of decisions played.
        margins: [B] int16, receives the final margin, from the dwarfs' view.
        first, last: the games to play.
    """
    _play_slice(rows, rng, lengths, margins, np.empty(MAX_ANSWERS, dtype=np.int32), first, last)
