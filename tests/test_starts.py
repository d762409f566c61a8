"""``starts``: battles that begin at positions of the user's own, by themselves, too."""

import copy
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from seat_play import first_legal

import thud_env
from thud_env import Position, ThudEnv
from thud_env.actions import DECLINE, OFFER
from thud_env.envs.vector import ThudVectorEnv
from thud_env.errors import ThudError

START = thud_env.Position.start(max_turns=4)
AFTER = START.play("dE2-E6")
STARTS = [START, AFTER, AFTER.play("TG7-F6")]
ROWS = np.stack([start.row for start in STARTS])


def drawn(env, count=40, **options):
    """The numbers of the starts that resets of an AEC environment draw."""
    numbers = []
    for _ in range(count):
        env.reset(**options)
        numbers.append(STARTS.index(env.position))
    return numbers


@pytest.mark.parametrize("make", [thud_env.ThudEnv, thud_env.MatchEnv])
def test_a_reset_draws_one_of_the_starts(make):
    env = make(starts=STARTS)
    env.reset(seed=3)
    first = STARTS.index(env.position)
    numbers = drawn(env)
    assert set(numbers) == {0, 1, 2}
    env.reset(seed=3)
    assert [first, *numbers] == [STARTS.index(env.position), *drawn(env)]
    assert set(drawn(env, seed=3)) == {first}


def test_the_setup_is_the_start_if_there_is_none_other():
    env = thud_env.ThudEnv(max_turns=4)
    env.reset()
    assert env.position == START
    env = thud_env.ThudEnv(starts=AFTER.text, max_turns=9)  # a text gets the environment's limits
    env.reset()
    assert env.position == thud_env.Position.from_text(AFTER.text, max_turns=9)


LIMITED = thud_env.Position.start(max_turns=4, max_quiet_turns=3)
"""``START`` with another limit, too."""


def test_limits_of_the_environment_come_before_those_of_a_start():
    env = thud_env.ThudEnv(starts=[START], max_quiet_turns=3)
    env.reset()
    assert env.position == LIMITED
    env.reset(options={"position": AFTER})
    assert env.position == LIMITED.play("dE2-E6")
    seat = thud_env.ThudSeatEnv(starts=ROWS[:1], max_quiet_turns=3)
    seat.reset(seed=0)
    assert seat.position == LIMITED
    many = thud_env.ThudVectorEnv(2, starts=[START], max_quiet_turns=3)
    many.reset(seed=0)
    assert many.position(1) == LIMITED
    many.reset(options={"position": ROWS[:2]})
    assert many.position(1).limits == LIMITED.limits


@pytest.mark.parametrize("ended", ["max_turns", "max_quiet_turns"])
@pytest.mark.parametrize("others", [{}, {"offer_after": 7}])
def test_a_start_that_its_own_limit_has_ended_goes_on_where_the_environments_is_higher(
    ended, others
):
    start = thud_env.Position.start(**{ended: 1}).play("dE2-E6")
    assert start.outcome is not None
    limits = {ended: 9, **others}
    wanted = thud_env.Position.from_text(start.text, **limits)
    env = thud_env.ThudEnv(starts=[start], **limits)
    env.reset()
    assert env.position == wanted
    many = ThudVectorEnv(2, side="both", opponent=None, **limits)
    many.reset(options={"position": np.stack([start.row] * 2)})
    assert many.position(1) == wanted
    with pytest.raises(thud_env.ThudError, match=r"is over: .* limit"):
        thud_env.ThudEnv(starts=[start])


def test_without_limits_of_the_environment_those_of_a_start_stay():
    env = thud_env.ThudEnv(starts=[LIMITED])
    env.reset()
    assert env.position == LIMITED
    agreed = thud_env.Position.start(agreement=True)
    env.reset(options={"position": agreed})
    assert env.position == agreed


def test_an_environment_without_agreement_has_none_whatever_the_starts():
    agreed = thud_env.Position.start(agreement=True)
    for starts in ([agreed], agreed.row[np.newaxis]):
        env = thud_env.ThudEnv(starts=starts, agreement=False)
        env.reset()
        assert env.position.limits == thud_env.Position.start().limits
    quiet = agreed.text.replace("- 0 0", "- 20 20")
    offered = thud_env.Position.from_text(quiet, agreement=True).play("offer")
    with pytest.raises(thud_env.ThudError, match=r"^start 'dd1dd/.*': pending 'offer', but"):
        thud_env.ThudEnv(starts=[offered], agreement=False)


@pytest.mark.parametrize("starts", [None, START, [START.text], ROWS])
@pytest.mark.parametrize("limit", ["max_turns", "max_quiet_turns", "offer_after"])
@pytest.mark.parametrize("make", [thud_env.ThudEnv, partial(thud_env.ThudVectorEnv, 2)])
def test_limits_out_of_range_are_refused_whatever_the_starts(make, limit, starts):
    with pytest.raises(ValueError, match=f"^{limit} must be in 1 .. 32767, not 0"):
        make(starts=starts, **{limit: 0})
    with pytest.raises(ValueError, match="agreement must be True or False, not 'no'"):
        make(starts=starts, agreement="no")


@pytest.mark.parametrize("limits", [{"max_turns": 60}, {"max_quiet_turns": 50, "max_turns": 70}])
@pytest.mark.parametrize("rules", thud_env.RULESETS)
def test_rows_get_limits_as_texts_do(rules, limits):
    games = thud_env.BatchedGame(8, rules, seed=1, agreement=True)
    for _ in range(40):
        games.step(games.sample_actions())
    env = ThudVectorEnv(8, rules, side="both", opponent=None, **limits)
    env.reset(options={"position": games.rows})
    for number in range(8):
        own = games.position(number)
        wanted = thud_env.Position.from_text(own.text, rules, **{**own.limits, **limits})
        assert env.position(number) == wanted


def test_a_start_that_is_over_by_the_limits_of_the_environment_is_named():
    with pytest.raises(ValueError, match=r"^start 2, a row, is over: turn limit"):
        thud_env.ThudEnv(starts=ROWS, max_turns=2)
    with pytest.raises(ValueError, match=r"^start 'dd1dd/.*' is over: turn limit"):
        thud_env.ThudEnv(starts=STARTS, max_turns=2)
    quiet = thud_env.Position.from_text("5/7/9/11/13/d14/T14/7R7/15/15/13/11/9/7/5 d - 30 40")
    with pytest.raises(ValueError, match="is over: quiet limit"):
        thud_env.ThudEnv(starts=quiet.row[np.newaxis], max_quiet_turns=30)


def test_a_position_of_the_reset_comes_first_and_draws_nothing():
    env = thud_env.ThudEnv(starts=STARTS)
    env.reset(seed=1)
    later = drawn(env, 5)
    env.reset(seed=1)
    other = thud_env.Position.start(max_turns=7)
    env.reset(options={"position": other})
    assert env.position == other
    assert drawn(env, 5) == later


def test_both_battles_of_a_match_begin_where_the_first_does():
    env = thud_env.MatchEnv(starts=STARTS)
    for seed in range(6):
        env.reset(seed=seed)
        start = env.position
        while not env.battles:
            env.step(first_legal(env.position))
        assert env.position == start


def test_a_state_keeps_the_draws_to_come():
    env = thud_env.ThudEnv(starts=ROWS)
    env.reset(seed=5)
    state, twin = env.get_state(), copy.deepcopy(env)
    numbers = drawn(env)
    assert drawn(twin) == numbers
    env.set_state(state)
    assert drawn(env) == numbers
    env.set_state(state)
    with pytest.raises(ValueError, match="starts=3 cannot be set in one with starts=1"):
        thud_env.ThudEnv().set_state(state)
    with pytest.raises(ValueError, match="its np_random is"):
        env.set_state({**state, "np_random": {}})


def test_a_seat_begins_where_it_is_drawn_to():
    env = gymnasium.make("thud/Thud-v0", side="both", opponent=None, starts=ROWS)
    env.reset(seed=2)
    seen = []
    for _ in range(30):
        env.reset()
        seen.append(STARTS.index(env.unwrapped.position))
    assert set(seen) == {0, 1, 2}
    env.reset(seed=2)
    env.reset()
    assert STARTS.index(env.unwrapped.position) == seen[0]


@pytest.mark.parametrize("many", [False, True])
def test_the_start_does_not_tell_the_side(many):
    """Both are drawn by each of the seeds: of one stream, the first would decide the second."""
    make = thud_env.ThudVectorEnv if many else thud_env.ThudSeatEnv
    env = make(side="random", starts=STARTS[:2], opponent=lambda position: first_legal(position))
    met = set()
    for seed in range(60):
        env.reset(seed=seed)
        of_env = env if many else env._game
        start = of_env._games._starts[0] if many else of_env._start_row
        side = env._games._sides[0] if many else env._game.possible_agents.index(env._agent)
        met.add((start.tobytes(), int(side)))
    assert len(met) == 4


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("match", [False, True])
def test_battles_that_begin_by_themselves_draw_theirs(mode, match):
    many = 64

    def play():
        envs = gymnasium.make_vec(
            "thud/Thud-v0",
            num_envs=many,
            side="both",
            opponent=None,
            match=match,
            starts=STARTS,
            autoreset_mode=mode,
        )
        envs.reset(seed=4)
        begun = [[STARTS.index(envs.position(env)) for env in range(many)]]
        for _ in range(12):
            ends = envs.step(envs.sample_actions())[2:4]
            at = [envs.position(env) for env in range(many)]
            begun.append([STARTS.index(one) if one in STARTS else -1 for one in at])
            if mode == "SameStep":
                assert all(begun[-1][env] >= 0 for env in np.flatnonzero(ends[0] | ends[1]))
        return np.array(begun)

    begun = play()
    assert set(begun[0]) == {0, 1, 2}
    # Each of 64 environments begins again; one that drew its start once only would keep to it.
    again = [set(begun[:, env]) - {-1} for env in range(many)]
    assert sum(len(starts) > 1 for starts in again) > many // 2
    np.testing.assert_array_equal(begun, play())


def test_many_begin_at_the_only_start_there_is():
    envs = thud_env.ThudVectorEnv(3, "classic", "both", None, starts=[AFTER])
    assert [envs.position(env) for env in range(3)] == [AFTER] * 3  # before the first reset, too
    state = envs.np_random.bit_generator.state
    envs.reset()
    assert [envs.position(env) for env in range(3)] == [AFTER] * 3
    assert envs.np_random.bit_generator.state == state


@pytest.mark.parametrize("make", [thud_env.ThudEnv, thud_env.ThudSeatEnv, thud_env.ThudVectorEnv])
@pytest.mark.parametrize(
    ("starts", "error", "message"),
    [
        ([], ValueError, "^starts has none: one at least would be right, or None for the setup"),
        (ROWS[:0], ValueError, "^starts has none: one at least"),
        (7, TypeError, "^starts 7: a list of position texts or Positions, or rows, "),
        (b"rows", TypeError, "^starts b'rows': a list"),
        ([None], TypeError, "^start None: position text or a Position"),
        (["nonsense"], ValueError, "nonsense"),
        ([thud_env.Position.start("koom-valley")], ValueError, "cannot start a battle of classic"),
        (ROWS[:, :7], thud_env.RowError, "432"),
        (ROWS[0], thud_env.RowError, "432"),
        (memoryview(b"rows"), thud_env.RowError, "^rows are integers of shape"),
        (np.int64(5), TypeError, "^starts .*5.*: a list of position texts"),
        (np.array(5), TypeError, "^starts int64 of shape"),
        (np.array(["text"]), TypeError, "^starts <U4 of shape"),
        ([thud_env.Position.start(), ROWS[0]], TypeError, "^start is of type ndarray"),
        (
            list(ROWS),
            thud_env.RowError,
            r"^starts has rows in a list: one array, np\.stack",
        ),
        (ROWS.astype(float), thud_env.RowError, "float64"),
    ],
)
def test_wrong_starts_are_named(make, starts, error, message):
    with pytest.raises(error, match=message):
        make(starts=starts)


def test_texts_may_be_numpys() -> None:
    texts = np.array([thud_env.Position.start().text] * 2)
    for starts in (texts[0], list(texts)):
        thud_env.env(starts=starts).reset()


def test_rows_may_be_a_tensor() -> None:
    env = thud_env.env(starts=torch.from_numpy(ROWS))
    np.testing.assert_array_equal(env.starts, ROWS)


@pytest.mark.parametrize("make", [thud_env.ThudEnv, thud_env.ThudSeatEnv])
def test_rows_may_be_changed_once_they_are_starts(make):
    rows = ROWS[:1].copy()
    env = make(starts=rows, **({"side": "dwarfs"} if make is thud_env.ThudSeatEnv else {}))
    rows[:] = 0
    env.reset(seed=0)
    assert env.position == START


def test_a_start_that_is_over_is_named():
    over = thud_env.Position.start(max_turns=1).play("dE2-E6")
    with pytest.raises(ValueError, match=r"is over: "):
        thud_env.ThudEnv(starts=[over])
    with pytest.raises(ValueError, match=r"^start 1, a row, is over: "):
        thud_env.ThudEnv(starts=np.stack([START.row, over.row]))


MAKE = [
    thud_env.ThudEnv,
    thud_env.MatchEnv,
    partial(thud_env.ThudSeatEnv, side="both", opponent=None),
    partial(ThudVectorEnv, 1, side="both", opponent=None),
]


def begun(env, **options):
    """The position that a reset leads to."""
    env.reset(**options)
    return env.position(0) if isinstance(env, ThudVectorEnv) else env.position


@pytest.mark.parametrize("make", MAKE)
def test_other_starts_hold_from_the_next_reset_on(make):
    env = make(starts=STARTS[0])
    assert begun(env, seed=3) == STARTS[0]
    env.starts = STARTS[1:]
    np.testing.assert_array_equal(env.starts, ROWS[1:])
    assert (env.position(0) if isinstance(env, ThudVectorEnv) else env.position) == STARTS[0]
    assert {STARTS.index(begun(env)) for _ in range(20)} == {1, 2}
    env.starts = None
    assert begun(env).turn_number == 0


@pytest.mark.parametrize("make", MAKE)
def test_starts_set_later_are_drawn_by_the_seed_of_before(make):
    def numbers():
        env = make(starts=STARTS[0])
        env.reset(seed=3)
        env.starts = STARTS
        return [STARTS.index(begun(env)) for _ in range(20)]

    assert numbers() == numbers()


@pytest.mark.parametrize("make", MAKE)
def test_a_single_start_between_several_does_not_begin_the_draws_anew(make):
    env = make(starts=STARTS)
    env.reset(seed=3)
    drawn = set()
    for _ in range(20):
        env.starts = STARTS
        drawn.add(STARTS.index(begun(env)))
        env.starts = START
        begun(env)
    assert drawn == {0, 1, 2}


@pytest.mark.parametrize("make", MAKE)
def test_starts_that_are_refused_change_nothing(make):
    env = make(starts=STARTS[1])
    with pytest.raises(ValueError, match="cannot start a battle of classic"):
        env.starts = [START, thud_env.Position.start("koom-valley")]
    env.starts[0] = 0  # a copy
    np.testing.assert_array_equal(env.starts, ROWS[1:2])
    assert begun(env) == STARTS[1]


def test_a_state_fits_as_many_starts_as_there_were():
    env = thud_env.ThudEnv(starts=STARTS[:2])
    env.reset(seed=3)
    state = env.get_state()
    env.starts = STARTS
    with pytest.raises(ValueError, match="starts"):
        env.set_state(state)
    env.starts = STARTS[1:]
    env.set_state(state)
    assert set(drawn(env)) == {1, 2}


def test_battles_that_begin_by_themselves_draw_from_other_starts_too():
    env = ThudVectorEnv(2, starts=AFTER, side="both", opponent=None, autoreset_mode="SameStep")
    env.reset(seed=0)
    env.starts = STARTS[2]
    ended = np.zeros(2, dtype=bool)
    while not ended.any():
        _, _, terminated, truncated, _ = env.step(env.sample_actions())
        ended = terminated | truncated
    assert env.position(int(np.argmax(ended))) == STARTS[2]


@pytest.mark.parametrize("is_open", [False, True])
def test_a_start_with_an_offer_that_the_limits_of_an_environment_forbid_is_refused(
    is_open: bool,
) -> None:
    limits: dict[str, Any] = {"agreement": True, "offer_after": 6}
    offered = Position.start(**limits)
    while OFFER not in offered.legal_actions():
        offered = offered.play(offered.turns()[0])
    offered = offered.apply(OFFER)
    start = offered if is_open else offered.apply(DECLINE)
    env = ThudEnv(**limits)
    env.reset(options={"position": start})
    assert env.position == start
    env = ThudEnv(agreement=True, offer_after=30 if is_open else 2)
    with pytest.raises(ThudError, match="pending 'offer'" if is_open else "turns without offers"):
        env.reset(options={"position": start})
