"""Advantages against a brute-force sum of n-step returns, all from the dwarfs' view."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from thud_env import BatchedGame
from training.learner.advantage import gae
from training.selfplay.rollout import MIRROR

Sequence = dict[str, np.ndarray]
ENDED = pytest.mark.parametrize("end_rate", [0.0, 0.15, 1.0])


def random_sequence(seed: int, steps: int, games: int, end_rate: float = 0.15) -> Sequence:
    """Sides that act once, twice or three times in a row; battles that end now and then."""
    rng = np.random.default_rng(seed)
    passes = rng.random((steps + 1, games)) < 0.7
    movers = (np.cumsum(passes, axis=0) % 2).astype(np.int8)
    return {
        "rewards": rng.normal(size=(steps, games)).astype(np.float32),
        "values": rng.normal(size=(steps, games)).astype(np.float32),
        "movers": movers[:-1],
        "ended": rng.random((steps, games)) < end_rate,
        "last_values": rng.normal(size=games).astype(np.float32),
        "last_movers": movers[-1],
    }


def mixed(n_step: list[float], lam: float) -> float:
    """(1 - lambda) times the sum of lambda^(n-1) times the n-step advantage, the last of
    which has the rest of the weight (Schulman et al. 2016, equations 11 to 16).
    """
    advantage = lam ** (len(n_step) - 1) * n_step[-1]
    for n, one in enumerate(n_step[:-1], start=1):
        advantage += (1 - lam) * lam ** (n - 1) * one
    return advantage


def brute_force(played: Sequence, gamma: float, lam: float) -> np.ndarray:
    """The mover's advantage in each state."""
    steps, games = played["rewards"].shape
    out = np.zeros((steps, games))
    for game in range(games):
        movers = [*played["movers"][:, game].tolist(), int(played["last_movers"][game])]
        own = [*played["values"][:, game].tolist(), float(played["last_values"][game])]
        for_dwarfs = [
            value if mover == 0 else -value for value, mover in zip(own, movers, strict=True)
        ]
        for t in range(steps):
            n_step: list[float] = []
            total = 0.0
            for n in range(1, steps - t + 1):
                total += gamma ** (n - 1) * float(played["rewards"][t + n - 1, game])
                over = bool(played["ended"][t + n - 1, game])
                rest = 0.0 if over else gamma**n * for_dwarfs[t + n]
                n_step.append(total + rest - for_dwarfs[t])
                if over:
                    break
            advantage = mixed(n_step, lam)
            out[t, game] = advantage if movers[t] == 0 else -advantage
    return out


def advantages(played: Sequence, gamma: float, lam: float) -> np.ndarray:
    """Where both sides learn."""
    found, known = estimated(played, MIRROR, gamma, lam)
    assert known.all()
    return found


def estimated(
    played: Sequence, opponents: int | np.ndarray, gamma: float, lam: float
) -> tuple[np.ndarray, np.ndarray]:
    """With an opponent of that side in each battle."""
    sides = np.broadcast_to(np.int8(opponents), played["last_movers"].shape).copy()
    rollout: Any = SimpleNamespace(**played, opponent_sides=sides)
    return gae(rollout, gamma, lam)


@ENDED
@pytest.mark.parametrize(("gamma", "lam"), [(1, 0.95), (0.9, 0.8), (1, 1), (0.97, 0), (0, 0.5)])
def test_advantages_equal_the_brute_force(gamma: float, lam: float, end_rate: float) -> None:
    played = random_sequence(1, steps=25, games=12, end_rate=end_rate)
    again = (played["movers"][1:] == played["movers"][:-1]).mean()
    assert 0.1 < again < 0.6, "the same side must act twice in a row now and then"
    found = advantages(played, gamma, lam)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, brute_force(played, gamma, lam), rtol=1e-4, atol=1e-4)


def by_hand(**changes: Any) -> Sequence:
    """One battle of four decisions: dwarfs, trolls, trolls, dwarfs; then the trolls."""
    played = {
        "rewards": [[1.0], [2.0], [4.0], [8.0]],
        "values": [[0.5], [0.25], [0.125], [0.0625]],
        "movers": [[0], [1], [1], [0]],
        "ended": [[False]] * 4,
        "last_values": [3.0],
        "last_movers": [1],
    }
    types = {"movers": np.int8, "last_movers": np.int8, "ended": np.bool_}
    return {
        name: np.array(value, dtype=types.get(name, np.float32))
        for name, value in {**played, **changes}.items()
    }


def test_lambda_0_is_the_one_step_error_of_the_mover() -> None:
    found = advantages(by_hand(), 1, 0)[:, 0]
    wanted = [
        1 - 0.25 - 0.5,  # the trolls decide next: what they expect is the dwarfs' loss
        -2 + 0.125 - 0.25,  # the trolls again: paid the negative, their own value stands
        -4 - 0.0625 - 0.125,
        8 - 3 - 0.0625,
    ]
    np.testing.assert_allclose(found, wanted)


def test_lambda_1_is_all_that_is_paid_and_expected_less_the_value() -> None:
    found = advantages(by_hand(), 1, 1)[:, 0]
    rest = [15 - 3, 14 - 3, 12 - 3, 8 - 3]
    wanted = [rest[0] - 0.5, -rest[1] - 0.25, -rest[2] - 0.125, rest[3] - 0.0625]
    np.testing.assert_allclose(found, wanted)


def test_nothing_is_expected_beyond_an_end() -> None:
    found = advantages(by_hand(ended=[[False], [True], [False], [True]]), 1, 1)[:, 0]
    wanted = [1 + 2 - 0.5, -2 - 0.25, -4 - 8 - 0.125, 8 - 0.0625]
    np.testing.assert_allclose(found, wanted)


def test_gamma_discounts_by_decision() -> None:
    found = advantages(by_hand(values=[[0.0]] * 4), 0.5, 1)[:, 0]
    np.testing.assert_allclose(found[0], 1 + 2 / 2 + 4 / 4 + 8 / 8 - 3 / 16)
    np.testing.assert_allclose(found[1], -(2 + 4 / 2 + 8 / 4 - 3 / 8))


def test_sides_that_change_places_see_the_same() -> None:
    played = random_sequence(2, steps=20, games=8)
    changed = {
        **played,
        "rewards": -played["rewards"],
        "movers": 1 - played["movers"],
        "last_movers": 1 - played["last_movers"],
    }
    np.testing.assert_allclose(
        advantages(changed, 0.9, 0.7), advantages(played, 0.9, 0.7), rtol=1e-5, atol=1e-6
    )


def test_games_do_not_affect_each_other() -> None:
    played = random_sequence(3, steps=15, games=6)
    together = advantages(played, 0.9, 0.7)
    for game in range(6):
        alone = {name: value[..., game : game + 1].copy() for name, value in played.items()}
        np.testing.assert_array_equal(advantages(alone, 0.9, 0.7)[:, 0], together[:, game])


def test_without_values_the_return_is_the_rest_of_the_margin_for_the_mover() -> None:
    """On real battles: gamma and lambda 1, every value 0, every battle played to its end."""
    games = BatchedGame(
        8,
        "classic",
        seed=4,
        observations=False,
        masks=None,
        autoreset_mode="Disabled",
        max_turns=60,
    )
    movers, rewards, ended, margins = [], [], [], []
    while (games.legal_counts > 0).any():
        movers.append(games.to_move.copy())
        margins.append([games.position(game).margin for game in range(8)])
        alive = games.legal_counts > 0
        games.step(games.sample_actions())
        rewards.append(games.rewards[:, 0].copy())
        ended.append(alive & (games.legal_counts == 0))
    zeros = np.zeros(np.shape(rewards), np.float32)
    played = {
        "rewards": np.array(rewards),
        "values": zeros,
        "movers": np.array(movers),
        "ended": np.array(ended),
        "last_values": zeros[0],
        "last_movers": movers[-1],
    }
    found = advantages(played, 1, 1)
    final = np.array([games.position(game).margin for game in range(8)])
    rest = (final - np.array(margins)) / 32
    wanted = np.where(np.array(movers) == 0, rest, -rest)
    assert np.abs(wanted).max() > 0.1
    np.testing.assert_allclose(found, wanted, atol=1e-6)


# -- one side learns -----------------------------------------------------------------------


def brute_force_for(side: int, played: Sequence, gamma: float, lam: float) -> np.ndarray:
    """The learner's advantage where it decides, n steps being n decisions of its own and the
    other's between; NaN elsewhere, and where nothing is known of what follows.
    """
    steps, games = played["rewards"].shape
    out = np.full((steps, games), np.nan)
    for game in range(games):
        movers = [*played["movers"][:, game].tolist(), int(played["last_movers"][game])]
        own = [*played["values"][:, game].tolist(), float(played["last_values"][game])]
        for t in np.flatnonzero(played["movers"][:, game] == side):
            n_step: list[float] = []
            total = 0.0
            for k in range(steps - t):
                reward = float(played["rewards"][t + k, game])
                total += gamma**k * (reward if side == 0 else -reward)
                over = bool(played["ended"][t + k, game])
                if over or movers[t + k + 1] == side:
                    rest = 0.0 if over else gamma ** (k + 1) * own[t + k + 1]
                    n_step.append(total + rest - own[t])
                if over:
                    break
            if n_step:
                out[t, game] = mixed(n_step, lam)
    return out


@ENDED
@pytest.mark.parametrize("gamma", [1.0, 0.9])
@pytest.mark.parametrize("side", [0, 1])
def test_for_one_side_the_other_is_part_of_the_environment(
    side: int, gamma: float, end_rate: float
) -> None:
    played = random_sequence(4, steps=25, games=12, end_rate=end_rate)
    found, known = estimated(played, 1 - side, gamma, 0.8)
    wanted = brute_force_for(side, played, gamma, 0.8)
    np.testing.assert_array_equal(known, ~np.isnan(wanted))
    np.testing.assert_allclose(found[known], wanted[known], rtol=1e-4, atol=1e-4)
    left_out = (played["movers"] == side) & ~known
    assert left_out.any() == (end_rate < 1), "both kinds of last decisions must be seen"


def test_rewards_for_progress_add_up_to_the_start_whatever_is_played() -> None:
    """To minus the potential of each state, for every learner, where battles are played out."""
    played = random_sequence(5, steps=25, games=12)
    played["ended"][-1] = True
    standing = np.random.default_rng(5).normal(size=(25, 12)).astype(np.float32)
    after = np.where(played["ended"], 0, np.roll(standing, -1, axis=0))
    played["rewards"] = (0.9 * after - standing).astype(np.float32)
    played["values"][:] = 0
    wanted = np.where(played["movers"] == 0, -standing, standing)
    np.testing.assert_allclose(advantages(played, 0.9, 1), wanted, atol=1e-5)
    for side in (0, 1):
        found, known = estimated(played, 1 - side, 0.9, 1)
        assert (known == (played["movers"] == side)).all()
        np.testing.assert_allclose(found[known], wanted[known], atol=1e-5)


def test_rewards_before_the_first_decision_of_a_side_are_not_counted() -> None:
    played = by_hand(movers=[[1], [1], [0], [1]], last_movers=[0])
    found, known = estimated(played, 1, 1, 1)
    assert known[:, 0].tolist() == [False, False, True, False]
    assert found[:, 0].tolist() == [0, 0, 4 + 8 + 3 - 0.125, 0]


def test_battles_with_an_opponent_are_one_sided_and_all_others_zero_sum() -> None:
    played = random_sequence(6, steps=20, games=6)
    opponents = np.array([MIRROR, 0, 1, MIRROR, 1, 0])
    found, known = estimated(played, opponents, 0.97, 0.8)
    for game, opponent in enumerate(opponents):
        alone = {name: value[..., game : game + 1] for name, value in played.items()}
        wanted, there = estimated(alone, opponent, 0.97, 0.8)
        np.testing.assert_array_equal(found[:, game : game + 1], wanted)
        np.testing.assert_array_equal(known[:, game : game + 1], there)
