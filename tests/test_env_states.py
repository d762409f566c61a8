"""``set_state`` of every environment refuses what is not its own, and changes nothing then."""

import copy
from functools import partial

import numpy as np
import pytest
from pettingzoo.utils.wrappers import TerminateIllegalWrapper
from seat_play import TROLL_LOST, assert_same, first_legal, some_legal

import agents
import thud_env
from thud_env.envs.single import ThudSeatEnv
from thud_env.envs.vector import ThudVectorEnv

MAKERS = {
    "env": partial(thud_env.env, render_mode="ansi"),
    "match_env": partial(thud_env.match_env, render_mode="ansi"),
    "seat": ThudSeatEnv,
    "vector": partial(ThudVectorEnv, num_envs=2),
}
BOARDS = ("env", "match_env")
SEATS = ("seat", "vector")


def play_on(env, decisions=3):
    rng = np.random.default_rng(7)
    for _ in range(decisions):
        masks = env.action_masks()
        actions = some_legal(np.atleast_2d(masks), rng)
        env.step(actions if masks.ndim == 2 else int(actions[0]))


def played(make, seed):
    """An environment amid a battle."""
    env = make()
    env.reset(seed=seed)
    play_on(env)
    return env


# -- states are copies ---------------------------------------------------------------------


MANY_ALONE = partial(ThudVectorEnv, num_envs=2, side="both", opponent=None)


@pytest.mark.parametrize("make", [*MAKERS.values(), MANY_ALONE], ids=[*MAKERS, "both seats"])
def test_a_state_stays_as_it_was(make):
    """Neither the environment that gave it nor one that took it writes into it."""
    env = played(make, 1)
    state = env.get_state()
    before = copy.deepcopy(state)
    play_on(env)
    assert_same(state, before)
    env.set_state(state)
    play_on(env)
    assert_same(state, before)


@pytest.mark.parametrize("kind", BOARDS)
def test_a_state_of_a_battle_that_agents_have_left_can_be_set(kind):
    """PettingZoo pays 0, an int, where an agent steps that is done."""
    env, other = (MAKERS[kind](max_turns=2) for _ in range(2))
    env.reset(seed=1)
    other.reset(seed=2)
    while env.agents:
        is_done = env.terminations[env.agent_selection] or env.truncations[env.agent_selection]
        env.step(None if is_done else int(np.flatnonzero(env.action_masks())[0]))
        other.set_state(env.get_state())
        assert_same(other.get_state(), env.get_state())
    assert env.is_over


@pytest.mark.parametrize("turns", [0, 1])
@pytest.mark.parametrize("kind", BOARDS)
def test_a_state_of_a_battle_that_a_wrapper_has_ended_can_be_set(kind, turns):
    """Its agents step in their own order, whichever side is to move on the board."""
    board, other = MAKERS[kind](), MAKERS[kind]()
    env = TerminateIllegalWrapper(board, illegal_reward=-1)
    env.reset(seed=1)
    other.reset(seed=1)
    for _ in range(turns):
        env.step(int(np.flatnonzero(board.action_masks())[0]))
    env.step(thud_env.actions.ACCEPT)  # which is not legal
    while env.agents:
        other.set_state(board.get_state())
        assert_same(other.get_state(), board.get_state())
        env.step(None)
    other.set_state(board.get_state())
    assert not other.is_over


def test_a_state_amid_a_turn_that_an_environment_began_with_can_be_set():
    """Its renderer has seen no more of that turn than the environment has."""
    several = "1ddd1/7/4T4/11/13/15/15/7R7/15/15/13/11/9/7/5 t - 0 4"
    whole = thud_env.Position.from_text(several, "classic-any")
    first, second, *_ = whole.decisions("TH3-H2xG1xH1")
    env = thud_env.env("classic-any", render_mode="ansi")
    env.reset(options={"position": whole.apply(first)})
    env.step(second)
    shown = env.render()
    env.set_state(env.get_state())
    assert env.render() == shown


@pytest.mark.parametrize("kind", SEATS)
def test_a_state_holds_what_the_opening_has_earned(kind):
    options = {"side": "trolls", "opponent": agents.make("greedy"), "starts": TROLL_LOST}
    env, other = (MAKERS[kind](**options) for _ in range(2))
    env.reset()
    other.reset()
    state = env.get_state()
    action = first_legal(env.position if kind == "seat" else env.position(0))
    actions = action if kind == "seat" else np.full(2, action)
    assert np.all(other.step(actions)[1] == -4 / 32)
    other.set_state(state)
    assert np.all(other.step(actions)[1] == -4 / 32)


# -- states with a wrong part --------------------------------------------------------------

KOOM_VALLEY = thud_env.Position.start("koom-valley").row
OVER = thud_env.Position.from_text(f"{thud_env.Position.start().text.split()[0]} t - 0 800").row
MT19937 = np.random.Generator(np.random.MT19937(1)).bit_generator.state
OF_A_BOARD = (
    ("_row", "None", None),
    ("_row", "of koom-valley", KOOM_VALLEY),
    ("_start_row", "of koom-valley", KOOM_VALLEY),
    ("_seats", "of both games", ("troll_0", "player_0")),
    ("is_over", "None", None),
    ("is_over", "amid a battle", True),
    ("_row", "of a battle that is over", OVER),
    ("agents", "unknown", ["x", "y"]),
    ("agent_selection", "unknown", "x"),
    ("rewards", "empty", {}),
    ("infos", "of an unknown agent", {"x": {}}),
    ("renderer", "None", None),
    ("renderer", "a pair of numbers", (1, 2)),
    ("renderer", "of three", (None, (), 3)),
    ("renderer", "a turn from nowhere", (None, (3,))),
    ("renderer", "no row", (np.full_like(KOOM_VALLEY, 7), (3,))),
    ("renderer", "an illegal turn", (thud_env.Position.start().row, (2**31, 5))),
    ("renderer", "no actions", (thud_env.Position.start().row, ("x",))),
    ("made", "None", None),
    ("made", "empty", {}),
)
WRONG = {
    "env": (
        *OF_A_BOARD,
        ("_seats", "changed", ("troll_0", "dwarf_0")),
        ("agent_selection", "not to move", "dwarf_0"),
    ),
    "match_env": (
        *OF_A_BOARD,
        ("battles", "None", None),
        ("battles", "numbers", (1, 2, 3)),
        ("_seats", "changed", ("player_1", "player_0")),
        ("agent_selection", "not to move", "player_0"),
    ),
    "seat": (
        ("made", "a number", 1),
        ("game", "None", None),
        ("game", "empty", {}),
        ("agent", "unknown", "x"),
        ("owed", "text", "1"),
        ("owed", "NaN", np.nan),
        ("needs_reset", "None", None),
        ("np_random", "None", None),
        ("np_random", "empty", {}),
        ("np_random", "of MT19937", MT19937),
        ("opponent", "a number", 1),
    ),
    "vector": (
        ("made", "None", None),
        ("games", "None", None),
        ("ended", "too long", np.zeros(3, dtype=np.bool_)),
        ("ended", "a list", [False, False]),
        ("needs_reset", "a float", 0.0),
        ("np_random", "None", None),
        ("_sides", "too long", np.zeros(3, dtype=np.int64)),
        ("_sides", "out of range", np.full(2, 2)),
        ("_owed", "integers", np.zeros(2, dtype=np.int64)),
        ("_owed", "infinite", np.full(2, np.inf)),
        ("_starts", "of koom-valley", np.stack([KOOM_VALLEY] * 2)),
        ("rows", "of koom-valley", np.stack([KOOM_VALLEY] * 2)),
        ("rows", "None", None),
        ("opponent", "a number", 1),
    ),
}
"""By environment: a part of its state, what is wrong, and the wrong value."""


def damaged_states(state, part, value):
    """The state with another value for a part, and without the part."""
    if part not in state:
        games = damaged_states(state["games"], part, value)
        return [state | {"games": damaged} for damaged in games]
    without = {name: kept for name, kept in state.items() if name != part}
    return [state | {part: value}, without]


@pytest.mark.parametrize(
    ("make", "part", "value"),
    [
        pytest.param(MAKERS[kind], part, value, id=f"{kind}: {part} {wrong}")
        for kind, parts in WRONG.items()
        for part, wrong, value in parts
    ],
)
def test_a_state_with_a_wrong_part_is_refused_and_changes_nothing(make, part, value):
    env = played(make, seed=1)
    state = env.get_state()
    for damaged in damaged_states(state, part, value):
        play_on(env)
        before = env.get_state()
        with pytest.raises(ValueError, match=r"state|\brow\b"):
            env.set_state(damaged)
        assert_same(env.get_state(), before)
    env.set_state(state)
    assert_same(env.get_state(), state)


@pytest.mark.parametrize("kind", BOARDS)
@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("rewards", "1"),
        ("rewards", np.nan),
        pytest.param("rewards", 10**400, id="rewards-beyond floats"),
        ("_cumulative_rewards", None),
        ("_cumulative_rewards", -np.inf),
        ("terminations", 0),
        ("truncations", "no"),
        ("infos", 3),
    ],
)
def test_a_state_with_a_wrong_value_for_an_agent_is_refused(kind, part, value):
    env = played(MAKERS[kind], seed=1)
    state = env.get_state()
    wrong = dict.fromkeys(env.agents, value)
    with pytest.raises(
        thud_env.ThudError, match=f"not a state of {type(env).__name__}, as its {part} is"
    ):
        env.set_state({**state, part: wrong})


def test_a_state_of_a_second_battle_that_goes_on_after_both_is_refused():
    """Another battle would follow it, and so on."""
    env = thud_env.match_env(max_turns=2)
    env.reset()
    while not env.battles:
        env.step(int(np.flatnonzero(env.action_masks())[0]))
    state = env.get_state()
    env.set_state(state)
    with pytest.raises(thud_env.ThudError, match="not a state of MatchEnv, as its battles is"):
        env.set_state({**state, "battles": env.battles * 2})


def test_battles_that_are_over_are_as_many_as_the_board_says():
    env = thud_env.env(max_turns=2)
    env.reset()
    going_on = env.get_state()
    while not env.battles:
        env.step(int(np.flatnonzero(env.action_masks())[0]))
    over = env.get_state()
    for state, battles in ((going_on, env.battles), (over, ()), (over, env.battles * 2)):
        with pytest.raises(thud_env.ThudError, match="not a state of ThudEnv, as its battles is"):
            env.set_state({**state, "battles": battles})
    env.set_state(over)
    assert [one.termination for one in env.battles] == [thud_env.Termination.TURN_LIMIT]


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_arrays_in_place_of_what_an_environment_was_made_with_are_refused(make):
    env = played(make, seed=1)
    state = env.get_state()
    arrays = {name: np.zeros(2) for name in state["made"]}
    with pytest.raises(ValueError, match="a state of an environment with"):
        env.set_state({**state, "made": arrays})


# -- states of other environments ----------------------------------------------------------

FEW = "classic:name=few,trolls=G7"
OF_BOTH_GAMES = "'player_0'.*'dwarf_0'|'dwarf_0'.*'player_0'"
TWO_STARTS = [thud_env.Position.start()] * 2
MADE_OTHERWISE = {
    BOARDS: (
        ({"rules": "koom-valley"}, "with rules='koom-valley' cannot .* with rules='classic'"),
        ({"reward": "outcome"}, "with reward='outcome' cannot .* with reward='margin'"),
        ({"starts": TWO_STARTS}, "with starts=2 cannot .* with starts=1"),
    ),
    SEATS: (
        ({"side": "both", "opponent": None}, "with side='both' cannot .* with side='dwarfs'"),
        ({"side": "random"}, "with side='random' cannot .* with side='dwarfs'"),
        ({"reward": "outcome"}, "with reward='outcome' cannot .* with reward='margin'"),
        ({"rules": "classic-all"}, "with rules='classic-all' cannot .* with rules='classic'"),
        ({"match": True}, "with match=True cannot .* with match=False"),
        ({"starts": TWO_STARTS}, "with starts=2 cannot .* with starts=1"),
        ({"opponent": "agents:greedy"}, "state of another one"),
        ({"opponent": first_legal}, "holds no"),
    ),
    ("vector",): (
        ({"num_envs": 3}, "with num_envs=3 cannot be set in .* with num_envs=2"),
        (
            {"autoreset_mode": "SameStep"},
            "with autoreset_mode=.* cannot be set in .* with autoreset_mode=",
        ),
        ({"rules": FEW}, "with rules=.* cannot be set in .* with rules="),
    ),
}


def first_of(options):
    name, value = next(iter(options.items()))
    return f"{name}={getattr(value, '__name__', value)}"


OTHERS = [
    *(
        pytest.param(
            MAKERS[kind],
            partial(MAKERS[kind], **options),
            said,
            id=f"{kind}: {first_of(options)}",
        )
        for kinds, others in MADE_OTHERWISE.items()
        for kind in kinds
        for options, said in others
    ),
    pytest.param(MAKERS["env"], MAKERS["match_env"], OF_BOTH_GAMES, id="env: match_env"),
    pytest.param(MAKERS["match_env"], MAKERS["env"], OF_BOTH_GAMES, id="match_env: env"),
    pytest.param(MAKERS["seat"], MAKERS["env"], "not a state of ThudSeatEnv", id="seat: env"),
    *(
        pytest.param(
            partial(MAKERS[kind], opponent=first_legal),
            MAKERS[kind],
            r"where the opponent has no set_state\(state\)",
            id=f"{kind}: an opponent's state, where it has none",
        )
        for kind in SEATS
    ),
]


@pytest.mark.parametrize(("make", "make_other", "said"), OTHERS)
def test_a_state_of_another_environment_is_refused_and_changes_nothing(make, make_other, said):
    env, other = played(make, seed=1), played(make_other, seed=2)
    before = env.get_state()
    with pytest.raises(ValueError, match=said):
        env.set_state(other.get_state())
    assert_same(env.get_state(), before)
    play_on(env)


@pytest.mark.parametrize("nothing", [{}, None], ids=["empty", "None"])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_what_is_no_state_is_refused_and_changes_nothing(make, nothing):
    env = played(make, seed=1)
    before = env.get_state()
    with pytest.raises(ValueError, match=r"not a state of \w+Env: what get_state"):
        env.set_state(nothing)
    assert_same(env.get_state(), before)
    play_on(env)


@pytest.mark.parametrize("returned_to", [False, True])
def test_a_state_with_battles_that_have_ended_stays_as_it_was(returned_to):
    envs = thud_env.ThudVectorEnv(2, side="both", opponent=None, autoreset_mode="Disabled")
    text = "5/7/9/11/13/d14/T14/7R7/15/15/13/11/9/7/5 d - 199 300"  # one turn is left
    envs.reset(options={"position": [text, thud_env.Position.start()]})
    _, _, terminated, _, _ = envs.step([first_legal(envs.position(env)) for env in range(2)])
    state = envs.get_state()
    if returned_to:
        envs.set_state(state)
    assert terminated.tolist() == state["ended"].tolist() == [True, False]
    envs.reset(options={"reset_mask": terminated})
    assert state["ended"].tolist() == [True, False]
