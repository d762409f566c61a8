"""Reads a search tree: its decisions, its best line, and what they are worth."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from agents.search.scale import in_hundredths
from agents.search.thought import Thought
from agents.search.tree import EDGE_COUNT, FIRST_EDGE, HIGHEST, LOWEST, Tree
from thud_env.rules.play import apply
from thud_env.rules.row import (
    DWARFS,
    NO_QUESTION,
    ONGOING,
    PENDING,
    TERMINATION,
    TO_MOVE,
    Row,
)


def edges_of(tree: Tree, game: int, node: int = 0) -> slice:
    """Where the edges of a node are, by default those of the root."""
    first, count = (int(tree.nodes[game, node, column]) for column in (FIRST_EDGE, EDGE_COUNT))
    return slice(first, first + count)


def read_decisions(
    tree: Tree, game: int
) -> tuple[NDArray[np.int16], NDArray[np.int32], NDArray[np.float64]]:
    """The decisions at the root of a tree; how often each was tried; and the sums of the values
    that each led to.
    """
    edges = edges_of(tree, game)
    return tree.actions[game, edges], tree.visits[game, edges], tree.totals[game, edges]


def read_root(tree: Tree, game: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """How often each of the K edges of a root was tried [K]; and their values for the side that
    decides [K], scaled from the worst seen in the tree, 0, to the best, 1.
    """
    _, visits, totals = read_decisions(tree, game)
    low, high = tree.bounds[game, LOWEST], tree.bounds[game, HIGHEST]
    if tree.root[game, TO_MOVE] != DWARFS:
        low, high = -high, -low
    if not low < high:  # nothing tried yet, or all values equal
        return visits, np.zeros(len(visits))
    return visits, (totals / np.maximum(visits, 1) - low) / (high - low)


def _result(
    row: Row,
    read: tuple[NDArray[np.int16], NDArray[np.int32], NDArray[np.float64]],
    line: list[int],
    value: float,
) -> Thought:
    """The result of a search from a row: what was read of its root, the best line and its value."""
    decisions, visits, totals = (array.tolist() for array in read)
    return Thought(
        line,
        in_hundredths(value, row),
        visits=dict(zip(decisions, visits, strict=True)),
        values={
            decision: in_hundredths(_share(total / tried), row)
            for decision, tried, total in zip(decisions, visits, totals, strict=True)
            if tried
        },
    )


def _share(mean: float) -> float:
    """A mean of shares, without what rounding adds."""
    return max(-1.0, min(1.0, mean))


def best_edge(tree: Tree, game: int, node: int) -> int:
    """The edge of a node tried most often; of several the one with the best mean."""
    edges = edges_of(tree, game, node)
    visits = tree.visits[game, edges]
    ties = edges.start + np.flatnonzero(visits == visits.max())
    keys = tree.totals[game, ties] if visits.max() > 0 else tree.priors[game, ties]
    return int(ties[np.argmax(keys)])


def _chosen_edge(tree: Tree, game: int) -> int:
    """The edge that a root has chosen or, if it has not, its best one."""
    chosen = int(tree.first_edge[game])
    return chosen if chosen >= 0 else best_edge(tree, game, 0)


def tree_result(tree: Tree, game: int) -> Thought:
    """The result at the root of a tree: the best decisions to the end of the turn, or as far as the
    tree goes.
    """
    edge = _chosen_edge(tree, game)
    value = float(tree.totals[game, edge]) / max(int(tree.visits[game, edge]), 1)
    line = []
    for decision, ends_turn in _best_decisions(tree, game, edge):
        line.append(decision)
        if ends_turn:
            break
    return _result(tree.root[game], read_decisions(tree, game), line, value)


def result_so_far(tree: Tree) -> Thought:
    """The result at the first root, with the turns tried most often after its turn: each whole, by
    its decisions, as far as the tree goes.
    """
    turns: list[list[int]] = [[]]
    for decision, ends_turn in _best_decisions(tree, 0, _chosen_edge(tree, 0)):
        turns[-1].append(decision)
        if ends_turn:
            turns.append([])
    return dataclasses.replace(tree_result(tree, 0), expected=turns[1:-1])


def _best_decisions(tree: Tree, game: int, edge: int) -> Iterator[tuple[int, bool]]:
    """Yield the decision of an edge of the root and those that are best after it, and whether each
    ends a turn. A turn begins only with a decision that has been tried.
    """
    row = tree.root[game].copy()
    while True:
        decision = int(tree.actions[game, edge])
        apply(row, decision)
        is_over = row[TERMINATION] != ONGOING
        ends_turn = bool(is_over or row[PENDING] == NO_QUESTION)
        yield decision, ends_turn
        node = int(tree.children[game, edge])
        if node < 0 or is_over:
            return
        edge = best_edge(tree, game, node)
        if ends_turn and tree.visits[game, edge] == 0:
            return


def glimpse_of(tree: Tree, row: Row) -> Thought | None:
    """The result so far of a tree that another thread grows; None if its root is another row.

    Reads only the root's edges, which stay in place while the tree grows.
    """
    if not np.array_equal(tree.root[0], row):
        return None
    decisions, visits, totals = read_decisions(tree, 0)
    decisions, visits, totals = decisions.copy(), visits.copy(), totals.copy()
    if not visits.any() or not np.array_equal(tree.root[0], row):  # the next search may have begun
        return None
    best = int(np.argmax(visits))
    value = _share(float(totals[best]) / int(visits[best]))
    return _result(row, (decisions, visits, totals), [int(decisions[best])], value)
