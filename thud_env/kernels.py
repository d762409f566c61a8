"""The compiled loops over many games that ``BatchedGame`` runs on slices of its arrays.

Every loop works on the games ``first`` .. ``last`` - 1 and touches nothing of the others,
so that slices may run on several threads at once.
"""

from __future__ import annotations

import numpy as np

from thud_env.compile import compiled, compiled_with_arrays
from thud_env.encoding import encode
from thud_env.rng import random_below
from thud_env.rules.legal import is_legal, legal_actions
from thud_env.rules.play import apply, margin
from thud_env.rules.row import (
    DWARFS,
    MAX_DECISIONS_AT_ONCE,
    ONGOING,
    TERMINATION,
    TO_MOVE,
    TROLLS,
    TURN_LIMIT,
)

BYTE_MASKS, BIT_MASKS = 1, 2
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


@compiled
def first_illegal(rows, actions, first, last):
    """The first game whose action is not legal, or -1. A game that is over takes any."""
    for game in range(first, last):
        if rows[game, TERMINATION] == ONGOING and not is_legal(rows[game], actions[game]):
            return game
    return -1


@compiled_with_arrays
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
                row[:] = start_row
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
            final_rows[game] = row
            if reset_at_once:
                row[:] = start_row


@compiled_with_arrays
def observe_games(
    rows, observations, masks, legal_counts, to_move, with_observations, mask_kind, first, last
):
    """Write what the players of every game see.

    Args:
        rows: [B, 432] the games.
        observations: [B, C, 15, 15] float32, or [0, C, 15, 15] if not wanted.
        masks: [B, 6470] int8, [B, 809] uint8 (least significant bit first), or [0, 0].
        legal_counts: [B] int32.
        to_move: [B] int8.
        with_observations: whether to write observations.
        mask_kind: BYTE_MASKS, BIT_MASKS or 0 for none.
        first, last: the games to look at.
    """
    decisions = np.empty(MAX_DECISIONS_AT_ONCE, dtype=np.int32)
    for game in range(first, last):
        row = rows[game]
        to_move[game] = row[TO_MOVE]
        count = legal_actions(row, decisions)
        legal_counts[game] = count
        if with_observations:
            encode(row, observations[game])
        if mask_kind != 0:
            mask = masks[game]
            mask[:] = 0
            if mask_kind == BYTE_MASKS:
                for i in range(count):
                    mask[decisions[i]] = 1
            else:
                for i in range(count):
                    mask[decisions[i] >> 3] |= 1 << (decisions[i] & 7)


@compiled_with_arrays
def sample_games(rows, rng, actions, first, last):
    """Draw a decision uniformly from the legal ones of every game; 0 where there is none.

    Args:
        rows: [B, 432] the games.
        rng: [B] uint64, one generator a game.
        actions: [B] int32, written.
        first, last: the games to draw for.
    """
    decisions = np.empty(MAX_DECISIONS_AT_ONCE, dtype=np.int32)
    for game in range(first, last):
        count = legal_actions(rows[game], decisions)
        actions[game] = decisions[random_below(rng, game, count)] if count > 0 else 0


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
    decisions = np.empty(MAX_DECISIONS_AT_ONCE, dtype=np.int32)
    for game in range(first, last):
        row = rows[game]
        length = 0
        while row[TERMINATION] == ONGOING:
            count = legal_actions(row, decisions)
            apply(row, decisions[random_below(rng, game, count)])
            length += 1
        lengths[game] = length
        margins[game] = margin(row)
