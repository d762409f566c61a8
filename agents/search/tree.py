"""A Monte Carlo tree of decisions, in arrays of fixed size.

Selection is PUCT as in AlphaGo Zero (Silver et al. 2017), with two changes for a game in which a
side has some 450 turns to choose from and most differ little:

- means are scaled to 0 .. 1 between the worst and the best seen in the tree (MuZero, Schrittwieser
  et al. 2020), so that a dwarf, a thirty-second of the scale, counts;
- an untried decision counts as the mean of its siblings so far, less a reduction that grows with
  the share of the prior that has been tried (first-play urgency; KataGo, Wu 2019). By default the
  reduction is 0.

One ``Tree`` holds the trees of G games. A node is a range of edges, one for each decision; its
position is found again by playing the path from the root. The values stored in an edge are from the
view of the side that decides there, all others from the dwarfs' view.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.ordering import arrange_answers
from thud_env.actions import CAPTURE, CAPTURE_ALL, OFFER
from thud_env.jit.compile import compiled
from thud_env.rules.legal import legal_actions
from thud_env.rules.play import apply
from thud_env.rules.row import (
    DWARFS,
    MAX_DECISIONS_AT_ONCE,
    NO_QUESTION,
    ONGOING,
    PENDING,
    ROW_SIZE,
    TERMINATION,
    TO_MOVE,
    copy_row,
)

MAX_PATH = 512
"""The most decisions on a path from the root, far more than a search needs."""
_EDGES_A_SIMULATION = 300
"""Edges to make room for, enough for all but the widest trees: a position gets its edges, some 250
on average, once, and not before it is reached."""
_MOST_EDGES = 16_000_000
"""Edges that a game's tree has room for at most, some 350 MB; a tree that is full is searched on
without adding to it."""

NUM_NODES, NUM_EDGES, COUNTERS = range(3)
LOWEST, HIGHEST, BOUNDS = range(3)
FIRST_EDGE, EDGE_COUNT, NODE_COLUMNS = range(3)


class Tree(NamedTuple):
    """All the arrays of the trees of G games. M nodes and E edges a game."""

    nodes: NDArray[np.int32]
    """[G, M, 2] each node's first edge, and how many edges it has."""
    actions: NDArray[np.int16]
    """[G, E] each edge's decision."""
    priors: NDArray[np.float32]
    """[G, E] its prior probability."""
    visits: NDArray[np.int32]
    """[G, E] how often it was tried."""
    totals: NDArray[np.float64]
    """[G, E] the sum of the values it led to, for the side that decides. In float32 it would drift
    by a tenth within ten million."""
    children: NDArray[np.int32]
    """[G, E] the node it leads to; below 0 if there is none."""
    path: NDArray[np.int32]
    """[G, MAX_PATH] the edges from the root to the current leaf."""
    path_sides: NDArray[np.int8]
    """[G, MAX_PATH] who decides there."""
    counters: NDArray[np.int64]
    """[G, 2] nodes and edges in use."""
    bounds: NDArray[np.float64]
    """[G, 2] the lowest and the highest mean so far, for the dwarfs."""
    root: NDArray[np.int16]
    """[G, 432] the positions searched."""
    first_edge: NDArray[np.int64]
    """[G] the edge of the root that the next descent takes; -1: the one that PUCT selects."""
    rows: NDArray[np.int16]
    """[G, 432] the current leaves."""
    decisions: NDArray[np.int32]
    """[2048] scratch space for a list of decisions."""
    exploration: float
    """The constant of PUCT."""
    reduction: float
    """The first-play reduction."""

    @classmethod
    def of_size(cls, games: int, simulations: int, exploration: float, reduction: float) -> Tree:
        """Arrays for so many games, and simulations a game."""
        edges = min(simulations * _EDGES_A_SIMULATION, _MOST_EDGES)
        edges = max(edges, MAX_DECISIONS_AT_ONCE)
        return cls(
            nodes=np.zeros((games, simulations + 1, NODE_COLUMNS), dtype=np.int32),
            actions=np.zeros((games, edges), dtype=np.int16),
            priors=np.zeros((games, edges), dtype=np.float32),
            visits=np.zeros((games, edges), dtype=np.int32),
            totals=np.zeros((games, edges), dtype=np.float64),
            children=np.zeros((games, edges), dtype=np.int32),
            path=np.zeros((games, MAX_PATH), dtype=np.int32),
            path_sides=np.zeros((games, MAX_PATH), dtype=np.int8),
            counters=np.zeros((games, COUNTERS), dtype=np.int64),
            bounds=np.zeros((games, BOUNDS), dtype=np.float64),
            root=np.zeros((games, ROW_SIZE), dtype=np.int16),
            first_edge=np.full(games, -1, dtype=np.int64),
            rows=np.zeros((games, ROW_SIZE), dtype=np.int16),
            decisions=np.zeros(MAX_DECISIONS_AT_ONCE, dtype=np.int32),
            exploration=exploration,
            reduction=reduction,
        )


@compiled
def clear(tree, game):
    """Empty a game's tree; its root has no edges then."""
    tree.nodes[game, 0, EDGE_COUNT] = 0
    tree.counters[game, NUM_NODES] = 0
    tree.counters[game, NUM_EDGES] = 0
    tree.bounds[game, LOWEST] = np.inf
    tree.bounds[game, HIGHEST] = -np.inf


@compiled
def list_decisions(row, decisions, last_captured):
    """List the decisions that get an edge: no offers, and no set of captures twice."""
    count = legal_actions(row, decisions)
    if row[PENDING] != NO_QUESTION:
        return arrange_answers(row, decisions, count, last_captured)
    return count - 1 if decisions[count - 1] == OFFER else count


@compiled
def has_room(tree, game, count):
    """Whether a node with so many edges can be added."""
    nodes, edges = tree.counters[game, NUM_NODES], tree.counters[game, NUM_EDGES]
    return nodes < tree.nodes.shape[1] and edges + count <= tree.actions.shape[1]


@compiled
def add_node(tree, game, count):
    """Add a node with the first ``count`` of ``tree.decisions`` as its edges, without priors.

    Returns:
        the node, or -1 if the arrays are full.
    """
    if not has_room(tree, game, count):
        return -1
    node = int(tree.counters[game, NUM_NODES])
    first = int(tree.counters[game, NUM_EDGES])
    tree.counters[game, NUM_NODES] += 1
    tree.counters[game, NUM_EDGES] += count
    for i in range(count):
        tree.actions[game, first + i] = tree.decisions[i]
        tree.visits[game, first + i] = 0
        tree.totals[game, first + i] = 0
        tree.children[game, first + i] = -1
    tree.nodes[game, node, FIRST_EDGE] = first
    tree.nodes[game, node, EDGE_COUNT] = count
    return node


@compiled
def choose(tree, game, node, side):
    """The edge that selection follows from a node where ``side`` decides."""
    first = int(tree.nodes[game, node, FIRST_EDGE])
    last = first + int(tree.nodes[game, node, EDGE_COUNT])
    visits, totals, priors = tree.visits[game], tree.totals[game], tree.priors[game]
    tried = 0
    total = 0.0
    tried_prior = 0.0
    for i in range(first, last):
        if visits[i] > 0:
            tried += visits[i]
            total += totals[i]
            tried_prior += priors[i]
    low, high = tree.bounds[game, LOWEST], tree.bounds[game, HIGHEST]
    if side != DWARFS:
        low, high = -high, -low
    scale = 1.0 / max(high - low, 1e-3) if tried > 0 else 0.0
    untried = 0.0
    if tried > 0:
        untried = (total / tried - low) * scale - tree.reduction * np.sqrt(tried_prior)
    exploration = tree.exploration * np.sqrt(tried + 1.0)
    best = first
    best_score = -np.inf
    for i in range(first, last):
        n = visits[i]
        score = untried if n == 0 else (totals[i] / n - low) * scale
        score += exploration * priors[i] / (1 + n)
        if score > best_score:
            best_score = score
            best = i
    return best


@compiled
def descend(tree, game):
    """Follow the tree to a position that has no node, or whose battle is over.

    Args:
        tree: the trees; the root has a node.
        game: which of the trees.

    Returns:
        the number of edges on the path, and the decision that captured a dwarf last if the
        turn in which it did is pending, else -1. ``tree.rows[game]`` is the position.
    """
    copy_row(tree.rows[game], tree.root[game])
    return descend_on(tree, game, 0, 0)


@compiled
def descend_on(tree, game, node, length):
    """``descend`` from a node, ``length`` edges below the root, of which ``tree.rows[game]`` is the
    position.
    """
    row = tree.rows[game]
    while True:
        side = row[TO_MOVE]
        edge = int(tree.first_edge[game]) if length == 0 else -1
        if edge < 0:
            edge = choose(tree, game, node, side)
        decision = int(tree.actions[game, edge])
        apply(row, decision)
        tree.path[game, length] = edge
        tree.path_sides[game, length] = side
        length += 1
        last_captured = decision if CAPTURE <= decision < CAPTURE_ALL else -1
        if row[PENDING] == NO_QUESTION:
            last_captured = -1
        if row[TERMINATION] != ONGOING or length == MAX_PATH:
            return length, last_captured
        node = int(tree.children[game, edge])
        if node < 0:
            return length, last_captured


@compiled
def back_up(tree, game, length, value):
    """Add a value, for the dwarfs, to the edges of the path."""
    for i in range(length):
        edge = tree.path[game, i]
        sign = 1.0 if tree.path_sides[game, i] == DWARFS else -1.0
        tree.visits[game, edge] += 1
        tree.totals[game, edge] += sign * value
        mean = sign * tree.totals[game, edge] / tree.visits[game, edge]
        tree.bounds[game, LOWEST] = min(tree.bounds[game, LOWEST], mean)
        tree.bounds[game, HIGHEST] = max(tree.bounds[game, HIGHEST], mean)
