"""Gymnasium's own wrappers around one seat, and around many."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers
from gymnasium.wrappers import vector

import thud_env  # noqa: F401 # registers the environments

ENVIRONMENTS = ("thud/Thud-v0", "thud/KoomValley-v0", "thud/ThudMatch-v0")


def play(env: Any, battles: int = 2) -> list[dict[str, Any]]:
    """Battles of random legal actions; the infos of all steps."""
    rng = np.random.default_rng(1)
    infos, ended = [], 0
    _, info = env.reset(seed=1)
    while ended < battles and len(infos) < 10_000:
        action = int(rng.choice(np.flatnonzero(np.asarray(info["action_mask"]))))
        _, _, terminated, truncated, info = env.step(env.action_space.dtype.type(action))
        infos.append(info)
        if terminated or truncated:
            ended += 1
            _, info = env.reset()
    assert ended == battles
    return infos


def play_many(envs: Any, steps: int = 60) -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    infos = []
    _, info = envs.reset(seed=1)
    for _ in range(steps):
        masks = np.asarray(info["action_mask"])
        actions = [rng.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in masks]
        _, _, _, _, info = envs.step(np.array(actions))
        infos.append(info)
    return infos


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_episode_statistics(name: str) -> None:
    env = wrappers.RecordEpisodeStatistics(gymnasium.make(name, max_turns=20))
    infos = play(env)
    finished = [info["episode"] for info in infos if "episode" in info]
    assert len(finished) == 2
    assert all(episode["l"] > 0 for episode in finished)


@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.parametrize("observation", ["planes", "dict"])
def test_numpy_to_torch(name: str, observation: str) -> None:
    pytest.importorskip("array_api_compat", reason="Gymnasium's extra array-api")
    torch = pytest.importorskip("torch")
    env = wrappers.NumpyToTorch(gymnasium.make(name, max_turns=20, observation=observation))
    seen, info = env.reset(seed=1)
    planes = seen["observation"] if observation == "dict" else seen
    assert isinstance(planes, torch.Tensor)
    over = False
    while not over:
        action = torch.nonzero(info["action_mask"])[0, 0]
        _, reward, terminated, truncated, info = env.step(action)
        over = terminated or truncated
    assert isinstance(reward, float)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_array_conversion(name: str) -> None:
    pytest.importorskip("array_api_compat", reason="Gymnasium's extra array-api")
    torch = pytest.importorskip("torch")
    env = wrappers.ArrayConversion(gymnasium.make(name, max_turns=20), np, torch)
    seen, info = env.reset(seed=1)
    over = False
    while not over:
        assert isinstance(seen, torch.Tensor)
        action = torch.nonzero(info["action_mask"])[0, 0]
        seen, _, terminated, truncated, info = env.step(action)
        over = terminated or truncated


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_vector_numpy_to_torch(name: str) -> None:
    pytest.importorskip("array_api_compat", reason="Gymnasium's extra array-api")
    torch = pytest.importorskip("torch")
    envs = vector.NumpyToTorch(gymnasium.make_vec(name, num_envs=3, max_turns=8))
    _, infos = envs.reset(seed=1)
    for _ in range(30):
        actions = infos["action_mask"].to(torch.float32).argmax(1)
        planes, rewards, *_, infos = envs.step(actions)
    assert isinstance(planes, torch.Tensor)
    assert rewards.shape == (3,)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_vector_wrappers(name: str) -> None:
    envs = gymnasium.make_vec(name, num_envs=3, max_turns=8)
    counted = vector.RecordEpisodeStatistics(envs)
    infos = play_many(vector.NormalizeReward(vector.ClipReward(counted, -1, 1)))
    assert counted.episode_count >= 3
    assert any("episode" in info for info in infos)


def test_the_vector_forms_of_single_wrappers() -> None:
    envs = gymnasium.make_vec("thud/Thud-v0", num_envs=3, max_turns=8)
    wrapped = vector.DictInfoToList(vector.DtypeObservation(envs, np.float64))
    observations, infos = wrapped.reset(seed=1)
    assert observations.dtype == np.float64
    assert [sorted(info) for info in infos] == [sorted(infos[0])] * 3


@pytest.mark.parametrize("kind", [gymnasium.vector.SyncVectorEnv, gymnasium.vector.AsyncVectorEnv])
def test_gymnasiums_own_vector_environments(kind: Any) -> None:
    # Processes that are spawned, not forked, find the environment by its module.
    envs = kind([lambda: gymnasium.make("thud_env:thud/Thud-v0", max_turns=8)] * 2)
    infos = play_many(envs, steps=20)
    assert any(info["termination"].any() for info in infos), "a battle has ended"
    envs.close()


@pytest.mark.parametrize(
    "wrapper",
    [
        wrappers.FlattenObservation,
        lambda env: wrappers.RescaleObservation(env, np.float32(-1), np.float32(1)),
        lambda env: wrappers.DtypeObservation(env, np.float64),
        lambda env: wrappers.TimeLimit(env, 5),
        lambda env: wrappers.FrameStackObservation(env, 2),
        lambda env: wrappers.NormalizeReward(env),
        wrappers.Autoreset,
    ],
    ids=["flatten", "rescale", "dtype", "time limit", "stack", "normalize reward", "autoreset"],
)
def test_other_wrappers(wrapper: Any) -> None:
    env = wrapper(gymnasium.make("thud/Thud-v0", max_turns=20))
    observation, info = env.reset(seed=1)
    assert observation in env.observation_space
    for _ in range(30):
        action = int(info["action_mask"].argmax())
        observation, _, terminated, truncated, info = env.step(action)
        assert observation in env.observation_space
        if (terminated or truncated) and not isinstance(env, wrappers.Autoreset):
            _, info = env.reset()
