"""Players of training.evaluate, as its tests name them."""

from __future__ import annotations

import numpy as np

import agents
from thud_env import Position


class First(agents.Agent):
    """Plays the first legal decision, always."""

    def __init__(self, seed: int = 0) -> None:
        self.seed(seed)

    def act_rows(self, rows: np.ndarray) -> np.ndarray:
        return np.array([Position(row).legal_actions()[0] for row in rows], np.int32)


FIRST = f"python:{__name__}:First"
GREEDY = ("--dwarfs", "greedy", "--trolls", "random")
