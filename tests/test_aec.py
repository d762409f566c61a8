"""One battle as a PettingZoo environment; test_envs.py holds what it shares with others."""

import numpy as np
import pytest
from random_play import play_randomly

import thud_env

BESIDE_TWO_DWARFS = "1d1d1/7/4T4/11/13/15/15/7R7/15/15/13/11/9/7/5 t - 0 0"


def test_rewards_sum_to_the_margin():
    env = thud_env.env(rules="classic", max_turns=200)
    rng = np.random.default_rng(1)
    for _ in range(5):
        env.reset()
        paid = play_randomly(env, rng)
        assert paid["dwarf_0"] * 32 == env.position.outcome.margin
        assert paid["troll_0"] == -paid["dwarf_0"]


def test_outcome_rewards_pay_once_at_the_end():
    env = thud_env.env(rules="classic", reward="outcome", max_turns=120)
    env.reset()
    paid = play_randomly(env, np.random.default_rng(2))
    assert paid["dwarf_0"] == np.sign(env.position.outcome.margin)


@pytest.mark.parametrize(
    ("limits", "ending"),
    [({"max_turns": 4}, "truncations"), ({"max_quiet_turns": 4}, "terminations")],
)
def test_the_turn_limit_truncates_and_the_quiet_limit_terminates(limits, ending):
    env = thud_env.env(**limits)
    env.reset()
    for turn in ("dA6-B6", "TG7-F6", "dB6-C6", "TF6-F7"):
        for action in env.position.decisions(turn):
            env.step(action)
    assert all(getattr(env, ending).values())
    assert env.infos["dwarf_0"]["margin"] == 0


def test_a_troll_is_asked_what_to_capture():
    env = thud_env.env(rules="classic")
    env.reset(options={"position": BESIDE_TWO_DWARFS})
    position = thud_env.Position.from_text(BESIDE_TWO_DWARFS)
    env.step(position.decisions("TH3-H2xG1")[0])
    assert env.agent_selection == "troll_0"
    assert env.rewards == {"dwarf_0": 0.0, "troll_0": 0.0}
    env.step(position.decisions("TH3-H2xG1")[1])
    assert env.agent_selection == "dwarf_0"
    assert env.rewards == {"dwarf_0": -1 / 32, "troll_0": 1 / 32}
