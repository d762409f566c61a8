"""A copy of any environment, taken at any moment, goes on exactly as its original does."""

import copy
import pickle
from functools import partial
from itertools import cycle, islice, product

import gymnasium
import numpy as np
import pytest
from named import make_aec
from seat_play import assert_same, some_legal

import thud_env
from thud_env.actions import NUM_ACTIONS
from thud_env.envs.single import ThudSeatEnv
from thud_env.envs.vector import ThudVectorEnv

OWN_NAMES = {"koom-valley": "KoomValley", "koom-valley-football": "KoomValleyFootball"}
"""The rulesets whose games the registries name after them."""
AEC_GAMES = [
    *((rules if rules in OWN_NAMES else "thud", rules) for rules in thud_env.RULESETS),
    *(("thud-match", rules) for rules in thud_env.RULESETS),
]
SEAT_GAMES = [
    *((OWN_NAMES.get(rules, "Thud"), rules) for rules in thud_env.RULESETS),
    ("ThudMatch", "classic"),
]
SEATS = (
    {"side": "random", "opponent": "random-decisions"},
    {"side": "random", "opponent": "agents:greedy", "match": True},
    {"side": "both", "opponent": None},
)
LAST_MOMENT = 400
"""Copies are taken after up to so many decisions; many battles are over by then."""


def deep(env, make, play_on):
    return copy.deepcopy(env)


def pickled(env, make, play_on):
    return pickle.loads(pickle.dumps(env))


def into_new(env, make, play_on):
    """The state, set in an environment that was never reset."""
    twin = make()
    twin.set_state(env.get_state())
    return twin


def into_used(env, make, play_on):
    """The state, set in an environment that is somewhere else."""
    twin = make()
    twin.reset(seed=1)
    play_on(twin)
    twin.set_state(env.get_state())
    return twin


COPIERS = (deep, pickled, into_new, into_used)


def step_aec(env, rng):
    """One decision at random; what every agent could see after it."""
    _, _, terminated, truncated, _ = env.last()
    legal = np.flatnonzero(env.action_masks())
    env.step(None if terminated or truncated else int(rng.choice(legal)))
    return (
        (list(env.agents), env.agent_selection, env.position),
        (env.rewards, env.terminations, env.truncations, env.infos),
        [env.last() if env.agents else None, env.state()],
        [env.observe(agent) for agent in env.agents],
    )


def check_aec(make, copier, rng):
    """Copy an environment at a random moment of a battle and play both to the end."""

    def play_on(env):
        for _ in range(rng.integers(LAST_MOMENT)):
            if not env.agents:
                break
            step_aec(env, rng)

    env = make()
    env.reset()
    play_on(env)
    twin = copier(env, make, play_on)
    assert twin.render() == env.render()
    seed = int(rng.integers(2**32))
    # In lockstep: what they shared would show.
    for_env, for_twin = np.random.default_rng(seed), np.random.default_rng(seed)
    while env.agents:
        assert_same(step_aec(env, for_env), step_aec(twin, for_twin))
    assert twin.agents == []
    assert twin.render() == env.render()


def check_seat(make, copier, rng):
    """The same with an opponent, on into the battle after."""

    def step(seat, draws):
        masks = seat.action_masks()
        returned = seat.step(int(some_legal(masks[np.newaxis], draws)[0]))
        return [returned, seat.reset() if returned[2] or returned[3] else None]

    def play_on(seat):
        for _ in range(rng.integers(LAST_MOMENT // 2)):
            step(seat, rng)

    env = make()
    env.reset(seed=int(rng.integers(2**32)))
    play_on(env)
    twin = copier(env, make, play_on)
    seed = int(rng.integers(2**32))
    for_env, for_twin = np.random.default_rng(seed), np.random.default_rng(seed)
    over = False
    while not over:
        returned = step(env, for_env)
        assert_same(returned, step(twin, for_twin))
        over = returned[1] is not None
    assert_same(step(env, for_env), step(twin, for_twin))


def check_vector(make, copier, rng):
    """The same with many seats, some of which lose by an illegal action."""

    def actions_in(envs, draws):
        actions = envs.sample_actions()
        if draws.random() < 0.3:
            actions[draws.integers(envs.num_envs)] = NUM_ACTIONS - 1
        return actions

    def play_on(envs):
        for _ in range(rng.integers(LAST_MOMENT // 8)):
            envs.step(actions_in(envs, rng))

    envs = make()
    envs.reset(seed=int(rng.integers(2**32)))
    play_on(envs)
    twin = copier(envs, make, play_on)
    seed = int(rng.integers(2**32))
    for_envs, for_twin = np.random.default_rng(seed), np.random.default_rng(seed)
    assert_same(envs.action_masks(), twin.action_masks())
    for _ in range(30):
        returned = envs.step(actions_in(envs, for_envs))
        assert_same(returned, twin.step(actions_in(twin, for_twin)))


def check_many(check, makers, games):
    """Check environments of every maker with every copier, in turn."""
    rng = np.random.default_rng(games)
    pairs = cycle(product(makers, COPIERS))
    for make, copier in islice(pairs, games):
        check(make, copier, rng)


def aec_makers(name, rules):
    # Matches of short battles, so that many are copied in the second.
    limits = {"max_turns": 150} if name == "thud-match" else {}
    return [partial(make_aec, f"thud/{name}-v0", rules=rules, render_mode="ansi", **limits)]


def seat_makers(name, rules):
    def make(opponent, observation):
        options = {"rules": rules, "side": "random", "observation": observation}
        return gymnasium.make(f"thud/{name}-v0", opponent=opponent, **options).unwrapped

    return [partial(make, "random-decisions", "dict"), partial(make, "agents:greedy", "planes")]


def vector_makers(rules):
    make = partial(gymnasium.make_vec, "thud/Thud-v0", 4, rules=rules, max_turns=40)
    return [
        partial(make, autoreset_mode=mode, **seat)
        for seat, mode in product(SEATS, ("NextStep", "SameStep"))
    ]


@pytest.mark.parametrize(
    "env",
    [
        thud_env.env(),
        thud_env.match_env(),
        gymnasium.make("thud/Thud-v0").unwrapped,
        gymnasium.make_vec("thud/Thud-v0", 2),
    ],
    ids=lambda env: type(env).__name__,
)
def test_a_shallow_copy_which_would_share_the_board_is_refused(env):
    with pytest.raises(TypeError, match=f"{type(env).__name__} .* copy.deepcopy would be right"):
        copy.copy(env)


@pytest.mark.parametrize(("name", "rules"), AEC_GAMES)
def test_aec_copies(name, rules):
    check_many(check_aec, aec_makers(name, rules), games=4)


@pytest.mark.parametrize(("name", "rules"), SEAT_GAMES)
def test_seat_copies(name, rules):
    check_many(check_seat, seat_makers(name, rules), games=8)


@pytest.mark.parametrize("rules", thud_env.RULESETS)
def test_vector_copies(rules):
    check_many(check_vector, vector_makers(rules), games=24)


@pytest.mark.parametrize("copier", COPIERS)
def test_what_an_opening_of_the_opponent_earned_is_copied_too(copier):
    position = thud_env.Position.start().play("dE2-E6").play("TG7-F6")
    options = {"side": "trolls", "opponent": "agents:greedy"}
    for make in (partial(ThudSeatEnv, **options), partial(ThudVectorEnv, 1, **options)):
        env = make()
        env.reset(options={"position": position})
        twin = copier(env, make, play_on=lambda env: None)
        actions = some_legal(np.atleast_2d(env.action_masks()), np.random.default_rng(1))
        returned = [one.step(actions if make.args else int(actions[0])) for one in (env, twin)]
        assert_same(*returned)
        assert returned[0][1] <= -4 / 32


@pytest.mark.soak
@pytest.mark.parametrize(("name", "rules"), AEC_GAMES)
def test_aec_copies_a_thousand_times(name, rules):
    check_many(check_aec, aec_makers(name, rules), games=1000)


@pytest.mark.soak
@pytest.mark.parametrize(("name", "rules"), SEAT_GAMES)
def test_seat_copies_a_thousand_times(name, rules):
    check_many(check_seat, seat_makers(name, rules), games=1000)


@pytest.mark.soak
@pytest.mark.parametrize("rules", thud_env.RULESETS)
def test_vector_copies_a_thousand_times(rules):
    check_many(check_vector, vector_makers(rules), games=1000 // 8)
