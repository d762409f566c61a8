"""A copy of any environment, taken at any moment, goes on exactly as its original does."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from named import make_aec
from seat_play import assert_same, some_legal

import thud_env

AEC_NAMES = ("thud", "koom-valley", "koom-valley-football", "thud-match")
GYMNASIUM_NAMES = ("Thud", "KoomValley", "KoomValleyFootball", "ThudMatch")
LAST_MOMENT = 400
"""Copies are taken after up to so many decisions; many battles are over by then."""


def by_state(env):
    """A second environment, made as the first one was and given its state."""
    twin = pickle.loads(pickle.dumps(env))
    twin.reset(seed=1)
    twin.set_state(env.get_state())
    return twin


COPIERS = (copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env)), by_state)


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


def check_aec(env, rng):
    """Copy an environment at a random moment of a battle and play both to the end."""
    env.reset()
    for _ in range(rng.integers(LAST_MOMENT)):
        if not env.agents:
            break
        step_aec(env, rng)
    twin = rng.choice(COPIERS)(env)
    assert twin.render() == env.render()
    seed = int(rng.integers(2**32))
    # In lockstep: what they shared would show.
    for_env, for_twin = np.random.default_rng(seed), np.random.default_rng(seed)
    while env.agents:
        assert_same(step_aec(env, for_env), step_aec(twin, for_twin))
    assert twin.agents == []
    assert twin.render() == env.render()


def check_seat(env, rng):
    """The same with an opponent, on into the battle after."""

    def step(seat, draws):
        masks = seat.action_masks()
        returned = seat.step(int(some_legal(masks[np.newaxis], draws)[0]))
        return [returned, seat.reset() if returned[2] or returned[3] else None]

    env.reset(seed=int(rng.integers(2**32)))
    for _ in range(rng.integers(LAST_MOMENT // 2)):
        step(env, rng)
    twin = rng.choice(COPIERS)(env)
    seed = int(rng.integers(2**32))
    for_env, for_twin = np.random.default_rng(seed), np.random.default_rng(seed)
    over = False
    while not over:
        returned = step(env, for_env)
        assert_same(returned, step(twin, for_twin))
        over = returned[1] is not None
    assert_same(step(env, for_env), step(twin, for_twin))


def check_vector(envs, rng):
    """The same with many seats."""
    _, infos = envs.reset(seed=int(rng.integers(2**32)))
    for _ in range(rng.integers(LAST_MOMENT // 2)):
        infos = envs.step(some_legal(infos["action_mask"], rng))[-1]
    twin = rng.choice(COPIERS)(envs)
    seed = int(rng.integers(2**32))
    for_envs, for_twin = np.random.default_rng(seed), np.random.default_rng(seed)
    masks = infos["action_mask"], infos["action_mask"]
    for _ in range(60):
        returned = envs.step(some_legal(masks[0], for_envs))
        of_twin = twin.step(some_legal(masks[1], for_twin))
        assert_same(returned, of_twin)
        masks = returned[-1]["action_mask"], of_twin[-1]["action_mask"]


def check_many_aec(name, games):
    rng = np.random.default_rng(games)
    env = make_aec(f"thud/{name}-v0", render_mode="ansi")
    for _ in range(games):
        check_aec(env, rng)


def check_many_seats(name, games):
    rng = np.random.default_rng(games)
    env = gymnasium.make(f"thud/{name}-v0", side="random", observation="dict").unwrapped
    for _ in range(games):
        check_seat(env, rng)


def check_many_vectors(rules, games):
    rng = np.random.default_rng(games)
    for number, mode in zip(range(games // 8), ["NextStep", "SameStep"] * games, strict=False):
        side = ("random", "both")[number // 2 % 2]
        check_vector(
            gymnasium.make_vec(
                "thud/Thud-v0", 8, rules=rules, side=side, autoreset_mode=mode, max_turns=90
            ),
            rng,
        )


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


@pytest.mark.parametrize("name", AEC_NAMES)
def test_aec_copies(name):
    check_many_aec(name, games=12)


@pytest.mark.parametrize("name", GYMNASIUM_NAMES)
def test_seat_copies(name):
    check_many_seats(name, games=12)


@pytest.mark.parametrize("rules", thud_env.RULESETS)
def test_vector_copies(rules):
    check_many_vectors(rules, games=32)


@pytest.mark.soak
@pytest.mark.parametrize("name", AEC_NAMES)
def test_aec_copies_a_thousand_times(name):
    check_many_aec(name, games=1000)


@pytest.mark.soak
@pytest.mark.parametrize("name", GYMNASIUM_NAMES)
def test_seat_copies_a_thousand_times(name):
    check_many_seats(name, games=1000)


@pytest.mark.soak
@pytest.mark.parametrize("rules", thud_env.RULESETS)
def test_vector_copies_a_thousand_times(rules):
    check_many_vectors(rules, games=1000)
