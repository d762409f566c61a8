"""The compiled loops over many games that ``BatchedGame`` runs on slices of its arrays.

Every loop works on the games ``first`` .. ``last`` - 1, or on those numbers of a list of games,
and touches nothing of the others, so that slices may run on several threads at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thud_env.actions import NUM_ACTIONS
from thud_env.jit.compile import compiled, compiled_with_arrays, inlined
from thud_env.jit.lanes import fetch
from thud_env.rules.draw import draw_legal
from thud_env.rules.legal import NUM_WORDS, is_legal, legal_actions, legal_words
from thud_env.rules.play import apply, margin
from thud_env.rules.row import (
    DWARFS,
    ONGOING,
    TERMINATION,
    TO_MOVE,
    TROLLS,
    TURN_LIMIT,
    copy_row,
)
from thud_env.views.encoding import CHANGING_PLANES, update_planes
from thud_env.views.masks import update_bit_mask, update_byte_mask

AHEAD = 8
"""How many games ahead of the one that is played memory is asked for."""
MARGIN_UNIT = np.float32(1 / 32)
"""A reward of 1 is a margin of 32, the largest there is."""


@compiled
def reward_for_dwarfs(row, margin_before, by_outcome):
    """What the decision that led to ``row`` pays the dwarfs; the trolls are paid its negative.

    By margin: the captures it made, in 1/32. By outcome: 1, 0 or -1 at the end. The turn limit
    truncates a battle and pays nothing: a learner adds what the battle was still worth.
    """
    now = margin(row)
    if not by_outcome:
        return np.float32(now - margin_before) * MARGIN_UNIT
    termination = row[TERMINATION]
    if termination in (ONGOING, TURN_LIMIT):
        return np.float32(0)
    return np.float32((now > 0) - (now < 0))


ILLEGAL = -1000
"""What ``play_if_legal`` returns for an illegal decision; no margin is that low."""


@compiled
def play_if_legal(row, action, by_outcome):
    """Play a decision if it is legal.

    Returns:
        the margin after it, or ILLEGAL, and what it pays the dwarfs.
    """
    if not is_legal(row, action):
        return ILLEGAL, 0.0
    before = margin(row)
    apply(row, action)
    return margin(row), float(reward_for_dwarfs(row, before, by_outcome))


class View(NamedTuple):
    """What the players of B games see. With B = 0 an array is not wanted."""

    shown_rows: NDArray[np.int16]
    """[B, 432] the states that ``planes`` show."""
    planes: NDArray[Any]
    """[B, C, 225] float32 or uint8."""
    unit: float
    """What stands for 1 in ``planes``."""
    words: NDArray[np.int64]
    """[B, 102] the legal decisions as bits."""
    byte_words: NDArray[np.uint64]
    """[B, 816] the same as bytes."""
    legal_counts: NDArray[np.int32]
    """[B], always wanted."""
    to_move: NDArray[np.int8]
    """[B], always wanted."""


class Results(NamedTuple):
    """How the last step ended in each of B games."""

    rewards: NDArray[np.float32]
    """[B, 2] dwarfs and trolls."""
    terminated: NDArray[np.bool_]
    """[B]."""
    truncated: NDArray[np.bool_]
    """[B]."""
    final_rows: NDArray[np.int16]
    """[B, 432] the last state of the last battle that ended."""


@inlined
def _show_game(row, view, game, fresh, scratch):
    """Write what a game's players see, as far as it changed."""
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
def _tell_end(row, start_row, results, game, resets_at_once):
    """Write whether a battle is over; if it is, keep its state, and perhaps reset it."""
    termination = row[TERMINATION]
    results.truncated[game] = termination == TURN_LIMIT
    results.terminated[game] = termination not in (ONGOING, TURN_LIMIT)
    if termination != ONGOING:
        copy_row(results.final_rows[game], row)
        if resets_at_once:
            copy_row(row, start_row)


@inlined
def tell_game(row, start_row, results, game, resets_at_once):
    """Tell of a state that was set what a step that led to it would have, but for rewards."""
    results.rewards[game, DWARFS] = 0
    results.rewards[game, TROLLS] = 0
    _tell_end(row, start_row, results, game, resets_at_once)


@inlined
def step_game(row, action, start_row, results, game, by_outcome, resets_first, resets_at_once):
    """Play one legal decision in one game; see ``step_games``."""
    if row[TERMINATION] != ONGOING:
        results.rewards[game, DWARFS] = 0
        results.rewards[game, TROLLS] = 0
        if resets_first:
            copy_row(row, start_row)
            results.terminated[game] = False
            results.truncated[game] = False
        return
    margin_before = margin(row)
    apply(row, action)
    reward = reward_for_dwarfs(row, margin_before, by_outcome)
    results.rewards[game, DWARFS] = reward
    results.rewards[game, TROLLS] = np.float32(0) - reward  # no -0
    _tell_end(row, start_row, results, game, resets_at_once)


@inlined
def _is_playable(row, action, view, game):
    """Whether a game takes an action: one that is over takes any."""
    if row[TERMINATION] != ONGOING:
        return True
    if view.words.shape[0] == 0:
        return is_legal(row, action)
    in_range = 0 <= action < NUM_ACTIONS
    return in_range and (view.words[game, action >> 6] >> (action & 63)) & 1 == 1


@compiled
def _first_illegal(rows, games, actions, view, first, last):
    for i in range(first, last):
        game = games[i]
        if not _is_playable(rows[game], actions[game], view, game):
            return game
    return -1


@compiled
def _show_slice(rows, games, view, fresh, scratch, first, last):
    for i in range(first, last):
        game = games[i]
        _show_game(rows[game], view, game, fresh, scratch)


@compiled
def _step_slice(rows, games, actions, start_row, results, modes, view, fresh, scratch, first, last):
    by_outcome, resets_first, resets_at_once = modes
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
        step_game(
            row, actions[game], start_row, results, game, by_outcome, resets_first, resets_at_once
        )
        _show_game(row, view, game, fresh, scratch)


# Numba looks at the type of every argument of every call from Python. It knows arrays at a
# glance and tuples do not come that cheap, so the outer loops take all arrays one by one.


@compiled_with_arrays
def show_games(
    rows, games, shown_rows, planes, unit, words, byte_words, legal_counts, to_move, first, last
):
    """Write what the players of some games see, as far as it changed.

    Args:
        rows: [B, 432] the games.
        games: [N] int64, which of them.
        shown_rows, planes, unit, words, byte_words, legal_counts, to_move: a ``View``, written.
        first, last: the part of ``games`` to look at.
    """
    view = View(shown_rows, planes, unit, words, byte_words, legal_counts, to_move)
    fresh = np.empty(NUM_WORDS + 1, dtype=np.int64)
    _show_slice(rows, games, view, fresh, np.empty(16, dtype=np.int32), first, last)


@compiled_with_arrays
def first_illegal(
    rows,
    games,
    actions,
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
    """The first of some games whose action is not legal, or -1. A game that is over takes any.

    Args:
        rows: [B, 432] the games.
        games: [N] int64, which of them.
        actions: [B] int64.
        shown_rows, planes, unit, words, byte_words, legal_counts, to_move: a ``View`` of them,
            whose words are trusted if there are any.
        first, last: the part of ``games`` to look at.
    """
    view = View(shown_rows, planes, unit, words, byte_words, legal_counts, to_move)
    return _first_illegal(rows, games, actions, view, first, last)


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
    """Play one decision in some games, and show it.

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
        illegal = _first_illegal(rows, games, actions, view, first, last)
        if illegal >= 0:
            return illegal
    results = Results(rewards, terminated, truncated, final_rows)
    modes = (by_outcome, resets_first, resets_at_once)
    fresh = np.empty(NUM_WORDS + 1, dtype=np.int64)
    scratch = np.empty(16, dtype=np.int32)
    _step_slice(rows, games, actions, start_row, results, modes, view, fresh, scratch, first, last)
    return -1


@compiled_with_arrays
def tell_games(
    rows, games, start_row, resets_at_once, rewards, terminated, truncated, final_rows, first, last
):
    """Write which of the states that were set are over.

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
        tell_game(rows[game], start_row, results, game, resets_at_once)


@compiled_with_arrays
def count_games(rows, legal_counts, first, last):
    """Count the legal decisions of every game."""
    fresh = np.empty(NUM_WORDS + 1, dtype=np.int64)
    scratch = np.empty(16, dtype=np.int32)
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
    _sample_slice(rows, rng, actions, np.empty(16, dtype=np.int32), first, last)


@compiled
def list_games(rows, starts, decisions):
    """Write all games' legal decisions, each game's ascending, one game after the other.

    Args:
        rows: [N, 432] the games.
        starts: [N + 1] int64, receives where each game's decisions begin.
        decisions: [>= N * 2048] int32, written up to ``starts[N]``.
    """
    starts[0] = 0
    for game in range(rows.shape[0]):
        first = starts[game]
        starts[game + 1] = first + legal_actions(rows[game], decisions[first:])


@compiled
def margin_games(rows, margins):
    """Write the margins of [N, 432] states, as they stand, into [N] int64."""
    for game in range(rows.shape[0]):
        margins[game] = margin(rows[game])


@inlined
def play_game(row, rng, game, lengths, margins, scratch):
    """Play one game to its end; see ``play_games``."""
    length = 0
    while row[TERMINATION] == ONGOING:
        apply(row, draw_legal(row, rng, game, scratch))
        length += 1
    lengths[game] = length
    margins[game] = margin(row)


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
    _play_slice(rows, rng, lengths, margins, np.empty(16, dtype=np.int32), first, last)
