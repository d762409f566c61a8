"""BatchedGame: what happens to battles that are over; games that are reset, and set."""

import numpy as np
import pytest
from by_hand import place
from gymnasium.vector import AutoresetMode
from shown_batch import ARRAYS, assert_shows, play, snapshot

from thud_env import BatchedGame, Position
from thud_env.actions import NUM_ACTIONS

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


def test_a_reset_keeps_the_last_battle_that_ended():
    games, last = ended_batch("SameStep")
    games.reset()
    assert [games.final_position(game) for game in range(2)] == last


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
