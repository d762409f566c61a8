"""The Monte Carlo tree search player."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from agents.planning import PlanningAgent
from agents.ranges import number_in
from agents.search import growth as growths
from agents.search.evaluator import Evaluator, read_evaluator
from agents.search.growth import Growth
from agents.search.judge import judging
from agents.search.playouts import BY_EVALUATION, BY_RANDOM_PLAY, BY_SEARCH
from agents.search.priors import FROM_CAPTURES, FROM_CHECKED_EVALUATION, FROM_EVALUATION
from agents.search.reading import glimpse_of, result_so_far, tree_result
from agents.search.stopping import stopping_after
from agents.search.thought import Thought
from agents.search.tree import Tree, clear
from agents.search.weights import material_weights
from agents.search.workspace import BY_PATTERNS, STOP
from thud_env import Position
from thud_env.arguments import as_count, one_of
from thud_env.jit.rng import seed_generators
from thud_env.rules.row import Row, ruleset_of
from thud_env.rulesets import CLASSIC

PLAYOUTS = {"search": BY_SEARCH, "eval": BY_EVALUATION, "random": BY_RANDOM_PLAY}
PRIORS = {
    "checked": FROM_CHECKED_EVALUATION,
    "eval": FROM_EVALUATION,
    "captures": FROM_CAPTURES,
}
WHOLE_BATTLE = 10_000
MOST_SIMULATIONS = 10_000_000
MOST_IN_TIME = 1_000_000
"""Simulations to make room for where only time limits them."""
FIRST_LOOK = 100
"""Simulations after which a search that is watched shows something."""


@cache
def _compile() -> None:
    """Compile the search or load it, once in a process: the time for a turn begins afterwards."""
    tree = Tree.of_size(1, 1, exploration=1.0, reduction=0.0)
    tree.root[0] = Position.start().row
    clear(tree, 0)
    work = judging(Evaluator(material_weights()), CLASSIC)
    growth = Growth.of(work, BY_SEARCH, 0, FROM_CHECKED_EVALUATION, 1.0)
    growths.grow(tree, growth, 0, seed_generators(1, 0))


class MctsAgent(PlanningAgent):
    """Searches by Monte Carlo tree search.

    Args:
        sims: simulations for a turn, or for what is left of one; 0: 1,000, or with ``time`` as many
            as it allows, 1,000,000 at most.
        playouts: how leaves are valued: ``search`` by an alpha-beta search of one turn, ``eval`` by
            the evaluation, ``random`` by a playout.
        length: turns of a playout before the evaluation; 0: to the end of the battle.
        priors: where priors come from: ``eval``, the evaluation after each decision; ``checked``,
            the same, but the most promising decisions valued after what may be captured next; or
            ``captures``, which is the cheapest.
        time: seconds for a turn; 0: no limit. With one, its play depends on the machine.
        c: how much to explore.
        fpu: how much less than its siblings' mean an untried decision counts (first-play urgency).
        temperature: temperature of priors from the evaluation, in hundredths of a point.
        evaluation, weights: as for ``AlphaBetaAgent``.
        seed: seeds the playouts, and draws among equals.

    Raises:
        ThudError: if an option is out of range.
        WeightsError, TablesError: if the file of weights is missing or invalid.
    """

    def __init__(
        self,
        sims: int = 0,
        playouts: str = "search",
        length: int = 20,
        priors: str = "checked",
        time: float = 0.0,
        c: float = 0.8,
        fpu: float = 0.0,
        temperature: float = 30.0,
        evaluation: str = "learned",
        weights: str = "",
        seed: int = 0,
    ) -> None:
        super().__init__(seed)
        sims = as_count("sims", sims, 0, MOST_SIMULATIONS)
        self._seconds = number_in("time", time, 0, 1e6)
        self.timed = self._seconds > 0
        self._sims = sims or (MOST_IN_TIME if self.timed else 1000)
        self._evaluator = read_evaluator(evaluation, weights)
        self._growth = Growth.of(
            judging(self._evaluator, CLASSIC),
            PLAYOUTS[one_of("playouts", playouts, PLAYOUTS)],
            as_count("length", length, 0, WHOLE_BATTLE) or WHOLE_BATTLE,
            PRIORS[one_of("priors", priors, PRIORS)],
            number_in("temperature", temperature, 1, 1e6),
        )
        self._tree = Tree.of_size(
            1,
            self._sims,
            exploration=number_in("c", c, 0, 1e6),
            reduction=number_in("fpu", fpu, 0, 1e6),
        )
        self.searched: int = 0

    def stop(self) -> None:
        """See ``Agent``."""
        self._growth.work.control[STOP] = 1

    def glimpse(self, row: Row) -> Thought | None:
        """See ``PlanningAgent``."""
        return glimpse_of(self._tree, row)

    def think(self, row: Row) -> Thought:
        """See ``PlanningAgent``."""
        for _ in self._grow(row, self._sims):
            pass
        return tree_result(self._tree, 0)

    def deepen(self, row: Row) -> Iterator[Thought]:
        """See ``PlanningAgent``. It yields whenever the simulations have doubled."""
        for _ in self._grow(row, FIRST_LOOK):
            yield result_so_far(self._tree)

    def _grow(self, row: Row, first: int) -> Iterator[None]:
        """Search a row; yield after so many simulations, after twice as many, and at the end."""
        self._growth.work.control[STOP] = 0
        _compile()
        work = self._evaluator.put_into(self._growth.work, ruleset_of(row))
        work.control[BY_PATTERNS] = self._evaluator.by_patterns(row)
        self._growth = growth = self._growth._replace(work=work)
        tree = self._tree
        clear(tree, 0)  # first: a glimpse must not take the old edges for the new root's
        tree.root[0] = row
        made, due = 0, min(first, self._sims)
        with stopping_after(self._seconds, self.stop):
            while True:
                grown = growths.grow(tree, growth, due - made, self._rng)
                made += grown
                self.searched += grown
                yield
                was_stopped = made < due
                if was_stopped or due == self._sims:
                    return
                due = min(2 * due, self._sims)
