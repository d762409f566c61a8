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
5. After an epoch whose last eight minibatches, or all if it has fewer, have passed the target of
   the approximate KL divergence on average (Schulman, "Approximating KL divergence", 2020, k3), a
   role makes no further one (detail 12 measures it; to stop by it is none of the 37).
6. Adam's epsilon is 1e-5 (detail 3), gradients are scaled down to a norm (detail 11), and the
   learning rate falls linearly (detail 4), to a tenth rather than to nothing.
7. With several processes (``ranks.py``) a minibatch is spread over them: every mean is that over
   the whole of it, and so is the normalisation of advantages.
8. A battle that ``max_turns`` cuts short is worth nothing beyond its rewards; it is usual to add
   the value of its last state. How near the limit is, is in the observation (Pardo et al. 2018,
   "time-aware" agents).
"""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agents.networks.inputs import Inputs
from agents.networks.network import Judgement, PolicyNetwork
from training.config import PPOConfig, SelfPlayConfig
from training.learner.batches import Batch
from training.process.clock import ENVIRONMENT, LEARN, Clock
from training.process.precision import Precision
from training.process.ranks import Ranks
from training.process.roles import Roles
from training.process.state import State, restore_learning, state_of_learning

MEASURED = (
    "policy_loss",
    "value_loss",
    "entropy",
    "effective_moves",
    "approx_kl",
    "clip_fraction",
)
"""What ``ppo_loss`` reports of a minibatch."""


class Learner:
    """Improves a network from batches of its role's decisions.

    Args:
        network: trained in place.
        config: the learner's settings.
        precision: the arithmetic of the network.
        random: shuffles the decisions.
        clock: adds up the time by part.
        ranks: the processes that learn together.
    """

    def __init__(
        self,
        network: PolicyNetwork,
        config: PPOConfig,
        precision: Precision,
        random: np.random.Generator,
        clock: Clock,
        ranks: Ranks,
    ) -> None:
        self._network = network
        self._config = config
        self._precision = precision
        self._random = random
        self._clock = clock
        self._ranks = ranks
        self._parameters = list(network.parameters())
        self._optimiser = torch.optim.Adam(
            self._parameters,
            config.learning_rate,
            eps=1e-5,
            fused=precision.device == "cuda" or None,  # one kernel; a processor has its own way
        )

    def learn(self, batch: Batch, progress: float) -> dict[str, float]:
        """Several epochs of minibatches.

        Args:
            batch: the role's decisions of one rollout.
            progress: how much of the run is done, 0 .. 1: the learning rate falls from its
                start to a tenth.

        Returns:
            means over the minibatches: see ``ppo_loss``; ``explained_variance``, the share of the
            returns' variance that the values predicted; and the ``learning_rate``. Nothing if no
            process has any decisions.
        """
        config = self._config
        learning_rate = config.learning_rate * (1 - 0.9 * progress)
        for group in self._optimiser.param_groups:
            group["lr"] = learning_rate
        decisions, mean, variance = self._moments(batch.advantages)
        if not decisions:
            return {}
        unpredicted = variance / (self._moments(batch.returns)[2] + 1e-8)
        advantages = (batch.advantages.astype(np.float64) - mean) / (math.sqrt(variance) + 1e-8)
        batch = dataclasses.replace(batch, advantages=advantages.astype(np.float32))
        if self._precision.has_kernels:
            with self._clock.on(ENVIRONMENT):
                batch = batch.to(self._precision.device)
        minibatches = math.ceil(decisions / config.minibatch_size)
        parts = _parts(len(batch.actions), minibatches)
        sizes = np.array([part.stop - part.start for part in parts])
        shares = (sizes / self._ranks.total(sizes)).tolist()
        steps: list[list[float]] = []
        for _ in range(config.update_epochs):
            shuffled = batch[self._random.permutation(len(batch.actions))]
            epoch = [
                self._step(shuffled[part], share) for part, share in zip(parts, shares, strict=True)
            ]
            steps += torch.stack(epoch).tolist()  # a GPU is waited for once an epoch
            recent = steps[-min(8, minibatches) :]
            if np.mean([step[MEASURED.index("approx_kl")] for step in recent]) > config.target_kl:
                break
        columns = zip(MEASURED, zip(*steps, strict=True), strict=True)
        means = {name: float(np.mean(column)) for name, column in columns}
        return {**means, "explained_variance": 1 - unpredicted, "learning_rate": learning_rate}

    def _moments(self, values: NDArray[np.float32]) -> tuple[int, float, float]:
        """The number, mean and variance of values of all processes; zeros if there are none."""
        exact = values.astype(np.float64)
        count, total = self._ranks.total(np.array([len(exact), exact.sum()])).tolist()
        if not count:
            return 0, 0.0, 0.0
        mean = total / count
        return int(count), mean, float(self._ranks.total(np.square(exact - mean).sum())[0]) / count

    def _step(self, minibatch: Batch, share: float) -> Tensor:
        """One gradient step; returns what ``_backward`` does, of all processes."""
        self._optimiser.zero_grad(set_to_none=True)
        measured = self._backward(minibatch, share)
        with self._clock.on(LEARN):
            measured = self._gather(measured)
            torch.nn.utils.clip_grad_norm_(self._parameters, self._config.max_grad_norm)
            self._optimiser.step()
        return measured

    def _backward(self, batch: Batch, share: float) -> Tensor:
        """Add ``share`` times the gradient of the loss; returns the metrics, [6] float64 in the
        order of ``MEASURED``, times ``share``.
        """
        if len(batch.actions) == 0:
            return torch.zeros(len(MEASURED), dtype=torch.float64, device=self._precision.device)
        with self._clock.on(ENVIRONMENT):
            inputs = self._precision.inputs(self._network, batch.rows)
        with self._clock.on(LEARN):
            with self._precision.autocast():
                judged = self._network(inputs)
            loss, measured = ppo_loss(self._config, inputs, judged, batch)
            (loss * share).backward()  # type: ignore[no-untyped-call]
        return measured.double() * share

    def _gather(self, measured: Tensor) -> Tensor:
        """Sum gradients and measurements over all processes, in one go. A parameter without a
        gradient in any of them is left without, so that Adam leaves it alone.
        """
        if self._ranks.size == 1:
            return measured
        gradients = [
            torch.zeros_like(one) if one.grad is None else one.grad for one in self._parameters
        ]
        has_one = torch.tensor([float(one.grad is not None) for one in self._parameters])
        beside = (has_one.to(measured.device), measured.float())
        flat = torch.cat([*(gradient.flatten() for gradient in gradients), *beside])
        self._ranks.add_up(flat)
        sizes = [*(gradient.numel() for gradient in gradients), *map(len, beside)]
        *parts, counts, values = torch.split(flat, sizes)
        for parameter, part, count in zip(self._parameters, parts, counts.tolist(), strict=True):
            parameter.grad = part.view(parameter.shape).clone() if count else None
        return values

    def state(self) -> State:
        """The state that the next step depends on."""
        return state_of_learning(self._network, {"optimiser": self._optimiser}, self._random)

    def restore(self, state: State) -> None:
        """Go on from a state."""
        restore_learning(state, self._network, {"optimiser": self._optimiser}, self._random)


def ppo_loss(
    config: PPOConfig,
    inputs: Inputs,
    judged: Judgement,
    batch: Batch,
) -> tuple[Tensor, Tensor]:
    """The clipped surrogate objective (Schulman et al. 2017, equation 9) as a loss.

    Args:
        config: its coefficients.
        inputs: N states with L legal decisions.
        judged: the network's output for them.
        batch: the decisions, with advantages and returns.

    Returns:
        the loss, and the means that ``MEASURED`` names, [6] float32: ``entropy`` is a share of the
        uniform policy's, ``effective_moves`` the exponential of the entropy itself.
    """
    log_probs = judged.log_probs
    tensor = partial(torch.as_tensor, device=log_probs.device)
    decided = inputs.places_of(tensor(batch.actions))
    advantages, returns = tensor(batch.advantages), tensor(batch.returns)
    drawn_with = tensor(batch.log_probs)
    log_ratio = log_probs.index_select(0, decided) - drawn_with
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - config.clip_coef, 1 + config.clip_coef)
    policy_loss = -torch.min(ratio * advantages, clipped * advantages).mean()
    value_loss = 0.5 * (judged.values - returns).square().mean()
    entropies = judged.entropies
    entropy = inputs.entropy_shares(entropies).mean()
    loss = policy_loss + config.vf_coef * value_loss - config.ent_coef * entropy
    with torch.no_grad():
        approx_kl = (ratio - 1 - log_ratio).mean()
        clip_fraction = ((ratio - 1).abs() > config.clip_coef).float().mean()
        moves = entropies.exp().mean()
        means = (policy_loss, value_loss, entropy, moves, approx_kl, clip_fraction)
        return loss, torch.stack(means)


def _parts(count: int, number: int) -> list[slice]:
    """So many decisions in parts, as ``np.array_split`` makes them."""
    size, larger = divmod(count, number)
    ends = [size * part + min(part, larger) for part in range(number + 1)]
    return [slice(*pair) for pair in pairwise(ends)]


def ppo_learners(config: SelfPlayConfig, roles: Roles, ranks: Ranks) -> tuple[Learner, Learner]:
    """The dwarfs' and the trolls'."""
    dwarfs, trolls = (
        Learner(
            network,
            config.ppo,
            roles.precision,
            np.random.default_rng(seed),
            roles.clock,
            ranks.channel(),
        )
        for network, seed in zip(
            roles.networks, (config.streams.dwarfs, config.streams.trolls), strict=True
        )
    )
    return dwarfs, trolls
