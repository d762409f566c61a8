"""Labels states by a tree search with the students' own networks: expert iteration (Anthony et al.,
"Thinking fast and slow with deep learning and tree search", 2017).

Gumbel sampling draws the decisions to try from the students' policies, as ``policy+mcts`` changes
them: made more equal, and with a share for the decision that a short search finds best. Sequential
halving tries the better ones more often (``agents/search/gumbel.py``). A decision's score is the
mean of what its simulations found.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from agents.networks.checkpoint import Checkpoint
from agents.networks.network import PolicyNetwork
from agents.policy_mcts import PolicyMctsAgent
from agents.search.thought import Thought
from thud_env.batch.cpu import available_cores
from thud_env.outcome import SIDES
from thud_env.rules.row import DWARFS, TO_MOVE
from thud_env.rulesets import Ruleset
from training.distill.config import TeacherConfig
from training.distill.labels import Labels, labelled_at_once
from training.process.precision import Precision


@dataclasses.dataclass(frozen=True)
class _Students:
    """The networks as they are now, as a pair of policies."""

    networks: dict[str, PolicyNetwork]
    rules: str | None = None

    @classmethod
    def now(cls, networks: Sequence[PolicyNetwork]) -> _Students:
        """Copies, on the processor."""
        copies = (copy.deepcopy(network).cpu().eval().written_out() for network in networks)
        return cls(dict(zip(SIDES, copies, strict=True)))

    def checkpoint(self, role: str, rules: Ruleset) -> Checkpoint:
        """See ``Pair``."""
        return Checkpoint(self.networks[role], role, rules.spec, decisions=0)


class TreeTeacher:
    """``policy+mcts`` with the networks as they are now, on all cores.

    Args:
        config: how it searches.
        networks: the students' networks, for dwarfs and trolls.
        precision: their arithmetic.
        seed: seeds which decisions are tried.
    """

    def __init__(
        self,
        config: TeacherConfig,
        networks: Sequence[PolicyNetwork],
        precision: Precision,
        seed: int,
    ) -> None:
        self._reach = config.reach
        students = _Students.now(networks)
        self._searches = [
            PolicyMctsAgent(
                students,
                sims=config.simulations,
                root="gumbel",
                considered=config.considered,
                noise=1.0,
                lookahead=config.lookahead,
                precision=precision.name,
                seed=seed,
            )
            for _ in range(available_cores())
        ]

    def label(self, rows: NDArray[np.int16]) -> Labels:
        """See ``Teacher``."""
        return labelled_at_once([partial(self._label, search) for search in self._searches], rows)

    def _label(self, search: PolicyMctsAgent, rows: NDArray[np.int16]) -> Labels:
        found = search.think_rows(list(rows))
        tried = [_near(thought, self._reach) for thought in found]
        best = np.array([thought.value for thought in found], dtype=np.int32)
        return Labels(
            np.array([len(gaps) for gaps in tried], dtype=np.int32),
            np.array([one for gaps in tried for one in gaps], dtype=np.int16),
            np.array([gap for gaps in tried for gap in gaps.values()], dtype=np.int16),
            np.where(rows[:, TO_MOVE] == DWARFS, best, -best).astype(np.int32),
        )


def _near(found: Thought, reach: int) -> dict[int, int]:
    """The decisions, ascending, that were tried at least half as often as any and whose worth comes
    within reach of the chosen one's, and how much less each is worth. Where fewer simulations say
    that one is worth more, it is noise: else sequential halving would have kept it. Where as many
    do, it counts as equal.
    """
    most = max(found.visits.values())
    gaps = {
        decision: max(0, found.value - worth)
        for decision, worth in sorted(found.values.items())
        if 2 * found.visits[decision] >= most
    }
    return {decision: gap for decision, gap in gaps.items() if gap < reach}
