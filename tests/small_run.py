"""A training run of seconds that has all that a run has."""

from agents.networks.config import NetworkConfig
from training.config import OpponentConfig, PPOConfig, TrainConfig

SMALL_RUN = TrainConfig(
    name="small",
    total_decisions=1500,
    num_games=8,
    rollout_decisions=32,
    checkpoint_every=2,
    anchor_games=2,
    evaluation_games=0,
    max_turns=12,
    precision="float32",
    network=NetworkConfig(channels=4, blocks=1, key_size=2),
    opponents=OpponentConfig(frozen=0.5, snapshots=4, redraw_every=1),
    ppo=PPOConfig(minibatch_size=64),
)
