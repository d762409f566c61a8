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


def by_start(chances: np.ndarray, starts: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """[starts, K, K] points and games, of one game a cell from each start."""
    shape = (starts, *chances.shape[-2:])
    points = (np.random.default_rng(seed).random(shape) < chances).astype(float)
    return points, np.ones(shape)


def simulated(games: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    return by_start(chances(DWARFS, TROLLS, ADVANTAGE), games, seed)


def expected(games: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[2, K, K] the expected points of so many games, and the games, half from each of two
    starts.
    """
    half = np.stack((games, games)) / 2
    return half * chances(DWARFS, TROLLS, ADVANTAGE), half


def test_known_ratings_are_recovered() -> None:
    ratings = rate(*simulated(20_000, seed=0))
    assert [r.value for r in ratings.dwarfs] == pytest.approx(DWARFS, abs=15)
    assert [r.value for r in ratings.trolls] == pytest.approx(TROLLS, abs=15)
    assert ratings.advantage.value == pytest.approx(ADVANTAGE, abs=10)


def test_expected_results_are_recovered_exactly_but_for_the_added_draws() -> None:
    ratings = rate(*expected(np.full((4, 4), 1e9)))
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
    covered = np.mean([held(rate(*by_start(wide, 20, n)), truth) for n in range(150)], axis=0)
    assert covered.min() >= 0.88, covered
    assert 0.92 <= covered.mean() <= 0.98, covered


def test_the_interval_of_the_advantage_covers_although_starts_favour_a_side() -> None:
    narrow = np.linspace(-150, 150, 10)
    covered = []
    for seed in range(150):
        effects = np.random.default_rng([seed, 1]).normal(0, 100, 20)
        each = np.stack([chances(narrow, narrow, effect) for effect in effects])
        advantage = rate(*by_start(each, 20, seed)).advantage
        covered.append(advantage.low <= 0 <= advantage.high)
    assert 0.88 <= np.mean(covered) <= 0.99


def test_intervals_of_the_gaps_between_neighbours_cover() -> None:
    truth = WIDE_DWARFS[:, np.newaxis] - WIDE_DWARFS
    wide = chances(WIDE_DWARFS, WIDE_TROLLS, ADVANTAGE)
    covered = []
    for seed in range(100):
        ratings = rate(*by_start(wide, 20, seed))
        gaps, first = ratings.gaps[0], ratings.dwarfs[0]
        assert gaps[0][1].value == pytest.approx(first.value - ratings.dwarfs[1].value)
        assert gaps[1][0] == pytest.approx((-gaps[0][1].value, -gaps[0][1].high, -gaps[0][1].low))
        covered += [gaps[n][n + 1].low <= truth[n, n + 1] <= gaps[n][n + 1].high for n in range(9)]
    assert 0.90 <= np.mean(covered) <= 0.98


def test_draws_narrow_the_intervals() -> None:
    won_and_lost, games = by_start(np.full((2, 2), 0.5), 100, seed=0)
    drawn = np.where(np.arange(100)[:, np.newaxis, np.newaxis] % 5 > 0, 0.5, won_and_lost)
    wide, narrow = (rate(points, games).advantage for points in (won_and_lost, drawn))
    assert narrow.high - narrow.low < 0.6 * (wide.high - wide.low)


def test_games_of_one_start_that_end_alike_count_as_one() -> None:
    # The dwarfs win all four games from each of 300 of 400 starts. The advantage is the logit of
    # the share, whose score in a start is four times the residual; half a draw is added to a cell.
    starts = np.arange(400)[:, np.newaxis, np.newaxis]
    games = np.ones((400, 2, 2))
    advantage = rate(games * (starts < 300), games).advantage
    won, n = 300.25, 400.5
    share = won / n
    residuals = np.array([*np.where(np.arange(400) < 300, 1 - share, -share), (0.5 - share) / 2])
    deviation = np.sqrt(401 / 400 * (residuals**2).sum()) / (n * share * (1 - share))
    assert advantage.value == pytest.approx(ELO * np.log(won / (n - won)))
    assert advantage.high - advantage.value == pytest.approx(1.959964 * ELO * deviation)


def test_ratings_of_a_side_are_relative_to_its_mean() -> None:
    ratings = rate(*simulated(100, seed=3))
    assert sum(r.value for r in ratings.dwarfs) == pytest.approx(0, abs=1e-6)
    assert sum(r.value for r in ratings.trolls) == pytest.approx(0, abs=1e-6)


def test_winning_every_game_gives_a_finite_rating_and_a_wide_interval() -> None:
    starts = np.arange(100)[:, np.newaxis, np.newaxis]
    games = np.ones((100, 2, 2))
    halves = games * (starts % 2)
    points = halves.copy()
    points[:, 1, 0], points[:, 0, 1] = 1, 0
    weak, strong = rate(points, games).dwarfs
    even = rate(halves, games).dwarfs[1]
    assert 200 < strong.value < 2000
    assert strong.high - strong.low > 2 * (even.high - even.low)
    assert strong.low > weak.high


def test_the_order_of_agents_does_not_matter() -> None:
    points, games = simulated(50, seed=4)
    order = [2, 0, 3, 1]
    ratings, other = rate(points, games), rate(points[:, order][:, :, order], games)
    assert [r.value for r in other.dwarfs] == pytest.approx(
        [ratings.dwarfs[i].value for i in order], abs=1e-3
    )


def test_a_start_without_games_changes_nothing() -> None:
    points, games = simulated(50, seed=5)
    none = np.zeros((1, 4, 4))
    assert rate(np.concatenate((points, none)), np.concatenate((games, none))) == rate(
        points, games
    )


def test_cells_may_have_different_numbers_of_games() -> None:
    games = np.full((4, 4), 1e8)
    games[3, :] = games[:, 3] = 1e6
    ratings = rate(*expected(games))
    assert [r.value for r in ratings.trolls] == pytest.approx(TROLLS, abs=0.1)
