"""The tree of decisions: what a node lists, what selection follows, what backing up changes."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import decide, place

from agents.search.reading import best_edge
from agents.search.tree import Tree, add_node, back_up, choose, clear, list_decisions
from thud_env import Position
from thud_env.actions import describe_action
from thud_env.rules.row import DWARFS, MAX_DECISIONS_AT_ONCE, TROLLS

EDGES = 6


def a_tree(exploration: float = 1.0, reduction: float = 0.0) -> Tree:
    """A tree whose root has some edges, none of them tried."""
    tree = Tree.of_size(1, 3, exploration, reduction)
    clear(tree, 0)
    assert add_node(tree, 0, EDGES) == 0
    return tree


@pytest.mark.parametrize("side", [DWARFS, TROLLS])
def test_selection_is_puct_with_scaled_means_and_first_play_urgency(side: int) -> None:
    random = np.random.default_rng(side)
    chosen = set()
    for _ in range(40):
        exploration, reduction = random.random(2)
        tree = a_tree(exploration, reduction)
        visits, means = random.integers(0, 4, EDGES), random.uniform(-0.3, 0.7, EDGES)
        priors = random.dirichlet(np.ones(EDGES))
        tree.visits[0, :EDGES], tree.totals[0, :EDGES] = visits, visits * means
        tree.priors[0, :EDGES] = priors
        tree.bounds[0] = (-0.3, 0.7) if side == DWARFS else (-0.7, 0.3)  # for the dwarfs
        worth, tried = means + 0.3, visits > 0
        if tried.any():
            urgency = np.average(worth[tried], weights=visits[tried])
            worth[~tried] = urgency - reduction * np.sqrt(priors[tried].sum())
        else:
            worth[:] = 0
        worth += exploration * priors * np.sqrt(visits.sum() + 1) / (1 + visits)
        assert choose(tree, 0, 0, side) == worth.argmax()
        chosen.add(int(visits[worth.argmax()]))
    assert len(chosen) > 1


def test_of_untried_decisions_the_likeliest_is_tried_first() -> None:
    tree = a_tree()
    tree.priors[0, :EDGES] = [0.1, 0.1, 0.3, 0.3, 0.1, 0.1]
    assert choose(tree, 0, 0, DWARFS) == 2


def test_values_are_added_for_who_decides_and_bounds_kept_for_the_dwarfs() -> None:
    tree = a_tree()
    tree.path[0, :2], tree.path_sides[0, :2] = (1, 4), (DWARFS, TROLLS)
    for value in (0.5, -0.25):
        back_up(tree, 0, 2, value)
    assert tree.visits[0, :EDGES].tolist() == [0, 2, 0, 0, 2, 0]
    assert tree.totals[0, :EDGES].tolist() == [0, 0.25, 0, 0, -0.25, 0]
    assert tree.bounds[0].tolist() == [0.125, 0.5]


def test_a_tree_that_was_cleared_is_as_a_new_one() -> None:
    tree = a_tree()
    back_up(tree, 0, 2, 0.5)
    tree.children[0, :EDGES] = 1
    clear(tree, 0)
    assert add_node(tree, 0, EDGES) == 0
    new = a_tree()
    assert np.array_equal(tree.visits, new.visits)
    assert np.array_equal(tree.totals, new.totals)
    assert np.array_equal(tree.children, new.children)
    assert tree.bounds[0].tolist() == [np.inf, -np.inf]


def listed(position: Position, last_captured: int) -> list[str]:
    decisions = np.empty(MAX_DECISIONS_AT_ONCE, dtype=np.int32)
    count = list_decisions(position.row.copy(), decisions, last_captured)
    return [describe_action(action) for action in decisions[:count].tolist()]


def test_no_set_of_captures_is_listed_twice() -> None:
    """In ascending order of square, and all of them only at once."""
    begun = decide(place("classic-any", "G6 H6 J6 A8", "H4", "t"), "H4-H5")
    first, *others = listed(begun, -1)
    assert first == "capture all"
    assert set(others) == {"capture G6", "capture H6", "capture J6", "done"}
    captured = next(a for a in begun.legal_actions().tolist() if describe_action(a) == "capture H6")
    assert listed(begun.apply(captured), captured) == ["capture J6", "done"]


def test_of_decisions_tried_equally_often_the_one_with_the_best_mean_is_best() -> None:
    tree = Tree.of_size(1, 4, exploration=1.0, reduction=0.0)
    clear(tree, 0)
    tree.decisions[:3] = (7, 8, 9)
    node = add_node(tree, 0, 3)
    tree.priors[0, :3] = (0.5, 0.2, 0.3)
    assert best_edge(tree, 0, node) == 0, "untried: the likeliest"
    tree.visits[0, :3] = (2, 2, 1)
    tree.totals[0, :3] = (0.2, 0.6, 0.9)
    assert best_edge(tree, 0, node) == 1
