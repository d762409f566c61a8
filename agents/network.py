"""The network of one role: a residual trunk, a policy over legal decisions, a value.

Scoring the legal decisions only costs a hundredth of an output for each of the 6,470. A
move's score is the inner product of a query of its from-square and a key of its to-square
(as in the attention policy of Leela Chess Zero), plus a learned bias for its direction and
distance. N is the number of games, L the number of legal decisions of all of them together.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from thud_env.actions import (
    CAPTURE,
    CAPTURE_ALL,
    MOVE_DIRECTION,
    MOVE_DISTANCE,
    MOVE_FROM,
    MOVE_TO,
    NUM_ACTIONS,
)
from thud_env.board import CELL_OF_SQUARE, SIZE, STRIDE
from thud_env.encoding import NUM_PLANES

NUM_POINTS = SIZE * SIZE
_CAPTURE_BIAS = 8 * (SIZE - 1)
_WORD_BIAS = _CAPTURE_BIAS + 1
NUM_BIASES = _WORD_BIAS + NUM_ACTIONS - CAPTURE_ALL
NUM_WORDS = NUM_ACTIONS - CAPTURE_ALL
"""Decisions that concern no square: capture all, done, and the three of agreement."""


@dataclasses.dataclass(frozen=True)
class NetworkConfig:
    """The size of a network."""

    channels: int = 32
    """Feature planes of the trunk."""
    blocks: int = 3
    """Residual blocks of two 3 x 3 convolutions."""
    key_size: int = 16
    """Length of the queries and keys that score moves."""


def _points(cells: np.ndarray) -> np.ndarray:
    """Points of the 15 x 15 grid, row * 15 + col, of cells of a state row."""
    return (cells // STRIDE - 1) * SIZE + cells % STRIDE


def _decision_tables() -> tuple[Tensor, Tensor, Tensor]:
    """For each action: from-point, to-point, and which bias it shares."""
    start, end, bias = (np.zeros(NUM_ACTIONS, dtype=np.int64) for _ in range(3))
    start[:CAPTURE], end[:CAPTURE] = _points(MOVE_FROM), _points(MOVE_TO)
    bias[:CAPTURE] = MOVE_DIRECTION.astype(np.int64) * (SIZE - 1) + MOVE_DISTANCE - 1
    start[CAPTURE:CAPTURE_ALL] = end[CAPTURE:CAPTURE_ALL] = _points(CELL_OF_SQUARE)
    bias[CAPTURE:CAPTURE_ALL] = _CAPTURE_BIAS
    bias[CAPTURE_ALL:] = _WORD_BIAS + np.arange(NUM_WORDS)
    return torch.from_numpy(start), torch.from_numpy(end), torch.from_numpy(bias)


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
        return features + self.second(functional.relu(self.first(functional.relu(features))))


class Network(nn.Module):
    """Policy and value of one role."""

    start_point: Tensor
    end_point: Tensor
    bias_index: Tensor

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        channels, keys = config.channels, config.key_size
        self.stem = nn.Conv2d(NUM_PLANES, channels, 3, padding=1)
        self.trunk = nn.Sequential(*(Block(channels) for _ in range(config.blocks)))
        self.queries = nn.Conv2d(channels, keys, 1)
        self.keys = nn.Conv2d(channels, keys, 1)
        self.bias = nn.Parameter(torch.zeros(NUM_BIASES))
        self.words = nn.Linear(2 * channels, NUM_WORDS)
        self.value = nn.Sequential(
            nn.Linear(2 * channels, 2 * channels), nn.ReLU(), nn.Linear(2 * channels, 1)
        )
        for name, table in zip(
            ("start_point", "end_point", "bias_index"), _decision_tables(), strict=True
        ):
            self.register_buffer(name, table, persistent=False)

    def forward(self, planes: Tensor, decisions: Tensor, game: Tensor) -> tuple[Tensor, Tensor]:
        """Score the legal decisions and value the states.

        Args:
            planes: [N, C, 15, 15] float32 observations.
            decisions: [L] int64, the legal decisions of all games.
            game: [L] int64, ascending, the game of each.

        Returns:
            log-probabilities [L] float32 of each game's decisions, and values [N] float32:
            what the role expects to be paid from here to the end, 1 being a margin of 32.
        """
        features = functional.relu(self.trunk(self.stem(planes)))
        pooled = torch.cat((features.mean((2, 3)), features.amax((2, 3))), dim=1)
        scores = self._scores(features, pooled, decisions, game)
        log_probs = log_softmax_by_game(scores.float(), game, len(planes))
        return log_probs, self.value(pooled).squeeze(1).float()

    def _scores(self, features: Tensor, pooled: Tensor, decisions: Tensor, game: Tensor) -> Tensor:
        queries = (
            self.queries(features).flatten(2).transpose(1, 2).reshape(-1, self.config.key_size)
        )
        keys = self.keys(features).flatten(2).transpose(1, 2).reshape(-1, self.config.key_size)
        origin = game * NUM_POINTS
        match = queries.index_select(0, origin + self.start_point[decisions]) * keys.index_select(
            0, origin + self.end_point[decisions]
        )
        on_squares = match.sum(1) / math.sqrt(self.config.key_size)
        word = (decisions - CAPTURE_ALL).clamp(min=0)
        off_squares = self.words(pooled).flatten().index_select(0, game * NUM_WORDS + word)
        score = torch.where(decisions < CAPTURE_ALL, on_squares, off_squares)
        return score + self.bias.index_select(0, self.bias_index[decisions])


def log_softmax_by_game(scores: Tensor, game: Tensor, num_games: int) -> Tensor:
    """Log-softmax of [L] scores within each game's stretch of them."""
    highest = scores.new_full((num_games,), -torch.inf).scatter_reduce(
        0, game, scores.detach(), "amax"
    )
    shifted = scores - highest.index_select(0, game)
    total = scores.new_zeros(num_games).index_add(0, game, shifted.exp())
    return shifted - total.log().index_select(0, game)
