import copy
import pickle
import warnings

import numpy as np
import pettingzoo
import pytest
from gymnasium.error import ResetNeeded
from pettingzoo.test import api_test, seed_test
from pettingzoo.test.state_test import test_state as check_state
from pettingzoo.test.state_test import test_state_space as check_state_space
from pettingzoo.utils.wrappers import TerminateIllegalWrapper

import thud_env
from thud_env.actions import DONE, NUM_ACTIONS

KNOWN_WARNINGS = (
    # PettingZoo's own board games, whose observations are such dictionaries too, are listed
    # in the test by name as exempt from these two.
    "Observation space for each agent probably should be gymnasium.spaces.box",
    "Observation is not a NumPy array",
    # The end of a battle leaves nothing legal; idle_mask="ones" is tested without it.
    "Action mask numpy array is all zeros",
)


def play_randomly(env, rng, decisions=None):
    """Play on until the battle ends or `decisions` are played; the rewards seen."""
    paid = dict.fromkeys(env.possible_agents, 0.0)
    played = 0
    for _ in env.agent_iter():
        observation, _, terminated, truncated, _ = env.last()
        if terminated or truncated:
            env.step(None)
            continue
        if played == decisions:
            break
        env.step(int(rng.choice(np.flatnonzero(observation["action_mask"]))))
        played += 1
        for name, reward in env.rewards.items():
            paid[name] += reward
    return paid


@pytest.mark.parametrize("rules", thud_env.RULESETS)
@pytest.mark.parametrize("idle_mask", ["zeros", "ones"])
def test_pettingzoo_api(rules, idle_mask):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(thud_env.env(rules=rules, idle_mask=idle_mask, max_turns=60), num_cycles=1000)
    allowed = KNOWN_WARNINGS[:2] if idle_mask == "ones" else KNOWN_WARNINGS
    unknown = [str(w.message) for w in caught if not str(w.message).startswith(allowed)]
    assert unknown == []


@pytest.mark.parametrize("name", ["thud", "koom-valley", "koom-valley-football"])
def test_pettingzoo_seed_and_state(name):
    def make():
        return pettingzoo.make("aec", f"thud/{name}-v0")

    seed_test(make, num_cycles=300)
    # The two halves of state_test() that are not about parallel environments. They play
    # without looking at the mask, so PettingZoo's own wrapper ends the game for them.
    check_state_space(make())
    for seed in range(20):
        check_state(TerminateIllegalWrapper(make(), illegal_reward=-1), 300, seed=seed)


def test_the_registry_makes_each_game():
    assert pettingzoo.make("aec", "thud/thud-v0").rules.name == "classic"
    assert pettingzoo.make("aec", "thud/koom-valley-v0").rules.name == "koom-valley"
    made = pettingzoo.make("aec", "thud/thud-v0", rules="classic-all", max_turns=10)
    assert made.rules.name == "classic-all"


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


def test_the_turn_limit_truncates_and_the_quiet_limit_terminates():
    for limits, ending in (
        ({"max_turns": 4}, "truncations"),
        ({"max_quiet_turns": 4}, "terminations"),
    ):
        env = thud_env.env(**limits)
        env.reset()
        for turn in ("dA6-B6", "TG7-F6", "dB6-C6", "TF6-F7"):
            for action in env.position.decisions(turn):
                env.step(action)
        assert all(getattr(env, ending).values())
        assert env.infos["dwarf_0"]["margin"] == 0


def test_a_troll_is_asked_what_to_capture():
    env = thud_env.env(rules="classic")
    env.reset(options={"position": _BESIDE_TWO_DWARFS})
    position = thud_env.Position.from_text(_BESIDE_TWO_DWARFS)
    env.step(position.decisions("TH3-H2xG1")[0])
    assert env.agent_selection == "troll_0"
    assert env.rewards == {"dwarf_0": 0.0, "troll_0": 0.0}
    env.step(position.decisions("TH3-H2xG1")[1])
    assert env.agent_selection == "dwarf_0"
    assert env.rewards == {"dwarf_0": -1 / 32, "troll_0": 1 / 32}


_BESIDE_TWO_DWARFS = "1d1d1/7/4T4/11/13/15/15/7R7/15/15/13/11/9/7/5 t - 0 0"


@pytest.mark.parametrize("copier", ["deepcopy", "pickle", "state"])
def test_copies_continue_identically(copier):
    rng = np.random.default_rng(3)
    for rules in thud_env.RULESETS:
        env = thud_env.env(rules=rules, max_turns=150)
        env.reset()
        play_randomly(env, rng, decisions=int(rng.integers(0, 100)))
        if copier == "deepcopy":
            twin = copy.deepcopy(env)
        elif copier == "pickle":
            twin = pickle.loads(pickle.dumps(env))
        else:
            twin = thud_env.env(rules=rules, max_turns=150)
            twin.set_state(env.get_state())
        seed = int(rng.integers(1 << 30))
        paid = play_randomly(env, np.random.default_rng(seed))
        before = env.position
        assert play_randomly(twin, np.random.default_rng(seed)) == paid
        assert twin.position == before


def test_set_state_does_not_share_with_the_state():
    env = thud_env.env()
    env.reset()
    state = env.get_state()
    play_randomly(env, np.random.default_rng(4), decisions=10)
    env.set_state(state)
    play_randomly(env, np.random.default_rng(5), decisions=10)
    env.set_state(state)
    assert env.position == thud_env.Position.start()


def test_observations_belong_to_the_caller():
    env = thud_env.env()
    env.reset()
    seen = env.observe("dwarf_0")
    before = {key: value.copy() for key, value in seen.items()}
    env.step(int(np.flatnonzero(seen["action_mask"])[0]))
    assert all(np.array_equal(seen[key], before[key]) for key in seen)


def test_masks():
    env = thud_env.env()
    env.reset()
    assert env.observe("dwarf_0")["action_mask"].sum() == 656
    assert env.observe("troll_0")["action_mask"].sum() == 0
    assert np.array_equal(env.action_masks(), env.observe("dwarf_0")["action_mask"])
    env = thud_env.env(idle_mask="ones")
    env.reset()
    assert env.observe("troll_0")["action_mask"].sum() == NUM_ACTIONS


@pytest.mark.parametrize("action", [-1, NUM_ACTIONS, 10**12, DONE, 3000])
def test_an_illegal_action_is_refused_and_changes_nothing(action):
    env = thud_env.env()
    env.reset()
    with pytest.raises(thud_env.IllegalMove, match=f"action {action}"):
        env.step(action)
    assert env.position == thud_env.Position.start()


@pytest.mark.parametrize("action", [0.0, "dF1-F5", None, np.zeros(2, dtype=int)])
def test_an_action_that_is_no_integer_is_refused(action):
    env = thud_env.env()
    env.reset()
    with pytest.raises(TypeError, match="integer"):
        env.step(action)


def test_steps_out_of_place_are_refused():
    env = thud_env.env(max_turns=1)
    with pytest.raises(ResetNeeded, match=r"reset\(\)"):
        env.step(0)
    env.reset()
    env.step(int(env.position.legal_actions()[0]))
    with pytest.raises(thud_env.IllegalMove, match="over"):
        env.step(0)
    env.step(None)
    env.step(None)
    with pytest.raises(ResetNeeded):
        env.step(None)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"rules": "clasic"}, "did you mean 'classic'"),
        ({"render_mode": "humna"}, "render_mode 'humna'"),
        ({"reward": "points"}, "reward 'points'"),
        ({"rules": "koom-valley", "reward": "margin"}, "outcome"),
        ({"idle_mask": "twos"}, "idle_mask 'twos'"),
        ({"max_turns": 0}, "max_turns"),
    ],
)
def test_bad_arguments_are_named(arguments, named):
    with pytest.raises(ValueError, match=named):
        thud_env.env(**arguments)


def test_a_start_of_another_game_or_already_over_is_refused():
    env = thud_env.env(rules="classic")
    with pytest.raises(ValueError, match="koom-valley"):
        env.reset(options={"position": thud_env.Position.start("koom-valley")})
    over = "5/7/9/11/13/15/15/7R7/15/15/13/11/9/7/5 d - 0 0"
    with pytest.raises(ValueError, match="over"):
        env.reset(options={"position": over})
    with pytest.raises(ValueError, match="fields"):
        env.reset(options={"position": "nonsense"})


def test_render_ansi_shows_the_board():
    env = thud_env.env(render_mode="ansi")
    env.reset()
    assert "8 . . . . . . T R T" in env.render()
