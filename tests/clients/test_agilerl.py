"""AgileRL: its own way to make vector environments, and its masked DQN."""

from __future__ import annotations

import pytest

pytest.importorskip("agilerl", reason="AgileRL has a virtual environment of its own")

import torch
from agilerl.algorithms.dqn import DQN
from agilerl.components.data import Transition
from agilerl.components.replay_buffer import ReplayBuffer
from agilerl.utils.utils import make_vect_envs

NUM_ENVS = 2


@pytest.mark.parametrize("apart", [True, False], ids=["in processes", "in one process"])
def test_masked_dqn_learns_from_its_vector_environment(apart: bool) -> None:
    torch.manual_seed(1)
    # Processes that are spawned, not forked, find the environment by its module.
    env = make_vect_envs("thud_env:thud/Thud-v0", NUM_ENVS, should_async_vector=apart, max_turns=12)
    agent = DQN(
        env.single_observation_space,
        env.single_action_space,
        net_config={
            "encoder_config": {"channel_size": [4], "kernel_size": [3], "stride_size": [2]},
            "head_config": {"hidden_size": [16]},
        },
        batch_size=8,
    )
    before = [weights.clone() for weights in agent.actor.parameters()]
    memory = ReplayBuffer(max_size=200)
    observation, info = env.reset(seed=1)
    battles = 0
    for _ in range(30):
        mask = info["action_mask"]
        action = agent.get_action(observation, epsilon=0.5, action_mask=mask)
        following, reward, terminated, truncated, info = env.step(action)
        transition = Transition(
            obs=observation,
            action=action,
            reward=reward,
            next_obs=following,
            done=terminated,
            batch_size=[NUM_ENVS],
        )
        memory.add(transition.to_tensordict())
        battles += int((terminated | truncated).sum())
        observation = following
        if len(memory) >= agent.batch_size:
            agent.learn(memory.sample(agent.batch_size))
    env.close()
    assert battles >= 2
    after = agent.actor.parameters()
    assert any(not torch.equal(old, new) for old, new in zip(before, after, strict=True))
