"""What happens to one game of a batch, on the CPU and on a GPU alike."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thud_env.jit.compile import compiled, inlined
from thud_env.rules.draw import draw_legal
from thud_env.rules.legal import is_legal
from thud_env.rules.play import apply, margin
from thud_env.rules.row import DWARFS, ONGOING, TERMINATION, TROLLS, TURN_LIMIT, copy_row
from thud_env.rulesets import MOST_POINTS

MARGIN_UNIT = np.float32(1 / MOST_POINTS)
"""What a point is worth as a reward."""


@compiled
def reward_for_dwarfs(row, margin_before, by_outcome):
    """The dwarfs' reward for the decision that led to ``row``; the trolls' is its negative.

    By margin: the captures it made, in 1/32. By outcome: 1, 0 or -1 at the end. The turn limit
    truncates a battle and pays nothing: a learner adds its value of the last state.
    """
    now = margin(row)
    if not by_outcome:
        return np.float32(now - margin_before) * MARGIN_UNIT
    termination = row[TERMINATION]
    if termination in (ONGOING, TURN_LIMIT):
        return np.float32(0)
    return np.float32((now > 0) - (now < 0))


@compiled
def play_if_legal(row, action, by_outcome):
    """Play a decision if it is legal.

    Returns:
        whether it is, and what it pays the dwarfs.
    """
    if not is_legal(row, action):
        return False, 0.0
    before = margin(row)
    apply(row, action)
    return True, float(reward_for_dwarfs(row, before, by_outcome))


class View(NamedTuple):
    """The observations and masks of B games. An array with B = 0 is not wanted."""

    shown_rows: NDArray[np.int16]
    """[B, 432] the states that ``planes`` show."""
    planes: NDArray[Any]
    """[B, C, 225] float32 or uint8."""
    unit: float
    """The value of 1 in ``planes``: 255 in uint8."""
    words: NDArray[np.int64]
    """The legal decisions as bits, action a being bit a % 64 of word a // 64: [B, 102] on the CPU,
    [B, 103] on a GPU, where the last word is room to spill.
    """
    byte_words: NDArray[np.uint64]
    """[B, 816] the same as bytes."""
    legal_counts: NDArray[np.int32]
    """[B], always wanted."""
    to_move: NDArray[np.int8]
    """[B], always wanted."""


class Modes(NamedTuple):
    """How a batch pays and begins anew."""

    by_outcome: bool
    """Whether rewards are by outcome, not by margin."""
    resets_first: bool
    """Whether a step resets a game that is over, in place of playing in it."""
    resets_at_once: bool
    """Whether a game that ends is reset in the same step."""


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
def _write_end(row, start_row, results, game, resets_at_once):
    """Write whether a battle is over; if it is, keep its state and reset it where wanted."""
    termination = row[TERMINATION]
    results.truncated[game] = termination == TURN_LIMIT
    results.terminated[game] = termination not in (ONGOING, TURN_LIMIT)
    if termination != ONGOING:
        copy_row(results.final_rows[game], row)
        if resets_at_once:
            copy_row(row, start_row)


@inlined
def write_game_end(row, start_row, results, game, resets_at_once):
    """Write the results of a state that was set, as a step to it would; rewards are 0."""
    results.rewards[game, DWARFS] = 0
    results.rewards[game, TROLLS] = 0
    _write_end(row, start_row, results, game, resets_at_once)


@inlined
def step_game(row, action, start_row, results, game, modes):
    """Play one legal decision in one game; see ``step_games``."""
    if row[TERMINATION] != ONGOING:
        results.rewards[game, DWARFS] = 0
        results.rewards[game, TROLLS] = 0
        if modes.resets_first:
            copy_row(row, start_row)
            results.terminated[game] = False
            results.truncated[game] = False
        return
    margin_before = margin(row)
    apply(row, action)
    reward = reward_for_dwarfs(row, margin_before, modes.by_outcome)
    results.rewards[game, DWARFS] = reward
    results.rewards[game, TROLLS] = np.float32(0) - reward  # no -0
    _write_end(row, start_row, results, game, modes.resets_at_once)


@inlined
def play_game(row, rng, game, lengths, margins, scratch):
    """Play one game to its end; see ``play_games``."""
    length = 0
    while row[TERMINATION] == ONGOING:
        apply(row, draw_legal(row, rng, game, scratch))
        length += 1
    lengths[game] = length
    margins[game] = margin(row)
