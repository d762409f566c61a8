"""Bradley-Terry ratings: known strengths are recovered, and intervals cover them."""

from __future__ import annotations

import numpy as np
import pytest

from training.ladder.rating import ELO, Ratings, rate

DWARFS = np.array([-300.0, -100.0, 50.0, 350.0])
TROLLS = np.array([-400.0, 0.0, 150.0, 250.0])
ADVANTAGE = -120.0


def chances(dwarfs: np.ndarray, trolls: np.ndarray, advantage: float) -> np.ndarray:
    """[K, K] of the dwarfs to win."""
    difference = dwarfs[:, np.newaxis] - trolls + advantage
    return 1 / (1 + 10 ** (-difference / 400))


def simulated(games: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    counts = np.full((4, 4), float(games))
    return random.binomial(games, chances(DWARFS, TROLLS, ADVANTAGE)).astype(float), counts


def test_known_ratings_are_recovered() -> None:
    ratings = rate(*simulated(20_000, seed=0))
    assert [r.value for r in ratings.dwarfs] == pytest.approx(DWARFS, abs=15)
    assert [r.value for r in ratings.trolls] == pytest.approx(TROLLS, abs=15)
    assert ratings.advantage.value == pytest.approx(ADVANTAGE, abs=10)


def test_expected_results_are_recovered_exactly_but_for_the_added_draws() -> None:
    games = np.full((4, 4), 1e9)
    ratings = rate(chances(DWARFS, TROLLS, ADVANTAGE) * games, games)
    assert [r.value for r in ratings.dwarfs] == pytest.approx(DWARFS, abs=1e-3)
    assert ratings.advantage.value == pytest.approx(ADVANTAGE, abs=1e-3)


WIDE_DWARFS = np.array([600, 500, 430, 350, 150, 50, -100, -330, -600, -1050.0])
WIDE_TROLLS = np.array([620, 530, 450, 350, 270, 100, -200, -400, -700, -1020.0])


def held(ratings: Ratings, truth: np.ndarray) -> np.ndarray:
    """[2K + 1] whether each interval holds the true rating."""
    found = (*ratings.dwarfs, *ratings.trolls, ratings.advantage)
    return np.array([r.low <= value <= r.high for r, value in zip(found, truth, strict=True)])


def test_intervals_cover_each_agent_of_a_wide_field() -> None:
    truth = np.array([*WIDE_DWARFS, *WIDE_TROLLS, ADVANTAGE])
    wide = chances(WIDE_DWARFS, WIDE_TROLLS, ADVANTAGE)
    games = np.full((10, 10), 20.0)
    random = np.random.default_rng(0)
    draws = (random.binomial(20, wide).astype(float) for _ in range(150))
    covered = np.mean([held(rate(points, games), truth) for points in draws], axis=0)
    assert covered.min() >= 0.88, covered
    assert 0.92 <= covered.mean() <= 0.98, covered


def test_two_agents_of_one_cell_have_the_known_interval() -> None:
    # All four cells alike: a share p of n games each. The advantage is the logit of p, with the
    # variance 1 / (4 n p (1 - p)); half an added draw makes it (300.25, 400.5).
    ratings = rate(np.full((2, 2), 300.0), np.full((2, 2), 400.0))
    won, n = 300.25, 400.5
    share = won / n
    half = 1.959964 * ELO / np.sqrt(4 * n * share * (1 - share))
    assert ratings.advantage.value == pytest.approx(ELO * np.log(won / (n - won)))
    assert ratings.advantage.high - ratings.advantage.value == pytest.approx(half)
    assert [r.value for r in ratings.dwarfs] == pytest.approx([0, 0], abs=1e-6)


def test_ratings_of_a_side_are_relative_to_its_mean() -> None:
    ratings = rate(*simulated(100, seed=3))
    assert sum(r.value for r in ratings.dwarfs) == pytest.approx(0, abs=1e-6)
    assert sum(r.value for r in ratings.trolls) == pytest.approx(0, abs=1e-6)


def test_winning_every_game_gives_a_finite_rating_and_a_wide_interval() -> None:
    games = np.full((2, 2), 200.0)
    points = np.array([[100.0, 0.0], [200.0, 100.0]])
    ratings = rate(points, games)
    strong, even = ratings.dwarfs[1], rate(games / 2, games).dwarfs[1]
    assert 200 < strong.value < 2000
    assert strong.high - strong.low > 2 * (even.high - even.low)
    assert strong.low > ratings.dwarfs[0].high


def test_the_order_of_agents_does_not_matter() -> None:
    points, games = simulated(50, seed=4)
    order = [2, 0, 3, 1]
    ratings, other = rate(points, games), rate(points[order][:, order], games)
    assert [r.value for r in other.dwarfs] == pytest.approx(
        [ratings.dwarfs[i].value for i in order], abs=1e-3
    )


def test_cells_may_have_different_numbers_of_games() -> None:
    games = np.full((4, 4), 1e8)
    games[3, :] = games[:, 3] = 1e6
    ratings = rate(chances(DWARFS, TROLLS, ADVANTAGE) * games, games)
    assert [r.value for r in ratings.trolls] == pytest.approx(TROLLS, abs=0.1)
