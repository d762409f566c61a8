"""How a tree grows: the priors of a new node, and where nodes are added."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from by_hand import decide, place
from test_priors import values_of

from agents.search.captures import capturable_by
from agents.search.evaluator import read_evaluator
from agents.search.growth import Growth, grow
from agents.search.judge import judging
from agents.search.playouts import BY_EVALUATION, BY_SEARCH
from agents.search.priors import FROM_CAPTURES, FROM_EVALUATION
from agents.search.tree import NUM_NODES, Tree, clear
from agents.search.workspace import CERTAIN, NODES, STOP, Workspace
from thud_env import CLASSIC, Position
from thud_env.jit.rng import seed_generators

AIMED_AT = place("classic", "D6 E6 F6 A9", "J6 P8")
"""F6-J6 captures a troll."""
CHOICE = decide(place("classic", "G6 H6 J6 A8", "H4", "t"), "H4-H5")
TEMPERATURE = 50.0


def grown(
    position: Position, work: Workspace, source: int, simulations: int = 0, how: int = BY_EVALUATION
) -> Tree:
    tree = Tree.of_size(1, 100, exploration=1.0, reduction=0.0)
    clear(tree, 0)
    tree.root[0] = position.row
    growth = Growth.of(work, how, 0, source, TEMPERATURE)
    assert grow(tree, growth, simulations, seed_generators(1, 1)) == simulations
    return tree


@pytest.mark.parametrize("before", [0, 2 * CERTAIN])
def test_the_leaf_of_a_search_that_is_stopped_is_searched(before: int) -> None:
    values = []
    for stop, nodes in ((0, 0), (1, before)):
        work = judging(read_evaluator(), CLASSIC)
        work.control[STOP], work.control[NODES] = stop, nodes
        tree = grown(AIMED_AT, work, FROM_EVALUATION, simulations=1, how=BY_SEARCH)
        values.append(np.abs(tree.totals[0]).max())
    assert values[0] == values[1] != 0


def by_evaluation(position: Position, decisions: list[int], work: Workspace) -> Any:
    values = values_of(position.row.copy(), work, checked=False)
    return np.exp(np.array([values[one] for one in decisions]) / TEMPERATURE)


def by_captures(position: Position, decisions: list[int], work: Workspace) -> Any:
    return [1 + 10 * capturable_by(position.row, one) for one in decisions]


def greediest_first(position: Position, decisions: list[int], work: Workspace) -> Any:
    return [np.e, *[1] * (len(decisions) - 1)]


@pytest.mark.parametrize(
    ("position", "source", "likelihoods"),
    [
        (AIMED_AT, FROM_EVALUATION, by_evaluation),
        (AIMED_AT, FROM_CAPTURES, by_captures),
        (CHOICE, FROM_EVALUATION, by_evaluation),
        (CHOICE, FROM_CAPTURES, greediest_first),
    ],
)
def test_a_tenth_of_the_priors_is_shared_alike(
    position: Position, source: int, likelihoods: Any
) -> None:
    """The rest by what decisions look worth, but for a percent of noise, which breaks ties."""
    work = judging(read_evaluator(), CLASSIC)
    tree = grown(position, work, source)
    first, count = tree.nodes[0, 0].tolist()
    assert first == 0
    likely = np.array(likelihoods(position, tree.actions[0, :count].tolist(), work))
    wanted = 0.9 * likely / likely.sum() + 0.1 / count
    assert likely.max() > 1.5 * likely.min()
    assert tree.priors[0, :count] == pytest.approx(wanted, rel=0.011)
    assert tree.priors[0, :count].sum() == pytest.approx(1, abs=1e-5)


def test_a_decision_gets_a_node_when_it_is_tried_again() -> None:
    work = judging(read_evaluator(), CLASSIC)
    once, often = (grown(AIMED_AT, work, FROM_CAPTURES, count) for count in (1, 60))
    assert once.counters[0, NUM_NODES] == 1
    assert once.visits[0].sum() == 1
    tried = often.visits[0, : often.nodes[0, 0, 1]]
    children = often.children[0, : often.nodes[0, 0, 1]]
    assert ((children > 0) == (tried > 1)).all()
    assert (children > 0).any()
