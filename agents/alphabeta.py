"""The alpha-beta player, and the one that looks two turns ahead and counts the score."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from agents.planning import PlanningAgent
from agents.ranges import number_in
from agents.search.deepening import Searcher, SearchOptions
from agents.search.evaluator import Evaluator, read_evaluator
from agents.search.thought import Thought
from agents.search.weights import material_weights
from agents.search.workspace import MAX_DEPTH, MAX_QUIESCENCE
from thud_env.arguments import as_count
from thud_env.rules.row import Row


class AlphaBetaAgent(PlanningAgent):
    """Searches by alpha-beta.

    Args:
        depth: turns to look ahead. Default: 3, or no bound if time or nodes are limited.
        time: seconds for a turn. Its play then depends on the machine.
        nodes: decisions to try for a turn, some 10,000,000 a second. Default: 50,000,000, or no
            bound if there is a time.
        quiescence: turns of captures to look at beyond the depth.
        evaluation: ``learned``, by patterns fitted to self-play, or ``features``, by a few
            features, which are also used where a ruleset has no patterns.
        reductions: 1 looks less far where little happens, and further where much may; 0 looks
            equally far everywhere.
        weights: a file instead of ``configs/search/patterns-RULES.npz`` for its ruleset or, with
            ``evaluation=features``, instead of ``configs/search/weights.yaml``.
        seed: draws among turns that seem equal.

    Raises:
        ThudError: if an option is out of range.
        WeightsError, TablesError: if the file of weights is missing or invalid.
    """

    def __init__(
        self,
        depth: int = 0,
        time: float = 0.0,
        nodes: int = 0,
        quiescence: int = 4,
        evaluation: str = "learned",
        reductions: int = 1,
        weights: str = "",
        seed: int = 0,
    ) -> None:
        super().__init__(seed)
        depth = as_count("depth", depth, 0, MAX_DEPTH)
        seconds = number_in("time", time, 0, 1e6)
        nodes = as_count("nodes", nodes, 0, 10**15)
        self.timed = seconds > 0
        limited = self.timed or nodes > 0
        self._options = SearchOptions(
            read_evaluator(evaluation, weights),
            depth=depth or (MAX_DEPTH if limited else 3),
            seconds=seconds,
            nodes=nodes if limited else 50_000_000,
            quiescence=as_count("quiescence", quiescence, 0, MAX_QUIESCENCE),
            reductions=as_count("reductions", reductions, 0, 1),
        )
        self._searcher = Searcher(self._rng)
        self.searched: int = 0

    def stop(self) -> None:
        """See ``Agent``."""
        self._searcher.stop()

    def glimpse(self, row: Row) -> Thought | None:
        """See ``PlanningAgent``."""
        so_far = self._searcher.so_far
        if so_far is None:
            return None
        about, found = so_far
        return found if np.array_equal(about, row) else None

    def deepen(self, row: Row) -> Iterator[Thought]:
        """See ``PlanningAgent``. With a limit of time it yields once."""
        if self.timed:
            yield self.think(row)
        else:
            yield from self._searcher.deepen(row, self._options)

    def think(self, row: Row) -> Thought:
        """See ``PlanningAgent``."""
        found = self._searcher.search(row, self._options)
        self.searched += found.nodes
        return found


class Greedy2Agent(PlanningAgent):
    """Plays the turn with the best captures, less those of the best reply: a search of two turns
    that counts the score and nothing else.
    """

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.searched: int = 0
        self._options = SearchOptions(Evaluator(material_weights()), depth=2, quiescence=0)
        self._searcher = Searcher(self._rng)

    def stop(self) -> None:
        """See ``Agent``."""
        self._searcher.stop()

    def think(self, row: Row) -> Thought:
        """See ``PlanningAgent``."""
        found = self._searcher.search(row, self._options)
        self.searched += found.nodes
        return found
