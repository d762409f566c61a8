"""BatchedGame: many games at once, compared with one ``Position`` for each."""

import copy
import pickle
import threading
import time

import numpy as np
import pytest
from shown_batch import LIMITS, assert_same, assert_shows, play, snapshot

from thud_env import RULESETS, BatchedGame, IllegalMove, Position, random_playouts
from thud_env.actions import DONE
from thud_env.batch import cpu
from thud_env.batch.states import legal_lists
from thud_env.rules.check import check_rows
from thud_env.rules.row import ROW_SIZE


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


@pytest.mark.parametrize(
    ("chosen", "numbers"),
    [(np.array([3, 1]), [3, 1]), (np.array([0, 1, 0, 1], dtype=bool), [1, 3])],
)
def test_some_games_are_set_in_the_order_in_which_they_are_named(chosen, numbers):
    games = BatchedGame(4, seed=1)
    games.step(games.sample_actions())
    before = [games.position(game) for game in range(4)]
    start = Position.start()
    set_to = [start.play("dE2-E6"), start.play("dE2-E6").play("TG7-F6")]
    games.set_rows(np.stack([position.row for position in set_to]), chosen)
    for number, position in zip(numbers, set_to, strict=True):
        before[number] = position
    assert_shows(games, before)


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


# -- seeds, threads, copies ----------------------------------------------------------------


@pytest.mark.parametrize("num_threads", [2, 3, None])
def test_the_number_of_threads_changes_nothing(num_threads):
    """200 games, enough for three threads to have a share each, none of the same size."""
    alone = BatchedGame(200, seed=4, num_threads=1, **LIMITS)
    together = BatchedGame(200, seed=4, num_threads=num_threads, **LIMITS)
    for one, many in zip(play(alone, 15), play(together, 15), strict=True):
        assert_same(many, one)


def test_several_threads_play_and_reset_some_of_the_games(monkeypatch):
    monkeypatch.setattr(cpu, "WORTH_A_THREAD", 16)  # so that some are shared out, too
    alone, together = (BatchedGame(200, seed=4, num_threads=count) for count in (1, 3))
    for first in range(5):
        some = np.arange(first, 200, 2)[::-1].copy()
        for games in (alone, together):
            games.step(games.sample_actions(), some)
        assert_same(snapshot(together), snapshot(alone))
    for games in (alone, together):
        games.reset(np.arange(60))
        assert all(games.position(game) == Position.start() for game in range(60))
    assert_same(snapshot(together), snapshot(alone))


def test_an_illegal_action_is_found_by_any_thread(monkeypatch):
    monkeypatch.setattr(cpu, "CHECKED_ALONE", 16)  # so that several threads look
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
