"""Opponents for battles of self-play."""

import numpy as np

from training.config import OpponentConfig, TrainConfig
from training.process.precision import Precision
from training.selfplay.opponents import Opponents


def mirror_play(games: int) -> Opponents:
    """None at all."""
    return _opponents(games, OpponentConfig())


def against(player: str, games: int) -> Opponents:
    """One player in every battle, in each seat of one half."""
    return _opponents(games, OpponentConfig(scripted=1.0, players=(player,)))


def _opponents(games: int, met: OpponentConfig) -> Opponents:
    config = TrainConfig(opponents=met)
    return Opponents(config, games, np.random.SeedSequence(1), Precision(bfloat16=False))
