"""Whether a role learns from a rollout, or waits for the other to catch up."""

from __future__ import annotations

import numpy as np

from thud_env.rulesets import get_ruleset
from training.config import PlayConfig
from training.learner.batches import Batch
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

    def __init__(self, config: PlayConfig, ranks: Ranks) -> None:
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

    def give_rest(self, batches: tuple[Batch, Batch], updates: int) -> tuple[Batch, Batch]:
        """Both sides' batches, that of a side emptied if it skips the rollout of this update, so
        that the other catches up.
        """
        dwarfs, trolls = batches
        if self._most is not None and updates % REST_ROLLOUTS != 0:
            if self.lead > self._most:
                dwarfs = dwarfs[:0]
            if -self.lead > self._most:
                trolls = trolls[:0]
        return dwarfs, trolls
