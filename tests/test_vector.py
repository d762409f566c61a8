import copy
import threading
import zlib
from itertools import combinations

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from seat_play import BESIDE_TWO_DWARFS, TROLL_LOST, assert_same, first_legal, some_legal

import agents
import thud_env
from thud_env.actions import NUM_ACTIONS
from thud_env.envs.vector import ThudVectorEnv
from thud_env.outcome import SIDES

ONE_TURN_LEFT = "5/7/9/11/13/d14/T14/7R7/15/15/13/11/9/7/5 d - 199 300"
NEAR_THE_GOAL = "1d3/2R4/9/11/13/15/15/15/15/15/13/11/9/2TTT2/5 d - 0 0"
MODES = [mode.value for mode in AutoresetMode]


def scattered(position):
    """A legal action that depends on the position alone, and looks random."""
    legal = position.legal_actions()
    return int(legal[zlib.crc32(position.row.tobytes()) % len(legal)])


class Scattered:
    """The same for many games at once."""

    def act_rows(self, rows):
        return np.array([scattered(thud_env.Position(row)) for row in rows])


@pytest.mark.parametrize("mode", MODES)
def test_sampled_actions_are_legal_and_seeded(mode):
    played = []
    for _ in range(2):
        envs = gymnasium.make_vec("thud/Thud-v0", 4, autoreset_mode=mode, max_turns=9).unwrapped
        _, infos = envs.reset(seed=3)
        played.append([])
        for _ in range(12):
            actions = envs.sample_actions()
            assert infos["action_mask"][np.arange(4), actions].all()
            played[-1].append(actions.tolist())
            _, _, terminated, truncated, infos = envs.step(actions)
            if mode == "Disabled" and (terminated | truncated).any():
                _, infos = envs.reset(options={"reset_mask": terminated | truncated})
    assert played[0] == played[1]
    assert len({tuple(actions) for actions in played[0]}) > 6


@pytest.mark.parametrize("change", [copy.deepcopy, lambda envs: envs])
def test_samples_draw_neither_sides_nor_starts(change):
    """A program that samples now and then meets the same battles as one that does not."""
    seen = []
    for samples in (False, True):
        envs = gymnasium.make_vec("thud/Thud-v0", 8, max_turns=4, side="random").unwrapped
        _, infos = envs.reset(seed=1)
        sides = []
        for _ in range(12):
            envs = change(envs)
            if samples:
                envs.sample_actions()
            *_, infos = envs.step(infos["action_mask"].argmax(axis=1))
            sides.append(infos["side"].tolist())
        seen.append(sides)
    assert seen[0] == seen[1]
    assert len({tuple(sides) for sides in seen[0]}) > 2


def test_a_state_knows_what_is_sampled_next():
    envs = gymnasium.make_vec("thud/Thud-v0", 4).unwrapped
    envs.reset(seed=3)
    state = envs.get_state()
    of_the_seed = np.random.default_rng(3).bit_generator.state
    assert state["sampling"] != of_the_seed, "sides and starts are drawn from that"
    drawn = envs.sample_actions().tolist()
    assert envs.sample_actions().tolist() != drawn
    envs.set_state(state)
    assert envs.sample_actions().tolist() == drawn
    with pytest.raises(thud_env.ThudError, match="sampling"):
        envs.set_state({**state, "sampling": {}})


@pytest.mark.parametrize("make", [thud_env.ThudSeatEnv, lambda **how: ThudVectorEnv(2, **how)])
def test_the_mask_of_an_info_is_an_array_of_its_own(make):
    observation, info = make(observation="dict").reset()
    assert np.array_equal(observation["action_mask"], info["action_mask"])
    assert not np.shares_memory(observation["action_mask"], info["action_mask"])


def test_rows_are_those_of_the_battles():
    envs = gymnasium.make_vec("thud/Thud-v0", 3, opponent="agents:random").unwrapped
    envs.reset(seed=3)
    envs.step(envs.sample_actions())
    rows = envs.rows
    assert [thud_env.Position(row) for row in rows] == [envs.position(env) for env in range(3)]
    rows[:] = 0
    assert envs.rows.any(), "a copy"


def test_closing_ends_the_threads_that_steps_start():
    others = set(threading.enumerate())
    envs = gymnasium.make_vec("thud/Thud-v0", 4, num_threads=3)
    for seed in range(2):  # again after it has been closed
        envs.reset(seed=seed)
        envs.step(envs.unwrapped.sample_actions())
        own = set(threading.enumerate()) - others
        assert len(own) == 2, "and this one"
        envs.close()
        assert not any(thread.is_alive() for thread in own)
    envs.close()
    assert envs.unwrapped.closed


def test_an_environment_that_was_never_made_can_be_closed():
    ThudVectorEnv.__new__(ThudVectorEnv).close()  # as Gymnasium 1.2 does as it is collected


GAMES = [
    pytest.param("thud/Thud-v0", {"observation": "planes"}, id="planes"),
    pytest.param("thud/Thud-v0", {"observation": "dict", "reward": "outcome"}, id="dict"),
    pytest.param("thud/ThudMatch-v0", {"observation": "dict"}, id="match"),
    pytest.param("thud/ThudMatch-v0", {"rules": "classic-all", "reward": "outcome"}, id="total"),
    pytest.param(
        "thud/ThudMatch-v0",
        {"rules": "koom-valley", "starts": [NEAR_THE_GOAL]},
        id="match of koom-valley",
    ),
]


@pytest.mark.parametrize(("name", "options"), GAMES)
@pytest.mark.parametrize("side", ["dwarfs", "trolls", "both"])
@pytest.mark.parametrize("mode", MODES)
def test_it_equals_a_loop_over_single_environments(mode, side, name, options):
    options = {"side": side, "max_turns": 11, "max_quiet_turns": 7, **options}
    alone = side == "both"
    loop = gymnasium.make_vec(
        name,
        5,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": AutoresetMode(mode)},
        opponent=None if alone else scattered,
        **options,
    )
    opponent = None if alone else Scattered()
    batch = gymnasium.make_vec(name, 5, opponent=opponent, autoreset_mode=mode, **options)
    assert isinstance(batch.unwrapped, ThudVectorEnv)
    assert batch.observation_space == loop.observation_space
    assert batch.action_space == loop.action_space
    assert batch.metadata["autoreset_mode"] is AutoresetMode(mode)
    rng = np.random.default_rng(len(side))
    observations, infos = batch.reset(seed=1)
    assert_same((observations, infos), loop.reset(seed=1))
    ends, paid = 0, set()
    for _ in range(90):
        actions = some_legal(infos["action_mask"], rng)
        if rng.random() < 0.05:
            actions[rng.integers(5)] = NUM_ACTIONS - 1  # illegal: loses
        returned = batch.step(actions)
        assert_same(returned, loop.step(actions))
        infos = returned[-1]
        ended = returned[2] | returned[3]
        ends += ended.sum()
        paid |= set(returned[1][actions != NUM_ACTIONS - 1])
        if mode == "Disabled" and ended.any():
            _, infos = batch.reset(options={"reset_mask": ended})
            loop.reset(options={"reset_mask": ended})
    assert ends > 10
    assert paid - {0}, "legal actions are paid, too"


def test_make_vec_finds_it_unasked():
    for arguments in ({}, {"vectorization_mode": "vector_entry_point"}):
        envs = gymnasium.make_vec("thud/KoomValley-v0", num_envs=3, side="trolls", **arguments)
        assert isinstance(envs.unwrapped, ThudVectorEnv)
        assert isinstance(envs, VectorEnv)
        assert envs.unwrapped.rules.name == "koom-valley"
        assert gymnasium.make_vec(envs.spec).num_envs == 3


@pytest.mark.parametrize("rules", thud_env.RULESETS)
@pytest.mark.parametrize("opponent", ["random-decisions", "agents:greedy"])
def test_what_it_returns_lies_in_its_spaces(rules, opponent):
    envs = ThudVectorEnv(70, rules, "random", opponent, max_turns=30, autoreset_mode="SameStep")
    observations, infos = envs.reset(seed=3)
    rng = np.random.default_rng(3)
    for _ in range(40):
        assert observations in envs.observation_space
        sides = [SIDES.index(envs.position(env).to_move) for env in range(70)]
        assert infos["side"].tolist() == sides
        observations, rewards, terminated, truncated, infos = envs.step(
            some_legal(infos["action_mask"], rng)
        )
        assert rewards.dtype == np.float64
        assert terminated.dtype == truncated.dtype == np.bool_
    masks = [envs.position(env).action_mask() for env in range(70)]
    assert np.array_equal(envs.action_masks(), masks)


@pytest.mark.parametrize("side", ["dwarfs", "trolls"])
def test_the_rewards_of_each_battle_sum_to_its_margin(side):
    envs = ThudVectorEnv(8, side=side, max_turns=80, autoreset_mode="SameStep")
    _, infos = envs.reset(seed=1)
    rng = np.random.default_rng(1)
    sums = np.zeros(8)
    battles = 0
    while battles < 20:
        _, rewards, terminated, truncated, infos = envs.step(some_legal(infos["action_mask"], rng))
        sums += rewards
        for env in np.flatnonzero(terminated | truncated):
            margin = infos["final_info"]["margin"][env]
            assert sums[env] * 32 == (margin if side == "dwarfs" else -margin)
            sums[env] = 0
            battles += 1


def test_random_sides_are_drawn_anew_for_every_battle():
    envs = ThudVectorEnv(32, side="random", max_turns=4)
    _, infos = envs.reset(seed=0)
    rng = np.random.default_rng(0)
    drawn = [infos["side"]]
    for _ in range(12):
        infos = envs.step(some_legal(infos["action_mask"], rng))[-1]
        drawn.append(infos["side"])
    assert 4 < (drawn[0] == 0).sum() < 28
    assert (drawn[0] != drawn[-1]).any()


def test_what_an_opening_earns_is_paid_once_and_in_its_battle():
    envs = ThudVectorEnv(1, side="trolls", opponent=agents.make("greedy"))
    envs.reset(options={"position": [TROLL_LOST]})
    envs.reset()
    assert envs.step([first_legal(envs.position(0))])[1] == [0]
    envs.reset(options={"position": [TROLL_LOST]})
    assert envs.step([NUM_ACTIONS - 1])[1] == [-1 - 4 / 32]


def test_the_step_that_restarts_a_battle_pays_nothing_of_its_opening():
    """Learners leave that step out; what the opening earned comes with the one after it."""
    limit = TROLL_LOST.turn_number + 2
    envs = ThudVectorEnv(
        1, side="trolls", opponent=agents.make("greedy"), starts=TROLL_LOST, max_turns=limit
    )
    envs.reset()
    legal = [first_legal(envs.position(0))]
    _, rewards, terminated, truncated, _ = envs.step(legal)
    assert (rewards[0], terminated[0] | truncated[0]) == (-4 / 32, True)
    assert envs.step(legal)[1] == [0]
    assert envs.step(legal)[1] == [-4 / 32]


def test_an_action_that_is_ignored_may_be_anything():
    envs = ThudVectorEnv(1, side="trolls", max_turns=1)
    envs.reset(seed=0)
    assert envs.position(0).outcome is not None, "the opening has ended it"
    assert envs.step([NUM_ACTIONS])[3] == [True]
    envs.step([-1])  # starts the next one


def test_a_seed_fixes_everything():
    envs = ThudVectorEnv(4, side="random", opponent="random-decisions", max_turns=20)
    runs = []
    for seed in (1, 1, 2):
        returned = [envs.reset(seed=seed)]
        rng = np.random.default_rng(0)
        for _ in range(30):
            returned.append(envs.step(some_legal(returned[-1][-1]["action_mask"], rng)))
        runs.append(returned)
    assert_same(runs[0], runs[1])
    with pytest.raises(AssertionError):
        assert_same(runs[0], runs[2])


def test_battles_may_start_anywhere():
    start = thud_env.Position.start()
    envs = ThudVectorEnv(2, side="trolls", opponent=first_legal)
    envs.reset(options={"position": BESIDE_TWO_DWARFS})
    assert envs.position(1).text == BESIDE_TWO_DWARFS
    envs.reset(options={"position": [BESIDE_TWO_DWARFS, start]})
    assert envs.position(0).text == BESIDE_TWO_DWARFS
    assert envs.position(1) == start.apply(first_legal(start))
    envs.reset(options={"reset_mask": np.array([True, False]), "position": start})
    assert envs.position(0) == envs.position(1)
    some = np.array([True, False])
    envs.reset(options={"reset_mask": some, "position": [BESIDE_TWO_DWARFS, None]})
    rows = np.stack([start.row, np.zeros_like(start.row)])
    envs.reset(options={"reset_mask": some, "position": rows})
    assert envs.position(0) == start.apply(first_legal(start))
    with pytest.raises(ValueError, match="row 1 is"):
        envs.reset(options={"reset_mask": ~some, "position": rows})


def test_state_rows_start_battles_with_their_own_limits():
    rows = np.stack([thud_env.Position.start(max_turns=turns).row for turns in (1, 5)])
    envs = gymnasium.make_vec("thud/Thud-v0", 2, autoreset_mode="Disabled").unwrapped
    envs.reset(seed=0, options={"position": rows.astype(np.int64)})
    *_, truncated, _ = envs.step(envs.sample_actions())
    assert truncated.tolist() == [True, False]
    envs.reset(options={"reset_mask": truncated, "position": rows})
    assert [envs.position(env).turn_number for env in range(2)] == [0, 2]


def test_state_rows_that_cannot_start_a_battle_are_refused():
    envs = gymnasium.make_vec("thud/Thud-v0", 2).unwrapped
    start = thud_env.Position.start()
    over = thud_env.Position.from_text(start.text.replace(" 0 0", " 200 200"))
    damaged = start.row.copy()
    damaged[0] = 7
    for rows, error, message in (
        ([start.row, over.row], ValueError, "^position 1, a row, is over: "),
        ([start.row, damaged], thud_env.RowError, "^row 1 is damaged"),
        ([start.row] * 3, ValueError, "^3 positions for 2 battles"),
        ([start.row[:9]] * 2, thud_env.RowError, r"^rows are integers of shape \(N, 432\)"),
    ):
        with pytest.raises(error, match=message):
            envs.reset(options={"position": np.stack(rows)})


def test_a_match_starts_both_battles_from_the_given_position():
    envs = gymnasium.make_vec("thud/ThudMatch-v0", 2, side="both", max_quiet_turns=1).unwrapped
    envs.reset(
        options={"position": [BESIDE_TWO_DWARFS, thud_env.Position.start(max_quiet_turns=1)]}
    )
    for _ in range(2):
        starts = [envs.position(env) for env in range(2)]
        assert [start.to_move for start in starts] == ["trolls", "dwarfs"]
        assert starts[0].text == BESIDE_TWO_DWARFS
        quiet = starts[0].decisions("TH3-G3")[0]
        *_, infos = envs.step(np.array([quiet, first_legal(starts[1])]))
    assert infos["second_termination"].tolist() == [thud_env.Termination.QUIET_LIMIT.value] * 2
    envs.step(np.zeros(2, dtype=int))  # begins anew, at the usual start
    assert envs.position(0) == envs.position(1) == thud_env.Position.start(max_quiet_turns=1)


def test_a_masked_softmax_is_a_distribution_whatever_has_ended():
    """The default: a library that asks for the policy of a final observation gets no NaN."""
    for mode in MODES:
        envs = ThudVectorEnv(2, autoreset_mode=mode, max_turns=1)
        _, infos = envs.reset()
        *_, infos = envs.step(some_legal(infos["action_mask"], np.random.default_rng(0)))
        for mask in (*infos["action_mask"], *infos.get("final_info", infos)["action_mask"]):
            logits = np.where(mask, 0.0, -np.inf)
            chances = np.exp(logits - logits.max())
            assert np.isfinite(chances / chances.sum()).all()


def test_infos_always_have_the_same_keys_and_numbers_only():
    for name in ("Thud", "ThudMatch"):
        envs = gymnasium.make_vec(f"thud/{name}-v0", 4, side="random", max_turns=6)
        _, infos = envs.reset(seed=0)
        kinds = {key: (array.dtype, array.shape) for key, array in infos.items()}
        rng = np.random.default_rng(0)
        for _ in range(40):
            *_, infos = envs.step(some_legal(infos["action_mask"], rng))
            assert {key: (array.dtype, array.shape) for key, array in infos.items()} == kinds
        assert {dtype.kind for dtype, _ in kinds.values()} == {"i", "b"}


def test_no_reward_is_minus_0():
    for options in ({"side": "trolls"}, {"side": "both"}, {"reward": "outcome"}):
        envs = ThudVectorEnv(4, max_turns=20, **options)
        _, infos = envs.reset(seed=0)
        rng = np.random.default_rng(0)
        for _ in range(30):
            _, rewards, *_, infos = envs.step(some_legal(infos["action_mask"], rng))
            assert not np.signbit(rewards[rewards == 0]).any()


def test_copies_are_made_unless_they_are_declined():
    for copies in (True, False):
        envs = ThudVectorEnv(2, observation="dict", copy=copies)
        first, infos = envs.reset(seed=0)
        assert np.shares_memory(first["action_mask"], infos["action_mask"]) is not copies
        kept = copy.deepcopy(first)
        second, *_ = envs.step(some_legal(first["action_mask"], np.random.default_rng(0)))
        assert np.shares_memory(first["observation"], second["observation"]) is not copies
        assert np.shares_memory(first["action_mask"], second["action_mask"]) is not copies
        assert np.array_equal(first["observation"], kept["observation"]) is copies


def arrays_in(infos):
    """The arrays of infos, and of the infos in them."""
    for value in infos.values():
        yield from arrays_in(value) if isinstance(value, dict) else [value]


@pytest.mark.parametrize(("name", "options"), GAMES)
@pytest.mark.parametrize("mode", MODES)
def test_no_two_arrays_of_infos_share_memory(mode, name, options):
    envs = gymnasium.make_vec(name, 2, autoreset_mode=mode, max_turns=2, **options).unwrapped
    mask = np.ones(2, dtype=bool)
    returned = [envs.reset(options={"reset_mask": mask})[1]]
    returned += [
        envs.step(envs.sample_actions())[-1] for _ in range(1 if mode == "Disabled" else 3)
    ]
    arrays = [mask, *(array for infos in returned for array in arrays_in(infos))]
    assert len(arrays) > 16
    for one, other in combinations(arrays, 2):
        assert not np.shares_memory(one, other)


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("idle_mask", "idle"), [("zeros", 0), ("ones", 1)])
def test_the_mask_after_the_end(idle_mask, idle, mode, copies):
    envs = ThudVectorEnv(2, autoreset_mode=mode, idle_mask=idle_mask, copy=copies, max_turns=1)
    _, infos = envs.reset()
    for _ in range(2):  # the first decision of all, and an illegal one
        infos = envs.step(np.array([first_legal(envs.position(0)), NUM_ACTIONS - 1]))[-1]
        if mode == "SameStep":
            assert (infos["final_info"]["action_mask"] == idle).all()
        else:
            assert (infos["action_mask"] == idle).all()
        envs.reset()
        assert envs.action_masks().sum(axis=1).tolist() == [656, 656]


@pytest.mark.parametrize("seed", [[1, 2], (1, None)])
def test_a_seed_for_each_environment_is_refused(seed):
    with pytest.raises(ValueError, match="seed: one for all environments would be right"):
        ThudVectorEnv(2).reset(seed=seed)


def test_nothing_is_sampled_where_an_illegal_action_has_lost():
    envs = ThudVectorEnv(2, autoreset_mode="Disabled", opponent=first_legal)
    envs.reset()
    _, _, terminated, _, _ = envs.step([NUM_ACTIONS - 1, first_legal(envs.position(1))])
    assert terminated.tolist() == [True, False]
    assert envs.position(0).outcome is None, "by the rules it goes on"
    samples = np.array([envs.sample_actions() for _ in range(5)])
    assert (samples == 0).all(axis=0).tolist() == [True, False]


def test_an_illegal_action_can_be_refused():
    envs = ThudVectorEnv(3, illegal_action="raise", opponent=first_legal)
    envs.reset()
    actions = np.full(3, first_legal(envs.position(0)))
    actions[1] = NUM_ACTIONS - 1
    with pytest.raises(thud_env.IllegalMove, match="environment 1: action 6469"):
        envs.step(actions)
    assert envs.position(0) == thud_env.Position.start()
    assert envs.position(2) == thud_env.Position.start()


def test_an_illegal_choice_of_the_opponent_is_blamed_on_it():
    envs = ThudVectorEnv(2, opponent=lambda position: NUM_ACTIONS - 1)
    envs.reset()
    with pytest.raises(thud_env.IllegalMove, match="the opponent's choice in environment 0"):
        envs.step(np.full(2, first_legal(envs.position(0))))
    envs = ThudVectorEnv(2, opponent=lambda position: 0.5)
    envs.reset()
    with pytest.raises(ValueError, match=r"the opponent's choice: action 0\.5 is not one"):
        envs.step(np.full(2, first_legal(envs.position(0))))


@pytest.mark.parametrize(
    ("actions", "error", "named"),
    [
        (np.zeros(3), ValueError, r"float64 of shape \(3,\): integers of shape \(3,\)"),
        (np.zeros(2, dtype=int), ValueError, r"int64 of shape \(2,\)"),
        (7, ValueError, r"shape \(\)"),
        (np.array([0, 0, NUM_ACTIONS]), thud_env.IllegalMove, "environment 2: action 6470 is out"),
        (np.array([-1, 0, 0]), thud_env.IllegalMove, "environment 0: action -1 is out"),
    ],
)
def test_actions_of_the_wrong_kind_are_refused(actions, error, named):
    envs = ThudVectorEnv(3)
    envs.reset()
    with pytest.raises(error, match=named):
        envs.step(actions)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"side": "dwarf"}, "unknown side 'dwarf'"),
        ({"autoreset_mode": "Never"}, "autoreset_mode 'Never': 'NextStep', 'SameStep' or"),
        ({"render_mode": "human"}, 'render_mode .human.: .*vectorization_mode="sync"'),
        ({"rules": "clasic"}, "did you mean 'classic'"),
        ({"reward": "points"}, "reward 'points'"),
        ({"idle_mask": "twos"}, "idle_mask 'twos'"),
        ({"num_envs": 0}, "num_envs must be 1 or more"),
        ({"num_envs": 2.5}, "num_envs must be an integer"),
        ({"match": "no"}, "unknown match 'no': True or False would be right"),
        ({"match": 1}, "unknown match 1: True or False would be right"),
        ({"copy": "no"}, "unknown copy 'no'"),
    ],
)
def test_bad_arguments_are_named(arguments, named):
    with pytest.raises(ValueError, match=named):
        ThudVectorEnv(**{"num_envs": 2, **arguments})


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"max_episode_steps": 9}, "unexpected keyword argument 'max_episode_steps': .*sync"),
        ({"frameskip": 1}, r"ThudVectorEnv\(\) got an unexpected keyword argument 'frameskip'"),
        ({"seed": 1}, r"argument 'seed': reset\(seed=...\) takes it"),
        ({"autoreset": 1}, "argument 'autoreset': did you mean 'autoreset_mode'"),
    ],
)
def test_unknown_arguments_are_refused_as_python_does(arguments, named):
    with pytest.raises(TypeError, match=named):
        gymnasium.make_vec("thud/Thud-v0", num_envs=2, **arguments)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"reset_mask": np.ones(3, dtype=bool)}, r"bool of shape \(2,\) would be right"),
        ({"reset_mask": np.ones(2, dtype=int)}, "reset_mask is int64"),
        ({"positions": []}, "unknown option 'positions': did you mean 'position'"),
        ({"position": ["x"]}, "1 positions for 2"),
        ({"position": thud_env.Position.start("koom-valley")}, "koom-valley"),
    ],
)
def test_bad_resets_are_named(options, named):
    envs = ThudVectorEnv(2)
    with pytest.raises(ValueError, match=named):
        envs.reset(options=options)


def test_steps_out_of_place_are_refused():
    envs = ThudVectorEnv(2, autoreset_mode="Disabled", side="both", max_turns=1)
    with pytest.raises(ResetNeeded, match=r"reset\(\)"):
        envs.step(np.zeros(2, dtype=int))
    envs.reset()
    actions = np.full(2, first_legal(envs.position(0)))
    envs.step(actions)
    with pytest.raises(ResetNeeded, match=r"environments \[0, 1\] are over: .*reset_mask"):
        envs.step(actions)
    envs.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(ResetNeeded, match=r"environments \[1\] are over"):
        envs.step(actions)


@pytest.mark.parametrize("method", ["action_masks", "sample_actions"])
def test_nothing_can_be_decided_before_the_first_reset(method):
    with pytest.raises(ResetNeeded, match=rf"call reset\(\) before {method}\(\)"):
        getattr(ThudVectorEnv(2, side="trolls"), method)()


def test_the_first_reset_is_of_all_environments():
    envs = ThudVectorEnv(2, side="trolls")
    some = {"reset_mask": np.array([True, False])}
    with pytest.raises(ResetNeeded, match="environments \\[1\\] must be reset, too"):
        envs.reset(options=some)
    with pytest.raises(ResetNeeded, match=r"reset\(\)"):
        envs.step(np.zeros(2, dtype=int))
    envs.reset(options={"reset_mask": np.ones(2, dtype=bool)})
    envs.reset(options=some)
    assert [envs.position(env).to_move for env in range(2)] == ["trolls"] * 2


@pytest.mark.parametrize("action", [-1, NUM_ACTIONS, NUM_ACTIONS - 1, 2**40])
def test_next_step_ignores_any_action_where_a_battle_has_ended(action):
    envs = ThudVectorEnv(2, side="both", illegal_action="raise")
    envs.reset(options={"position": [thud_env.Position.start(), ONE_TURN_LEFT]})
    actions = np.array([first_legal(envs.position(env)) for env in range(2)])
    _, _, terminated, _, _ = envs.step(actions)
    assert terminated.tolist() == [False, True]
    actions = np.array([first_legal(envs.position(0)), action])
    envs.step(actions)
    assert envs.position(1) == thud_env.Position.start()
    actions[0] = first_legal(envs.position(0))
    with pytest.raises(thud_env.IllegalMove, match="environment 1"):
        envs.step(actions)


def test_an_agent_plays_all_games_that_wait_in_one_call():
    calls = []
    greedy = agents.make("greedy")

    class Counting:
        def act_rows(self, rows):
            calls.append(len(rows))
            return greedy.act_rows(rows)

    envs = ThudVectorEnv(50, opponent=Counting())
    _, infos = envs.reset()
    envs.step(some_legal(infos["action_mask"], np.random.default_rng(0)))
    assert calls[0] == 50


@pytest.mark.parametrize("position", [b"x", 3, np.array(["x", "y"])])
def test_a_start_that_is_none_is_named_with_all_that_are(position):
    envs = ThudVectorEnv(2)
    with pytest.raises(TypeError, match=r"a Position, a list of 2 of them, or rows, \[2, 432\]"):
        envs.reset(options={"position": position})


def test_battles_start_from_rows_in_a_tensor():
    torch = pytest.importorskip("torch")
    envs = ThudVectorEnv(2, side="trolls")
    start = thud_env.Position.start("classic").play("dE2-E6")
    rows = torch.from_numpy(np.stack([start.row, start.row]))
    envs.reset(options={"position": rows})
    assert envs.position(1) == start


def test_a_ragged_mask_of_resets_is_named():
    with pytest.raises(ValueError, match=r"^reset_mask: \[\[True\], \[True, False\]\] is no array"):
        ThudVectorEnv(2).reset(options={"reset_mask": [[True], [True, False]]})


def test_of_the_positions_given_each_battle_that_is_reset_gets_its_own() -> None:
    env = ThudVectorEnv(3, opponent="random-decisions", side="dwarfs")
    env.reset(seed=1)
    before = env.rows
    given = [thud_env.Position.start(max_turns=turns) for turns in (101, 103, 105)]
    env.reset(options={"position": given, "reset_mask": np.array([False, True, True])})
    assert np.array_equal(env.rows[0], before[0])
    assert np.array_equal(env.rows[1:], [one.row for one in given[1:]])
