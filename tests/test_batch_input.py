"""BatchedGame: the caller's buffers and actions, and what is refused."""

import copy

import numpy as np
import pytest
from shown_batch import ARRAYS, assert_same, play, snapshot

from thud_env import BatchedGame, IllegalMove, Position, RowError, ThudError
from thud_env.actions import DONE, NUM_ACTIONS
from thud_env.render import heat
from thud_env.rules.row import ROW_SIZE
from thud_env.symmetry import map_action


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


@pytest.mark.parametrize(
    ("name", "value", "instead"),
    [
        *((name, 0, "another batch") for name in ("num_games", "rules", "autoreset_mode")),
        *((name, np.zeros((1, ROW_SIZE), np.int16), "set_rows") for name in ARRAYS),
    ],
)
def test_what_a_batch_is_made_of_cannot_be_replaced(name, value, instead):
    """Compiled loops would read beyond arrays of another shape, and masks would show other rows."""
    games = BatchedGame(3)
    before = getattr(games, name)
    said = "property" if isinstance(vars(BatchedGame).get(name), property) else instead
    with pytest.raises(AttributeError, match=said):
        setattr(games, name, value)
    assert getattr(games, name) is before
    games.note = 1  # a user's own attribute
    games.note = 2


def test_an_operator_that_changes_an_array_in_place_is_not_refused_after_it():
    games = BatchedGame(3)
    rewards = games.rewards
    games.rewards += 0.5
    assert games.rewards is rewards
    assert (rewards == 0.5).all()


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
        np.ma.zeros((3, 2), np.float32),
    ],
    ids=["dtype", "shape", "not contiguous", "read-only", "a list", "masked"],
)
def test_an_unfit_buffer_is_refused(wrong):
    with pytest.raises(ValueError, match=r"buffer 'rewards' .* shape \(3, 2\) and dtype float32"):
        BatchedGame(3, buffers={"rewards": wrong})


def test_a_buffer_that_nothing_is_written_to_is_refused():
    with pytest.raises(ValueError, match="reward'"):
        BatchedGame(3, buffers={"reward": np.zeros((3, 2), np.float32)})
    with pytest.raises(ThudError, match="buffers has 5: no array of that name is written"):
        BatchedGame(3, buffers={5: np.zeros((3, 2), np.float32), "reward": None})
    with pytest.raises(ValueError, match="masks"):
        BatchedGame(3, masks=None, buffers={"masks": np.zeros((3, NUM_ACTIONS), np.int8)})
    with pytest.raises(ThudError, match=r"'legal_counts'.*no array of that name is written"):
        BatchedGame(3, masks=None, buffers={"legal_counts": np.zeros(3, np.int32)})


def test_a_buffer_that_is_not_written_is_named_with_the_nearest_that_is():
    for wrong, said in (("mask", "'mask': did you mean 'masks'?"), ("x", "'x': no array of that")):
        with pytest.raises(ThudError, match=f"^buffers has {said}"):
            BatchedGame(2, buffers={wrong: np.zeros(2)})


def test_buffers_that_overlap_are_refused():
    shared = np.zeros((3, ROW_SIZE), np.int16)
    with pytest.raises(ValueError, match="'rows' and 'final_rows' share memory: each needs its"):
        BatchedGame(2, buffers={"rows": shared[:2], "final_rows": shared[1:]})


@pytest.mark.parametrize("wrong", [[1], "masks", 3])
def test_buffers_without_names_are_refused(wrong):
    with pytest.raises(ValueError, match=r"^buffers .*: arrays by attribute name would be right$"):
        BatchedGame(2, buffers=wrong)


def test_a_tensor_that_needs_a_gradient_is_refused_by_name():
    torch = pytest.importorskip("torch")
    games = BatchedGame(2)
    actions = torch.zeros(2, requires_grad=True)
    with pytest.raises(ValueError, match=r"^actions: torch.float32 of shape \(2,\) is not read: "):
        games.step(actions)


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


def test_an_illegal_action_is_named_whatever_holds_it():
    class Labelled:
        """Behaves as a series of pandas whose labels are not 0, 1, ..."""

        def __array__(self, dtype=None, copy=None):
            return np.array([actions[0], DONE], dtype=dtype)

        def __getitem__(self, label):
            raise KeyError(label)

    games = BatchedGame(2, seed=1)
    actions = games.sample_actions().copy()
    with pytest.raises(IllegalMove, match=rf"^game 1: action {DONE} "):
        games.step(Labelled())


@pytest.mark.parametrize(("masks", "all_legal"), [("bytes", 1), ("bits", 255)])
def test_masks_that_the_caller_has_written_change_nothing(masks, all_legal):
    """What is legal is not read from an array that anyone can write."""
    games, other = (BatchedGame(2, seed=1, masks=masks) for _ in range(2))
    actions = games.sample_actions().copy()
    games.masks[:] = all_legal
    with pytest.raises(IllegalMove, match=r"^game 0: action 0 "):
        games.step([0, 0])
    games.masks[:] = 0
    games.step(actions)
    other.step(actions)
    assert np.array_equal(games.rows, other.rows)


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


def test_lists_of_several_lengths_are_refused_by_the_argument_that_they_are():
    games = BatchedGame(3)
    ragged = [[1, 2], [3]]
    for refused, error, name in (
        (lambda: games.step(ragged), ValueError, "actions"),
        (lambda: games.step([0] * 3, games=ragged), ValueError, "games"),
        (lambda: games.reset(ragged), ValueError, "games"),
        (lambda: games.set_rows(ragged), RowError, "rows"),
        (lambda: Position(ragged), RowError, "a state row"),
        (lambda: map_action(1, ragged), ValueError, "actions"),
        (lambda: heat(Position.start(), ragged), ValueError, "probabilities"),
    ):
        with pytest.raises(error, match=rf"^{name}: \[\[1, 2\], \[3\]\] is no array: "):
            refused()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"num_games": 0}, "num_games must be 1 or more, not 0"),
        ({"num_games": "5"}, "num_games must be an integer, not '5'"),
        ({"seed": -1}, "seed must be 0 or more, not -1"),
        ({"seed": "x"}, "seed must be an integer, not 'x'"),
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


def test_a_game_named_twice_is_refused():
    games = BatchedGame(3)
    with pytest.raises(ValueError, match="game 2 is there twice"):
        games.reset(np.array([2, 0, 2]))


def test_a_shallow_copy_is_refused():
    with pytest.raises(TypeError, match=r"copy\.copy of a BatchedGame would share its board"):
        copy.copy(BatchedGame(1))


@pytest.mark.parametrize(
    "game",
    [3, -1, 1.0, 10**5000, np.array([0, 1])],
    ids=["too large", "negative", "a float", "huge", "several"],
)
def test_what_is_not_the_number_of_a_game_has_no_position(game):
    games = BatchedGame(3)
    for position in (games.position, games.final_position):
        with pytest.raises(ValueError, match=r"the number of a game must be .*in 0 \.\. 2, not"):
            position(game)


def test_as_many_rows_as_games_are_asked_for_before_they_are_read():
    with pytest.raises(RowError, match="2 rows for 3 games: one each is right"):
        BatchedGame(3).set_rows(np.zeros((2, ROW_SIZE), dtype=np.int16))


def test_without_a_seed_every_batch_draws_otherwise():
    drawn = [BatchedGame(8, seed=seed).sample_actions().tolist() for seed in (None, None, 0, 0)]
    assert drawn[0] != drawn[1]
    assert drawn[2] == drawn[3]


def test_a_batch_shows_what_it_is():
    assert repr(BatchedGame(3)) == "BatchedGame(3, 'classic', autoreset_mode='SameStep')"


def test_without_masks_decisions_are_counted_when_they_are_asked_for():
    games = BatchedGame(1, masks=None)
    for _ in range(3):
        assert games.legal_counts[0] == len(games.position(0).legal_actions())
        games.step(games.sample_actions())
