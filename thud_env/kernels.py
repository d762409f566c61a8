"""The compiled loops over many games that ``BatchedGame`` runs on slices of its arrays.

Every loop works on the games ``first`` .. ``last`` - 1 and touches nothing of the others,
so that slices may run on several threads at once.
"""

from __future__ import annotations

import numpy as np

from thud_env.compile import compiled, compiled_with_arrays
from thud_env.encoding import update_planes
from thud_env.masks import update_bit_mask, update_byte_mask
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

NO_MASKS, BYTE_MASKS, BIT_MASKS = range(3)
MARGIN_UNIT = np.float32(1 / 32)
"""A reward of 1 is a margin of 32, the largest there is."""


@compiled
def reward_for_dwarfs(row, margin_before, by_outcome):
    """What the decision that led to ``row`` pays the dwarfs; the trolls are paid its negative.

    By margin: the captures it made, in 1/32. By outcome: 1, 0 or -1 at the end.
    """
    now = margin(row)
    if not by_outcome:
        return np.float32(now - margin_before) * MARGIN_UNIT
    if row[TERMINATION] == ONGOING:
        return np.float32(0)
    return np.float32(np.sign(now))


ILLEGAL = -1000
"""What ``play_if_legal`` returns for an illegal decision; no margin is that low."""


@compiled
def play_if_legal(row, action):
    """Play a decision if it is legal; the margin before it, or ILLEGAL."""
    if not is_legal(row, action):
        return ILLEGAL
    before = margin(row)
    apply(row, action)
    return before


@compiled
def first_illegal(rows, actions, first, last):
    """The first game whose action is not legal, or -1. A game that is over takes any."""
    for game in range(first, last):
        if rows[game, TERMINATION] == ONGOING and not is_legal(rows[game], actions[game]):
            return game
    return -1


@compiled
def step_games(
    rows,
    actions,
    start_row,
    final_rows,
    rewards,
    terminated,
    truncated,
    by_outcome,
    reset_finished_first,
    reset_at_once,
    first,
    last,
):
    """Play one legal decision in every game.

    Args:
        rows: [B, 432] the games.
        actions: [B] legal actions.
        start_row: [432] what a game is reset to.
        final_rows: [B, 432] receives the last state of every game that ends.
        rewards: [B, 2] float32, dwarfs and trolls.
        terminated, truncated: [B] bool.
        by_outcome: whether rewards are by outcome or by margin.
        reset_finished_first: a game that was over before this step is reset by it; otherwise
            it stays as it is. It is paid nothing either way.
        reset_at_once: a game that ends in this step is reset in it.
        first, last: the games to play.
    """
    for game in range(first, last):
        row = rows[game]
        if row[TERMINATION] != ONGOING:
            rewards[game, DWARFS] = 0
            rewards[game, TROLLS] = 0
            if reset_finished_first:
                copy_row(row, start_row)
                terminated[game] = False
                truncated[game] = False
            continue
        margin_before = margin(row)
        apply(row, actions[game])
        reward = reward_for_dwarfs(row, margin_before, by_outcome)
        rewards[game, DWARFS] = reward
        rewards[game, TROLLS] = -reward
        termination = row[TERMINATION]
        truncated[game] = termination == TURN_LIMIT
        terminated[game] = termination not in (ONGOING, TURN_LIMIT)
        if termination != ONGOING:
            copy_row(final_rows[game], row)
            if reset_at_once:
                copy_row(row, start_row)


@compiled_with_arrays
def observe_games(
    rows,
    shown_rows,
    planes,
    words,
    byte_words,
    legal_counts,
    to_move,
    with_observations,
    mask_kind,
    first,
    last,
):
    """Write what the players of every game see, as far as it changed.

    Args:
        rows: [B, 432] the games.
        shown_rows: [B, 432] the states that ``planes`` show, or [0, 432].
        planes: [B, C, 225] float32, or [0, C, 225] if not wanted.
        words: [B, 102] int64, the legal decisions as bits, or [0, 102].
        byte_words: [B, 816] uint64, the same as bytes, or [0, 816].
        legal_counts: [B] int32.
        to_move: [B] int8.
        with_observations: whether to write planes.
        mask_kind: BYTE_MASKS, BIT_MASKS or NO_MASKS.
        first, last: the games to look at.
    """
    fresh = np.empty(NUM_WORDS + 1, dtype=np.int64)
    scratch = np.empty(16, dtype=np.int32)
    for game in range(first, last):
        row = rows[game]
        to_move[game] = row[TO_MOVE]
        if with_observations:
            update_planes(row, shown_rows[game], planes[game])
        if mask_kind != NO_MASKS:
            legal_counts[game] = legal_words(row, fresh, scratch)
            if mask_kind == BYTE_MASKS:
                update_byte_mask(fresh, words[game], byte_words[game])
            else:
                update_bit_mask(fresh, words[game])


@compiled_with_arrays
def count_games(rows, legal_counts, first, last):
    """Count the legal decisions of every game."""
    fresh = np.empty(NUM_WORDS + 1, dtype=np.int64)
    scratch = np.empty(16, dtype=np.int32)
    for game in range(first, last):
        legal_counts[game] = legal_words(rows[game], fresh, scratch)


@compiled_with_arrays
def sample_games(rows, rng, actions, first, last):
    """Draw a decision uniformly from the legal ones of every game; 0 where there is none.

    Args:
        rows: [B, 432] the games.
        rng: [B] uint64, one generator a game.
        actions: [B] int64, written.
        first, last: the games to draw for.
    """
    scratch = np.empty(16, dtype=np.int32)
    for game in range(first, last):
        row = rows[game]
        actions[game] = 0 if row[TERMINATION] != ONGOING else draw_legal(row, rng, game, scratch)


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
    scratch = np.empty(16, dtype=np.int32)
    for game in range(first, last):
        row = rows[game]
        length = 0
        while row[TERMINATION] == ONGOING:
            apply(row, draw_legal(row, rng, game, scratch))
            length += 1
        lengths[game] = length
        margins[game] = margin(row)
