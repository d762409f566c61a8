"""BatchedGame: many games at once, compared with one ``Position`` for each."""

import copy
import pickle
import threading
import time

import numpy as np
import pytest
from by_hand import place
from gymnasium.vector import AutoresetMode

from thud_env import RULESETS, BatchedGame, IllegalMove, Position, random_playouts
from thud_env.actions import DONE, NUM_ACTIONS
from thud_env.batch.states import legal_lists
from thud_env.rules.check import check_rows
from thud_env.rules.row import ROW_SIZE

ARRAYS = (
    "rows",
    "observations",
    "masks",
    "legal_counts",
    "to_move",
    "rewards",
    "terminated",
    "truncated",
    "final_rows",
)
LIMITS = {"max_quiet_turns": 12, "max_turns": 40, "offer_after": 3, "agreement": True}
"""Battles that end soon, in every way."""


def snapshot(games):
    return {name: getattr(games, name).copy() for name in ARRAYS}


def assert_same(seen, wanted, games=slice(None)):
    for name in ARRAYS:
        np.testing.assert_array_equal(seen[name][games], wanted[name][games], err_msg=name)


def play(games, steps):
    """Everything that the batch shows after each of some random steps."""
    shown = []
    for _ in range(steps):
        games.step(games.sample_actions())
        shown.append(snapshot(games))
    return shown


def assert_shows(games, positions):
    """The batch shows the players of each game what ``Position`` says."""
    for game, position in enumerate(positions):
        assert games.position(game) == position
        np.testing.assert_array_equal(games.masks[game], position.action_mask())
        np.testing.assert_array_equal(games.observations[game], position.observation())
        assert games.legal_counts[game] == len(position.legal_actions())
        assert games.to_move[game] == ("dwarfs", "trolls").index(position.to_move)


@pytest.mark.parametrize("rules", RULESETS)
def test_a_batch_agrees_with_positions(rules):
    games = BatchedGame(12, rules, seed=2, **LIMITS)
    positions = [Position.start(rules, **LIMITS)] * 12
    assert_shows(games, positions)
    endings = set()
    for _ in range(110):
        actions = games.sample_actions().copy()
        games.step(actions)
        for game, action in enumerate(actions):
            before = positions[game]
            after = before.apply(action)
            paid = np.float32((after.margin - before.margin) / 32)
            if RULESETS[rules].reward == "outcome":
                paid = np.float32(0 if after.outcome is None else after.outcome.margin)
            assert tuple(games.rewards[game]) == (paid, -paid)
            ended = "" if after.outcome is None else after.outcome.termination.name
            endings.add(ended)
            assert games.truncated[game] == (ended == "TURN_LIMIT")
            assert games.terminated[game] == (ended not in ("", "TURN_LIMIT"))
            if ended:
                assert games.final_position(game) == after
                after = Position.start(rules, **LIMITS)
            positions[game] = after
        assert_shows(games, positions)
    assert endings >= {"", "AGREEMENT", "QUIET_LIMIT"}


def test_the_turn_limit_truncates_and_the_quiet_limit_terminates():
    truncated = BatchedGame(2, max_turns=1)
    truncated.step(truncated.sample_actions())
    assert (truncated.truncated.all(), truncated.terminated.any()) == (True, False)
    terminated = BatchedGame(2, max_quiet_turns=1)
    terminated.step(terminated.sample_actions())
    assert (terminated.truncated.any(), terminated.terminated.all()) == (False, True)


def test_bits_are_the_bytes_packed_from_the_least_significant_end():
    as_bytes, as_bits = (BatchedGame(70, seed=2, masks=kind) for kind in ("bytes", "bits"))
    for _ in range(30):
        actions = as_bytes.sample_actions()
        as_bytes.step(actions)
        as_bits.step(actions)
        packed = np.packbits(as_bytes.masks, axis=1, bitorder="little")
        assert packed.shape == as_bits.masks.shape == (70, 809)
        np.testing.assert_array_equal(as_bits.masks, packed)


def test_outcome_rewards_pay_the_sign_of_the_margin_at_the_end():
    games = BatchedGame(8, "classic", seed=3, reward="outcome", max_quiet_turns=12, max_turns=40)
    paid = truncated = 0
    for _ in range(300):
        games.step(games.sample_actions())
        assert not games.rewards[~games.terminated].any()  # nor where the turn limit truncates
        truncated += games.truncated.sum()
        for game in np.flatnonzero(games.terminated):
            won = np.sign(games.final_position(game).margin)
            assert tuple(games.rewards[game]) == (won, -won)
            paid += abs(won)
    assert paid > 0
    assert truncated > 0


@pytest.mark.parametrize("reward", ["margin", "outcome"])
def test_a_reward_of_nothing_is_0_and_not_minus_0(reward):
    games = BatchedGame(8, seed=3, reward=reward, max_turns=30)
    for _ in range(60):
        games.step(games.sample_actions())
        assert not np.signbit(games.rewards[games.rewards == 0]).any()


# -- some of the games -------------------------------------------------------------------------


@pytest.mark.parametrize("chosen", [np.array([4, 1]), np.array([0, 1, 0, 0, 1, 0], dtype=bool)])
@pytest.mark.parametrize("masks", ["bytes", "bits"])
def test_some_games_are_stepped_and_the_others_stay_as_they_are(chosen, masks):
    some, apart = (BatchedGame(6, seed=2, masks=masks, autoreset_mode="Disabled") for _ in range(2))
    others = [0, 2, 3, 5]
    for _ in range(40):
        actions = some.sample_actions().copy()
        before = snapshot(some)
        apart.set_rows(some.rows)
        apart.step(actions)
        actions[others] = -7
        some.step(actions, chosen)
        assert_same(snapshot(some), before, others)
        assert_same(snapshot(some), snapshot(apart), [1, 4])
    with pytest.raises(IllegalMove, match="game 2"):
        some.step(actions, np.array([2]))


@pytest.mark.parametrize("chosen", [np.array([3, 1]), np.array([0, 1, 0, 1], dtype=bool)])
def test_some_games_are_set_in_the_order_of_their_numbers(chosen):
    games = BatchedGame(4, seed=1)
    games.step(games.sample_actions())
    before = [games.position(game) for game in range(4)]
    start = Position.start()
    set_to = [start.play("dE2-E6"), start.play("dE2-E6").play("TG7-F6")]
    games.set_rows(np.stack([position.row for position in set_to]), chosen)
    assert_shows(games, [before[0], set_to[0], before[2], set_to[1]])


def test_stepping_no_game_changes_nothing():
    games = BatchedGame(3, seed=2)
    before = games.rows.copy()
    games.step(np.zeros(3, np.int64), np.zeros(3, dtype=bool))
    games.step(np.zeros(3, np.int64), np.array([], dtype=np.int64))
    np.testing.assert_array_equal(games.rows, before)


@pytest.mark.parametrize(
    ("games", "named"),
    [
        (np.array([3]), "there is no game 3: 0 .. 2 are played"),
        (np.array([1, -1]), "there is no game -1"),
        (np.array([0.0]), "float64"),
        (np.array([True]), r"bool of shape \(1,\)"),
        (np.array([[0]]), r"shape \(1, 1\)"),
    ],
)
def test_unknown_games_are_named(games, named):
    batch = BatchedGame(3)
    for act in (batch.reset, lambda games: batch.step(batch.sample_actions(), games)):
        with pytest.raises(ValueError, match=named):
            act(games)


# -- what happens to a battle that is over -------------------------------------------------


LIMIT = 30
LAST_TURN = place("classic", "D6 E6 F6 A9", "J6 P8", played=LIMIT - 1, max_turns=LIMIT)


def ended_batch(mode):
    """Four games, of which the first two end with a capture in the last step that was played."""
    games = BatchedGame(4, "classic", seed=5, autoreset_mode=mode, max_turns=LIMIT)
    games.step(games.sample_actions())
    rows = games.rows.copy()
    rows[:2] = LAST_TURN.row
    games.set_rows(rows)
    actions = games.sample_actions().copy()
    (actions[:2],) = LAST_TURN.decisions("dF6-J6xJ6")
    games.step(actions)
    last = [LAST_TURN.play("dF6-J6xJ6")] * 2
    assert games.truncated.tolist() == [True, True, False, False]
    assert games.rewards[:2].tolist() == [[4 / 32, -4 / 32]] * 2
    assert [games.final_position(game) for game in range(2)] == last
    return games, last


def test_same_step_resets_a_battle_in_the_step_that_ends_it():
    games, _ = ended_batch("SameStep")
    start = Position.start("classic", max_turns=LIMIT)
    assert [games.position(game) == start for game in range(4)] == [True, True, False, False]
    assert games.legal_counts[0] == len(start.legal_actions())
    games.step(games.sample_actions())
    assert not games.truncated.any()
    assert games.position(0).turn_number == 1


def test_next_step_resets_a_battle_in_the_step_after_and_ignores_its_action():
    games, last = ended_batch(AutoresetMode.NEXT_STEP)
    assert games.position(0) == last[0]
    assert games.legal_counts[:2].tolist() == [0, 0]
    assert not games.masks[:2].any()
    actions = games.sample_actions().copy()
    actions[:2] = (-5, NUM_ACTIONS)
    games.step(actions)
    assert games.position(0) == Position.start("classic", max_turns=LIMIT)
    assert not games.truncated.any()
    assert not games.rewards[:2].any()
    assert games.final_position(0) == last[0]
    games.step(games.sample_actions())
    assert games.position(0).turn_number == 1


def test_before_a_battle_has_ended_there_is_no_final_position():
    games = BatchedGame(2, seed=1)
    with pytest.raises(ValueError, match="no battle has ended in game 1 yet"):
        games.final_position(1)


def test_disabled_leaves_a_battle_that_is_over_alone_until_reset():
    games, last = ended_batch("Disabled")
    for _ in range(3):
        actions = games.sample_actions().copy()
        assert actions[:2].tolist() == [0, 0]
        actions[:2] = (-5, NUM_ACTIONS)
        games.step(actions)
        assert [games.position(game) for game in range(2)] == last
        assert not games.rewards[:2].any()
        assert games.truncated.tolist() == [True, True, False, False]
    games.reset(np.array([0]))
    assert games.position(0) == Position.start("classic", max_turns=LIMIT)
    assert games.position(1) == last[1]
    assert games.truncated.tolist() == [False, True, False, False]


# -- seeds, threads, copies ----------------------------------------------------------------


@pytest.mark.parametrize("num_threads", [2, 3, None])
def test_the_number_of_threads_changes_nothing(num_threads):
    """200 games, enough for three threads to have a share each, none of the same size."""
    alone = BatchedGame(200, seed=4, num_threads=1, **LIMITS)
    together = BatchedGame(200, seed=4, num_threads=num_threads, **LIMITS)
    for one, many in zip(play(alone, 15), play(together, 15), strict=True):
        assert_same(many, one)


def test_an_illegal_action_is_found_by_any_thread():
    for game in (0, 66, 70, 133, 199):
        games = BatchedGame(200, num_threads=3, observations=False, masks="bits")
        actions = games.sample_actions().copy()
        actions[game:] = DONE
        with pytest.raises(IllegalMove, match=rf"^game {game}: action {DONE} "):
            games.step(actions)


def test_a_seed_repeats_a_batch_and_another_does_not():
    first, again, other = (BatchedGame(64, seed=seed) for seed in (6, 6, 7))
    shown = play(first, 10)
    assert_same(play(again, 10)[-1], shown[-1])
    assert not np.array_equal(play(other, 10)[-1]["rows"], shown[-1]["rows"])
    first.reset(seed=6)
    assert_same(play(first, 10)[-1], shown[-1])


def test_every_game_has_a_stream_of_its_own():
    few, many = BatchedGame(10, seed=8), BatchedGame(50, seed=8)
    np.testing.assert_array_equal(play(few, 10)[-1]["rows"], play(many, 10)[-1]["rows"][:10])
    assert len({row.tobytes() for row in many.rows}) == 50


def test_sampled_actions_are_legal_and_uniform():
    games = BatchedGame(6560, "classic", seed=9, observations=False, masks=None)
    actions = games.sample_actions()
    legal = Position.start().legal_actions()
    assert len(legal) == 656
    counts = np.array([(actions == action).sum() for action in legal])
    assert counts.sum() == 6560
    chi_square = ((counts - 10) ** 2 / 10).sum()
    assert abs(chi_square - 655) < 4 * np.sqrt(2 * 655)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda games: pickle.loads(pickle.dumps(games))])
def test_a_copy_plays_on_alike_and_apart(copied):
    games = BatchedGame(130, seed=10, num_threads=2, **LIMITS)
    play(games, 5)
    twin = copied(games)
    before = snapshot(games)
    shown = play(twin, 5)
    assert_same(snapshot(games), before)
    assert_same(play(games, 5)[-1], shown[-1])


def test_a_second_thread_is_refused_while_the_first_is_at_work():
    """Both step all the time; wherever they meet, one is refused and the rows stay sound."""
    games = BatchedGame(2000, seed=12, num_threads=1, masks=None, observations=False)
    ended, refused = threading.Event(), []

    def work():
        while not ended.is_set():
            try:
                games.step(games.sample_actions(), check=False)
            except RuntimeError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 60
    while len(refused) < 20 and time.monotonic() < until:
        time.sleep(0.01)
    ended.set()
    for thread in threads:
        thread.join()
    assert len(refused) >= 20
    assert set(refused) == {"two threads use this batch at once: a batch each would be right"}
    check_rows(games.rows, games.rules)
    games.step(games.sample_actions())


# -- resetting and setting -----------------------------------------------------------------


@pytest.mark.parametrize("chosen", [np.array([1, 3]), np.array([False, True, False, True])])
def test_some_games_are_reset_by_index_or_mask(chosen):
    games = BatchedGame(4, seed=11)
    play(games, 3)
    before = snapshot(games)
    games.reset(chosen)
    start = Position.start()
    for game in (1, 3):
        assert games.position(game) == start
        np.testing.assert_array_equal(games.masks[game], start.action_mask())
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(games, name)[[0, 2]], before[name][[0, 2]])


@pytest.mark.parametrize("some", [np.array([3, 40]), np.arange(64) % 3 == 0])
def test_a_seed_is_for_the_games_that_are_reset(some):
    games = BatchedGame(64, seed=1)
    games.reset(some, seed=5)
    drawn = games.sample_actions()
    chosen = np.isin(np.arange(64), np.arange(64)[some])
    for seed, which in ((5, chosen), (1, ~chosen)):
        wanted = BatchedGame(64, seed=seed).sample_actions()
        np.testing.assert_array_equal(drawn[which], wanted[which])


def test_reset_starts_every_game_and_clears_the_last_results():
    games, _ = ended_batch("Disabled")
    games.reset()
    assert not games.rewards.any()
    assert not (games.terminated | games.truncated).any()
    assert_shows(games, [Position.start("classic", max_turns=LIMIT)] * 4)


def test_set_rows_shows_the_states_that_were_set():
    positions = [Position.start("classic").play(turn) for turn in ("dF1-F5", "dE2-E6")]
    games = BatchedGame(2)
    games.set_rows(np.stack([position.row for position in positions]))
    assert_shows(games, positions)


def test_set_rows_clears_the_last_results():
    games, _ = ended_batch("Disabled")
    games.set_rows(np.tile(Position.start("classic", max_turns=LIMIT).row, (4, 1)))
    assert not games.rewards.any()
    assert not (games.terminated | games.truncated).any()


@pytest.mark.parametrize("mode", [mode.value for mode in AutoresetMode])
def test_setting_a_finished_state_sets_the_flags_as_a_step_would(mode):
    start = Position.start("classic", max_turns=LIMIT)
    won = place("classic", "C8 A8", "D7", max_turns=LIMIT).play("dC8-D7xD7")
    cut, going = LAST_TURN.play("dF6-J6xJ6"), start.play("dF1-F5")
    games = BatchedGame(3, "classic", autoreset_mode=mode, max_turns=LIMIT)
    games.step(games.sample_actions())
    games.set_rows(np.stack([position.row for position in (won, cut, going)]))
    assert games.terminated.tolist() == [True, False, False]
    assert games.truncated.tolist() == [False, True, False]
    assert not games.rewards.any()
    assert [games.final_position(game) for game in range(2)] == [won, cut]
    assert_shows(games, [start, start, going] if mode == "SameStep" else [won, cut, going])
    games.step(games.sample_actions())
    assert games.terminated[0] == games.truncated[1] == (mode == "Disabled")
    assert [games.position(game).turn_number for game in range(3)] == {
        "SameStep": [1, 1, 2],
        "NextStep": [0, 0, 2],
        "Disabled": [1, LIMIT, 2],
    }[mode]


# -- buffers of the caller -----------------------------------------------------------------


def test_buffers_of_the_caller_are_written_in_place():
    model = BatchedGame(6, seed=12)
    buffers = {name: np.full_like(getattr(model, name), 7) for name in ARRAYS}
    games = BatchedGame(6, seed=12, buffers=buffers)
    assert all(getattr(games, name) is buffers[name] for name in ARRAYS)
    assert_same(buffers, snapshot(model))
    for wanted in play(model, 5):
        games.step(games.sample_actions())
        assert_same(buffers, wanted)


def test_our_own_arrays_are_never_reallocated():
    games = BatchedGame(3, seed=13, max_turns=2)
    arrays = {name: getattr(games, name) for name in ARRAYS}
    play(games, 4)
    games.reset()
    assert all(getattr(games, name) is array for name, array in arrays.items())


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((3, 2), np.float64),
        np.zeros((2, 2), np.float32),
        np.zeros((2, 3), np.float32).T,
        read_only(np.zeros((3, 2), np.float32)),
        [[0.0, 0.0]] * 3,
    ],
    ids=["dtype", "shape", "not contiguous", "read-only", "a list"],
)
def test_an_unfit_buffer_is_refused(wrong):
    with pytest.raises(ValueError, match=r"buffer 'rewards' .* shape \(3, 2\) and dtype float32"):
        BatchedGame(3, buffers={"rewards": wrong})


def test_a_buffer_that_nothing_is_written_to_is_refused():
    with pytest.raises(ValueError, match="reward'"):
        BatchedGame(3, buffers={"reward": np.zeros((3, 2), np.float32)})
    with pytest.raises(ValueError, match="masks"):
        BatchedGame(3, masks=None, buffers={"masks": np.zeros((3, NUM_ACTIONS), np.int8)})


# -- bad input -----------------------------------------------------------------------------


@pytest.mark.parametrize("action", [DONE, -1, NUM_ACTIONS, 2**31 - 1, -(2**31)])
def test_an_illegal_action_is_named_and_changes_no_game(action):
    games = BatchedGame(5, seed=14)
    play(games, 4)
    before = snapshot(games)
    actions = games.sample_actions().copy()
    actions[3] = action
    with pytest.raises(IllegalMove, match=rf"^game 3: action {action} "):
        games.step(actions)
    assert_same(snapshot(games), before)
    games.step(games.sample_actions())


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_an_action_beyond_32_bits_does_not_wrap_around_to_a_legal_one(dtype):
    games = BatchedGame(5)
    actions = games.sample_actions().astype(dtype)
    actions[2] += dtype(2**32)
    before = snapshot(games)
    with pytest.raises(IllegalMove, match=rf"^game 2: action {actions[2]} "):
        games.step(actions)
    assert_same(snapshot(games), before)


@pytest.mark.parametrize("dtype", [np.int16, np.uint16, np.int32, np.int64, np.uint64, list])
def test_actions_may_be_of_any_integer_type(dtype):
    games, other = BatchedGame(5, seed=15), BatchedGame(5, seed=15)
    actions = games.sample_actions()
    games.step(actions)
    other.step(actions.tolist() if dtype is list else actions.astype(dtype))
    assert_same(snapshot(other), snapshot(games))


@pytest.mark.parametrize(
    "actions",
    [np.zeros(4, np.int32), np.zeros((5, 1), np.int32), np.zeros(5), np.zeros(5, bool), 0],
    ids=["too few", "two axes", "floats", "bools", "a number"],
)
def test_actions_of_another_shape_or_type_are_refused(actions):
    with pytest.raises(ValueError, match=r"integers of shape \(5,\) would be right"):
        BatchedGame(5).step(actions)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"num_games": 0}, "num_games must be 1 or more, not 0"),
        ({"num_games": "5"}, "num_games must be an integer, not '5'"),
        ({"seed": -1}, "seed must be 0 or more, not -1"),
        ({"seed": None}, "seed must be an integer, not None"),
        ({"device": "tpu"}, "unknown device 'tpu'"),
        ({"masks": "bytse"}, "unknown masks 'bytse'"),
        ({"rules": "clasic"}, "unknown ruleset 'clasic': did you mean 'classic'"),
        ({"num_threads": 1.5}, "num_threads must be an integer, not 1.5"),
        ({"num_threads": 0}, "num_threads must be 1 or more, not 0"),
        ({"autoreset_mode": "Never"}, "Never"),
        ({"reward": "points"}, "unknown reward 'points'"),
        ({"rules": "koom-valley", "reward": "margin"}, "koom-valley"),
        ({"max_turns": 0}, "max_turns must be in"),
    ],
)
def test_an_argument_out_of_range_is_named(arguments, named):
    with pytest.raises(ValueError, match=named):
        BatchedGame(**{"num_games": 2, **arguments})


def test_arrays_that_were_not_asked_for_say_so():
    games = BatchedGame(2, observations=False, masks=None)
    with pytest.raises(AttributeError, match="observations=False"):
        games.observations  # noqa: B018
    with pytest.raises(AttributeError, match="masks=None"):
        games.masks  # noqa: B018
    assert games.legal_counts.tolist() == [656, 656]


# -- beside the batch ----------------------------------------------------------------------


def test_legal_lists_are_each_positions_legal_actions():
    games = BatchedGame(20, seed=16, max_turns=15, autoreset_mode="Disabled")
    for _ in range(60):
        games.step(games.sample_actions())
    games.reset(np.arange(0, 20, 3))
    decisions, starts = legal_lists(games.rows)
    assert starts.shape == (21,)
    assert len(decisions) == starts[-1]
    for game in range(20):
        wanted = games.position(game).legal_actions()
        np.testing.assert_array_equal(decisions[starts[game] : starts[game + 1]], wanted)
    assert {int(count) for count in np.diff(starts)} >= {0, 656}


def test_no_states_have_no_legal_decisions():
    decisions, starts = legal_lists(np.empty((0, ROW_SIZE), np.int16))
    assert (decisions.tolist(), starts.tolist()) == ([], [0])


def test_random_playouts_are_the_same_for_a_seed_and_any_number_of_threads():
    wanted = random_playouts(200, "classic", seed=17, num_threads=1, max_turns=60)
    for num_threads in (1, 2, 3, None):
        seen = random_playouts(200, "classic", seed=17, num_threads=num_threads, max_turns=60)
        np.testing.assert_array_equal(seen.lengths, wanted.lengths)
        np.testing.assert_array_equal(seen.margins, wanted.margins)
    other = random_playouts(200, "classic", seed=18, max_turns=60)
    assert not np.array_equal(other.margins, wanted.margins)


@pytest.mark.parametrize("rules", RULESETS)
def test_random_playouts_are_what_a_batch_plays(rules):
    """The same draws, decision by decision, lead to the same lengths and margins."""
    games = BatchedGame(30, rules, seed=19, masks=None, autoreset_mode="Disabled", **LIMITS)
    lengths = np.zeros(30, int)
    while (games.legal_counts > 0).any():
        lengths += games.legal_counts > 0
        games.step(games.sample_actions())
    playouts = random_playouts(30, rules, seed=19, **LIMITS)
    np.testing.assert_array_equal(playouts.lengths, lengths)
    margins = [games.position(game).margin for game in range(30)]
    np.testing.assert_array_equal(playouts.margins, margins)
    if rules.startswith("classic"):
        assert len(set(margins)) > 1, "battles without captures would prove little"


def test_random_playouts_of_nothing_are_refused():
    with pytest.raises(ValueError, match="num_games must be 1 or more, not 0"):
        random_playouts(0)


def test_planes_as_bytes_are_those_as_floats():
    as_floats, as_bytes = (
        BatchedGame(6, "koom-valley", seed=1, observations=kind, agreement=True, offer_after=3)
        for kind in ("float32", "uint8")
    )
    for _ in range(60):
        actions = as_floats.sample_actions()
        as_floats.step(actions)
        as_bytes.step(actions)
        assert as_bytes.observations.dtype == np.uint8
        expected = np.floor(as_floats.observations.astype(np.float64) * 255 + 0.5)
        np.testing.assert_allclose(as_bytes.observations, expected, atol=1)
        whole = as_floats.observations % 1 == 0
        np.testing.assert_array_equal(as_bytes.observations[whole], expected[whole])
    with pytest.raises(ValueError, match="'uint8'"):
        BatchedGame(1, observations="float16")
