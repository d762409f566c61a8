"""Grows trees whose leaves are valued outside, many at once.

Several leaves of one tree may wait for their values. Until a leaf has its value, its path counts as
tried once more, with the worst value seen in the tree, so that the next descent goes elsewhere
(virtual loss; Chaslot et al., "Parallel Monte-Carlo tree search", 2008).

A leaf may be given its value first, and its priors, for which a network is asked, only if the
search comes back to it: it is ripe then. To most leaves it never does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.tree import (
    FIRST_EDGE,
    HIGHEST,
    LOWEST,
    MAX_PATH,
    NUM_NODES,
    add_node,
    back_up,
    descend,
    descend_on,
    list_decisions,
)
from thud_env.jit.compile import compiled
from thud_env.rules.row import (
    DWARFS,
    NO_QUESTION,
    ONGOING,
    PENDING,
    ROW_SIZE,
    TERMINATION,
    copy_row,
)

_VALUED = -2
"""In ``tree.children``: no node, but a value."""


class Leaves(NamedTuple):
    """Arrays for H leaves that wait for their values."""

    rows: NDArray[np.int16]
    """[H, 432] the leaves."""
    paths: NDArray[np.int32]
    """[H, MAX_PATH] the edges from the root to each."""
    sides: NDArray[np.int8]
    """[H, MAX_PATH] who decides there."""
    lengths: NDArray[np.int64]
    """[H] how many edges."""
    last_captured: NDArray[np.int64]
    """[H] as ``descend`` returns it."""
    worst: NDArray[np.float64]
    """[H, 2] for each side, the worst value in the tree when the leaf was found."""
    is_ripe: NDArray[np.bool_]
    """[H] whether it has a value already, and needs priors."""

    @classmethod
    def of_size(cls, leaves: int) -> Leaves:
        """Arrays for that many leaves."""
        return cls(
            rows=np.zeros((leaves, ROW_SIZE), dtype=np.int16),
            paths=np.zeros((leaves, MAX_PATH), dtype=np.int32),
            sides=np.zeros((leaves, MAX_PATH), dtype=np.int8),
            lengths=np.zeros(leaves, dtype=np.int64),
            last_captured=np.zeros(leaves, dtype=np.int64),
            worst=np.zeros((leaves, 2), dtype=np.float64),
            is_ripe=np.zeros(leaves, dtype=np.bool_),
        )


@compiled
def descend_all(tree, games, leaves):
    """``descend`` in several trees. In an empty tree the root is the leaf.

    Args:
        tree: the trees.
        games: [N] the trees to descend in; one may be named several times.
        leaves: for N leaves or more; written.
    """
    for i in range(games.shape[0]):
        game = games[i]
        length = 0
        last_captured = -1
        if tree.counters[game, NUM_NODES] == 0:
            copy_row(tree.rows[game], tree.root[game])
        else:
            length, last_captured = descend(tree, game)
        low, high = tree.bounds[game, LOWEST], tree.bounds[game, HIGHEST]
        known = low <= high
        leaves.worst[i, 0] = low if known else 0.0
        leaves.worst[i, 1] = -high if known else 0.0
        _keep(tree, game, leaves, i, 0, length, last_captured)


@compiled
def descend_ripe(tree, games, leaves, which, starts, decisions, log_probs):
    """Add nodes with their priors for ripe leaves, and descend on from each to a leaf below.

    Args:
        tree: the trees.
        games: [N] the tree of each leaf.
        leaves: as ``descend_all`` left them; the ripe ones are replaced.
        which: [R] the numbers of the ripe leaves.
        starts: [R + 1] where the decisions of each of these begin.
        decisions: [L] the legal decisions, each leaf's ascending.
        log_probs: [L] the logarithms of their priors, up to a constant for each leaf.
    """
    for k in range(which.shape[0]):
        i = which[k]
        game, length = games[i], leaves.lengths[i]
        edge = leaves.paths[i, length - 1]
        if tree.children[game, edge] < 0:
            for j in range(length):
                tree.path[game, j] = leaves.paths[i, j]
            _grow(tree, game, leaves, i, starts[k], decisions, log_probs)
        node = int(tree.children[game, edge])
        leaves.is_ripe[i] = False
        if node >= 0:  # or there is no room
            copy_row(tree.rows[game], leaves.rows[i])
            below, last_captured = descend_on(tree, game, node, length)
            _keep(tree, game, leaves, i, length, below, last_captured)


@compiled
def _keep(tree, game, leaves, i, known, length, last_captured):
    """Keep where a descent came to, and count the edges beyond the known ones as lost."""
    copy_row(leaves.rows[i], tree.rows[game])
    for j in range(known, length):
        leaves.paths[i, j] = tree.path[game, j]
        leaves.sides[i, j] = tree.path_sides[game, j]
    leaves.lengths[i], leaves.last_captured[i] = length, last_captured
    last = tree.path[game, length - 1]
    has_value = length > 0 and tree.children[game, last] == _VALUED
    leaves.is_ripe[i] = has_value and length < MAX_PATH
    _count_as_lost(tree, game, leaves, i, known, 1)


@compiled
def _count_as_lost(tree, game, leaves, i, known, sign):
    """Add a virtual loss to the path of a leaf, beyond ``known`` edges, or, with ``sign`` -1, take
    it away.
    """
    for j in range(known, leaves.lengths[i]):
        edge = leaves.paths[i, j]
        side = 0 if leaves.sides[i, j] == DWARFS else 1
        tree.visits[game, edge] += sign
        tree.totals[game, edge] += sign * leaves.worst[i, side]


@compiled
def absorb_all(tree, games, leaves, starts, decisions, log_probs, values):
    """Back up the values of the waiting leaves, and add nodes for those that have priors.

    Args:
        tree: the trees.
        games: [N] the tree of each leaf.
        leaves: as ``descend_all`` left them.
        starts: [N + 1] where each leaf's decisions begin; it has none if its battle is over, or if
            its priors are to be given once it is ripe.
        decisions: [L] the legal decisions, each leaf's ascending.
        log_probs: [L] the logarithms of their priors, up to a constant for each leaf.
        values: [N] the leaves' values for the dwarfs.
    """
    for i in range(games.shape[0]):
        _count_as_lost(tree, games[i], leaves, i, 0, -1)
    for i in range(games.shape[0]):
        game, length = games[i], leaves.lengths[i]
        for j in range(length):
            tree.path[game, j] = leaves.paths[i, j]
            tree.path_sides[game, j] = leaves.sides[i, j]
        if leaves.rows[i, TERMINATION] == ONGOING and _is_new(tree, game, length):
            if starts[i] < starts[i + 1]:
                _grow(tree, game, leaves, i, starts[i], decisions, log_probs)
            else:
                tree.children[game, tree.path[game, length - 1]] = _VALUED
        back_up(tree, game, length, values[i])


@compiled
def _is_new(tree, game, length):
    """Whether the leaf at the end of the path has no node: several waiting ones may be the same."""
    if length == 0:
        return tree.counters[game, NUM_NODES] == 0
    return tree.children[game, tree.path[game, length - 1]] < 0


@compiled
def _grow(tree, game, leaves, i, start, decisions, log_probs):
    """Add a node for a leaf, if there is room."""
    row, length = leaves.rows[i], leaves.lengths[i]
    count = list_decisions(row, tree.decisions, leaves.last_captured[i])
    node = add_node(tree, game, count)
    if node < 0:
        return
    first = int(tree.nodes[game, node, FIRST_EDGE])
    highest = -np.inf
    j = start
    for edge in range(first, first + count):
        # Edges are in the order of the legal decisions, except answers, of which there are few.
        if row[PENDING] != NO_QUESTION:
            j = start
        while decisions[j] != tree.actions[game, edge]:
            j += 1
        tree.priors[game, edge] = log_probs[j]
        highest = max(highest, log_probs[j])
    total = 0.0
    for edge in range(first, first + count):
        # Less the highest, or at a low temperature all of them could be 0.
        tree.priors[game, edge] = np.exp(tree.priors[game, edge] - highest)
        total += tree.priors[game, edge]
    for edge in range(first, first + count):
        tree.priors[game, edge] /= total
    if length > 0:
        tree.children[game, tree.path[game, length - 1]] = node
