"""Tianshou's way to play PettingZoo's board games, with our environment in tic-tac-toe's place.

One agent learns by masked double DQN, the other plays at random, and both meet in a collector.
"""

from __future__ import annotations

from typing import Any

import pytest

import thud_env

pytest.importorskip("tianshou", reason="Tianshou has a virtual environment of its own")

import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.algorithm.random import (
    MARLRandomDiscreteMaskedOffPolicyAlgorithm as RandomPlay,
)
from tianshou.data import Collector, CollectStats, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net


def get_env() -> PettingZooEnv:
    return PettingZooEnv(thud_env.env(max_turns=12))


def get_agents(env: PettingZooEnv) -> MultiAgentOffPolicyAlgorithm:
    net = Net(
        state_shape=env.observation_space["observation"].shape,
        action_shape=env.action_space.n,
        hidden_sizes=[32],
    )
    policy = DiscreteQLearningPolicy(model=net, action_space=env.action_space, eps_training=0.1)
    learner: Any = DQN(
        policy=policy, optim=AdamOptimizerFactory(lr=1e-3), target_update_freq=20, is_double=True
    )
    return MultiAgentOffPolicyAlgorithm(algorithms=[RandomPlay(env.action_space), learner], env=env)


def test_the_tutorials_training_loop() -> None:
    torch.manual_seed(1)
    env = get_env()
    algorithm = get_agents(env)
    learner = algorithm.get_algorithm(env.agents[1])
    before = [weights.clone() for weights in learner.policy.model.parameters()]
    training_envs = DummyVectorEnv([get_env for _ in range(4)])
    test_envs = DummyVectorEnv([get_env for _ in range(2)])
    training_collector = Collector[CollectStats](
        algorithm, training_envs, VectorReplayBuffer(400, 4), exploration_noise=True
    )
    test_collector = Collector[CollectStats](algorithm, test_envs, exploration_noise=True)
    training_collector.reset()
    training_collector.collect(n_step=64)
    algorithm.run_training(
        OffPolicyTrainerParams(
            training_collector=training_collector,
            test_collector=test_collector,
            max_epochs=1,
            epoch_num_steps=64,
            collection_step_num_env_steps=32,
            test_step_num_episodes=2,
            batch_size=16,
            update_step_num_gradient_steps_per_sample=0.1,
            multi_agent_return_reduction=lambda rewards: rewards[:, 1],
            show_progress=False,
            verbose=False,
        )
    )
    after = learner.policy.model.parameters()
    assert any(not torch.equal(old, new) for old, new in zip(before, after, strict=True))


def test_a_whole_episode_is_watched() -> None:
    env = get_env()
    collector = Collector[CollectStats](get_agents(env), DummyVectorEnv([get_env]))
    result = collector.collect(n_episode=1, reset_before_collect=True)
    assert result.n_collected_episodes == 1
    assert result.lens[0] >= 12
