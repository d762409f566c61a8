"""Faults planted in a run: each check passes without its fault and fails with it.

Such faults do not crash; they make a run learn less, which is easy to overlook.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agents.networks.config import NetworkConfig
from agents.networks.inputs import Inputs
from thud_env import IllegalMove
from thud_env.actions import NUM_ACTIONS
from training.config import OpponentConfig, PPOConfig, TrainConfig
from training.learner import batches
from training.learner.advantage import gae
from training.learner.batches import batches_of
from training.process.precision import Precision
from training.selfplay import host_play, opponents
from training.selfplay.rollout import MIRROR, Rollout
from training.trainer import Trainer, self_play_trainer

CONFIG = TrainConfig(
    total_decisions=4000,
    num_games=10,
    rollout_decisions=40,
    max_turns=12,
    precision="float32",
    symmetric_frames=True,
    network=NetworkConfig(channels=4, blocks=1, key_size=2),
    # Nothing moves: what is learnt from must then have the chances it was played with.
    ppo=PPOConfig(minibatch_size=64, update_epochs=1, learning_rate=0.0),
    opponents=OpponentConfig(frozen=0.4, scripted=0.2, snapshots=10, redraw_every=1),
)


# -- the checks ----------------------------------------------------------------------------


def no_advantage_where_all_goes_as_expected(made: Trainer, played: Rollout) -> None:
    """Without rewards and with the same values everywhere, c for one side and -c for the other."""
    for_mover = np.where(played.movers == 0, 0.3, -0.3).astype(np.float32)
    last = np.where(played.last_movers == 0, 0.3, -0.3).astype(np.float32)
    quiet = dataclasses.replace(
        played,
        rewards=np.zeros_like(played.rewards),
        values=for_mover,
        last_values=last,
        ended=np.zeros_like(played.ended),
        opponent_sides=np.full_like(played.opponent_sides, MIRROR),
    )
    for batch in batches_of(quiet, CONFIG):
        np.testing.assert_allclose(batch.advantages, 0, atol=1e-6)


def no_battle_is_paid_for_another(made: Trainer, played: Rollout) -> None:
    """What is paid after a battle's end changes nothing before it: the first end of mirror play."""
    ends = played.ended[:-1] & (played.opponent_sides == MIRROR)
    t, game = (int(found[0]) for found in np.nonzero(ends))
    richer = played.rewards.copy()
    richer[t + 1 :, game] += 1
    changed = dataclasses.replace(played, rewards=richer)
    own, other = (learnt_from(made, one) for one in (played, changed))
    assert own[t + 1 :, game].tolist() != other[t + 1 :, game].tolist()
    np.testing.assert_array_equal(own[: t + 1, game], other[: t + 1, game])


def learnt_from(made: Trainer, played: Rollout) -> np.ndarray:
    """[T, B] the advantages, by the state and battle that they are learnt in; NaN elsewhere."""
    marked = played.rows.copy()
    marked[..., -1] = np.arange(played.rewards.shape[1])  # unused fields of a row
    marked[..., -2] = np.arange(played.rewards.shape[0])[:, None]
    found = np.full(played.rewards.shape, np.nan)
    for batch in batches_of(dataclasses.replace(played, rows=marked), CONFIG):
        found[batch.rows[:, -2], batch.rows[:, -1]] = batch.advantages
    return found


def what_is_learnt_from_has_the_chances_it_was_played_with(made: Trainer, played: Rollout) -> None:
    learnt = batches_of(played, CONFIG)
    assert (made.play.battles.frames > 0).any()
    for side, learner in enumerate(made.learners):
        measured = learner.learn(learnt[side], 0.0)
        assert measured["approx_kl"] < 1e-5
        assert measured["clip_fraction"] == 0


def frozen_opponents_are_met_and_scored(made: Trainer, played: Rollout) -> None:
    league = made.play.battles.opponents
    assert set(league.state()["names"]) - {"", *CONFIG.opponents.players}, "no snapshot is met"
    scores = [score for pool in league.pools for score in pool.scores.values()]
    assert any(score != 0.5 for score in scores), "no snapshot is scored"


def opponents_decisions_are_not_learnt_from(made: Trainer, played: Rollout) -> None:
    found = learnt_from(made, played)
    assert np.isnan(found[played.movers == played.opponent_sides]).all()
    mirror = np.broadcast_to(played.opponent_sides == MIRROR, found.shape)
    assert not np.isnan(found[mirror]).any()


# -- the faults ----------------------------------------------------------------------------


def same_sign(played: Rollout, *settings: float) -> Any:
    """The opponent's value is taken for the mover's own."""
    movers, last_movers = np.zeros_like(played.movers), np.zeros_like(played.last_movers)
    return gae(dataclasses.replace(played, movers=movers, last_movers=last_movers), *settings)


def beyond_the_end(played: Rollout, *settings: float) -> Any:
    """The end of a battle is overlooked: the next one's advantage runs into it."""
    return gae(dataclasses.replace(played, ended=np.zeros_like(played.ended)), *settings)


def all_known(played: Rollout, *settings: float) -> Any:
    """Opponents' decisions count as learners' own."""
    advantages, known = gae(played, *settings)
    return advantages, np.ones_like(known)


def all_decisions(_network: Any, rows: np.ndarray) -> Inputs:
    """Every decision counts as legal."""
    inputs, count = Inputs.of_rows(rows), len(rows)
    return Inputs(
        inputs.planes,
        torch.arange(NUM_ACTIONS).repeat(count),
        torch.arange(count).repeat_interleave(NUM_ACTIONS),
        torch.full((count,), NUM_ACTIONS),
        torch.empty(count * NUM_ACTIONS, 0),
    )


def always(value: Any) -> Callable[..., Any]:
    return lambda *_arguments, **_named: value


Check = Callable[[Trainer, Rollout], None]

CHECKS: list[Check] = [
    no_advantage_where_all_goes_as_expected,
    no_battle_is_paid_for_another,
    what_is_learnt_from_has_the_chances_it_was_played_with,
    frozen_opponents_are_met_and_scored,
    opponents_decisions_are_not_learnt_from,
]

IN_LEARNING: dict[str, tuple[Check, Any, str, Any]] = {
    "wrong sign for the opponent's value": (
        no_advantage_where_all_goes_as_expected,
        batches,
        "gae",
        same_sign,
    ),
    "advantage leaks across games": (
        no_battle_is_paid_for_another,
        batches,
        "gae",
        beyond_the_end,
    ),
    "mask not applied in the loss": (
        what_is_learnt_from_has_the_chances_it_was_played_with,
        Precision,
        "inputs",
        lambda _precision, network, rows: all_decisions(network, rows),
    ),
    "opponents' decisions learnt from": (
        opponents_decisions_are_not_learnt_from,
        batches,
        "gae",
        all_known,
    ),
}
"""Of what is done with a rollout: by name, what catches it, and what is planted where."""

IN_THE_POOL: dict[str, tuple[Any, str]] = {
    "never sampled": (opponents.Opponents, "redraw"),
    "met but never scored": (opponents.Pool, "record"),
}
"""What is left out."""

IN_FRAMES: dict[str, Any] = {
    "wrong symmetry of the policy": host_play.into_frames,
    "policy not turned back at all": lambda _frames, actions: actions,
}
"""In place of what maps decisions back."""


@contextlib.contextmanager
def trained(folder: Path) -> Iterator[tuple[Trainer, Rollout]]:
    """A short run, and the rollout after it."""
    made = self_play_trainer(CONFIG, folder)
    try:
        for _ in range(4):
            made.update()
        played = made.play.collect(CONFIG.rollout_decisions)
        assert played.ended.any()
        assert (played.movers == played.opponent_sides).any()
        yield made, played
    finally:
        made.roles.close()


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Iterator[tuple[Trainer, Rollout]]:
    with trained(tmp_path_factory.mktemp("sound")) as found:
        yield found


@pytest.mark.parametrize("check", CHECKS)
def test_a_sound_run_passes(check: Check, sound: tuple[Trainer, Rollout]) -> None:
    check(*sound)


@pytest.mark.parametrize("fault", IN_LEARNING)
def test_a_fault_in_learning_is_caught(fault: str, sound, monkeypatch) -> None:
    check, where, name, planted = IN_LEARNING[fault]
    monkeypatch.setattr(where, name, planted)
    with pytest.raises(AssertionError):
        check(*sound)


@pytest.mark.parametrize("fault", IN_THE_POOL)
def test_a_fault_in_the_pool_is_caught(fault: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(*IN_THE_POOL[fault], always(None))
    with trained(tmp_path) as found, pytest.raises(AssertionError, match="no snapshot is"):
        frozen_opponents_are_met_and_scored(*found)


@pytest.mark.parametrize("fault", IN_FRAMES)
def test_a_decision_in_the_wrong_frame_is_refused(fault: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(host_play, "out_of_frames", IN_FRAMES[fault])
    with pytest.raises(IllegalMove), trained(tmp_path):
        pass
