"""The network of one role: a residual trunk, a policy over legal decisions, a value.

It scores the legal decisions only (``legal_policy.py``), which costs a hundredth of an output for
each of the 6,470. N is the number of games, L that of the legal decisions of all of them together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from agents.networks.afterstates import NUM_AFTERSTATE_FEATURES
from agents.networks.config import NetworkConfig
from agents.networks.inputs import Inputs, planes_read
from agents.networks.legal_policy import NUM_BIASES, NUM_SQUARELESS, legal_policy
from agents.networks.on_device import inputs_on_device
from thud_env.board import SIZE
from thud_env.rulesets import MOST_POINTS, Ruleset

AFTERSTATE_UNITS = 16
"""Hidden units between the features of an afterstate and its score."""
GRAIN = 256
"""A GPU is given multiples of so many states: for every number that it has not met, cuDNN plans its
convolutions anew."""


class Judgement(NamedTuple):
    """The outputs of a network for N states with L legal decisions."""

    log_probs: Tensor
    """[L] float32, of the legal decisions."""
    entropies: Tensor
    """[N] float32, of the policy in each state, in nats."""
    values: Tensor
    """[N] float32: what the role expects to be paid until the end, 1 being ``margin_of_one``."""


def margin_of_one(rules: Ruleset) -> float:
    """The margin at the end that a reward or value of 1 means, whatever the largest may be."""
    return float(MOST_POINTS) if rules.reward == "margin" else 1.0


class PolicyNetwork(nn.Module):
    """The policy and value of one role, of any architecture. Subclasses implement ``forward``, and
    ``inputs`` if they read more of a row than the usual planes.

    Args:
        config: its size.
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config

    def inputs(self, rows: NDArray[np.int16] | Tensor) -> Inputs:
        """The inputs of this network for [N, 432] state rows of battles that are not over; those of
        a tensor are on its device.
        """
        if isinstance(rows, Tensor):
            return inputs_on_device(rows, *self._read)
        return Inputs.of_rows(rows, *self._read)

    @property
    def _read(self) -> tuple[bool, bool, bool]:
        """What is read beside the observation."""
        config = self.config
        return config.attack_planes, config.threat_planes, config.afterstates

    def written_out(self) -> PolicyNetwork:
        """Return this network, or one that judges the same, faster, and is not to be trained."""
        return self

    def compile_trunk(self) -> None:
        """Let ``torch.compile`` have what takes the most time, if the architecture has such a part;
        for any number of states.
        """

    def forward(self, inputs: Inputs) -> Judgement:
        """Score the legal decisions and value the states of ``inputs``."""
        raise NotImplementedError


class Block(nn.Module):
    """Pre-activation residual block (He et al. 2016), without normalisation: the second
    convolution starts at zero, so that the block starts as the identity (Zhang et al. 2019).
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        nn.init.zeros_(self.second.weight)
        nn.init.zeros_(self.second.bias)  # type: ignore[arg-type]

    def forward(self, features: Tensor) -> Tensor:
        """[N, channels, 15, 15] to the same shape."""
        inner = functional.relu(self.first(functional.relu(features)), inplace=True)
        return self.second(inner).add_(features)


class AfterstateScores(nn.Module):
    """What decisions score by the features of their afterstates, in the light of the state that
    they are made in. It starts at zero.

    Args:
        pooled: numbers that a state is known by.
    """

    def __init__(self, pooled: int) -> None:
        super().__init__()
        self.features = nn.Linear(NUM_AFTERSTATE_FEATURES, AFTERSTATE_UNITS)
        self.state = nn.Linear(pooled, AFTERSTATE_UNITS)
        self.scores = nn.Linear(AFTERSTATE_UNITS, 1, bias=False)
        nn.init.zeros_(self.scores.weight)

    def forward(self, features: Tensor, states: Tensor) -> Tensor:
        """[...] float32, from [..., 8] features and what ``state`` makes of the numbers of their
        states, [..., 16].
        """
        units = functional.relu(self.features(features.to(states.dtype)) + states)
        return self.scores(units).squeeze(-1).float()


class Network(PolicyNetwork):
    """A residual trunk, a policy over the legal decisions, a value.

    Args:
        config: its size.
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__(config)
        self.num_planes = len(planes_read(config.attack_planes, config.threat_planes))
        channels, keys = config.channels, config.key_size
        self.stem = nn.Conv2d(self.num_planes, channels, 3, padding=1)
        self.trunk = nn.Sequential(*(Block(channels) for _ in range(config.blocks)))
        self.queries = nn.Conv2d(channels, keys, 1)
        self.keys = nn.Conv2d(channels, keys, 1)
        self.bias = nn.Parameter(torch.zeros(NUM_BIASES))
        pooled = 2 * channels
        if config.pool_layer:
            self.pool = nn.Linear(channels, 2 * channels)
            pooled = 4 * channels
        self.words = nn.Linear(pooled, NUM_SQUARELESS)
        self.afterstates = AfterstateScores(pooled) if config.afterstates else None
        self.value = nn.Sequential(
            nn.Linear(pooled, 2 * channels), nn.ReLU(), nn.Linear(2 * channels, 1)
        )

    def compile_trunk(self) -> None:
        """See ``PolicyNetwork``."""
        self.trunk.compile(dynamic=True)

    def forward(self, inputs: Inputs) -> Judgement:
        """See ``PolicyNetwork``."""
        planes = inputs.planes
        filled = _filled_up(planes, GRAIN if planes.is_cuda else 1)
        points, pooled = (found[: len(planes)] for found in self.features(filled))
        added = None
        if self.afterstates is not None:
            states = self.afterstates.state(pooled).index_select(0, inputs.game)
            added = self.afterstates(inputs.afterstates, states)
        log_probs, entropies = legal_policy(
            self.queries_and_keys(points),
            self.bias,
            self.words(pooled),
            inputs.decisions,
            inputs.game,
            added,
        )
        return Judgement(log_probs, entropies, self.value(pooled).squeeze(1).float())

    def features(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """The inputs of the heads: the trunk's planes by point, [N, 225, channels], and the means
        and maxima of these or of the pool layer's, [N, 2 * channels] or [N, 4 * channels].
        """
        features = functional.relu(self.trunk(self.stem(planes)))
        # A view, not a copy, if channels are last in memory; pooling is faster there, too.
        points = features.permute(0, 2, 3, 1).flatten(1, 2)
        pooled = functional.relu(self.pool(points)) if self.config.pool_layer else points
        return points, torch.cat((_means(pooled), _maxima(pooled)), dim=1)

    def queries_and_keys(self, points: Tensor) -> Tensor:
        """[N, 225, 2 * key_size] both 1 x 1 convolutions, computed as one."""
        weight = torch.cat((self.queries.weight, self.keys.weight)).flatten(1)
        bias = torch.cat((self.queries.bias, self.keys.bias))  # type: ignore[arg-type]
        return functional.linear(points, weight, bias)


def _filled_up(planes: Tensor, grain: int) -> Tensor:
    """Planes with empty states added, up to a multiple of ``grain``."""
    missing = -len(planes) % grain
    return functional.pad(planes, (0, 0, 0, 0, 0, 0, 0, missing)) if missing else planes


def _means(points: Tensor) -> Tensor:
    """[N, channels] the means over the points [N, 225, channels]. In bfloat16 ``mean`` takes 15
    times as long on a processor.
    """
    return points.sum(1) / points.shape[1]


def _maxima(points: Tensor) -> Tensor:
    """[N, channels] the maxima over the points [N, 225, channels]. ``max`` takes four times as long
    on a processor.
    """
    planes = points.reshape(-1, SIZE, SIZE, points.shape[2]).permute(0, 3, 1, 2)
    return functional.max_pool2d(planes, SIZE).flatten(1)
