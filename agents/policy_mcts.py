"""The player that searches with a network: PUCT over its priors and values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from agents.inputs import Inputs
from agents.mcts import MOST_SIMULATIONS, best_line, in_hundredths
from agents.planning import PlanningAgent, Thought
from agents.policy import PolicyAgent
from agents.search import tree as trees
from agents.search.playouts import MOST_POINTS
from agents.search.tree import Tree
from agents.search.weights import material_weights
from thud_env.position import SIDES
from thud_env.rng import seed_generators
from thud_env.rules.play import margin
from thud_env.rules.row import ONGOING, RULES, TERMINATION, TO_MOVE, Row
from thud_env.rulesets import RULESET_BY_INDEX

_GAMES_AT_ONCE = 64
_EDGES_A_SIMULATION = 300
_UNUSED = 1.0


class PolicyMctsAgent(PlanningAgent):
    """Searches by Monte Carlo with the priors and values of trained networks, as AlphaZero does.

    Many games are searched side by side, and all their leaves are shown to a network at once.

    Args:
        path: a folder with a ``dwarfs`` and a ``trolls`` checkpoint.
        sims: simulations for a turn, or for what is left of one.
        c: how much to explore.
        fpu: how much less than its siblings an untried decision is expected to be worth.
        seed: of no effect yet: nothing is drawn.

    Raises:
        CheckpointError: if there are no such checkpoints, or one is damaged.
        ValueError: if an option is out of range.
    """

    def __init__(
        self, path: str | Path, sims: int = 200, c: float = 1.5, fpu: float = 0.2, seed: int = 0
    ) -> None:
        super().__init__()
        for name, value, least, most in (
            ("sims", sims, 2, MOST_SIMULATIONS),
            ("c", c, 0, 1e6),
            ("fpu", fpu, 0, 1e6),
        ):
            if not least <= value <= most:
                raise ValueError(f"{name}={value} must be in {least} .. {most:g}")
        self._policy = PolicyAgent(path, seed)
        self._sims = sims
        self._constants = (c, fpu, _UNUSED)
        self._rng = seed_generators(1, seed)

    def think(self, row: Row) -> Thought:
        """See ``PlanningAgent``."""
        return self.think_rows([row])[0]

    def think_rows(self, rows: Sequence[Row]) -> list[Thought]:
        """See ``PlanningAgent``."""
        thoughts: list[Thought] = []
        for first in range(0, len(rows), _GAMES_AT_ONCE):
            thoughts += self._search(rows[first : first + _GAMES_AT_ONCE])
        return thoughts

    def _search(self, rows: Sequence[Row]) -> list[Thought]:
        tree = Tree.of_size(
            len(rows), self._sims + 1, self._sims * _EDGES_A_SIMULATION,
            self._constants, material_weights(),
        )  # fmt: skip
        games = np.arange(len(rows))
        lengths, last_captured = np.zeros_like(games), np.zeros_like(games)
        for game, row in enumerate(rows):
            tree.root[game] = row
            trees.clear(tree, game)
        for _ in range(self._sims):
            trees.descend_all(tree, games, lengths, last_captured, self._rng)
            starts, decisions, log_probs, values = self._judge(tree.rows)
            trees.absorb_all(
                tree, games, lengths, last_captured, starts, decisions, log_probs, values
            )
        thoughts = []
        for game, row in enumerate(rows):
            line, value = best_line(tree, game)
            thoughts.append(Thought(line, in_hundredths(value, row)))
        return thoughts

    def _judge(
        self, rows: NDArray[np.int16]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32], NDArray[np.float64]]:
        """What the networks say of N leaves: where each one's decisions begin [N + 1], these [L],
        their log-probabilities [L], and the leaves' values for the dwarfs [N].
        """
        counts = np.zeros(len(rows), dtype=np.int64)
        values = np.array([_score(row) for row in rows])
        parts: dict[int, tuple[NDArray[np.int64], NDArray[np.float32]]] = {}
        for side, role in enumerate(SIDES):
            mine = np.flatnonzero((rows[:, TERMINATION] == ONGOING) & (rows[:, TO_MOVE] == side))
            if not len(mine):
                continue
            inputs = Inputs.of_rows(rows[mine])
            network = self._policy.network(role, rows[mine])
            with torch.no_grad():
                log_probs, paid = network(inputs.planes, inputs.decisions, inputs.game)
            values[mine] += paid.numpy() * (1 if side == 0 else -1)
            counts[mine] = np.diff(inputs.starts)
            for leaf, first, last in zip(
                mine.tolist(), inputs.starts[:-1], inputs.starts[1:], strict=True
            ):
                parts[leaf] = (
                    inputs.decisions.numpy()[first:last], log_probs.numpy()[first:last]
                )  # fmt: skip
        starts = np.concatenate(([0], np.cumsum(counts)))
        ordered = [parts[leaf] for leaf in sorted(parts)]
        decisions = np.concatenate([np.zeros(0, dtype=np.int64), *(part[0] for part in ordered)])
        scores = np.concatenate([np.zeros(0, dtype=np.float32), *(part[1] for part in ordered)])
        return starts, decisions, scores, np.clip(values, -1.0, 1.0)


def _score(row: Row) -> float:
    """The score as it stands, for the dwarfs; a network's value is what will be added to it."""
    by_margin = RULESET_BY_INDEX[int(row[RULES])].reward == "margin"
    return float(margin(row)) / (MOST_POINTS if by_margin else 1)
