"""Evaluates leaves of search trees: their priors by trained networks, their values by these or by a
short search, which then has a say in the priors, too. Caches the results.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from agents.networks.network import PolicyNetwork
from agents.policy import PolicyAgent
from agents.search.lookahead import Lookahead
from agents.search.scale import current_scores
from thud_env.outcome import SIDES
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
    """[N] the expected margin for the dwarfs, 1 being ``margin_of_one``."""


class _Answer(NamedTuple):
    """A network's, of one leaf."""

    decisions: NDArray[np.int16]
    log_probs: NDArray[np.float32]
    value: float


class _Searched(NamedTuple):
    """A short search's."""

    value: float
    best: int
    """The best decision, -1 if none was found."""


_Found = TypeVar("_Found")
_OVER = (np.zeros(0, dtype=np.int16), np.zeros(0, dtype=np.float32))


class _Cache(Generic[_Found]):
    """What ``find`` returned for each of N rows, of the latest positions."""

    def __init__(self, find: Callable[[NDArray[np.int16]], list[_Found]]) -> None:
        self._find = find
        self._recent: dict[bytes, _Found] = {}
        self._older: dict[bytes, _Found] = {}

    def clear(self) -> None:
        self._recent, self._older = {}, {}

    def __call__(self, rows: NDArray[np.int16]) -> list[_Found]:
        keys = [row.tobytes() for row in rows]
        found: dict[bytes, _Found] = {}
        asked: dict[bytes, int] = {}
        for number, key in enumerate(keys):
            known = self._recent.get(key) or self._older.get(key)
            if known is not None:
                found[key] = known
            elif key not in asked:
                asked[key] = number
        if asked:
            some = np.fromiter(asked.values(), dtype=np.int64)
            found |= zip(asked, self._find(rows[some]), strict=True)
        if len(self._recent) >= REMEMBERED:
            self._older, self._recent = self._recent, {}
        self._recent |= found
        return [found[key] for key in keys]


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
        self._opinions = _Cache(self._ask)
        self._findings = _Cache(self._look_ahead)

    def forget(self) -> None:
        """Forget all positions."""
        self._opinions.clear()
        self._findings.clear()

    def judge(self, rows: NDArray[np.int16]) -> Judged:
        """Evaluate leaves.

        Args:
            rows: [N, 432] state rows, some of which may be the same or of battles that are over.

        Raises:
            CheckpointError: if a network is missing or was trained for another ruleset.
        """
        opinions = self._opinions(rows)
        parts = [(one.decisions, one.log_probs) for one in opinions]
        values = [one.value for one in opinions]
        if self._depth:
            findings = self._findings(rows)
            parts = [
                part if one.best < 0 else _favouring(*part, one.best)
                for part, one in zip(parts, findings, strict=True)
            ]
            values = [one.value for one in findings]
        return Judged(
            np.cumsum([0, *(len(decisions) for decisions, _ in parts)], dtype=np.int64),
            np.concatenate([decisions for decisions, _ in parts]),
            np.concatenate([log_probs for _, log_probs in parts]),
            np.array(values),
        )

    def value(self, rows: NDArray[np.int16]) -> Judged:
        """``judge``, but no leaf has decisions if its value can be had without a network."""
        if not self._depth:
            return self.judge(rows)
        values = np.array([one.value for one in self._findings(rows)])
        return Judged(np.zeros(len(rows) + 1, dtype=np.int64), *_OVER, values)

    def _ask(self, rows: NDArray[np.int16]) -> list[_Answer]:
        """The answers of the networks about N different leaves."""
        values = current_scores(rows)
        parts = [_OVER] * len(rows)
        for side, role in enumerate(SIDES):
            mine = np.flatnonzero((rows[:, TERMINATION] == ONGOING) & (rows[:, TO_MOVE] == side))
            if not len(mine):
                continue
            network, inputs = self._policy.asked(role, rows[mine])
            if self._bfloat16:
                network = self._half(network)
                inputs = dataclasses.replace(inputs, planes=inputs.planes.bfloat16())
            with torch.inference_mode():
                judged = network(inputs)
            values[mine] += judged.values.numpy() * (1 if side == DWARFS else -1)
            decisions = inputs.decisions.numpy().astype(np.int16)
            priors = judged.log_probs.numpy() / self._temperature
            cuts = inputs.starts[1:-1]
            each = zip(np.split(decisions, cuts), np.split(priors, cuts), strict=True)
            for leaf, part in zip(mine.tolist(), each, strict=True):
                parts[leaf] = part
        expected = np.clip(values, -1.0, 1.0).tolist()
        return [_Answer(*part, value) for part, value in zip(parts, expected, strict=True)]

    def _look_ahead(self, rows: NDArray[np.int16]) -> list[_Searched]:
        """The findings of a short search about N different leaves."""
        values, best = current_scores(rows), np.full(len(rows), -1)
        going_on = np.flatnonzero(rows[:, TERMINATION] == ONGOING)
        if len(going_on):
            search = self._lookahead(ruleset_of(rows[0]).spec)
            values[going_on], best[going_on] = search.search(rows[going_on])
        expected = np.clip(values, -1.0, 1.0).tolist()
        return [_Searched(*one) for one in zip(expected, best.tolist(), strict=True)]

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
