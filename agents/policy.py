"""Players that follow a trained network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from agents.agent import Agent, Opinion, check_going_on, read_rows
from agents.networks.drawing import draw_decisions, weights_at
from agents.networks.inputs import Inputs
from agents.networks.network import PolicyNetwork, margin_of_one
from agents.networks.pairs import Pair, pair_at
from agents.ranges import number_in
from thud_env import Position
from thud_env.actions import NUM_ACTIONS
from thud_env.arguments import as_count
from thud_env.errors import ThudError
from thud_env.outcome import SIDES, Side
from thud_env.rules.play import margin
from thud_env.rules.row import ONGOING, RULESET_KEY, TERMINATION, TO_MOVE, UNUSED, ruleset_of
from thud_env.rulesets import Ruleset

_AT_ONCE = 256
"""Positions in a batch of the network."""


def _check_one_ruleset(rows: NDArray[np.int16]) -> None:
    """Refuse battles of several rulesets: each has networks of its own.

    Raises:
        ThudError: if they are.
    """
    keys = rows[:, RULESET_KEY:UNUSED]
    other = (keys != keys[:1]).any(axis=1)
    if other.any():
        names = " and ".join(ruleset_of(rows[i]).name for i in (0, int(np.argmax(other))))
        raise ThudError(f"battles of {names}: a policy decides in those of one ruleset at a time")


class PolicyAgent(Agent):
    """Plays by a trained policy.

    Args:
        path: a checkpoint of one role, or a folder with ``dwarfs`` and ``trolls``, each a
            checkpoint for its side; or ``pretrained/RULES``; or ``champion``, the pair in the
            checkout for the game that is played; or a pair at hand.
        seed: seeds the draws.
        temperature: 1 draws from the policy, 0 takes its most likely decision.

    Raises:
        CheckpointError: if there is no such checkpoint, or it is damaged.
        ThudError: if the temperature is negative or not a number.
        TypeError: if it is neither a path nor a pair.
    """

    def __init__(self, path: str | Path | Pair, seed: int = 0, temperature: float = 1.0) -> None:
        self._temperature = number_in("temperature", temperature, 0)
        self.stochastic = self._temperature > 0
        self._pair = pair_at(path)
        self._random = np.random.default_rng(as_count("seed", seed, least=0))

    @property
    def trained_for(self) -> str | None:
        """See ``Agent``."""
        return self._pair.rules

    def seed(self, seed: int) -> None:
        """See ``Agent``."""
        self._random = np.random.default_rng(as_count("seed", seed, least=0))

    def check_plays(self, rules: Ruleset, side: Side) -> None:
        """See ``Agent``."""
        self._pair.checkpoint(side, rules)

    def get_state(self) -> dict[str, Any]:
        """See ``Agent``."""
        return dict(self._random.bit_generator.state)

    def set_state(self, state: dict[str, Any]) -> None:
        """See ``Agent``."""
        self._random.bit_generator.state = state

    def act_rows(self, rows: NDArray[np.int16]) -> NDArray[np.int32]:
        """See ``BatchPolicy``.

        Raises:
            CheckpointError: if there is no policy for a side that decides, or for the ruleset.
            ThudError: if a battle is over, or if they are of several rulesets.
        """
        rows = read_rows(rows)
        _check_one_ruleset(rows)
        actions = np.empty(len(rows), dtype=np.int32)
        for side, role in enumerate(SIDES):
            mine = np.flatnonzero(rows[:, TO_MOVE] == side)
            if len(mine):
                network, inputs = self.asked(role, rows[mine])
                uniforms = torch.from_numpy(self._random.random(len(mine)))
                drawn = draw_decisions(network, inputs, uniforms, self._temperature)
                actions[mine] = drawn.actions.numpy()
        return actions

    def asked(self, role: str, rows: NDArray[np.int16]) -> tuple[PolicyNetwork, Inputs]:
        """The network of a role, and its inputs for rows. A network trained without agreement has
        not learnt to offer or accept, so its inputs list neither.

        Raises:
            CheckpointError: if there is no policy for the role, or for the ruleset of the rows.
            ThudError: if they are of several rulesets.
        """
        _check_one_ruleset(rows)
        checkpoint = self._pair.checkpoint(role, ruleset_of(rows[0]))
        inputs = checkpoint.network.inputs(rows)
        return checkpoint.network, inputs if checkpoint.agreement else inputs.without_agreement()

    def judge(self, position: Position) -> Opinion:
        """Evaluate a position with the policy of the side that decides: what it draws its decision
        from, at the temperature of its play, and what it expects.

        Raises:
            ThudError: if the battle is over.
            TypeError: if it is not a ``Position``.
            CheckpointError: as ``act_rows`` does.
        """
        check_going_on(position, "judge")
        rows = position.row[np.newaxis]
        inputs, log_probs, margins = self._judged(rows, position.to_move)
        return Opinion(self._chances(inputs, log_probs)[0], float(margins[0]))

    def probabilities(self, rows: NDArray[np.int16]) -> NDArray[np.float64]:
        """What it draws its decision from in each of N positions, at the temperature of its play.

        Args:
            rows: [N, 432] state rows of one ruleset, of battles that go on. Either side may decide.

        Returns:
            [N, 6470] float64: 0 where an action is illegal, each row 1 in all.

        Raises:
            CheckpointError, ThudError: as ``act_rows`` does.
        """
        rows = read_rows(rows)
        found = np.empty((len(rows), NUM_ACTIONS))
        for side, role in enumerate(SIDES):
            mine = np.flatnonzero(rows[:, TO_MOVE] == side)
            for first in range(0, len(mine), _AT_ONCE):
                some = mine[first : first + _AT_ONCE]
                inputs, log_probs, _ = self._judged(rows[some], role)
                found[some] = self._chances(inputs, log_probs)
        return found

    def expected_margins(self, rows: NDArray[np.int16]) -> NDArray[np.float64]:
        """The expected margin at the end for each of N positions, from the dwarfs' view; for a
        battle that is over, its margin.

        Args:
            rows: [N, 432] state rows of one ruleset.

        Returns:
            [N] float64.

        Raises:
            CheckpointError: as ``act_rows`` does.
        """
        expected = np.array([float(margin(row)) for row in rows])
        for side, role in enumerate(SIDES):
            mine = np.flatnonzero((rows[:, TERMINATION] == ONGOING) & (rows[:, TO_MOVE] == side))
            for first in range(0, len(mine), _AT_ONCE):
                some = mine[first : first + _AT_ONCE]
                expected[some] = self._judged(rows[some], role)[2]
        return expected

    def _chances(self, inputs: Inputs, log_probs: torch.Tensor) -> NDArray[np.float64]:
        """[N, 6470] the probabilities at the temperature of its play, from [L] those of a policy's
        legal decisions.
        """
        weights = weights_at(self._temperature, log_probs, inputs)
        dense = weights.new_zeros((len(inputs.counts), NUM_ACTIONS))
        dense[inputs.game, inputs.decisions] = weights
        return (dense / dense.sum(dim=1, keepdim=True)).numpy()

    def _judged(
        self, rows: NDArray[np.int16], role: str
    ) -> tuple[Inputs, torch.Tensor, NDArray[np.float64]]:
        """The inputs of N positions, the log-probabilities of their legal decisions [L], and the
        expected margins [N], from the dwarfs' view.
        """
        network, inputs = self.asked(role, rows)
        with torch.no_grad():
            judged = network(inputs)
        ruleset = ruleset_of(rows[0])
        most, one = ruleset.largest_margin, margin_of_one(ruleset)
        paid = judged.values.double().numpy() * (one if role == SIDES[0] else -one)
        margins = np.array([float(margin(row)) for row in rows])
        return inputs, judged.log_probs, np.clip(margins + paid, -most, most)
