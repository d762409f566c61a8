"""Shaping rewards in Koom Valley: they follow a potential, so they sum to nothing in the end."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from random import Random

import numpy as np
import pytest
from small_run import SMALL_RUN
from test_rollout import self_play

from thud_env import Position
from training.config import PPOConfig
from training.learner.shaping import potential, shaping_rewards, with_shaping

# A dwarf beside the Rock, one troll far off: 1 of 16 dwarfs and 1 of 8 trolls are left.
BOARD = "5/7/9/11/13/15/15/7R7/7d7/15/13/11/9/7/{}"


def standing(text: str, rules: str = "koom-valley") -> float:
    return float(potential(Position.from_text(text, rules).row))


def test_the_potential_by_hand() -> None:
    # The only troll is 7 squares from the Rock: two more that are not there count as far off.
    far = standing(f"{BOARD.format('2T2')} d - 0 0")
    assert far == pytest.approx(1 / 16 - 1 / 8 + 0 + 1 / 4)
    nearer = standing("5/7/9/11/13/15/7T7/7R7/7d7/15/13/11/9/7/5 d - 0 0")
    assert nearer == pytest.approx(1 / 16 - 1 / 8 + (2 * (1 + 7 + 7) / 3 / 7 - 1) / 4)
    at_goal = standing("2R2/3d3/9/11/13/15/15/15/15/15/13/11/9/7/5 d - 0 0")
    assert at_goal == pytest.approx(1 / 16 + 1 + 1 / 4)


def test_what_helps_the_dwarfs_raises_it() -> None:
    start = standing(f"{BOARD.format('2T2')} d - 0 0")
    assert standing(f"{BOARD.format('5')} d - 0 0") > start  # a troll captured
    forward = "5/7/9/11/13/15/7R7/15/7d7/15/13/11/9/7/2T2 d - 0 0"
    assert standing(forward) > start
    # Towards the trolls, and yet the better for it.
    towards = "5/7/9/11/13/15/7R7/15/7d7/15/13/11/9/7/5 d - 0 0".replace("5/7/9", "2T2/7/9", 1)
    away = "2T2/7/9/11/13/15/15/7R7/7d7/15/13/11/9/7/5 d - 0 0"
    assert standing(towards) > standing(away)
    assert standing("5/7/9/11/13/15/15/7R7/15/15/13/11/9/7/2T2 d - 0 0") < start  # a dwarf lost


@pytest.mark.parametrize("rules", ["koom-valley", "koom-valley-football"])
def test_it_stays_within_its_range(rules: str) -> None:
    random = Random(rules)
    position = Position.start(rules, max_turns=300)
    while position.outcome is None:
        assert -2.25 <= potential(position.row) <= 2.25
        position = position.apply(random.choice(position.legal_actions().tolist()))


@pytest.mark.parametrize("gamma", [1.0, 0.9])
def test_a_battle_is_paid_what_it_began_with_however_it_was_played(gamma: float) -> None:
    random = Random(1)
    paid = []
    for _ in range(3):
        position = Position.start("koom-valley", max_turns=30)
        rows = []
        while position.outcome is None:
            rows.append(position.row)
            position = position.apply(random.choice(position.legal_actions().tolist()))
        ended = np.zeros((len(rows), 1), dtype=bool)
        ended[-1] = True
        # Where a battle ends the next has begun already.
        following = Position.start("koom-valley").row[None]
        rewards = shaping_rewards(np.array(rows)[:, None], following, ended, gamma)
        discounts = gamma ** np.arange(len(rows))
        paid.append(float(discounts @ rewards[:, 0]))
    first = float(potential(Position.start("koom-valley").row))
    assert paid == pytest.approx([-first] * 3, abs=1e-5)


def test_the_state_after_the_last_decision_counts_if_the_battle_goes_on() -> None:
    text = "5/7/9/11/13/15/15/6dR7/7d7/15/13/11/9/7/2T2 d - 0 0"
    before = Position.from_text(text, "koom-valley")
    after = before.play("RH8-H7")
    rewards = shaping_rewards(
        before.row[None, None], after.row[None], np.array([[False]]), gamma=1.0
    )
    assert rewards[0, 0] == pytest.approx(potential(after.row) - potential(before.row))
    assert rewards[0, 0] > 0


@pytest.mark.parametrize("gamma", [1.0, 0.9])
def test_progress_is_paid_at_the_discount_of_the_run(gamma: float) -> None:
    config = dataclasses.replace(SMALL_RUN, shaping=0.5, ppo=PPOConfig(gamma=gamma))
    with ThreadPoolExecutor(2) as pool:
        played = self_play(pool, rules="koom-valley").collect(8)
    paid = with_shaping(played, config, done=0.25).rewards - played.rewards
    wanted = shaping_rewards(played.rows, played.last_rows, played.ended, gamma)
    np.testing.assert_allclose(paid, 0.25 * wanted, atol=1e-6)
