"""The player that searches with networks: PUCT with their priors."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.leaf_judge import LeafJudge
from agents.mcts import FIRST_LOOK, MOST_SIMULATIONS
from agents.networks.pairs import Pair
from agents.planning import PlanningAgent
from agents.policy import PolicyAgent
from agents.ranges import number_in
from agents.search import tree as trees
from agents.search.gumbel import GumbelRoot
from agents.search.leaves import Leaves, absorb_all, descend_all, descend_ripe
from agents.search.lookahead import DEEPEST_LOOKAHEAD
from agents.search.reading import (
    edges_of,
    glimpse_of,
    read_root,
    result_so_far,
    tree_result,
)
from agents.search.thought import Thought
from agents.search.tree import NUM_NODES, Tree
from thud_env.arguments import as_count, one_of
from thud_env.outcome import SIDES, Side
from thud_env.rules.row import Row
from thud_env.rulesets import Ruleset

_GAMES_AT_ONCE = 64
_MOST_IN_TIME = 100_000
"""Simulations to make room for, of all games together, where only time limits them."""
_YOUNG = 4
"""Simulations that a tree has made for each further leaf that it adds to a batch."""
_ROOTS = ("puct", "gumbel")
PRECISIONS = ("float32", "bfloat16")


@cache
def _compile() -> None:
    """Compile what grows trees or load it, once in a process, by calls about no leaf."""
    tree = Tree.of_size(1, 1, exploration=1.0, reduction=0.0)
    leaves, none = Leaves.of_size(1), np.arange(0)
    nothing = (np.zeros(0, dtype=np.int16), np.zeros(0, dtype=np.float32))
    descend_all(tree, none, leaves)
    descend_ripe(tree, none, leaves, none, np.arange(1), *nothing)
    absorb_all(tree, none, leaves, np.arange(1), *nothing, np.zeros(0))


class PolicyMctsAgent(PlanningAgent):
    """Searches by Monte Carlo with the priors of trained networks. A short alpha-beta search values
    each leaf, and the decision that it finds best gets a share of the leaf's prior
    (``leaf_judge.FAVOUR``); or else the networks value them, as in AlphaZero.

    Many games are searched at once, and all their leaves form one batch of a network.

    Args:
        path: a folder with a ``dwarfs`` and a ``trolls`` checkpoint, or a pair at hand.
        sims: simulations for a turn, or for what is left of one; 0: 200, or with ``time`` and
            ``root=puct`` as many as it allows, 100,000 at most in all games together.
        c: how much to explore.
        fpu: how much less than its siblings' mean an untried decision counts (first-play urgency).
        root: how the first decision is chosen: ``puct`` like all others, or ``gumbel``, by
            sequential halving (``agents/search/gumbel.py``), which is better with few simulations.
        considered: with ``gumbel``, the most decisions to try.
        noise: with ``gumbel``, how random the choice of these is; 0: not at all.
        scale: with ``gumbel``, how much values count against priors.
        time: seconds for a turn, 0: no limit; games that are searched together share those of all.
            With a limit, its play depends on the machine.
        leaves: the most leaves of a tree in a batch; with ``gumbel``, one. More are faster, but not
            as well chosen.
        lookahead: how many turns deep each leaf is searched by alpha-beta, 5 at most; 0: it is not,
            and the networks value it. Fewer are faster: alone, a turn takes a third of the time
            with 1.
        temperature: of the priors: above 1 it makes the networks' probabilities more equal.
        precision: ``float32``, or ``bfloat16``, which is faster on processors that have it.
        seed: seeds the noise, if there is any.

    Raises:
        CheckpointError: if a checkpoint is missing or damaged.
        ThudError: if an option is out of range.
        TypeError: if ``path`` is neither a path nor a pair.
    """

    def __init__(
        self,
        path: str | Path | Pair,
        sims: int = 0,
        c: float = 0.8,
        fpu: float = 0.0,
        root: str = "puct",
        considered: int = 16,
        noise: float = 0.0,
        scale: float = 1.0,
        time: float = 0.0,
        leaves: int = 8,
        lookahead: int = 3,
        temperature: float = 2.0,
        precision: str = "float32",
        seed: int = 0,
    ) -> None:
        super().__init__(seed)
        self._seconds = number_in("time", time, 0, 1e6)
        self.timed = self._seconds > 0
        self._gumbel = one_of("root", root, _ROOTS) == "gumbel"
        self._endless = sims == 0 and self.timed and not self._gumbel
        self._sims = as_count("sims", sims or 200, 2, MOST_SIMULATIONS)
        self._exploration = number_in("c", c, 0, 1e6)
        self._reduction = number_in("fpu", fpu, 0, 1e6)
        self._considered = as_count("considered", considered, 1, 10**6)
        self._noise = number_in("noise", noise, 0, 1e6)
        self.stochastic = self._gumbel and self._noise > 0
        self._scale = number_in("scale", scale, 0, 1e6)
        leaves = as_count("leaves", leaves, 1, 1000)
        self._leaves = 1 if self._gumbel else leaves
        in_bfloat16 = one_of("precision", precision, PRECISIONS) == "bfloat16"
        lookahead = as_count("lookahead", lookahead, 0, DEEPEST_LOOKAHEAD)
        temperature = number_in("temperature", temperature, 0.01, 1e6)
        self._policy = PolicyAgent(path)
        self._judge = LeafJudge(self._policy, in_bfloat16, lookahead, temperature)
        self._stopped = False
        self._tree: Tree | None = None
        self._seed = seed
        self.searched: int = 0

    @property
    def trained_for(self) -> str | None:
        """See ``Agent``."""
        return self._policy.trained_for

    def seed(self, seed: int) -> None:
        """See ``Agent``."""
        super().seed(seed)
        self._seed = seed
        self._judge.forget()

    def check_plays(self, rules: Ruleset, side: Side) -> None:
        """See ``Agent``. Its trees have decisions of both sides."""
        for role in SIDES:
            self._policy.check_plays(rules, role)

    def get_state(self) -> dict[str, Any]:
        """See ``Agent``."""
        return {**super().get_state(), "seed": self._seed}

    def set_state(self, state: dict[str, Any]) -> None:
        """See ``Agent``."""
        super().set_state(state)
        self._seed = state["seed"]
        self._judge.forget()

    def stop(self) -> None:
        """See ``Agent``."""
        self._stopped = True

    def glimpse(self, row: Row) -> Thought | None:
        """See ``PlanningAgent``. Of several positions, only the first is shown."""
        tree = self._tree  # the thread that searches gives it back
        return None if tree is None else glimpse_of(tree, row)

    def think(self, row: Row) -> Thought:
        """See ``PlanningAgent``."""
        return self.think_rows([row])[0]

    def think_rows(self, rows: Sequence[Row]) -> list[Thought]:
        """See ``PlanningAgent``."""
        thoughts: list[Thought] = []
        self._begin(rows)
        for first in range(0, len(rows), _GAMES_AT_ONCE):
            for tree in self._grow(rows[first : first + _GAMES_AT_ONCE]):
                thoughts += [tree_result(tree, game) for game in range(len(tree.root))]
        return thoughts

    def deepen(self, row: Row) -> Iterator[Thought]:
        """See ``PlanningAgent``. It yields whenever the simulations have doubled, with
        ``root=gumbel``, which halves its candidates, at the end.
        """
        self._begin([row])
        for tree in self._grow([row], None if self._gumbel else FIRST_LOOK):
            yield result_so_far(tree)

    def _begin(self, rows: Sequence[Row]) -> None:
        """Prepare for rows. Time begins when all is compiled, and asked once."""
        self._stopped = False
        if self._seconds > 0 and len(rows):
            _compile()
            self._judge.judge(np.stack(rows[:1]))

    def _grow(self, rows: Sequence[Row], first: int | None = None) -> Iterator[Tree]:
        """Search rows. Yield their trees after ``first`` simulations of each, after twice as many,
        and so on, and at the end; only at the end if there is no first. ``first_edge`` holds what
        a root has chosen, -1 if that is what was tried most often.
        """
        started = perf_counter()
        ends = started + len(rows) * self._seconds if self._seconds > 0 else math.inf
        most = _MOST_IN_TIME // len(rows) if self._endless else self._sims
        tree = Tree.of_size(len(rows), most, self._exploration, self._reduction)
        for game, row in enumerate(rows):
            tree.root[game] = row
            trees.clear(tree, game)
        games = np.arange(len(rows))
        in_hand = Leaves.of_size(len(rows) * self._leaves)
        roots: list[GumbelRoot] = []
        made, due = 0, first or most
        self._tree = tree
        try:
            # The first simulation evaluates the roots, and only the second values a decision.
            while made < most and not (made > 1 and (self._stopped or perf_counter() > ends)):
                if made and self._gumbel:
                    roots = roots or [self._root_of(tree, game) for game in games.tolist()]
                    for game, root in enumerate(roots):
                        decision = root.next_decision(*read_root(tree, game))
                        tree.first_edge[game] = edges_of(tree, game).start + decision
                # A young tree has few leaves worth evaluating.
                together = min(self._leaves, most - made, 1 + made // _YOUNG)
                now = perf_counter()
                while together > 1 and together * (now - started) > (ends - now) * made:
                    together -= 1  # the rest would be late
                self._simulate(tree, np.repeat(games, together), in_hand)
                made += together
                self.searched += together * len(games)
                if due <= made < most:
                    due *= 2
                    yield tree
            for game, root in enumerate(roots):
                decision = root.best_decision(*read_root(tree, game))
                tree.first_edge[game] = edges_of(tree, game).start + decision
            yield tree
        finally:
            self._tree = None

    def _simulate(self, tree: Tree, whose: NDArray[np.int64], in_hand: Leaves) -> None:
        """Simulate once in each tree of a list, and once more where one is named again."""
        is_first = tree.counters[0, NUM_NODES] == 0
        descend_all(tree, whose, in_hand)
        while len(ripe := np.flatnonzero(in_hand.is_ripe[: len(whose)])):
            starts, *priors, _ = self._judge.judge(in_hand.rows[ripe])
            descend_ripe(tree, whose, in_hand, ripe, starts, *priors)
        found = in_hand.rows[: len(whose)]
        judged = self._judge.judge(found) if is_first else self._judge.value(found)
        absorb_all(tree, whose, in_hand, *judged)

    def _root_of(self, tree: Tree, game: int) -> GumbelRoot:
        """The root's choice, with noise that depends only on the seed and the position."""
        priors = tree.priors[game, edges_of(tree, game)]
        random = np.random.default_rng((self._seed, zlib.crc32(tree.root[game].tobytes())))
        noise = self._noise * random.gumbel(size=len(priors))
        return GumbelRoot(priors, self._sims - 1, self._considered, noise, self._scale)
