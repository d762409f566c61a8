"""Grows the tree of one game, with priors from captures or from the evaluation, and leaves valued
by the evaluation, a short search or a playout.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.captures import capturable_by
from agents.search.playouts import leaf_value
from agents.search.priors import (
    FROM_CAPTURES,
    FROM_CHECKED_EVALUATION,
    check_best,
    judge_decisions,
)
from agents.search.tree import (
    FIRST_EDGE,
    MAX_PATH,
    NUM_NODES,
    add_node,
    back_up,
    descend,
    descend_on,
    has_room,
    list_decisions,
)
from agents.search.workspace import STOP, Workspace
from thud_env.jit.compile import compiled, merged
from thud_env.jit.rng import random_below
from thud_env.rules.row import (
    MAX_DECISIONS_AT_ONCE,
    NO_QUESTION,
    ONGOING,
    PENDING,
    ROW_SIZE,
    TERMINATION,
)

_NOISE = 1 << 20


class Growth(NamedTuple):
    """How a tree grows, and the arrays for it."""

    work: Workspace
    """The evaluation of leaves and priors, with the arrays of short searches."""
    how: int
    """How leaves are valued (``playouts.py``)."""
    length: int
    """The most turns of a playout."""
    priors: int
    """Where priors come from (``priors.py``)."""
    temperature: float
    """Of the priors, in hundredths of a point."""
    child: NDArray[np.int16]
    """[432] scratch space for trying a decision."""
    scratch: NDArray[np.int32]
    """[2048] scratch space for a list of decisions."""
    values: NDArray[np.int32]
    """[2048] scratch space for the values of decisions."""

    @classmethod
    def of(cls, work: Workspace, how: int, length: int, priors: int, temperature: float) -> Growth:
        """A growth with scratch space of its own."""
        return cls(
            work=work,
            how=how,
            length=length,
            priors=priors,
            temperature=temperature,
            child=np.zeros(ROW_SIZE, dtype=np.int16),
            scratch=np.zeros(MAX_DECISIONS_AT_ONCE, dtype=np.int32),
            values=np.zeros(MAX_DECISIONS_AT_ONCE, dtype=np.int32),
        )


@merged
def _expand(tree, growth, row, last_captured, rng):
    """Add a node of game 0 for a position, with priors from captures or from the evaluation."""
    decisions, values, work = tree.decisions, growth.values, growth.work
    child, scratch = growth.child, growth.scratch
    count = list_decisions(row, decisions, last_captured)
    if not has_room(tree, 0, count):  # priors are dear: a full tree goes without
        return -1
    source = growth.priors
    if source != FROM_CAPTURES:
        judge_decisions(row, decisions, count, values, work, child, scratch, rng)
    if source == FROM_CHECKED_EVALUATION and row[PENDING] == NO_QUESTION:
        check_best(row, decisions, count, values, work, child, scratch, rng)
    node = add_node(tree, 0, count)
    first = int(tree.nodes[0, node, FIRST_EDGE])
    highest = -np.inf
    for i in range(count):
        if source != FROM_CAPTURES:
            score = values[i] / growth.temperature
        elif row[PENDING] == NO_QUESTION:
            score = np.log(1.0 + 10.0 * capturable_by(row, decisions[i]))
        else:
            score = 1.0 if i == 0 else 0.0
        # A little noise breaks ties.
        score += 0.01 * random_below(rng, 0, _NOISE) / _NOISE
        tree.priors[0, first + i] = score
        highest = max(highest, score)
    total = 0.0
    for i in range(first, first + count):
        tree.priors[0, i] = np.exp(tree.priors[0, i] - highest)
        total += tree.priors[0, i]
    for i in range(first, first + count):
        tree.priors[0, i] = 0.9 * tree.priors[0, i] / total + 0.1 / count
    return node


@merged
def _reach(tree, growth, rng):
    """Descend in the tree of game 0, and on through a node that is added where a decision was tried
    before.

    Returns:
        the number of edges on the path; ``tree.rows[0]`` is the position.
    """
    length, last_captured = descend(tree, 0)
    row, edge = tree.rows[0], tree.path[0, length - 1]
    if row[TERMINATION] != ONGOING or length == MAX_PATH or tree.visits[0, edge] == 0:
        return length
    node = _expand(tree, growth, row, last_captured, rng)
    if node < 0:
        return length
    tree.children[0, edge] = node
    length, _ = descend_on(tree, 0, node, length)
    return length


@compiled
def grow(tree, growth, simulations, rng):
    """Grow the tree of game 0 by some simulations. One is made even if ``growth.work.control``
    stops it at once, so that a decision has a value.

    Args:
        tree: ``tree.root[0]`` is a row, its battle not over and no offer open.
        growth: how.
        simulations: how many; 0 only adds a root that is missing.
        rng: [1] uint64.

    Returns:
        how many were made.
    """
    if tree.counters[0, NUM_NODES] == 0:
        _expand(tree, growth, tree.root[0], -1, rng)
    how, turns, decisions = growth.how, growth.length, tree.decisions
    made = 0
    while made < simulations and (growth.work.control[STOP] == 0 or made == 0):
        length = _reach(tree, growth, rng)
        value = leaf_value(tree.rows[0], how, turns, growth.work, decisions, rng)
        back_up(tree, 0, length, value)
        made += 1
    return made
