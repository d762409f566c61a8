"""Trees whose leaves somebody else judges, many at once: a network, say."""

from __future__ import annotations

import numpy as np

from agents.search.tree import FIRST_EDGE, NUM_NODES, add_node, back_up, descend, list_decisions
from thud_env.jit.compile import compiled
from thud_env.rules.row import NO_QUESTION, ONGOING, PENDING, TERMINATION, copy_row


@compiled
def descend_all(tree, games, lengths, last_captured, rng):
    """``descend`` in several trees, whose nodes are the caller's business. A tree without a
    root has its root as its leaf.
    """
    for i in range(games.shape[0]):
        game = games[i]
        if tree.counters[game, NUM_NODES] == 0:
            copy_row(tree.rows[game], tree.root[game])
            lengths[i], last_captured[i] = 0, -1
        else:
            lengths[i], last_captured[i] = descend(tree, game, False, rng)


@compiled
def absorb_all(tree, games, lengths, last_captured, starts, decisions, log_probs, values):
    """Give the leaves in hand nodes with a network's priors, and add its values to the paths.

    Args:
        tree: the trees.
        games, lengths, last_captured: [N] as ``descend_all`` left them.
        starts: [N + 1] where each leaf's decisions begin; none where its battle is over.
        decisions: [L] the legal ones, each leaf's ascending.
        log_probs: [L] theirs.
        values: [N] the leaves' values for the dwarfs.
    """
    for i in range(games.shape[0]):
        game, length = games[i], lengths[i]
        row = tree.rows[game]
        if row[TERMINATION] == ONGOING:
            count = list_decisions(row, tree.decisions[0], last_captured[i])
            node = add_node(tree, game, count)
            if node >= 0:
                first = int(tree.nodes[game, node, FIRST_EDGE])
                total = 0.0
                j = starts[i]
                for edge in range(first, first + count):
                    # In the same order as the legal ones, but for answers, of which there are few.
                    if row[PENDING] != NO_QUESTION:
                        j = starts[i]
                    while decisions[j] != tree.actions[game, edge]:
                        j += 1
                    tree.priors[game, edge] = np.exp(log_probs[j])
                    total += tree.priors[game, edge]
                for edge in range(first, first + count):
                    tree.priors[game, edge] /= total
                if length > 0:
                    tree.children[game, tree.path[game, length - 1]] = node
        back_up(tree, game, length, values[i])
