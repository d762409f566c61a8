"""A network that judges a position and its mirror images alike, by its weights.

Classic Thud is the same game after turning and mirroring the board. A residual network has to learn
each pattern in all eight images; here it learns one, as its weights are tied (Cohen and Welling,
"Group equivariant convolutional networks", 2016). The features of a point are fields of one channel
for each symmetry. A symmetry of the board permutes points, the channels of each field, and the
directions of moves. A layer commutes with it if its weights are the same wherever the permutations
lead from one to another. So an eighth of the weights are free, and the outputs of a mirrored
position are those of the position, mirrored.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cache
from operator import attrgetter
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils import parametrize

from agents.networks.config import GROUPS, NetworkConfig, SymmetricConfig
from agents.networks.legal_policy import NUM_BIASES, NUM_SQUARELESS, TABLES
from agents.networks.network import AFTERSTATE_UNITS, Network
from thud_env.actions import ACTION_SYMMETRY
from thud_env.board import SIZE, SYMMETRIES


class SymmetricNetwork(Network):
    """A residual network whose weights are tied.

    Args:
        config: its size.
    """

    def __init__(self, config: SymmetricConfig) -> None:
        super().__init__(config)
        group = GROUPS[config.symmetries]
        channels, twice, keys, pooled = (
            _channel_images(group, size)
            for size in (
                config.channels,
                2 * config.channels,
                config.key_size,
                self.words.in_features,
            )
        )
        planes, words, one = (
            _left_alone(group, size) for size in (self.num_planes, NUM_SQUARELESS, 1)
        )
        cells = _cell_images(group)
        _tie([self.stem], channels, planes, cells)
        if config.blocks:
            inner = [layer for block in self.trunk for layer in (block.first, block.second)]
            _tie(inner, channels, channels, cells)
        _tie([self.queries, self.keys], keys, channels, one)
        parametrize.register_parametrization(self, "bias", _Tied(_bias_images(group)))
        if config.pool_layer:
            _tie([self.pool], twice, channels)
        _tie([self.words], words, pooled)
        if self.afterstates is not None:
            _tie([self.afterstates.state], _left_alone(group, AFTERSTATE_UNITS), pooled)
        _tie([self.value[0]], twice, pooled)
        _tie([self.value[2]], one, twice)

    def written_out(self) -> Network:
        """See ``PolicyNetwork``."""
        sizes = {
            one.name: getattr(self.config, one.name) for one in dataclasses.fields(NetworkConfig)
        }
        plain = Network(NetworkConfig(**{**sizes, "kind": NetworkConfig.kind}))
        weights = {name: attrgetter(name)(self).detach() for name in plain.state_dict()}
        plain.load_state_dict(weights)
        return plain.eval()


class _Tied(nn.Module):
    """Weights that are the same along each orbit of a group.

    Args:
        images: [S, ...] where each symmetry takes each weight, as a number in the flat tensor.
    """

    first: Tensor
    orbit: Tensor

    def __init__(self, images: NDArray[np.int64]) -> None:
        super().__init__()
        smallest = images.min(axis=0).ravel()  # of each weight's orbit
        first = np.flatnonzero(smallest == np.arange(smallest.size))
        orbit = np.searchsorted(first, smallest)
        whole = images.shape[2:]
        # As a layer with fewer outputs, where it is one: Muon asks for whole convolutions.
        self._free = (-1, *whole) if len(first) % max(1, int(np.prod(whole))) == 0 else (-1,)
        self.register_buffer("first", torch.from_numpy(first), persistent=False)
        self.register_buffer(
            "orbit", torch.from_numpy(orbit.reshape(images.shape[1:])), persistent=False
        )

    def forward(self, free: Tensor) -> Tensor:
        """All weights, from those that are free, channels last as the network's features are."""
        weights = free.reshape(-1)[self.orbit]
        return (
            weights.contiguous(memory_format=torch.channels_last) if weights.ndim == 4 else weights
        )

    def right_inverse(self, weights: Tensor) -> Tensor:
        """The free weights: of each orbit, the first."""
        return weights.reshape(-1)[self.first].reshape(self._free)


def _tie(layers: Sequence[Any], *images: NDArray[np.int64]) -> None:
    """Tie the weights of layers of one shape so that each commutes with a group.

    Args:
        layers: convolutions or linear layers.
        images: [S, n] where each symmetry takes each output, each input and, of a convolution, each
            cell of its kernel.
    """
    number, shape = len(images[0]), layers[0].weight.shape
    together = np.zeros((number, 1), dtype=np.int64)
    for one in images:
        together = (together[:, :, None] * one.shape[1] + one[:, None, :]).reshape(number, -1)
    weights, biases = _Tied(together.reshape(number, *shape)), _Tied(images[0])
    for layer in layers:
        parametrize.register_parametrization(layer, "weight", weights)
        parametrize.register_parametrization(layer, "bias", biases)


def _left_alone(group: tuple[int, ...], size: int) -> NDArray[np.int64]:
    """[S, size] numbers that no symmetry changes."""
    return np.tile(np.arange(size), (len(group), 1))


def _point_images(group: tuple[int, ...], size: int) -> NDArray[np.int64]:
    """[S, size * size] where each symmetry takes each point of a square about the centre."""
    edge = (SIZE - size) // 2
    images = (SYMMETRIES[number][1] for number in group)
    taken = [
        [image(edge + row, edge + col) for row in range(size) for col in range(size)]
        for image in images
    ]
    return (np.array(taken) - edge) @ np.array([size, 1])


@cache
def _cell_images(group: tuple[int, ...]) -> NDArray[np.int64]:
    """[S, 9] where each symmetry takes each cell of a kernel."""
    return _point_images(group, 3)


@cache
def _channel_images(group: tuple[int, ...], size: int) -> NDArray[np.int64]:
    """[S, size] where each symmetry takes each channel: in each field, channel h to that of the
    symmetry that is h and then this one.
    """
    points = _point_images(group, SIZE)
    numbers = {one.tobytes(): number for number, one in enumerate(points)}
    after = np.array([[numbers[this[first].tobytes()] for first in points] for this in points])
    fields = np.arange(0, size, len(group))
    return (fields[:, None] + after[:, None, :]).reshape(len(group), size)


@cache
def _bias_images(group: tuple[int, ...]) -> NDArray[np.int64]:
    """[S, 118] where each symmetry takes each direction and distance of moves."""
    images = _left_alone(group, NUM_BIASES)
    for row, number in zip(images, group, strict=True):
        row[TABLES[2]] = TABLES[2, ACTION_SYMMETRY[number]]
    return images
