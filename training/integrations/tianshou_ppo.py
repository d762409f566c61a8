"""PPO of Tianshou, on dictionary observations that carry the mask to the actor.

Tianshou applies no masks in policy gradients, so the actor below rules out illegal actions itself.
"""

from __future__ import annotations

import argparse
import math
import sys
from importlib.metadata import version
from typing import Any

import gymnasium
import torch
from tianshou.algorithm import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Batch, Collector, CollectStats, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OnPolicyTrainerParams
from tianshou.utils.net.common import AbstractDiscreteActor
from torch import Tensor, nn

from thud_env.actions import NUM_ACTIONS
from thud_env.views.encoding import OBSERVATION_SHAPE
from training.integrations.before_after import TASK, command, mean_margin, show

NUM_ENVS = 16
BATCH = 2048
"""Decisions between two updates."""


def hidden_layer(width: int) -> nn.Sequential:
    """A layer from planes to features."""
    inputs = math.prod(OBSERVATION_SHAPE)
    return nn.Sequential(nn.Flatten(), nn.Linear(inputs, width), nn.ReLU())


def distribution(logits: Tensor) -> torch.distributions.Categorical:
    """The distribution, unchecked: the checks take longer than the rest."""
    return torch.distributions.Categorical(logits=logits, validate_args=False)


class Actor(AbstractDiscreteActor):
    """Logits [N, 6470], with the illegal actions ruled out."""

    def __init__(self, num_actions: int, width: int = 64) -> None:
        super().__init__(num_actions)
        self.body = hidden_layer(width)
        self.head = nn.Linear(width, num_actions)
        nn.init.orthogonal_(self.head.weight, 0.01)

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> tuple[Tensor, Any]:
        """Compute logits; ``obs`` is a Batch with the keys of the environment's dictionary."""
        logits = self.head(self.body(torch.as_tensor(obs.observation)))
        return logits.masked_fill(torch.as_tensor(obs.action_mask) == 0, -1e9), state

    def get_preprocess_net(self) -> Any:
        """Required by the base class."""
        return self.body


class Critic(nn.Module):
    """Values [N, 1]."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.layers = nn.Sequential(hidden_layer(width), nn.Linear(width, 1))

    def forward(self, obs: Any, **_: Any) -> Tensor:
        """Compute values; ``obs`` is the actor's."""
        return self.layers(torch.as_tensor(obs.observation))


def run(args: argparse.Namespace) -> None:
    """Train for about a minute and print the table."""
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)  # faster for so small a network

    def make_env() -> gymnasium.Env[Any, Any]:
        return gymnasium.make("thud/Thud-v0", observation="dict", **TASK)

    envs = DummyVectorEnv([make_env] * NUM_ENVS)
    envs.seed(args.seed)
    actor = Actor(NUM_ACTIONS)
    policy = DiscreteActorPolicy(
        actor=actor, dist_fn=distribution, action_space=gymnasium.spaces.Discrete(NUM_ACTIONS)
    )
    algorithm = PPO(
        policy=policy,
        critic=Critic(),
        optim=AdamOptimizerFactory(lr=2e-3),
        gamma=0.95,
        gae_lambda=0.9,
        ent_coef=0.01,
        max_grad_norm=0.5,
    )

    def choose(observations: Any, masks: Any) -> Any:
        batch = Batch(obs=Batch(observation=observations, action_mask=masks), info=Batch())
        with torch.no_grad():
            return policy(batch).act

    before = mean_margin(choose, args.battles, args.seed)
    collector = Collector[CollectStats](algorithm, envs, VectorReplayBuffer(BATCH, NUM_ENVS))
    algorithm.run_training(
        OnPolicyTrainerParams(
            training_collector=collector,
            max_epochs=1,
            epoch_num_steps=args.steps,
            collection_step_num_env_steps=BATCH,
            update_step_num_repetitions=2,
            batch_size=256,
        )
    )
    after = mean_margin(choose, args.battles, args.seed)
    show(f"PPO of Tianshou {version('tianshou')}", before, after)


if __name__ == "__main__":
    sys.exit(command("tianshou_ppo", __doc__, steps=24_576).run(run))
