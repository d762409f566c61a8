"""Whether a role learns from a rollout, or waits for the other to catch up."""

from __future__ import annotations

import numpy as np

from thud_env.rulesets import get_ruleset
from training.config import TrainConfig
from training.process.ranks import Ranks
from training.selfplay.rollout import MIRROR, Rollout

REST_ROLLOUTS = 4
"""A role that is too far ahead learns from one rollout in this many."""
RECENT = 0.2
"""How much a rollout counts in the running mean of the lead."""


class Pace:
    """Follows how far the dwarfs are ahead in mirror play, and decides which role rests.

    Args:
        config: how far a role may be ahead.
        ranks: the processes of the run.
    """

    def __init__(self, config: TrainConfig, ranks: Ranks) -> None:
        self._most = config.opponents.pace
        self._largest = get_ruleset(config.rules).largest_margin
        self._ranks = ranks
        self.lead = 0.0
        """How far the dwarfs are ahead of late, -1 .. 1, as a share of the largest margin."""

    def follow(self, rollout: Rollout) -> None:
        """Let the lead follow the mirror battles that have just ended."""
        margins = rollout.final_margins[rollout.opponent_sides[rollout.final_games] == MIRROR]
        total, count = self._ranks.total(np.array([margins.sum(), len(margins)]))
        if count:
            self.lead += RECENT * (float(total / count) / self._largest - self.lead)

    def rests(self, side: int, updates: int) -> bool:
        """Whether a side skips the rollout of this update, so that the other catches up."""
        ahead = self.lead if side == 0 else -self.lead
        return self._most is not None and ahead > self._most and updates % REST_ROLLOUTS != 0
