"""The root choice by sequential halving."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import numpy as np
import pytest

from agents.search.gumbel import GumbelRoot, completed_values, visit_plan

NONE = np.zeros(8)


def play(root: GumbelRoot, worth: np.ndarray, simulations: int) -> np.ndarray:
    """How often each decision is tried if each is worth the same every time."""
    visits = np.zeros(len(worth), dtype=np.int64)
    for _ in range(simulations):
        visits[root.next_decision(visits, worth * (visits > 0))] += 1
    return visits


def planned(simulations: int, considered: int) -> list[int]:
    """The whole plan of so many simulations."""
    return list(islice(visit_plan(simulations, considered), simulations))


def test_half_of_the_decisions_are_dropped_again_and_again() -> None:
    # By hand: 4 decisions twice each, then 2 of them four times more.
    assert planned(16, 4) == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert planned(3, 1) == [0, 1, 2]
    assert planned(3, 16) == [0, 0, 0]


def test_a_plan_of_any_length_is_made_at_once() -> None:
    assert list(islice(visit_plan(10**15, 16), 20)) == [0] * 16 + [1] * 4


@pytest.mark.parametrize("simulations", [1, 7, 50, 333])
@pytest.mark.parametrize("considered", [1, 2, 3, 5, 8])
def test_the_plan_can_always_be_followed(simulations: int, considered: int) -> None:
    worth = np.random.default_rng(simulations).random(8)
    root = GumbelRoot(np.full(8, 1 / 8), simulations, considered, NONE, 1.0)
    visits = play(root, worth, simulations)
    assert visits.sum() == simulations
    assert (visits > 0).sum() <= considered
    plan = Counter(planned(simulations, considered))
    assert all(plan[n] == (visits > n).sum() for n in range(simulations))


def test_the_best_of_those_considered_is_found_and_tried_most() -> None:
    priors = np.array([0.3, 0.2, 0.15, 0.1, 0.1, 0.08, 0.05, 0.02])
    worth = np.array([0.1, 0.2, 0.9, 0.3, 0.4, 0.5, 0.6, 1.0])
    root = GumbelRoot(priors, 32, 4, NONE, 1.0)
    visits = play(root, worth, 32)
    assert root.best_decision(visits, worth) == 2
    assert visits.argmax() == 2
    assert (visits > 0).tolist() == [True] * 4 + [False] * 4


def test_no_more_decisions_are_considered_than_there_are() -> None:
    priors, worth = np.array([0.4, 0.3, 0.3]), np.array([0.1, 0.5, 0.9])
    found, wanted = (
        play(GumbelRoot(priors, 24, considered, np.zeros(3), 1.0), worth, 24)
        for considered in (16, 3)
    )
    assert found.tolist() == wanted.tolist() == [4, 10, 10]


def test_a_decision_that_was_dropped_is_not_chosen_however_good_it_looks() -> None:
    root = GumbelRoot(np.full(3, 1 / 3), 9, 3, np.zeros(3), 1.0)
    assert root.best_decision(np.array([4, 4, 1]), np.array([0.2, 0.3, 0.9])) == 1


@pytest.mark.parametrize(("most", "best"), [(3, 0), (9, 1)])
def test_values_count_for_more_the_more_often_the_most_tried_decision_was(
    most: int, best: int
) -> None:
    """Equation 8: a difference of 0.1 counts 0.1 * (50 + most), here against 5.5."""
    root = GumbelRoot(np.array([1, np.exp(-5.5), 0]), 4 * most, 3, np.zeros(3), 1.0)
    visits = np.array([most, most, most // 3])
    assert root.best_decision(visits, np.array([0.4, 0.5, 0.4])) == best


def test_without_a_difference_in_value_the_priors_decide() -> None:
    priors = np.array([0.1, 0.6, 0.3])
    root = GumbelRoot(priors, 9, 3, np.zeros(3), 1.0)
    worth = np.full(3, 0.5)
    assert root.best_decision(play(root, worth, 9), worth) == 1


def test_noise_draws_decisions_as_often_as_their_priors_say() -> None:
    """The Gumbel-max trick: the first decision tried is a draw from the priors."""
    priors = np.array([0.7, 0.2, 0.1])
    random = np.random.default_rng(1)
    nothing = np.zeros(3)
    drawn = Counter(
        GumbelRoot(priors, 4, 2, random.gumbel(size=3), 1.0).next_decision(
            nothing.astype(np.int64), nothing
        )
        for _ in range(4000)
    )
    for decision, prior in enumerate(priors):
        assert abs(drawn[decision] / 4000 - prior) < 0.03


def test_untried_decisions_get_the_mean_value_of_the_others() -> None:
    priors = np.array([0.5, 0.25, 0.25])
    completed = completed_values(priors, np.array([3, 1, 0]), np.array([0.9, 0.3, 0.0]))
    assert completed == pytest.approx([0.9, 0.3, (0.5 * 0.9 + 0.25 * 0.3) / 0.75])


def test_values_are_weighed_by_the_visits_of_the_most_tried_decision() -> None:
    """0.015 * (50 + 30) is more than log 3, 0.015 * (50 + 20) is less."""
    root = GumbelRoot(np.array([0.6, 0.2, 0.2]), 60, 3, np.zeros(3), scale=0.015)
    assert root.best_decision(np.array([30, 30, 0]), np.array([0.0, 1.0, 0.0])) == 1
