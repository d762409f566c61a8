"""Intervals equal published ones and cover, and sentences claim no more than they show."""

from __future__ import annotations

import numpy as np
import pytest

from training.arena.intervals import (
    ENOUGH_PAIRS,
    Bounds,
    Interval,
    compare,
    half_width,
    is_above,
    mean_interval,
    wilson,
)
from training.ladder.__main__ import games_help
from training.ladder.bootstrap import (
    RESAMPLES,
    resample_weights,
    resampled_interval,
    resampled_means,
)
from training.ladder.report import precision_words


@pytest.mark.parametrize(
    ("successes", "trials", "expected"),
    [
        (0, 10, (0.0, 0.0, 0.27753)),
        (10, 10, (1.0, 0.72247, 1.0)),
        (50, 100, (0.5, 0.40383, 0.59617)),
        (1, 1, (1.0, 0.20655, 1.0)),
        (81, 263, (0.30798, 0.25527, 0.36621)),  # Newcombe 1998, table I
    ],
)
def test_wilson_intervals_are_the_published_ones(successes, trials, expected) -> None:
    assert wilson(successes, trials) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("trials", [1, 7, 200, 1000])
def test_a_wilson_interval_holds_its_share_and_stays_in_range(trials: int) -> None:
    for successes in range(trials + 1):
        share, low, high = wilson(successes, trials)
        assert 0 <= low <= share <= high <= 1


def test_the_interval_of_a_mean_is_the_normal_one() -> None:
    half = 1.959964 * np.sqrt(5 / 3) / 2
    found = mean_interval(np.array([1, 2, 3, 4]), (-32, 32))
    assert found == pytest.approx((2.5, 2.5 - half, 2.5 + half), abs=1e-5)


def test_the_interval_of_a_mean_stays_within_the_possible_range() -> None:
    assert mean_interval(np.array([7]), (-32, 32)) == (7, -32, 32)
    assert mean_interval(np.array([32, 32, 31]), (-32, 32)).high == 32
    assert mean_interval(np.array([-1, -1, 0]), (-1, 1)).low == -1
    assert mean_interval(np.array([7]), (-8, 32)) == (7, -8, 32)
    assert mean_interval(np.array([-8, -8, -7]), (-8, 32)).low == -8
    share = wilson(50, 50).low
    expected = (-8, -8, 32 - 40 * share)
    assert mean_interval(np.full(50, -8), (-8, 32)) == pytest.approx(expected)


def test_an_interval_of_equal_values_holds_them_whatever_is_rounded() -> None:
    for count in range(1, 40):
        values = np.full(count, 0.1)
        for value, low, high in (bootstrap_mean(values, (-1, 1)), mean_interval(values, (-1, 1))):
            assert -1 <= low < value < high <= 1


@pytest.mark.parametrize("by", ["mean_interval", "bootstrap_mean"])
def test_battles_that_all_end_alike_leave_the_doubt_of_a_share(by: str) -> None:
    mean = {"mean_interval": mean_interval, "bootstrap_mean": bootstrap_mean}[by]
    share = wilson(50, 50)
    assert mean(np.ones(50), (-1, 1)) == pytest.approx((1, 2 * share.low - 1, 1))
    assert mean(-np.ones(50), (-1, 1)) == pytest.approx((-1, -1, 1 - 2 * share.low))
    for n in (20, 50, 200):
        w = wilson(n, n).low
        ends = (5 * w - 32 * (1 - w), 5 * w + 32 * (1 - w))
        assert mean(np.full(n, 5.0), (-32, 32)) == pytest.approx((5, *ends))
    assert mean(np.array([7.0]), (-32, 32)) == (7, -32, 32)


def test_rare_losses_are_within_the_interval_of_battles_won() -> None:
    random = np.random.default_rng(4)
    for lost in (0.01, 0.03, 0.05):
        results = np.where(random.random((400, 50)) < lost, -1, 1)
        held = [low <= 1 - 2 * lost for _, low, _ in (mean_interval(r, (-1, 1)) for r in results)]
        assert np.mean(held) > 0.95


def test_a_share_of_400_is_known_to_about_5_points() -> None:
    assert half_width(400) == pytest.approx(0.049, abs=5e-4)
    _, low, high = wilson(200, 400)
    assert half_width(400) == pytest.approx((high - low) / 2, rel=0.01)


def test_a_ladder_says_how_precisely_its_game_pairs_measure() -> None:
    assert "400: 7" in games_help()  # of 200 pairs
    assert "N / 2 starts, each in both seats, which is N / 2 game pairs" in games_help()
    assert precision_words(20) == (
        "A share of 20 pairs near one half is known to +/- 22 percentage points."
    )
    assert "too few" in precision_words(ENOUGH_PAIRS - 1)


def test_zero_has_no_minus() -> None:
    assert Interval(-0.04, -0.3, -0.0).text(1) == "+0.0 (-0.3 to +0.0)"


def test_four_times_the_games_halve_an_interval() -> None:
    assert half_width(1600) == pytest.approx(half_width(400) / 2)


def bootstrap_mean(values: np.ndarray, bounds: Bounds = (-100, 100)) -> Interval:
    """As in a ladder in which each start was played."""
    starts = np.arange(len(values))
    return resampled_interval(values, starts, resample_weights(len(values)), bounds)


def test_the_bootstrap_of_many_values_is_the_normal_interval() -> None:
    values = np.random.default_rng(0).normal(3, 2, 400)
    value, low, high = bootstrap_mean(values)
    half = 1.96 * values.std() / 20
    assert value == values.mean()
    assert (low, high) == pytest.approx((value - half, value + half), abs=0.03)


def test_bootstrap_intervals_cover() -> None:
    random = np.random.default_rng(1)
    held = 0
    for _ in range(300):
        _, low, high = bootstrap_mean(random.exponential(1, 60))
        held += low <= 1 <= high
    assert 0.90 <= held / 300 <= 0.98


def test_resamples_draw_as_many_starts_as_there_are() -> None:
    weights = resample_weights(30)
    assert weights.shape == (RESAMPLES, 30)
    assert (weights.sum(axis=1) == 30).all()
    assert weights.mean(axis=0) == pytest.approx(np.ones(30), abs=0.15)


def test_a_resample_without_the_starts_in_question_says_the_mean() -> None:
    weights = np.array([[0, 0, 3], [1, 2, 0]])
    means = resampled_means(np.array([6.0, 0.0]), np.array([0, 1]), weights)
    assert means.tolist() == [3.0, 2.0]


HIGH, LOW, MIDDLE = Interval(5, 4, 6), Interval(1, 0, 2), Interval(3, 1.5, 4.5)


def test_apart_is_above() -> None:
    assert compare("a", HIGH, "b", LOW, 200) == "a is above b"
    assert compare("b", LOW, "a", HIGH, 200) == "a is above b"


@pytest.mark.parametrize("other", [HIGH, LOW, MIDDLE])
def test_overlapping_intervals_are_never_called_a_win(other: Interval) -> None:
    for words in (compare("a", MIDDLE, "b", other, 200), compare("b", other, "a", MIDDLE, 200)):
        assert "above" not in words
        assert "not told apart" in words


def test_intervals_that_touch_are_not_apart() -> None:
    assert not is_above(Interval(5, 2, 8), Interval(1, 0, 2), 200)


def test_a_handful_of_pairs_shows_nothing() -> None:
    words = compare("a", HIGH, "b", LOW, ENOUGH_PAIRS - 1)
    assert words == "a and b: fewer than 20 game pairs: not compared"
    assert is_above(HIGH, LOW, ENOUGH_PAIRS)


def test_random_agents_of_one_strength_are_seldom_called_apart() -> None:
    random = np.random.default_rng(3)
    wins = 0
    for _ in range(200):
        score = bootstrap_mean(random.integers(-20, 21, 40).astype(float))
        other = Interval(-score.value, -score.high, -score.low)
        wins += "above" in compare("a", score, "b", other, 40)
    assert wins / 200 < 0.1
