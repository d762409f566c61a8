"""Players that follow a trained network."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from agents.agent import Agent
from agents.networks.checkpoint import (
    MANIFEST,
    Checkpoint,
    CheckpointError,
    load_policy,
    policy_folder,
)
from agents.networks.inputs import Inputs
from agents.networks.network import Network
from thud_env.position import SIDES
from thud_env.rules.row import RULES, TO_MOVE
from thud_env.rulesets import RULESET_BY_INDEX


def sample_decisions(
    network: Network, inputs: Inputs, uniforms: NDArray[np.float64], temperature: float = 1.0
) -> tuple[NDArray[np.int64], torch.Tensor, torch.Tensor]:
    """Draw a decision for each game from a network's policy.

    Args:
        network: the policy.
        inputs: N games.
        uniforms: [N] numbers in [0, 1), one for each draw.
        temperature: 1 draws from the policy, 0 takes its most likely decision.

    Returns:
        [N] where in ``inputs.decisions`` each drawn decision stands, the log-probabilities
        [L] of all legal decisions, and the values [N], on the CPU.
    """
    with torch.no_grad():
        judged = network(inputs.planes, inputs.decisions, inputs.game)
    log_probs, values = (tensor.cpu() for tensor in judged)
    weights = log_probs.double().numpy()
    starts = inputs.starts
    if temperature == 0:
        chosen = [first + int(np.argmax(weights[first:last])) for first, last in pairwise(starts)]
        return np.array(chosen, dtype=np.int64), log_probs, values
    if temperature != 1:
        highest = np.maximum.reduceat(weights, starts[:-1])
        weights = (weights - np.repeat(highest, np.diff(starts))) / temperature
    running = np.cumsum(np.exp(weights))
    below = np.concatenate(([0.0], running))[starts]
    targets = below[:-1] + uniforms * np.diff(below)
    drawn = np.searchsorted(running, targets, side="right")
    # Rounding in the running sum must not carry a draw over into a neighbouring game.
    return np.clip(drawn, starts[:-1], starts[1:] - 1), log_probs, values


class PolicyAgent(Agent):
    """Plays by a trained policy.

    Args:
        path: a checkpoint of one role, or a folder with a ``dwarfs`` and a ``trolls`` one, of
            which the one for the side that decides is used; or ``pretrained/RULES``.
        seed: seeds the draws.
        temperature: 1 draws from the policy, 0 takes its most likely decision.

    Raises:
        CheckpointError: if there is no such checkpoint, or it is damaged.
        ValueError: if the temperature is negative or no number.
    """

    def __init__(self, path: str | Path, seed: int = 0, temperature: float = 1.0) -> None:
        if not temperature >= 0:
            raise ValueError(f"temperature={temperature} must be 0 or more")
        self.path = policy_folder(path)
        self._temperature = temperature
        self.stochastic = temperature > 0
        self._random = np.random.default_rng(seed)
        self._checkpoints: dict[str, Checkpoint] = {}
        if (self.path / MANIFEST).exists():
            checkpoint = load_policy(self.path)
            self._checkpoints[checkpoint.role] = checkpoint
            return
        for role in SIDES:
            if (self.path / role).exists():
                checkpoint = load_policy(self.path / role)
                if checkpoint.role != role:
                    held = checkpoint.role
                    raise CheckpointError(f"{self.path / role} holds a policy for the {held}")
                self._checkpoints[role] = checkpoint
        if not self._checkpoints:
            raise CheckpointError(
                f"{self.path} is no policy: a folder with {MANIFEST}, or with folders "
                f"{' and '.join(SIDES)} that have one, would be"
            )

    def seed(self, seed: int) -> None:
        """See ``Agent``."""
        self._random = np.random.default_rng(seed)

    def get_state(self) -> dict[str, Any]:
        """See ``Agent``."""
        return dict(self._random.bit_generator.state)

    def set_state(self, state: dict[str, Any]) -> None:
        """See ``Agent``."""
        self._random.bit_generator.state = state

    def act_rows(self, rows: NDArray[np.int16]) -> NDArray[np.int32]:
        """See ``BatchPolicy``.

        Raises:
            CheckpointError: if the checkpoint is not of a role that decides or of the ruleset.
        """
        actions = np.empty(len(rows), dtype=np.int32)
        for side, role in enumerate(SIDES):
            mine = np.flatnonzero(rows[:, TO_MOVE] == side)
            if len(mine):
                network, inputs = self.asked(role, rows[mine])
                drawn, _, _ = sample_decisions(
                    network,
                    inputs,
                    self._random.random(len(mine)),
                    self._temperature,
                )
                actions[mine] = inputs.decisions.numpy()[drawn]
        return actions

    def asked(self, role: str, rows: NDArray[np.int16]) -> tuple[Network, Inputs]:
        """The network of a role, and its inputs for rows. Trained without agreement, it has not
        learnt to offer or to accept: its inputs list neither.

        Raises:
            CheckpointError: as ``network``.
        """
        network = self.network(role, rows)
        inputs = network.inputs(rows)
        if self._checkpoints[role].agreement:
            return network, inputs
        return network, inputs.without_agreement()

    def network(self, role: str, rows: NDArray[np.int16]) -> Network:
        """The network of a role, for rows of the ruleset that it was trained for.

        Raises:
            CheckpointError: if there is none.
        """
        checkpoint = self._checkpoints.get(role)
        if checkpoint is None:
            raise CheckpointError(f"{self.path} holds no policy for the {role}")
        rules = RULESET_BY_INDEX[int(rows[0, RULES])].name
        if checkpoint.rules != rules:
            raise CheckpointError(f"{self.path} was trained for {checkpoint.rules}, not {rules}")
        return checkpoint.network
