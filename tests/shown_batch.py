"""What a ``BatchedGame`` shows, for tests of it."""

import numpy as np

ARRAYS = (
    "rows",
    "observations",
    "masks",
    "legal_counts",
    "to_move",
    "rewards",
    "terminated",
    "truncated",
    "final_rows",
)
LIMITS = {"max_quiet_turns": 12, "max_turns": 40, "offer_after": 3, "agreement": True}
"""Battles that end soon, in every way."""


def snapshot(games):
    return {name: getattr(games, name).copy() for name in ARRAYS}


def assert_same(seen, wanted, games=slice(None)):
    for name in ARRAYS:
        np.testing.assert_array_equal(seen[name][games], wanted[name][games], err_msg=name)


def play(games, steps):
    """Everything that the batch shows after each of some random steps."""
    shown = []
    for _ in range(steps):
        games.step(games.sample_actions())
        shown.append(snapshot(games))
    return shown


def assert_shows(games, positions):
    """The batch shows the players of each game what ``Position`` says."""
    for game, position in enumerate(positions):
        assert games.position(game) == position
        np.testing.assert_array_equal(games.masks[game], position.action_mask())
        np.testing.assert_array_equal(games.observations[game], position.observation())
        assert games.legal_counts[game] == len(position.legal_actions())
        assert games.to_move[game] == ("dwarfs", "trolls").index(position.to_move)
