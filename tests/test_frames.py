"""Battles seen turned and mirrored: rows, decisions, and what a rollout keeps of them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from opposed import against, mirror_play

from agents.networks.config import NetworkConfig
from agents.networks.network import Network
from thud_env import BatchedGame, Position
from thud_env.symmetry import map_action, map_position, map_rows, symmetries_of
from training.process.roles import Roles
from training.selfplay.battles import OngoingBattles
from training.selfplay.frames import into_frames, out_of_frames
from training.selfplay.host_play import HostCollector


@pytest.mark.parametrize("rules", ["classic", "koom-valley"])
def test_rows_and_actions_are_mapped_as_positions_are(rules: str) -> None:
    games = BatchedGame(32, rules, observations=False, masks=None, seed=2)
    random = np.random.default_rng(1)
    for _ in range(40):
        frames = random.choice(symmetries_of(rules), 32)
        actions = games.sample_actions().astype(np.int32)
        mapped = map_rows(frames, games.rows)
        for game, frame in enumerate(frames.tolist()):
            wanted = map_position(frame, games.position(game))
            np.testing.assert_array_equal(mapped[game], wanted.row)
            assert into_frames(frames, actions)[game] == map_action(frame, int(actions[game]))
        np.testing.assert_array_equal(out_of_frames(frames, into_frames(frames, actions)), actions)
        games.step(actions)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as workers:
        yield workers


@pytest.mark.parametrize("opponents", ["none", "greedy"])
def test_a_rollout_keeps_battles_as_their_frames_show_them(
    opponents: str, pool: ThreadPoolExecutor
) -> None:
    torch.manual_seed(1)
    config = NetworkConfig(channels=4, blocks=1, key_size=2)
    games = BatchedGame(8, "classic", observations=False, masks=None, max_turns=12)
    met = mirror_play(8) if opponents == "none" else against("greedy", 8)
    battles = OngoingBattles(games, met, np.random.default_rng(1), symmetric_frames=True)
    play = HostCollector(battles, Roles((Network(config), Network(config)), threads=pool))
    first = battles.frames.copy()
    rollout = play.collect(40)
    assert len(set(first.tolist())) > 2
    assert (first != battles.frames).any(), "a new battle has a new frame"
    for t in range(39):
        for game in range(8):
            after = Position(rollout.rows[t, game]).apply(int(rollout.actions[t, game]))
            assert rollout.ended[t, game] == (after.outcome is not None)
            if after.outcome is None:
                assert Position(rollout.rows[t + 1, game]) == after
    finals = {row.tobytes() for row in rollout.final_rows}
    for t, game in zip(*np.nonzero(rollout.ended), strict=True):
        last = Position(rollout.rows[t, game]).apply(int(rollout.actions[t, game]))
        assert last.row.tobytes() in finals
