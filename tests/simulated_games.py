"""Play games on a CUDA device, or on Numba's simulator of one, and save what they showed.

Run as a program of its own, as the simulator must be chosen before Numba is imported::

    NUMBA_ENABLE_CUDASIM=1 NUMBA_DISABLE_JIT=1 python tests/simulated_games.py classic 3 out.npz
"""

from __future__ import annotations

import copy
import pickle
import sys
import warnings
from typing import Any

import numpy as np

from thud_env import BatchedGame, Position, random_playouts

LIMITS = {"max_turns": 12, "agreement": True, "offer_after": 2}
NAMES = (
    "rows",
    "final_rows",
    "legal_counts",
    "to_move",
    "rewards",
    "terminated",
    "truncated",
)


def show(games: BatchedGame) -> dict[str, Any]:
    """Everything that a batch shows, in NumPy arrays."""
    names = [*NAMES, *(name for name in ("observations", "masks") if hasattr(games, name))]
    return {name: games.to_host(getattr(games, name)).copy() for name in names}


def _pickled(games: BatchedGame) -> BatchedGame:
    return pickle.loads(pickle.dumps(games))


def play(device: str, rules: str, steps: int, rows: Any = None) -> dict[str, Any]:
    """What batches show after each of some random steps, by step and name; then what they show
    and draw after states have been set, of which one is over, and a game was reset by itself.
    """
    shown = {}
    start = Position.start(rules, **LIMITS)
    over = Position.from_text(f"{start.text[:-1]}{LIMITS['max_turns']}", rules, **LIMITS)
    for kind, masks, observations in (
        ("floats", "bytes", True),
        ("no planes", "bits", False),
        ("bytes", None, "uint8"),
    ):
        games = BatchedGame(
            2, rules, device=device, seed=5, masks=masks, observations=observations, **LIMITS
        )
        if rows is not None:
            games.set_rows(rows)
        for step in range(steps):
            games.step(games.sample_actions())
            for name, array in show(games).items():
                shown[f"{kind} {step} {name}"] = array
        games.step(games.sample_actions(), np.array([1]))
        shown |= {f"{kind} one stepped {name}": array for name, array in show(games).items()}
        games.set_rows(np.stack([position.row for position in (over, start)]))
        shown |= {f"{kind} set {name}": array for name, array in show(games).items()}
        games.set_rows(np.stack([over.row, start.row]), np.array([1, 0]))
        shown |= {f"{kind} set in turn {name}": array for name, array in show(games).items()}
        games.set_rows(start.row[np.newaxis], np.array([0]))
        shown |= {f"{kind} one set {name}": array for name, array in show(games).items()}
        games.reset(np.array([1]), seed=6)
        shown[f"{kind} drawn"] = games.to_host(games.sample_actions()).copy()
        for how, twin in (("copied", copy.deepcopy), ("pickled", _pickled)):
            again = twin(games)
            again.step(again.sample_actions())
            shown |= {f"{kind} {how} {name}": array for name, array in show(again).items()}
    return shown


if __name__ == "__main__":
    warnings.simplefilter("ignore", RuntimeWarning)  # generators are meant to overflow
    from simulator import run_one_by_one  # a GPU has none

    run_one_by_one()
    rules, steps, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    shown = play("cuda", rules, steps)
    playouts = random_playouts(1, rules, seed=3, device="cuda", max_turns=8)
    np.savez(path, lengths=playouts.lengths, margins=playouts.margins, **shown)
