"""The two-battle game as an environment; test_envs.py tests what all environments promise."""

import itertools

import numpy as np
import pytest
from random_play import play_randomly
from two_battles import LIMITS, LOST_BY_7, WON_BY_3

import thud_env
from thud_env.rules.match import Match, outcome_for_dwarfs, standing
from thud_env.views.encoding import PLANES
from thud_env.views.match import MATCH_PLANES

NEAR_THE_GOAL = "1d3/2R4/9/11/13/15/15/15/15/15/13/11/9/2TTT2/5 d - 0 0"
QUIET = ("dA6-B6", "TG7-F6", "dB6-C6", "TF6-F7")


def play(env, turns):
    """Play complete turns; who decided, and the sums of the rewards."""
    deciders, paid = [], dict.fromkeys(env.possible_agents, 0.0)
    for turn in turns:
        for action in env.position.decisions(turn):
            deciders.append(env.agent_selection)
            env.step(action)
            for agent in env.agents:
                paid[agent] += env.rewards[agent]
    return deciders, paid


AGREED = thud_env.Termination.AGREEMENT.value


def started(**options):
    env = thud_env.match_env(**options)
    env.reset()
    return env


def test_won_by_3_and_lost_by_7_is_lost_by_4():
    env = started(**LIMITS)
    _, first = play(env, WON_BY_3)
    assert first == {"player_0": 3 / 32, "player_1": -3 / 32}
    assert env.infos["player_1"] == {
        "first_termination": AGREED,
        "first_margin": -3,
        "second_termination": 0,
        "second_margin": 0,
        "total": -3,
    }
    _, second = play(env, LOST_BY_7)
    assert second == {"player_0": -7 / 32, "player_1": 7 / 32}
    assert env.infos["player_0"] == {
        "first_termination": AGREED,
        "first_margin": 3,
        "second_termination": AGREED,
        "second_margin": -7,
        "total": -4,
    }
    assert env.infos["player_1"]["total"] == 4
    assert [battle.margin for battle in env.battles] == [3, 7]
    assert env.terminations == {"player_0": True, "player_1": True}


def test_the_rules_of_one_match_are_those_of_many():
    fields = (range(2), (AGREED,), (-7, 0, 3), range(7), (-7, 0, 3), range(2))
    games = list(itertools.product(*fields))
    *match, sides = np.array(games).T
    many = Match(match[0] == 1, *match[1:])
    ones = [Match(bool(is_second), *rest) for is_second, *rest, _ in games]
    assert outcome_for_dwarfs(many).tolist() == [outcome_for_dwarfs(one) for one in ones]
    stand = [standing(one, side) for one, side in zip(ones, sides.tolist(), strict=True)]
    assert {type(value) for one in stand for value in one.values()} == {int}
    for name, values in standing(many, sides).items():
        assert values.dtype == np.int64
        assert values.tolist() == [one[name] for one in stand]


def test_outcome_rewards_pay_the_sign_of_the_total_at_the_end():
    for turns, result in ((LOST_BY_7, -1), (WON_BY_3, 0), (["dE2-E6", "offer", "accept"], 1)):
        env = started(reward="outcome", **LIMITS)
        _, first = play(env, WON_BY_3)
        assert first == {"player_0": 0, "player_1": 0}
        _, second = play(env, turns)
        assert second == {"player_0": result, "player_1": -result}, turns


def test_the_sides_are_swapped_after_the_first_battle():
    env = started(max_quiet_turns=4)
    assert play(env, QUIET)[0] == ["player_0", "player_1", "player_0", "player_1"]
    # The trolls ended the first battle: player_1, who now begins the second.
    assert env.agent_selection == "player_1"
    assert env.position == thud_env.Position.start(max_quiet_turns=4)
    assert env.observe("player_1")["action_mask"].sum() == 656
    assert env.observe("player_0")["action_mask"].sum() == 0
    assert play(env, QUIET)[0] == ["player_1", "player_0", "player_1", "player_0"]
    assert all(env.terminations.values())


def test_after_a_battle_that_the_dwarfs_ended_the_other_player_decides():
    env = started(max_quiet_turns=3)
    play(env, QUIET[:3])
    assert env.agent_selection == "player_1"


def test_a_turn_limit_in_the_first_battle_ends_that_battle_only():
    env = started(max_turns=4)
    play(env, QUIET)
    assert env.infos["player_0"]["first_termination"] == thud_env.Termination.TURN_LIMIT.value
    assert not any((*env.terminations.values(), *env.truncations.values()))
    play(env, QUIET)
    assert env.truncations == {"player_0": True, "player_1": True}
    assert not any(env.terminations.values())


def test_the_game_ends_as_its_second_battle_does():
    env = started(max_turns=4, **LIMITS)
    play(env, QUIET)
    assert env.infos["player_0"]["first_termination"] == thud_env.Termination.TURN_LIMIT.value
    play(env, ("dA6-B6", "offer", "accept"))
    assert env.terminations == {"player_0": True, "player_1": True}
    assert not any(env.truncations.values())


@pytest.mark.parametrize("rules", thud_env.RULESETS)
def test_rewards_sum_to_the_total(rules):
    env = thud_env.match_env(rules=rules, max_quiet_turns=30)
    options = None if rules.startswith("classic") else {"position": NEAR_THE_GOAL}
    rng = np.random.default_rng(6)
    totals = set()
    for _ in range(12):
        env.reset(options=options)
        paid = play_randomly(env, rng)
        first, second = (battle.margin for battle in env.battles)
        total = first - second
        wanted = total / 32 if rules.startswith("classic") else np.sign(total)
        assert paid == {"player_0": wanted, "player_1": -wanted}
        totals.add(total)
    assert totals != {0}


def test_only_the_end_of_a_match_of_koom_valley_pays():
    """Two wins pay as one does: by the sign of their sum."""
    both_may_win = "5/2dR3/3TT4/6T4/13/15/15/12d2/15/15/13/11/9/7/5 d - 0 0"
    env = started(rules="koom-valley")
    env.reset(options={"position": both_may_win})
    _, first = play(env, ["RH2-H1"])
    assert first == {"player_0": 0, "player_1": 0}
    _, second = play(env, ["dN8-O8", "TJ4-J3"])
    assert [battle.margin for battle in env.battles] == [1, -1]
    assert env.infos["player_0"]["total"] == 2
    assert second == {"player_0": 1, "player_1": -1}


def test_the_planes_show_the_first_battle_from_the_players_side():
    assert MATCH_PLANES[: len(PLANES)] == PLANES
    names = [plane.name for plane in MATCH_PLANES]
    second, margin = names.index("second_battle"), names.index("first_margin")
    env = started(**LIMITS)
    for agent in env.agents:
        planes = env.observe(agent)["observation"]
        assert planes.shape == env.observation_space(agent)["observation"].shape
        assert np.array_equal(planes[: len(PLANES)], env.position.observation())
        assert np.array_equal(np.unique(planes[second]), [0])
        assert np.array_equal(np.unique(planes[margin]), [0.5])
    play(env, WON_BY_3)
    for agent, own in (("player_0", 3), ("player_1", -3)):
        planes = env.observe(agent)["observation"]
        assert np.array_equal(planes[: len(PLANES)], env.position.observation())
        assert np.array_equal(np.unique(planes[second]), [1])
        assert np.array_equal(np.unique(planes[margin]), [(own / 32 + 1) / 2])
    assert np.array_equal(env.state(), env.observe("player_0")["observation"])


def test_a_battle_of_koom_valley_is_won_by_a_full_plane():
    env = started(rules="koom-valley")
    env.reset(options={"position": NEAR_THE_GOAL})
    play(env, ["RG2-H1"])
    assert env.battles[0].margin == 1
    assert env.observe("player_0")["observation"][-1].min() == 1
    assert env.observe("player_1")["observation"][-1].max() == 0


def test_both_battles_start_from_a_position_that_is_given():
    trolls_begin = (
        "dd1dd/d5d/d7d/d9d/d11d/d13d/d5TTT5d/6TRT6/d5TTT5d/d13d/d11d/d9d/d7d/d5d/5 t - 7 9"
    )
    env = started(max_turns=10)
    env.reset(options={"position": trolls_begin})
    start = env.position
    assert start.margin == -4
    assert env.agent_selection == "player_1"
    _, paid = play(env, ["TG7-F6"])
    assert env.position == start
    assert env.agent_selection == "player_0"
    state = env.get_state()
    env.reset()
    env.set_state(state)
    play(env, ["TG7-F6"])
    assert env.infos["player_0"]["total"] == 0
    assert paid == {"player_0": 0, "player_1": 0}
    env.reset()
    assert env.position == thud_env.Position.start(max_turns=10)
    assert env.battles == ()


def test_a_state_of_the_second_battle_goes_back_to_it():
    env = started(**LIMITS)
    play(env, WON_BY_3)
    state = env.get_state()
    _, paid = play(env, LOST_BY_7)
    twin = started(**LIMITS)
    twin.set_state(state)
    assert twin.infos["player_0"]["first_termination"] == AGREED
    assert twin.infos["player_0"]["first_margin"] == 3
    assert play(twin, LOST_BY_7)[1] == paid
    assert twin.infos == env.infos


def test_render_shows_which_battle_it_is_and_who_plays_the_dwarfs():
    env = started(render_mode="ansi", max_quiet_turns=4)
    assert "battle 1 of 2, player_0 plays the dwarfs" in env.render()
    play(env, QUIET)
    assert "battle 2 of 2, player_1 plays the dwarfs" in env.render()
    play(env, QUIET)
    assert "battle 2 of 2, player_1 plays the dwarfs" in env.render()
