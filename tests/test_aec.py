"""One battle as a PettingZoo environment; test_envs.py tests what all environments promise."""

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
    env = thud_env.env(rules="classic", reward="outcome", max_quiet_turns=20)
    env.reset()
    paid = play_randomly(env, np.random.default_rng(2))
    assert paid["dwarf_0"] == np.sign(env.position.outcome.margin) != 0


def test_a_truncated_battle_pays_no_outcome():
    env = thud_env.env(rules="classic", reward="outcome", max_turns=120)
    env.reset()
    paid = play_randomly(env, np.random.default_rng(2))
    assert env.position.outcome.margin != 0
    assert env.position.outcome.termination is thud_env.Termination.TURN_LIMIT
    assert paid == {"dwarf_0": 0, "troll_0": 0}


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
    name = "TURN_LIMIT" if ending == "truncations" else "QUIET_LIMIT"
    wanted = {"termination": thud_env.Termination[name].value, "margin": 0}
    assert env.infos == {"dwarf_0": wanted, "troll_0": wanted}


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


def test_infos_always_have_the_same_keys_and_whole_numbers():
    for env in (thud_env.env(max_turns=40), thud_env.match_env(max_turns=20)):
        rng = np.random.default_rng(3)
        env.reset()
        keys = set(env.last()[-1])
        for _ in env.agent_iter():
            observation, _, terminated, truncated, info = env.last()
            assert set(info) == keys
            assert {type(number) for number in info.values()} == {int}
            over = terminated or truncated
            legal = np.flatnonzero(observation["action_mask"])
            env.step(None if over else int(rng.choice(legal)))


def test_the_margin_in_infos_is_the_score_as_it_stands():
    env = thud_env.env()
    env.reset(options={"position": BESIDE_TWO_DWARFS})
    before = env.infos["dwarf_0"]
    for action in env.position.decisions("TH3-H2xG1"):
        env.step(action)
    assert env.infos["troll_0"] == {"termination": 0, "margin": env.position.margin}
    assert before == {"termination": 0, "margin": env.position.margin + 1}


@pytest.mark.parametrize("made", [thud_env.env, thud_env.match_env])
@pytest.mark.parametrize("first_moves", [0, 1])
def test_an_illegal_action_may_lose(made, first_moves):
    env = made(illegal_action="lose")
    env.reset()
    for _ in range(first_moves):
        env.step(int(env.position.legal_actions()[0]))
    loser, board = env.agent_selection, env.position
    (winner,) = set(env.possible_agents) - {loser}
    env.step(6465)
    assert env.rewards == {loser: -1, winner: 1}
    assert all(env.terminations.values())
    assert not any(env.truncations.values())
    assert env.position == board
    info = env.infos[loser]
    assert info.get("termination", info.get("first_termination")) == -1
    assert not env.observe(loser)["action_mask"].any()
    for _ in range(2):
        assert env.last()[1] == (-1 if env.agent_selection == loser else 1)
        env.step(None)
    assert env.agents == []
    env.reset()
    assert env.action_masks().any()
    fresh = made()
    fresh.reset()
    assert env.infos == fresh.infos


def test_where_an_illegal_action_loses_one_out_of_range_is_still_refused():
    env = thud_env.env(illegal_action="lose")
    env.reset()
    with pytest.raises(thud_env.IllegalMove, match="out of range"):
        env.step(6470)
    with pytest.raises(TypeError):
        env.step(1.5)


def test_no_reward_is_minus_0():
    env = thud_env.env()
    env.reset()
    env.step(int(env.position.legal_actions()[0]))
    assert [str(reward) for reward in env.rewards.values()] == ["0.0", "0.0"]


@pytest.mark.parametrize(
    ("made", "arguments", "named"),
    [
        (thud_env.env, {"max_turnz": 9}, "'max_turnz': did you mean 'max_turns'"),
        (
            thud_env.match_env,
            {"frameskip": 1},
            r"\(\) got an unexpected keyword argument 'frameskip'",
        ),
        (
            thud_env.BatchedGame,
            {"num_games": 1, "observation": True},
            "did you mean 'observations'",
        ),
        (thud_env.random_playouts, {"num_games": 1, "devise": "cpu"}, "did you mean 'device'"),
    ],
)
def test_an_unknown_argument_is_refused_as_python_does(made, arguments, named):
    with pytest.raises(TypeError, match=named):
        made(**arguments)


@pytest.mark.parametrize("ask", ["observation_space", "action_space", "observe"])
def test_what_is_no_agent_is_refused_in_a_line(ask):
    env = thud_env.env()
    env.reset()
    for agent in (["dwarf_0"], [], None, [np.zeros((3, 3))]):
        with pytest.raises(
            thud_env.ThudError, match=r"^unknown agent [^\n]*: 'dwarf_0' or 'troll_0'"
        ):
            getattr(env, ask)(agent)
