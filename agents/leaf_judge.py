"""Evaluates leaves of search trees: their priors by trained networks, their values by these or by a
short search, which then has a say in the priors, too. Caches the results.
"""

from __future__ import annotations

import copy
import math
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from agents.networks.network import PolicyNetwork
from agents.policy import PolicyAgent
from agents.search.lookahead import Lookahead
from agents.search.playouts import current_scores
from thud_env.position import SIDES
from thud_env.rules.row import DWARFS, ONGOING, TERMINATION, TO_MOVE, ruleset_of

FAVOUR = 0.15
"""The share of a leaf's prior that goes to the decision which its search found best."""
REMEMBERED = 8192
"""The number of positions, some 2.5 kB each, in a generation of the cache. A position that is not
met for a whole generation is dropped."""


class Judged(NamedTuple):
    """What is found about N leaves with L legal decisions."""

    starts: NDArray[np.int64]
    """[N + 1] where each leaf's decisions begin; it has none if its battle is over."""
    decisions: NDArray[np.int16]
    """[L] the legal decisions, each leaf's ascending."""
    log_probs: NDArray[np.float32]
    """[L] the logarithms of their priors, up to a constant for each leaf."""
    values: NDArray[np.float64]
    """[N] the expected margin for the dwarfs, the largest being 1."""


class _Opinion(NamedTuple):
    decisions: NDArray[np.int16]
    log_probs: NDArray[np.float32]
    value: float


_OVER = (np.zeros(0, dtype=np.int16), np.zeros(0, dtype=np.float32))


class LeafJudge:
    """Evaluates leaves with the networks of a pair, each position once.

    A search meets positions again: by other ways, and those of an earlier search after the
    opponent's reply.

    Args:
        policy: the pair.
        bfloat16: whether the networks compute in bfloat16, which is faster on processors that have
            it, and less exact.
        lookahead: how many turns deep a leaf is searched by alpha-beta; 0: it is not, and the
            networks value it.
        temperature: what the logarithms of the networks' probabilities are divided by.
    """

    def __init__(
        self, policy: PolicyAgent, bfloat16: bool, lookahead: int, temperature: float
    ) -> None:
        self._policy = policy
        self._bfloat16 = bfloat16
        self._depth = lookahead
        self._temperature = temperature
        self._searches: dict[str, Lookahead] = {}
        self._halves: dict[PolicyNetwork, PolicyNetwork] = {}
        self._recent: dict[bytes, _Opinion] = {}
        self._older: dict[bytes, _Opinion] = {}

    def forget(self) -> None:
        """Forget all positions."""
        self._recent, self._older = {}, {}

    def judge(self, rows: NDArray[np.int16]) -> Judged:
        """Evaluate leaves.

        Args:
            rows: [N, 432] state rows, some of which may be the same or of battles that are over.

        Raises:
            CheckpointError: if a network is missing or was trained for another ruleset.
        """
        keys = [row.tobytes() for row in rows]
        found: dict[bytes, _Opinion] = {}
        asked: dict[bytes, int] = {}
        for number, key in enumerate(keys):
            known = self._recent.get(key) or self._older.get(key)
            if known is not None:
                found[key] = known
            elif key not in asked:
                asked[key] = number
        if asked:
            some = np.fromiter(asked.values(), dtype=np.int64)
            found |= zip(asked, self._ask(rows[some]), strict=True)
        self._remember(found)
        opinions = [found[key] for key in keys]
        counts = [len(one.decisions) for one in opinions]
        return Judged(
            np.concatenate(([0], np.cumsum(counts, dtype=np.int64))),
            np.concatenate([one.decisions for one in opinions]),
            np.concatenate([one.log_probs for one in opinions]),
            np.array([one.value for one in opinions]),
        )

    def _remember(self, found: dict[bytes, _Opinion]) -> None:
        if len(self._recent) >= REMEMBERED:
            self._older, self._recent = self._recent, {}
        self._recent |= found

    def _ask(self, rows: NDArray[np.int16]) -> list[_Opinion]:
        """Evaluate N different leaves."""
        values = current_scores(rows)
        parts = [_OVER] * len(rows)
        for side, role in enumerate(SIDES):
            mine = np.flatnonzero((rows[:, TERMINATION] == ONGOING) & (rows[:, TO_MOVE] == side))
            if not len(mine):
                continue
            network, inputs = self._policy.asked(role, rows[mine])
            planes = inputs.planes
            if self._bfloat16:
                network, planes = self._half(network), planes.bfloat16()
            with torch.inference_mode():
                log_probs, paid = network(planes, inputs.decisions, inputs.game)
            values[mine] += paid.numpy() * (1 if side == DWARFS else -1)
            decisions = inputs.decisions.numpy().astype(np.int16)
            priors = log_probs.numpy() / self._temperature
            cuts = inputs.starts[1:-1]
            each = zip(np.split(decisions, cuts), np.split(priors, cuts), strict=True)
            for leaf, part in zip(mine.tolist(), each, strict=True):
                parts[leaf] = part
        if self._depth:
            going_on = np.flatnonzero(rows[:, TERMINATION] == ONGOING)
            search = self._lookahead(ruleset_of(rows[0]).spec)
            values[going_on], best = search.search(rows[going_on])
            for leaf, decision in zip(going_on.tolist(), best.tolist(), strict=True):
                if decision >= 0:
                    parts[leaf] = _favouring(*parts[leaf], decision)
        expected = np.clip(values, -1.0, 1.0).tolist()
        return [_Opinion(*part, value) for part, value in zip(parts, expected, strict=True)]

    def _lookahead(self, rules: str) -> Lookahead:
        if rules not in self._searches:
            self._searches[rules] = Lookahead(rules, self._depth)
        return self._searches[rules]

    def _half(self, network: PolicyNetwork) -> PolicyNetwork:
        """A network in bfloat16, converted once: that takes as long as evaluating a leaf."""
        if network not in self._halves:
            self._halves[network] = copy.deepcopy(network).bfloat16()
        return self._halves[network]


def _favouring(
    decisions: NDArray[np.int16], log_probs: NDArray[np.float32], best: int
) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
    """A leaf's ascending decisions, and the logarithms of their priors when ``FAVOUR`` goes to the
    best.
    """
    shared = log_probs - np.logaddexp.reduce(log_probs) + np.float32(math.log1p(-FAVOUR))
    at = np.searchsorted(decisions, best)
    shared[at] = np.logaddexp(shared[at], np.float32(math.log(FAVOUR)))
    return decisions, shared
