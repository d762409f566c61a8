"""Proximal policy optimisation of one role's network, or of two that share a trunk.

What differs from the usual (Schulman et al. 2017; details as numbered by Huang et al., "The
37 implementation details of PPO", 2022):

1. Probabilities range over the legal decisions only, by construction: nothing is masked
   afterwards, and an illegal decision has no gradient.
2. Advantages are normalised over all of a role's decisions in a rollout (detail 7, which
   does it a minibatch): the two roles are paid on different scales.
3. The entropy bonus is a share of the entropy of the uniform policy over what is legal, so
   that 500 legal decisions and 3 are held open alike.
4. The value loss is not clipped (detail 9 found no gain in it).
5. After an epoch in whose last minibatches the approximate KL divergence (Schulman, "Approximating
   KL divergence", 2020, k3) has passed its target, a role makes no further one (detail 12).
6. Adam's epsilon is 1e-5 (detail 3), gradients are scaled down to a norm (detail 11), and the
   learning rate falls linearly (detail 4), to a tenth rather than to nothing.
7. With a shared trunk, a gradient step is made on a minibatch of each role at once, and the
   gradient is clipped as a whole.
8. Heads that predict the result and the surviving pieces may be learnt beside (``targets.py``), as
   in Wu, "Accelerating self-play learning in Go" (2019), sections 3.4 and 4.1.
9. The policy may be drawn towards a running average of itself, by the KL divergence from it: a
   magnet that moves, against going in circles (Sokota et al., "A unified approach to reinforcement
   learning, quantal response equilibria, and two-player zero-sum games", 2023, section 4).
10. With several processes (``ranks.py``) a minibatch is spread over them: every mean is that over
   the whole of it, and so is the normalisation of advantages. Only the losses of item 8 are means
   over what each process knows, weighted by its share of the minibatch.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from agents.networks.network import Network
from training.config import PPOConfig, TrainConfig
from training.learner.batches import Batch
from training.learner.losses import MEASURED, ppo_loss
from training.process.clock import ENVIRONMENT, LEARN, Clock
from training.process.precision import Precision
from training.process.ranks import Ranks
from training.process.roles import Roles
from training.process.state import (
    State,
    restore_generator,
    restore_network,
    restore_optimiser,
    state_of_generator,
    state_of_network,
    state_of_optimiser,
)


class Learner:
    """Improves networks from batches of their roles' decisions, by one optimiser.

    Args:
        networks: by side, trained in place: one, or two that share a trunk.
        config: the learner's settings.
        precision: the arithmetic of the networks.
        random: shuffles the decisions.
        clock: told what the time goes into.
        ranks: the processes that learn together.
    """

    def __init__(
        self,
        networks: Mapping[int, Network],
        config: PPOConfig,
        precision: Precision,
        random: np.random.Generator,
        clock: Clock | None = None,
        ranks: Ranks | None = None,
    ) -> None:
        self._networks = nn.ModuleList(networks.values())
        self._of_side = dict(networks)
        copies = copy.deepcopy(self._networks) if config.average_coef else nn.ModuleList()
        self._averages: dict[int, Any] = dict(zip(self._of_side, copies, strict=False))
        self._average_modules = copies
        self._clock = clock or Clock()
        self._config = config
        self._precision = precision
        self._random = random
        self._ranks = ranks or Ranks()
        self._parameters = list(self._networks.parameters())  # a shared trunk's only once
        self._optimiser = torch.optim.Adam(self._parameters, config.learning_rate, eps=1e-5)

    def learn(self, batches: Mapping[int, Batch], progress: float) -> dict[int, dict[str, float]]:
        """Several epochs of minibatches.

        Args:
            batches: by side, a role's decisions of one rollout.
            progress: how much of the run is done, 0 .. 1: the learning rate falls from its
                start to a tenth.

        Returns:
            by side, means over the minibatches: see ``ppo_loss``; and the ``learning_rate``.
        """
        config = self._config
        learning_rate = config.learning_rate * (1 - 0.9 * progress)
        for group in self._optimiser.param_groups:
            group["lr"] = learning_rate
        parts = {}
        for side in self._of_side:
            batch = self._normalised(batches.get(side, Batch.empty()))
            decisions = int(self._ranks.total(len(batch.actions))[0])
            if decisions:
                parts[side] = (batch, math.ceil(decisions / config.minibatch_size))
        seen: dict[int, list[dict[str, float]]] = {side: [] for side in parts}
        learning = list(parts)
        for _ in range(config.update_epochs):
            if not learning:
                break
            self._epoch({side: parts[side] for side in learning}, seen)
            learning = [side for side in learning if _recent_kl(seen[side]) <= config.target_kl]
        return {
            side: {
                **{key: float(np.mean([step[key] for step in steps])) for key in steps[0]},
                "learning_rate": learning_rate,
            }
            for side, steps in seen.items()
        }

    def _normalised(self, batch: Batch) -> Batch:
        """Advantages of mean 0 and deviation 1, over all processes."""
        advantages = batch.advantages.astype(np.float64)
        count, total = self._ranks.total(np.array([len(advantages), advantages.sum()]))
        if count == 0:
            return batch
        centred = advantages - total / count
        deviation = math.sqrt(float(self._ranks.total(np.square(centred).sum())[0]) / count)
        scaled = (centred / (deviation + 1e-8)).astype(np.float32)
        return dataclasses.replace(batch, advantages=scaled)

    def _epoch(
        self, parts: dict[int, tuple[Batch, int]], seen: dict[int, list[dict[str, float]]]
    ) -> None:
        """Every decision once, each role's in as many minibatches as it has; where two roles
        learn together, the fewer minibatches are spread over the more.
        """
        most = max(steps for _, steps in parts.values())
        portions = {}
        for side, (batch, steps) in parts.items():
            order = self._random.permutation(len(batch.actions))
            portions[side] = np.array_split(order, steps)
        for step in range(most):
            minibatches = {}
            for side, (batch, steps) in parts.items():
                number = step * steps // most
                if step == 0 or number != (step - 1) * steps // most:
                    minibatches[side] = batch[portions[side][number]]
            for side, measured in self._step(minibatches).items():
                seen[side].append(measured)

    def _step(self, minibatches: dict[int, Batch]) -> dict[int, dict[str, float]]:
        """One gradient step on a minibatch of each role."""
        self._optimiser.zero_grad(set_to_none=True)
        sizes = np.array([len(minibatch.actions) for minibatch in minibatches.values()])
        shares = sizes / self._ranks.total(sizes)
        measured = {}
        for (side, minibatch), share in zip(minibatches.items(), shares.tolist(), strict=True):
            measured[side] = self._backward(side, minibatch, share)
        with self._clock.on(LEARN):
            gathered = self._gather(measured)
            torch.nn.utils.clip_grad_norm_(self._parameters, self._config.max_grad_norm)
            self._optimiser.step()
            self._follow()
        return gathered

    def _backward(self, side: int, batch: Batch, share: float) -> dict[str, float]:
        """Add ``share`` times the gradient of the loss; what was measured, times ``share``."""
        if len(batch.actions) == 0:
            return dict.fromkeys(MEASURED, 0.0)
        with self._clock.on(ENVIRONMENT):
            inputs = self._of_side[side].inputs(batch.rows).to(self._precision.device)
        with self._clock.on(LEARN):
            given = (inputs.planes, inputs.decisions, inputs.game)
            with self._precision.autocast():
                judged = self._of_side[side].judge(*given)
                average = None
                if self._averages:
                    with torch.no_grad():
                        average = self._averages[side].judge(*given).log_probs
            loss, measured = ppo_loss(self._config, inputs, judged, batch, average)
            (loss * share).backward()  # type: ignore[no-untyped-call]
        return {name: value * share for name, value in measured.items()}

    def _gather(self, measured: dict[int, dict[str, float]]) -> dict[int, dict[str, float]]:
        """Sum gradients and measurements over all processes, in one go. A parameter without a
        gradient in any of them is left without, so that Adam leaves it alone.
        """
        if self._ranks.size == 1:
            return measured
        gradients = [
            torch.zeros_like(one) if one.grad is None else one.grad for one in self._parameters
        ]
        has_one = torch.tensor([float(one.grad is not None) for one in self._parameters])
        values = torch.tensor([list(one.values()) for one in measured.values()]).flatten()
        beside = torch.cat([has_one, values]).to(gradients[0].device)
        flat = torch.cat([*(gradient.flatten() for gradient in gradients), beside])
        self._ranks.add_up(flat)
        sizes = [*(gradient.numel() for gradient in gradients), len(has_one), len(values)]
        *parts, counts, values = torch.split(flat, sizes)
        for parameter, part, count in zip(self._parameters, parts, counts.tolist(), strict=True):
            parameter.grad = part.view(parameter.shape).clone() if count else None
        rows = values.view(len(measured), -1).tolist()
        return {
            side: dict(zip(MEASURED, row, strict=True))
            for side, row in zip(measured, rows, strict=True)
        }

    def _follow(self) -> None:
        """Move the averaged copies a little towards the policies."""
        if not self._averages:
            return
        with torch.no_grad():
            for average, parameter in zip(
                self._average_modules.parameters(), self._networks.parameters(), strict=True
            ):
                average.lerp_(parameter, 1 - self._config.average_decay)

    def state(self) -> State:
        """All that the next step depends on."""
        parts = {
            "networks": state_of_network(self._networks),
            "optimiser": state_of_optimiser(self._optimiser),
            "random": State(values=state_of_generator(self._random)),
        }
        parts["averages"] = state_of_network(self._average_modules)
        return State.of_parts(parts)

    def restore(self, state: State) -> None:
        """Go on from a state."""
        restore_network(self._networks, state.part("networks"))
        restore_optimiser(self._optimiser, state.part("optimiser"))
        restore_generator(self._random, state.part("random").values)
        restore_network(self._average_modules, state.part("averages"))


def ppo_learners(config: TrainConfig, roles: Roles, ranks: Ranks | None = None) -> list[Learner]:
    """One for each role, or one for both where they share their trunk."""
    of_side = dict(enumerate(roles.networks))
    if config.network.trunk == "shared":
        groups = [of_side]
    else:
        groups = [{side: network} for side, network in of_side.items()]
    seeds = (config.streams.dwarfs, config.streams.trolls)
    return [
        Learner(
            networks,
            config.ppo,
            roles.precision,
            np.random.default_rng(seed),
            roles.clock,
            (ranks or Ranks()).channel(),
        )
        for networks, seed in zip(groups, seeds, strict=False)
    ]


def _recent_kl(steps: list[dict[str, float]]) -> float:
    return float(np.mean([step["approx_kl"] for step in steps[-8:]]))
