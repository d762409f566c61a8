"""Alpha-beta that deepens turn by turn, until a limit is reached or another thread stops it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from agents.search import negamax, workspace
from agents.search.evaluation import INFINITE, WIN
from agents.search.evaluator import Evaluator
from agents.search.judge import judge_position
from agents.search.pattern_files import empty_tables
from agents.search.pruning import most_extensions
from agents.search.stopping import stopping_after
from agents.search.table import LAST_GENERATION
from agents.search.thought import Thought
from agents.search.workspace import Workspace
from thud_env.position import Position
from thud_env.rules.legal import legal_list
from thud_env.rules.row import Row, ruleset_of

_TABLE_BITS = 20
_NO_LIMIT = np.iinfo(np.int64).max


@cache
def _compile() -> None:
    """Compile the search or load it, once in a process."""
    work = Workspace.of_size(4, empty_tables())
    row = _writable(Position.start().row)
    negamax.search(work, row, 0, -INFINITE, INFINITE, np.ones(1, dtype=np.uint64))


@dataclasses.dataclass(frozen=True)
class SearchOptions:
    """How to search."""

    evaluator: Evaluator
    """What to evaluate with."""
    depth: int = 3
    """Turns to look ahead, 1 or more."""
    seconds: float = 0.0
    """Seconds for a turn; 0: no limit."""
    nodes: int = 0
    """Nodes for a turn; 0: no limit."""
    quiescence: int = 4
    """Turns of captures to look at beyond the depth."""
    reductions: int = 0
    """1: look less far where little happens, and further where much may (``search/pruning.py``).
    0: a finished search has the minimax value, with quiescence at the leaves."""
    ordered: bool = True
    """Whether to try promising decisions first. Changes no value."""
    use_table: bool = True
    """Whether to use the transposition table. Changes no value without reductions."""


class Searcher:
    """An alpha-beta search with its arrays, ready to be used again and again.

    Args:
        rng: [1] uint64, the generator that it draws from.
    """

    def __init__(self, rng: NDArray[np.uint64]) -> None:
        self._work = Workspace.of_size(_TABLE_BITS, empty_tables())
        self._rng = rng
        self.so_far: tuple[Row, Thought] | None = None
        """The position of the current search, and what it has found so far. One object, since
        another thread reads it.
        """

    def stop(self) -> None:
        """Make a search in another thread return the best found so far, one turn ahead at least if
        that takes no more than ``CERTAIN`` nodes.
        """
        self._work.control[workspace.STOP] = 1

    def search(self, row: Row, options: SearchOptions) -> Thought:
        """Search one turn deeper each time, until the depth, the time or the nodes are used up. The
        time begins when all is compiled.

        Args:
            row: [432] a state row, its battle not over and no offer open.
            options: how to search.
        """
        self._prepare(row, options)
        _compile()  # after it, or a stop meanwhile would be lost
        with stopping_after(options.seconds, self.stop):
            *_, result = self._deepen(row, options)
        return result

    def deepen(self, row: Row, options: SearchOptions) -> Iterator[Thought]:
        """Yield what a search finds, one turn deeper each time. Nothing limits its time. Until its
        end the searcher must search nothing else.
        """
        self._prepare(row, options)
        yield from self._deepen(row, options)

    def _deepen(self, row: Row, options: SearchOptions) -> Iterator[Thought]:
        work = self._work
        searched = _writable(row)
        line, value, finished = [int(legal_list(searched)[0])], 0, 0
        try:
            for turns in range(1, options.depth + 1):
                work.control[workspace.FIRST_MOVE] = line[0] if turns > 1 else -1
                done = negamax.search(work, searched, turns, -INFINITE, INFINITE, self._rng)
                length = int(work.frames[0, workspace.LINE])
                best = int(work.frames[0, workspace.BEST])
                only_now_lost = finished > 0 and best <= -WIN
                if length > 0 and not only_now_lost:
                    # If only the deeper search sees a loss, the shallower one's turn delays it.
                    line = work.lines[0, :length].tolist()
                if length > 0 and (done or not only_now_lost):  # the rest may save it
                    value = best
                elif turns == 1:
                    value = int(judge_position(searched, work))
                finished = turns if done else finished
                nodes = int(work.control[workspace.NODES])
                result = Thought(line, value, finished, nodes)
                self.so_far = row, result
                yield result
                if not done or abs(value) >= WIN:
                    return
        finally:
            self.so_far = None

    def value(
        self, row: Row, options: SearchOptions, alpha: int = -INFINITE, beta: int = INFINITE
    ) -> int:
        """The value of one search at the full depth, without limits; only a bound if it lies
        outside ``alpha`` .. ``beta``. A narrower window is faster.
        """
        self._prepare(row, dataclasses.replace(options, nodes=0))
        self._work.control[workspace.FIRST_MOVE] = -1
        negamax.search(self._work, _writable(row), options.depth, alpha, beta, self._rng)
        return int(self._work.frames[0, workspace.BEST])

    def _prepare(self, row: Row, options: SearchOptions) -> None:
        self._work = options.evaluator.put_into(self._work, ruleset_of(row))
        control = self._work.control
        control[workspace.STOP] = 0
        control[workspace.NODES] = 0
        control[workspace.NODE_LIMIT] = options.nodes or _NO_LIMIT
        control[workspace.ORDERED] = options.ordered
        control[workspace.USE_TABLE] = options.use_table
        control[workspace.QUIESCENCE] = options.quiescence
        control[workspace.REDUCTIONS] = options.reductions
        by_patterns = bool(options.evaluator.by_patterns(row))
        control[workspace.BY_PATTERNS] = by_patterns
        extensions = most_extensions(options.depth, by_patterns)
        control[workspace.EXTENSIONS] = extensions if options.reductions else 0
        control[workspace.GENERATION] += 1
        if control[workspace.GENERATION] > LAST_GENERATION:
            control[workspace.GENERATION] = 1
            self._work.entries.fill(0)
        self._work.killers.fill(-1)
        self._work.history.fill(0)


def _writable(row: Row) -> Row:
    """A copy, as other searches have it: Numba compiles once more for what may not be written."""
    return np.array(row)
