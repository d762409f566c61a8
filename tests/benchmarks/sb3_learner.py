"""MaskablePPO of sb3-contrib as ``learners.py`` compares it: our trunk, its own heads and loop.

With its defaults, 16 environments are made by its own ``make_vec_env``. Tuned, it gets everything
that makes it faster here without a change of its code: as many environments as our learner has
battles (64 and 128 were slower), no checking wrappers, channels last in memory, and distributions
that torch does not validate.
"""

from __future__ import annotations

import functools
from typing import Any

import gymnasium
import numpy as np
import sb3_contrib
import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import Tensor, nn

from agents.networks.config import NetworkConfig
from agents.networks.network import Network
from thud_env.envs.opponents import RandomDecisions
from training.config import TrainConfig

ENVIRONMENTS = 16
"""With its defaults."""
SIDE = "trolls"
"""Who learns: random dwarfs answer in one decision a turn, random trolls in more than one."""


class PooledTrunk(BaseFeaturesExtractor):
    """The stem and trunk of our network, and the means and maxima that its heads read."""

    def __init__(
        self, space: gymnasium.Space[Any], config: NetworkConfig, channels_last: bool
    ) -> None:
        network = Network(config)
        super().__init__(space, features_dim=network.words.in_features)
        self.channels_last = channels_last
        del network.queries, network.keys, network.bias, network.words, network.value  # the heads
        self.network = network

    def forward(self, planes: Tensor) -> Tensor:
        """[N, C, 15, 15] to [N, features_dim]."""
        if self.channels_last:
            planes = planes.contiguous(memory_format=torch.channels_last)
        return self.network.features(planes)[1]


class CountingOpponent(RandomDecisions):
    """Random play that counts its decisions; one for all environments."""

    def __init__(self) -> None:
        super().__init__()
        self.plies = 0

    def act_rows(self, rows: NDArray[np.int16]) -> NDArray[np.integer[Any]]:
        self.plies += len(rows)
        return super().act_rows(rows)


class Sb3Learner:
    """MaskablePPO with the sizes and settings of a configuration of ours."""

    def __init__(self, config: TrainConfig, *, tuned: bool) -> None:
        how = "tuned" if tuned else "as it comes"
        self.name = f"MaskablePPO of sb3-contrib {sb3_contrib.__version__}, {how}, float32"
        self.tuned = tuned
        self.opponent = CountingOpponent()
        task = {"rules": config.rules, "side": SIDE, "opponent": self.opponent}
        if tuned:
            make = functools.partial(
                gymnasium.make, "thud/Thud-v0", disable_env_checker=True, **task
            )
            environments = DummyVecEnv([make] * config.num_games)
        else:
            environments = make_vec_env(
                "thud/Thud-v0", min(ENVIRONMENTS, config.num_games), config.seed, env_kwargs=task
            )
        ppo, network = config.ppo, config.network
        self.model = MaskablePPO(
            "MlpPolicy",
            environments,
            n_steps=config.num_games * config.rollout_decisions // environments.num_envs,
            batch_size=ppo.minibatch_size,
            n_epochs=ppo.update_epochs,
            learning_rate=ppo.learning_rate,
            gamma=ppo.gamma,
            gae_lambda=ppo.gae_lambda,
            clip_range=ppo.clip_coef,
            ent_coef=ppo.ent_coef,
            vf_coef=ppo.vf_coef,
            max_grad_norm=ppo.max_grad_norm,
            target_kl=None,  # every epoch is learnt in full
            policy_kwargs={
                "features_extractor_class": PooledTrunk,
                "features_extractor_kwargs": {"config": network, "channels_last": tuned},
                # A Linear to the actions, and the value's hidden layer that ours has.
                "net_arch": {"pi": [], "vf": [2 * network.channels]},
                "activation_fn": nn.ReLU,
                "ortho_init": False,  # the trunk stays as our network makes it
            },
            seed=config.seed,
            device="cpu",
        )
        if tuned:
            self.model.policy.to(memory_format=torch.channels_last)

    def update(self) -> tuple[int, int]:
        """One rollout and what is learnt from it: the learner's decisions, and all that were
        played.
        """
        torch.distributions.Distribution.set_default_validate_args(not self.tuned)
        model, size = self.model, self.model.n_steps * self.model.n_envs
        before, answered = model.num_timesteps, self.opponent.plies
        model.learn(size, log_interval=None, reset_num_timesteps=False)
        learnt = model.num_timesteps - before
        return learnt, learnt + self.opponent.plies - answered

    def close(self) -> None:
        """Close the environments."""
        self.model.get_env().close()
