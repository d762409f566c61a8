"""TorchRL: environments by id, rollouts, collectors, wrappers."""

from __future__ import annotations

import numpy as np
import pytest

import thud_env

pytest.importorskip("torchrl", reason="TorchRL has a virtual environment of its own")

import gymnasium
from tensordict import TensorDict
from torchrl.collectors import Collector
from torchrl.envs import GymEnv, GymWrapper, PettingZooWrapper
from torchrl.envs.gym_like import default_info_dict_reader
from torchrl.envs.transforms import ActionMask, TransformedEnv
from torchrl.envs.utils import check_env_specs


def masked(env: GymEnv) -> TransformedEnv:
    """TorchRL's own way to draw legal actions: its transform reads the mask."""
    return TransformedEnv(env, ActionMask())


def make_env() -> TransformedEnv:
    return masked(
        GymEnv(
            "thud/Thud-v0",
            observation="dict",
            max_turns=10,
            categorical_action_encoding=True,
        )
    )


def test_an_environment_by_its_id() -> None:
    env = GymEnv("thud/Thud-v0", illegal_action="lose")
    check_env_specs(env)
    data = env.rollout(5)
    assert data["observation"].shape[1:] == env.observation_spec["observation"].shape


def test_rollouts_by_the_mask_end_as_battles_do() -> None:
    env = make_env()
    env.set_seed(1)
    data = env.rollout(1000)
    last = data[-1]["next"]
    assert last["done"].item()
    assert last["truncated"].item()
    legal = data["action_mask"].gather(-1, data["action"].unsqueeze(-1))
    assert legal.all()


def test_the_mask_may_come_from_the_infos() -> None:
    env = GymEnv("thud/Thud-v0", max_turns=10, categorical_action_encoding=True)
    env.set_info_dict_reader(default_info_dict_reader(["action_mask"]))
    data = masked(env).rollout(1000)
    assert data[-1]["next", "truncated"].item()
    assert data["action_mask"].gather(-1, data["action"].unsqueeze(-1)).all()


def test_a_collector_goes_on_from_battle_to_battle() -> None:
    collector = Collector(make_env, None, frames_per_batch=64, total_frames=128)
    batches = list(collector)
    collector.shutdown()
    assert [batch.numel() for batch in batches] == [64, 64]
    assert sum(int(batch["next", "done"].sum()) for batch in batches) >= 4


def test_a_vector_environment_is_one_batched_environment() -> None:
    envs = gymnasium.make_vec(
        "thud/Thud-v0", num_envs=4, observation="dict", autoreset_mode="Disabled", max_turns=10
    )
    env = masked(GymWrapper(envs, categorical_action_encoding=True))
    data = env.rollout(40, break_when_any_done=False)
    assert data.shape == (4, 40)
    assert data["next", "done"].sum() >= 4


def test_both_sides_through_pettingzoo() -> None:
    env = PettingZooWrapper(thud_env.env(max_turns=10), use_mask=True, categorical_actions=True)
    data = env.rollout(100)
    assert data[-1]["next", "done"].item()
    rewards = sum(data["next", group, "reward"].sum().item() for group in env.group_map)
    assert rewards == pytest.approx(0)


def test_a_collector_on_pettingzoo() -> None:
    def make() -> PettingZooWrapper:
        return PettingZooWrapper(thud_env.env(max_turns=10, illegal_action="lose"), use_mask=True)

    collector = Collector(make, None, frames_per_batch=32, total_frames=64)
    batches: list[TensorDict] = list(collector)
    collector.shutdown()
    assert [batch.numel() for batch in batches] == [32, 32]


def test_a_policy_that_ignores_the_mask_loses_and_goes_on() -> None:
    env = GymEnv("thud/Thud-v0", illegal_action="lose", categorical_action_encoding=True)
    data = env.rollout(20, break_when_any_done=False)
    assert data.numel() == 20
    assert np.isfinite(data["next", "reward"].numpy()).all()
    assert data["next", "terminated"].any()
