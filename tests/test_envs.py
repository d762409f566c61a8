"""The promises of both PettingZoo environments: a battle, and a game of two battles."""

import copy
import pickle
import warnings

import numpy as np
import pettingzoo
import pytest
from gymnasium.error import ResetNeeded
from named import HAS_REGISTRY, make_aec
from pettingzoo.test import api_test, performance_benchmark, seed_test
from pettingzoo.test.state_test import test_state as check_state
from pettingzoo.test.state_test import test_state_space as check_state_space
from pettingzoo.utils.conversions import turn_based_aec_to_parallel
from pettingzoo.utils.wrappers import TerminateIllegalWrapper
from random_play import play_randomly
from seat_play import assert_same
from test_actions import OneBool

import thud_env
from thud_env.actions import DONE, NUM_ACTIONS

MAKERS = (thud_env.env, thud_env.match_env)
KNOWN_WARNINGS = (
    # PettingZoo's own board games, whose observations are such dictionaries too, are listed
    # in the test by name as exempt from these two.
    "Observation space for each agent probably should be gymnasium.spaces.box",
    "Observation is not a NumPy array",
    # The end of a game leaves nothing legal; idle_mask="ones" is tested without it.
    "Action mask numpy array is all zeros",
)


@pytest.fixture(params=MAKERS, ids=lambda make: make.__name__)
def make(request):
    return request.param


@pytest.mark.parametrize("rules", thud_env.RULESETS)
@pytest.mark.parametrize("idle_mask", ["zeros", "ones"])
@pytest.mark.parametrize("observation", ["dict", "planes"])
def test_pettingzoo_api(make, rules, idle_mask, observation):
    env = make(rules=rules, observation=observation, idle_mask=idle_mask, max_turns=60)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(env, num_cycles=1000)
    allowed = KNOWN_WARNINGS[:2] if idle_mask == "ones" else KNOWN_WARNINGS
    if observation == "planes":
        allowed = ()
    unknown = [str(w.message) for w in caught if not str(w.message).startswith(allowed)]
    assert unknown == []


def observed(env):
    """What agents are told: rewards, ends, planes, masks and the other infos."""
    told = []
    for agent in env.agents:
        seen, info = env.observe(agent), dict(env.infos[agent])
        mask = (seen if isinstance(seen, dict) else info).pop("action_mask")
        planes = seen["observation"] if isinstance(seen, dict) else seen
        told.append((planes, mask, info))
    return env.rewards, env.terminations, env.truncations, told


@pytest.mark.parametrize("idle_mask", ["zeros", "ones"])
def test_planes_with_masks_in_the_infos_say_what_dictionaries_do(make, idle_mask):
    options = {"idle_mask": idle_mask, "illegal_action": "lose", "max_turns": 25}
    envs = [make(observation=kind, **options) for kind in ("dict", "planes")]
    for env in envs:
        env.reset(seed=1)
    rng = np.random.default_rng(1)
    while envs[0].agents:
        assert_same(observed(envs[0]), observed(envs[1]))
        assert_same(envs[1].last()[0], envs[1].observe(envs[1].agent_selection))
        over = envs[0].is_over
        action = None if over else int(rng.choice(np.flatnonzero(envs[0].action_masks())))
        for env in envs:
            env.step(action)
    for env in envs:
        env.reset()
        env.step(DONE)  # illegal: loses
    assert_same(observed(envs[0]), observed(envs[1]))


def test_a_state_fits_either_kind_of_observation(make):
    envs = [make(observation=kind) for kind in ("dict", "planes")]
    for one, other in (envs, envs[::-1]):
        one.reset()
        play_randomly(one, np.random.default_rng(4), decisions=10)
        state = one.get_state()
        other.set_state(state)
        assert_same(observed(one), observed(other))
        assert_same(other.get_state(), state)
        for info in other.infos.values():
            info.get("action_mask", np.empty(0))[:] = 7
        assert_same(other.get_state(), state)
        other.step(int(other.position.legal_actions()[0]))
        one.set_state(state)
        assert_same(one.get_state(), state)


def test_pettingzoos_own_conversion_gives_the_parallel_api(make):
    env = turn_based_aec_to_parallel(make(rules="classic-all", max_turns=30))
    first, _ = env.possible_agents
    rng, paid = np.random.default_rng(0), 0.0
    observations, _ = env.reset()
    while env.agents:
        masks = {agent: observations[agent]["action_mask"] for agent in env.agents}
        legal = {agent: np.flatnonzero(mask) for agent, mask in masks.items()}
        actions = {agent: rng.choice(own) if len(own) else None for agent, own in legal.items()}
        observations, rewards, _, _, infos = env.step(actions)
        paid += rewards[first]
    earned = infos[first]["total" if "total" in infos[first] else "margin"]
    assert 32 * paid == earned != 0


def test_an_action_drawn_for_the_agent_that_does_not_decide_is_ignored(make):
    env = turn_based_aec_to_parallel(make(max_turns=10, idle_mask="ones"))
    observations, _ = env.reset()
    while env.agents:
        masks = {agent: observations[agent]["action_mask"] for agent in env.agents}
        assert sorted(mask.all() for mask in masks.values()) == [False, True]
        drawn = {agent: env.action_space(agent).sample(mask) for agent, mask in masks.items()}
        observations, *_ = env.step(drawn)


NAMES = ("thud", "koom-valley", "koom-valley-football", "thud-match")


@pytest.mark.soak
@pytest.mark.parametrize("name", NAMES)
def test_pettingzoo_performance_benchmark(name):
    # It plays for five seconds and resets whenever a game ends. Of PettingZoo's other tests,
    # bombardment_test takes what step() returns for an observation, and fails with any environment.
    performance_benchmark(make_aec(f"thud/{name}-v0"))


@pytest.mark.parametrize("observation", ["dict", "planes"])
@pytest.mark.parametrize("name", NAMES)
def test_pettingzoo_seed_and_state(name, observation):
    def make():
        return make_aec(f"thud/{name}-v0", observation=observation)

    seed_test(make, num_cycles=300)
    # The two halves of state_test() that are not about parallel environments. They play
    # without looking at the mask, so PettingZoo's own wrapper ends the game for them.
    check_state_space(make())
    for seed in range(20):
        check_state(TerminateIllegalWrapper(make(), illegal_reward=-1), 300, seed=seed)


@pytest.mark.skipif(not HAS_REGISTRY, reason="PettingZoo has a registry from 1.27 on")
def test_the_registry_makes_each_game():
    assert pettingzoo.make("aec", "thud/thud-v0").rules.name == "classic"
    assert pettingzoo.make("aec", "thud/koom-valley-v0").rules.name == "koom-valley"
    for name, kind in (("thud", thud_env.ThudEnv), ("thud-match", thud_env.MatchEnv)):
        made = pettingzoo.make("aec", f"thud/{name}-v0", rules="classic-all", max_turns=10)
        assert type(made.unwrapped) is kind
        assert made.rules.name == "classic-all"


def test_set_state_does_not_share_with_the_state(make):
    env = make()
    env.reset()
    state = env.get_state()
    play_randomly(env, np.random.default_rng(4), decisions=10)
    env.set_state(state)
    play_randomly(env, np.random.default_rng(5), decisions=10)
    env.set_state(state)
    assert env.position == thud_env.Position.start()


@pytest.mark.parametrize("method", ["get_state", "action_masks", "last"])
def test_no_agent_decides_before_the_first_reset(make, method):
    with pytest.raises(ResetNeeded, match=rf"call reset\(\) before {method}\(\)"):
        getattr(make(), method)()


@pytest.mark.parametrize(
    "name", ["agent_selection", "rewards", "terminations", "truncations", "infos"]
)
def test_what_a_reset_sets_cannot_be_read_before_it(make, name):
    for env in (make(), copy.deepcopy(make()), pickle.loads(pickle.dumps(make()))):
        assert not hasattr(env, name)
        with pytest.raises(AttributeError, match=rf"call reset\(\) before reading {name}"):
            getattr(env, name)
        env.reset()
        getattr(env, name)


def test_observations_belong_to_the_caller(make):
    env = make()
    env.reset()
    seen = env.observe(env.agent_selection)
    before = {key: value.copy() for key, value in seen.items()}
    env.step(int(np.flatnonzero(seen["action_mask"])[0]))
    assert all(np.array_equal(seen[key], before[key]) for key in seen)


def test_masks(make):
    env = make()
    env.reset()
    first, second = env.possible_agents
    assert env.observe(first)["action_mask"].sum() == 656
    assert env.observe(second)["action_mask"].sum() == 0
    assert np.array_equal(env.action_masks(), env.observe(first)["action_mask"])
    env = make(idle_mask="ones")
    env.reset()
    assert env.observe(second)["action_mask"].sum() == NUM_ACTIONS


@pytest.mark.parametrize("action", [-1, NUM_ACTIONS, 10**12, DONE, 3000])
def test_an_illegal_action_is_refused_and_changes_nothing(make, action):
    env = make()
    env.reset()
    with pytest.raises(thud_env.IllegalMove, match=f"action {action}"):
        env.step(action)
    assert env.position == thud_env.Position.start()


@pytest.mark.parametrize("action", [0.0, "dF1-F5", None, np.zeros(2, dtype=int)])
def test_an_action_that_is_not_an_integer_is_refused(make, action):
    env = make()
    env.reset()
    with pytest.raises(TypeError, match="integer"):
        env.step(action)


def test_steps_out_of_place_are_refused(make):
    env = make(max_turns=1)
    with pytest.raises(ResetNeeded, match=r"reset\(\)"):
        env.step(0)
    env.reset()
    while not any(env.truncations.values()):
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
        ({"observation": "image"}, "unknown observation 'image': 'planes' or 'dict'"),
        ({"reward": "points"}, "reward 'points'"),
        ({"rules": "koom-valley", "reward": "margin"}, "outcome"),
        ({"idle_mask": "twos"}, "idle_mask 'twos'"),
        ({"max_turns": 0}, "max_turns"),
    ],
)
def test_bad_arguments_are_named(make, arguments, named):
    with pytest.raises(ValueError, match=named):
        make(**arguments)


@pytest.mark.parametrize(
    ("action", "named"),
    [
        (np.zeros(2, dtype=np.int64), r"int64 of shape \(2,\) is not one integer"),
        (np.array(3.0), r"float64 of shape \(\)"),
        ("A6-B6", "'A6-B6' is not one integer"),
        (np.timedelta64(3), r"timedelta64\(3\) is not one integer"),
        (True, "True is a bool"),
        (OneBool(), "is a bool"),
    ],
)
def test_the_error_for_an_action_names_the_mistake(make, action, named):
    env = make()
    env.reset()
    with pytest.raises(TypeError, match=named):
        env.step(action)
    with pytest.raises(TypeError, match=r"an int in 0 \.\. 6469 would be right"):
        env.step(action)


@pytest.mark.parametrize("seed", [-1, 1.5, "x"])
def test_a_seed_that_is_negative_or_no_integer_is_refused(make, seed):
    env = make()
    with pytest.raises(ValueError, match="seed must be"):
        env.reset(seed=seed)
    assert not env.agents


def test_an_open_offer_neither_hides_the_ruleset_of_a_text_nor_names_another(make):
    env = make(rules="classic")
    rock_on_h4 = "5/7/9/5R5/13/15/15/3dT10/15/5d9/13/5d5/9/7/5 d offer 60 131"
    with pytest.raises(ValueError, match=r"on H8; rules='koom-valley' would read it$"):
        env.reset(options={"position": rock_on_h4})
    stone_on_h8 = "5/7/9/11/13/6d8/6Td7/d6R7/15/15/13/11/9/7/5 d offer 60 131"
    with pytest.raises(ValueError, match=r"is played with agreement=False$"):
        env.reset(options={"position": stone_on_h8})


def test_position_text_of_another_game_is_refused_and_its_ruleset_named(make):
    env = make(rules="classic")
    rock_on_h4 = "5/7/9/5R5/13/15/15/3dT10/15/5d9/13/5d5/9/7/5 d - 0 0"
    with pytest.raises(ValueError, match="stands on H8; rules='koom-valley' would read it"):
        env.reset(options={"position": rock_on_h4})
    any_or_none = "1ddd1/7/4T4/11/13/15/15/7R7/15/15/13/11/9/7/5 t - 0 4"
    position = thud_env.Position.from_text(any_or_none, "classic-all")
    asked = position.apply(position.decisions("TH3-H2")[0]).text
    with pytest.raises(ValueError, match="rules='classic-all' would read it"):
        env.reset(options={"position": asked})
    with pytest.raises(TypeError, match="position 7: position text or a Position"):
        env.reset(options={"position": 7})
    with pytest.raises(
        TypeError, match=r"^position is of type ndarray: .* Position\(row\)"
    ) as error:
        env.reset(options={"position": position.row})
    assert len(str(error.value)) < 100


@pytest.mark.parametrize("ask", ["observe", "mask", "side_of", "observation_space", "action_space"])
def test_an_unknown_agent_is_named(make, ask):
    env = make()
    env.reset()
    known = " or ".join(map(repr, env.possible_agents))
    with pytest.raises(ValueError, match=f"unknown agent 'dwarfs': {known} would be right"):
        getattr(env, ask)("dwarfs")


def test_a_state_shares_nothing_with_its_environment(make):
    env = make()
    env.reset()
    state = env.get_state()
    kept = copy.deepcopy(state)
    agent = env.agents[0]
    env.infos[agent]["more"] = 1
    assert_same(state, kept)
    env.set_state(state)
    env.infos[agent]["more"] = 1
    assert_same(state, kept)


def test_a_start_of_another_game_or_already_over_is_refused(make):
    env = make(rules="classic")
    with pytest.raises(ValueError, match="koom-valley"):
        env.reset(options={"position": thud_env.Position.start("koom-valley")})
    over = "5/7/9/11/13/15/15/7R7/15/15/13/11/9/7/5 d - 0 0"
    with pytest.raises(ValueError, match="over"):
        env.reset(options={"position": over})
    with pytest.raises(ValueError, match="fields"):
        env.reset(options={"position": "nonsense"})
    with pytest.raises(TypeError, match="options is of type Position: a dictionary, such as"):
        env.reset(options=thud_env.Position.start())


def test_rulesets_of_one_name_are_told_apart(make):
    env, other = (
        make(rules=thud_env.CLASSIC.replace(name="one", trolls=troll)) for troll in ("G7", "H7")
    )
    env.reset()
    other.reset()
    with pytest.raises(ValueError, match=r"trolls=H7' cannot be set in .*trolls=G7'$"):
        env.set_state(other.get_state())
    with pytest.raises(ValueError, match=r"trolls=H7 cannot start a battle of .*trolls=G7$"):
        env.reset(options={"position": other.position})


def test_only_a_game_that_is_played_can_be_forfeited(make):
    env = make()
    with pytest.raises(ResetNeeded, match=r"call reset\(\) before forfeit\(\)"):
        env.forfeit()
    env.reset()
    env.forfeit()
    with pytest.raises(ResetNeeded, match=r"call reset\(\) before forfeit\(\)"):
        env.forfeit()


def test_the_loop_over_agents_needs_a_reset_too():
    env = thud_env.env(max_turns=1)
    with pytest.raises(ResetNeeded, match="agent_iter"):
        list(env.agent_iter())
    env.reset()
    env.step(env.position.legal_actions()[0])
    for _ in env.possible_agents:
        env.step(None)
    with pytest.raises(ResetNeeded, match="last"):
        env.last()


@pytest.mark.parametrize("name", ["positon", "Position", "positions"])
def test_a_misspelt_position_is_not_ignored(name):
    env = thud_env.env()
    with pytest.raises(ValueError, match="did you mean 'position'"):
        env.reset(options={name: "anything"})
    env.reset(options={"options": 1, "seed": 2})  # as PettingZoo's own tests have them


def test_the_picture_says_who_lost_by_an_illegal_action():
    env = thud_env.env(render_mode="ansi", illegal_action="lose")
    env.reset()
    env.step(DONE)
    assert "dwarfs lost by an illegal action, turn 0" in env.render()
