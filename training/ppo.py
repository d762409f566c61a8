"""Proximal policy optimisation of one role's network.

What differs from the usual (Schulman et al. 2017; details as numbered by Huang et al., "The
37 implementation details of PPO", 2022):

1. Probabilities range over the legal decisions only, by construction: nothing is masked
   afterwards, and an illegal decision has no gradient.
2. Advantages are normalised over all of a role's decisions in a rollout (detail 7, which
   does it a minibatch): the two roles are paid on different scales.
3. The entropy bonus is a share of the entropy of the uniform policy over what is legal, so
   that 500 legal decisions and 3 are held open alike.
4. The value loss is not clipped (detail 9 found no gain in it).
5. A role stops learning from a rollout once the approximate KL divergence (Schulman, "Approximating
   KL divergence", 2020, k3) passes its target (detail 12).
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from numpy.typing import NDArray

from agents.inputs import Inputs
from agents.network import Network
from thud_env.actions import NUM_ACTIONS
from training.clock import ENVIRONMENT, LEARN, Clock
from training.config import PPOConfig
from training.precision import Precision
from training.state import (
    State,
    restore_generator,
    restore_network,
    restore_optimiser,
    state_of_generator,
    state_of_network,
    state_of_optimiser,
)


@dataclasses.dataclass(frozen=True)
class Batch:
    """N decisions of one role."""

    rows: NDArray[np.int16]
    """[N, 432] the states that were decided in."""
    actions: NDArray[np.int32]
    """[N] what was decided."""
    log_probs: NDArray[np.float32]
    """[N] the log-probability it was drawn with."""
    advantages: NDArray[np.float32]
    """[N] from the role's view."""
    returns: NDArray[np.float32]
    """[N] targets of the value function."""

    def __getitem__(self, chosen: NDArray[np.int64]) -> Batch:
        return Batch(*(getattr(self, field.name)[chosen] for field in dataclasses.fields(self)))


class Learner:
    """Improves one role's network from batches of its decisions.

    Args:
        network: the role's network, trained in place.
        config: the learner's settings.
        precision: the arithmetic of the network.
        random: shuffles the decisions.
        clock: told what the time goes into.
    """

    def __init__(
        self,
        network: Network,
        config: PPOConfig,
        precision: Precision,
        random: np.random.Generator,
        clock: Clock | None = None,
    ) -> None:
        self.network = network
        self._clock = clock or Clock()
        self._config = config
        self._precision = precision
        self._random = random
        self._optimiser = torch.optim.Adam(network.parameters(), config.learning_rate, eps=1e-5)

    def learn(self, batch: Batch, progress: float) -> dict[str, float]:
        """Several epochs of minibatches.

        Args:
            batch: the role's decisions of one rollout.
            progress: how much of the run is done, 0 .. 1: the learning rate falls from its
                start to a tenth.

        Returns:
            means over the minibatches: ``policy_loss``, ``value_loss``, ``entropy`` (a share),
            ``approx_kl``, ``clip_fraction``; and the ``learning_rate``.
        """
        config = self._config
        learning_rate = config.learning_rate * (1 - 0.9 * progress)
        for group in self._optimiser.param_groups:
            group["lr"] = learning_rate
        spread = float(batch.advantages.std())
        batch = dataclasses.replace(
            batch, advantages=(batch.advantages - batch.advantages.mean()) / (spread + 1e-8)
        )
        seen: list[dict[str, float]] = []
        for _ in range(config.update_epochs):
            order = self._random.permutation(len(batch.actions))
            for first in range(0, len(order), config.minibatch_size):
                seen.append(self._step(batch[order[first : first + config.minibatch_size]]))
            if np.mean([step["approx_kl"] for step in seen[-8:]]) > config.target_kl:
                break
        means = {key: float(np.mean([step[key] for step in seen])) for key in seen[0]}
        return {**means, "learning_rate": learning_rate}

    def state(self) -> State:
        """All that the next step depends on."""
        return State.of_parts(
            {
                "network": state_of_network(self.network),
                "optimiser": state_of_optimiser(self._optimiser),
                "random": State(values=state_of_generator(self._random)),
            }
        )

    def restore(self, state: State) -> None:
        """Go on from a state."""
        restore_network(self.network, state.part("network"))
        restore_optimiser(self._optimiser, state.part("optimiser"))
        restore_generator(self._random, state.part("random").values)

    def _step(self, batch: Batch) -> dict[str, float]:
        config = self._config
        with self._clock.on(ENVIRONMENT):
            inputs = Inputs.of_rows(batch.rows)
        with self._clock.on(LEARN):
            with self._precision.autocast():
                log_probs, values = self.network(inputs.planes, inputs.decisions, inputs.game)
            loss, measured = ppo_loss(config, inputs, log_probs, values, batch)
            self._optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), config.max_grad_norm)
            self._optimiser.step()
        return measured


def ppo_loss(
    config: PPOConfig,
    inputs: Inputs,
    log_probs: torch.Tensor,
    values: torch.Tensor,
    batch: Batch,
) -> tuple[torch.Tensor, dict[str, float]]:
    """The clipped surrogate objective (Schulman et al. 2017, equation 9) as a loss.

    Args:
        config: its coefficients.
        inputs: N states with L legal decisions.
        log_probs: [L] the network's log-probabilities.
        values: [N] the network's values.
        batch: what was decided and how it turned out.

    Returns:
        the loss, and what ``Learner.learn`` reports of one minibatch.
    """
    decided = torch.from_numpy(find_decisions(inputs, batch.actions))
    advantages = torch.from_numpy(batch.advantages)
    log_ratio = log_probs.index_select(0, decided) - torch.from_numpy(batch.log_probs)
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - config.clip_coef, 1 + config.clip_coef)
    policy_loss = -torch.min(ratio * advantages, clipped * advantages).mean()
    value_loss = 0.5 * (values - torch.from_numpy(batch.returns)).square().mean()
    entropy = entropy_share(inputs, log_probs).mean()
    loss = policy_loss + config.vf_coef * value_loss - config.ent_coef * entropy
    with torch.no_grad():
        outside = (ratio - 1).abs() > config.clip_coef
        measured = {
            "policy_loss": float(policy_loss),
            "value_loss": float(value_loss),
            "entropy": float(entropy),
            "approx_kl": float((ratio - 1 - log_ratio).mean()),
            "clip_fraction": float(outside.float().mean()),
        }
    return loss, measured


def find_decisions(inputs: Inputs, actions: NDArray[np.int32]) -> NDArray[np.int64]:
    """Where in ``inputs.decisions`` the action of each game stands, [N] int64."""
    listed = inputs.game.numpy() * NUM_ACTIONS + inputs.decisions.numpy()
    return np.searchsorted(listed, np.arange(len(actions)) * NUM_ACTIONS + actions)


def entropy_share(inputs: Inputs, log_probs: torch.Tensor) -> torch.Tensor:
    """[N] each game's entropy as a share of that of the uniform policy; 0 where nothing is
    to be chosen.
    """
    terms = -(log_probs.exp() * log_probs)
    entropy = terms.new_zeros(len(inputs.planes)).index_add(0, inputs.game, terms)
    legal = torch.from_numpy(np.diff(inputs.starts)).to(entropy.dtype)
    return entropy / legal.clamp(min=2).log()
