"""The rules do not know left from right: a position and its image allow the same, mapped."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from positions import constructed, from_play, position_of
from reference import CLASSIC_RULES, VALLEY_RULES

from thud_env import BatchedGame, Position, ThudError
from thud_env.actions import ACTION_SYMMETRY
from thud_env.board import MIRROR_LEFT_RIGHT, SYMMETRIES
from thud_env.rules.row import MAX_TURNS, PENDING, PENDING_CELL
from thud_env.symmetry import (
    INVERSE,
    map_action,
    map_observation,
    map_policy,
    map_position,
    map_rows,
    map_together,
    symmetries_of,
)


def check(position: Position, symmetry: int, random: Random) -> None:
    """Legal decisions map to legal decisions, and what follows from one to what follows."""
    image = map_position(symmetry, position)
    mapped = np.sort(ACTION_SYMMETRY[symmetry][position.legal_actions()])
    assert np.array_equal(mapped, image.legal_actions()), (position, symmetry)
    if len(mapped):
        action = random.choice(position.legal_actions().tolist())
        after = position.apply(action)
        assert image.apply(ACTION_SYMMETRY[symmetry][action]) == map_position(symmetry, after)
        if after.row[PENDING]:
            check(after, symmetry, random)


@pytest.mark.parametrize("rules", CLASSIC_RULES)
def test_classic_thud_has_all_eight_symmetries(rules: str) -> None:
    random = Random(f"symmetry {rules}")
    states = [*constructed(rules, 120, random), *from_play(rules, 60, random)]
    for state in states:
        for symmetry in range(8):
            check(position_of(state), symmetry, random)


@pytest.mark.parametrize("rules", VALLEY_RULES)
def test_koom_valley_has_the_left_right_mirror(rules: str) -> None:
    random = Random(f"symmetry {rules}")
    states = [*constructed(rules, 300, random), *from_play(rules, 150, random)]
    for state in states:
        check(position_of(state), MIRROR_LEFT_RIGHT, random)


@pytest.mark.parametrize("rules", VALLEY_RULES)
def test_the_goal_breaks_the_other_symmetries(rules: str) -> None:
    start = Position.start(rules)
    assert map_position(MIRROR_LEFT_RIGHT, start) == start
    for symmetry in set(range(8)) - {0, MIRROR_LEFT_RIGHT}:
        with pytest.raises(ValueError, match=f"another game after symmetry {symmetry}: 0, 4 leave"):
            map_position(symmetry, start)


@pytest.mark.parametrize("rules", CLASSIC_RULES)
def test_the_classic_start_is_its_own_image(rules: str) -> None:
    start = Position.start(rules)
    assert all(map_position(symmetry, start) == start for symmetry in range(8))


@pytest.mark.parametrize("rules", [*CLASSIC_RULES, *VALLEY_RULES])
def test_observation_mask_and_policy_map_together(rules: str) -> None:
    random = Random(f"together {rules}")
    rng = np.random.default_rng(0)
    states = [*constructed(rules, 30, random), *from_play(rules, 30, random)]
    for position in (position_of(state) for state in states):
        policy = rng.random(6470).astype(np.float32)
        for symmetry in symmetries_of(rules):
            image = map_position(symmetry, position)
            planes, mask, mapped = map_together(
                symmetry, position.observation(), position.action_mask(), policy
            )
            assert np.array_equal(planes, image.observation())
            assert np.array_equal(mask, image.action_mask())
            legal = position.legal_actions()
            assert np.array_equal(mapped[map_action(symmetry, legal)], policy[legal])
            assert (planes.dtype, mask.dtype, mapped.dtype) == (np.float32, np.int8, np.float32)


def test_many_map_as_each_of_them() -> None:
    rng = np.random.default_rng(1)
    planes, policies = rng.random((2, 3, 15, 15, 15)), rng.random((2, 3, 6470))
    for symmetry in range(8):
        assert np.array_equal(
            map_observation(symmetry, planes)[1, 2], map_observation(symmetry, planes[1, 2])
        )
        assert np.array_equal(
            map_policy(symmetry, policies)[0, 1], map_policy(symmetry, policies[0, 1])
        )


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy])
def test_each_of_a_batch_maps_by_its_own_symmetry(kind: Any) -> None:
    rng = np.random.default_rng(1)
    planes, policies = rng.random((9, 2, 3, 15, 15)), rng.random((9, 6470))
    symmetries = np.array([0, 3, 7, 1, 1, 2, 6, 5, 4])
    there = map_together(symmetries, kind(planes), kind(policies))
    assert [type(one) for one in there] == [type(kind(planes))] * 2
    for number, symmetry in enumerate(symmetries):
        for mapped, one in zip(there, (planes, policies), strict=True):
            wanted = map_together(int(symmetry), planes[number], policies[number])
            assert np.array_equal(mapped[number], wanted[one is policies])
    assert all(len(one) == 0 for one in map_together(symmetries[:0], planes[:0], policies[:0]))


def test_each_action_of_a_batch_maps_by_its_own_symmetry() -> None:
    rng = np.random.default_rng(1)
    symmetries, actions = rng.integers(8, size=50), rng.integers(6470, size=(50, 3))
    for given in (actions, actions[:, 0].astype(np.int32), (actions[:, 0] % 128).astype(np.int8)):
        mapped = map_action(symmetries, given)
        wanted = [map_action(int(s), one) for s, one in zip(symmetries, given, strict=True)]
        assert np.array_equal(mapped, wanted)
    assert mapped.dtype == np.int16
    assert map_action(symmetries[:0], actions[:0]).shape == (0, 3)
    with pytest.raises(ValueError, match=r"^symmetries are .*: integers of shape \(2,\) would"):
        map_action(symmetries, actions[:2])
    with pytest.raises(ValueError, match=r"symmetry must be .*in 0 \.\. 7, not 8"):
        map_action(np.array([1, 8]), actions[:2])


def test_the_inverse_undoes() -> None:
    rng = np.random.default_rng(2)
    planes, policy = rng.random((13, 15, 15)), rng.random(6470)
    for symmetry, back in enumerate(INVERSE):
        there = map_together(symmetry, planes, policy)
        assert np.array_equal(map_observation(back, there[0]), planes)
        assert np.array_equal(map_policy(back, there[1]), policy)
        assert map_action(back, map_action(symmetry, 1234)) == 1234
    assert [SYMMETRIES[back][0] for back in INVERSE[1:4]] == [
        "rotate 270 clockwise",
        "rotate 180",
        "rotate 90 clockwise",
    ]


def test_tensors_map_as_arrays_do() -> None:
    planes, mask = Position.start("koom-valley").observation(), Position.start().action_mask()
    for symmetry in range(8):
        of_torch = map_together(symmetry, torch.from_numpy(planes), torch.from_numpy(mask))
        of_numpy = map_together(symmetry, planes, mask)
        for tensor, array in zip(of_torch, of_numpy, strict=True):
            assert isinstance(tensor, torch.Tensor)
            assert np.array_equal(tensor.numpy(), array)


def test_what_is_mapped_is_a_copy() -> None:
    planes, mask = Position.start().observation(), Position.start().action_mask()
    for symmetry in range(8):
        for mapped in map_together(symmetry, planes, mask):
            assert not np.shares_memory(mapped, planes)
            assert not np.shares_memory(mapped, mask)


def test_a_game_has_the_symmetries_that_its_goal_leaves() -> None:
    assert symmetries_of("classic") == tuple(range(8))
    assert symmetries_of("koom-valley-football") == (0, MIRROR_LEFT_RIGHT)


def test_wrong_shapes_and_symmetries_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\[\.\.\., 15, 15\] would be right"):
        map_observation(1, np.zeros((13, 225)))
    for take in (map_observation, map_policy):
        with pytest.raises(TypeError, match=r"is an array, not \[\[0\]\]: numpy\.asarray makes"):
            take(1, [[0]])
    for wrong in (np.zeros(6469), np.zeros(())):
        with pytest.raises(ValueError, match=r"\[\.\.\., 6470\] would be right"):
            map_policy(1, wrong)
    for wrong_symmetry in (-1, 8, 1.0, "1", True, [1], 10**5000):
        for take in (map_policy, map_observation):
            with pytest.raises(ValueError, match=r"symmetry must be .*in 0 \.\. 7, not"):
                take(wrong_symmetry, np.zeros(6470) if take is map_policy else np.zeros((15, 15)))
    for few in ([1], [1, 2, 3], [[1, 2]], [1.0, 2.0]):
        with pytest.raises(ValueError, match=r"^symmetries are .*: integers of shape \(2,\) would"):
            map_policy(few, np.zeros((2, 6470)))
    with pytest.raises(ValueError, match=r"symmetry must be .*in 0 \.\. 7, not 8"):
        map_together(np.array([1, 8]), np.zeros((2, 14, 15, 15)))
    for take, one in ((map_observation, (14, 15, 15)), (map_policy, (6470,))):
        with pytest.raises(ValueError, match=r"symmetry must be .*in 0 \.\. 7, not int64 of shape"):
            take(np.zeros(14, np.int64), np.zeros(one))
    for action in (-1, 6470, np.array([3, 6470])):
        with pytest.raises(ValueError, match="actions are 0 to 6469"):
            map_action(1, action)


def test_what_is_no_position_is_not_mapped() -> None:
    with pytest.raises(TypeError, match=r"int16 of shape \(432,\) is no position: map_rows maps"):
        map_position(1, Position.start().row)


def test_actions_are_mapped_whatever_holds_them():
    image = map_action(1, 100)
    for kind in (np.int8, np.uint8, np.int16, np.uint64):
        mapped = map_action(1, np.array([100], dtype=kind))
        assert mapped.tolist() == [image]
    for action in (True, 1.5, "x", np.array([1.5])):
        with pytest.raises(TypeError, match=r"is a bool|integer"):
            map_action(1, action)


def test_rows_are_mapped_each_by_its_own_symmetry_or_all_by_one() -> None:
    games = BatchedGame(16, "classic-any", observations=False, masks=None, seed=3)
    for _ in range(30):
        games.step(games.sample_actions())
    numbers = np.arange(16) % 8
    positions = [games.position(game) for game in range(16)]
    each = map_rows(numbers, games.rows)
    wanted = [map_position(int(n), one).row for n, one in zip(numbers, positions, strict=True)]
    np.testing.assert_array_equal(each, wanted)
    assert not np.shares_memory(each, games.rows)
    np.testing.assert_array_equal(map_rows(3, games.rows[:0]), np.zeros((0, 432), np.int16))
    every_other = map_rows(3, games.rows[::2])
    np.testing.assert_array_equal(every_other, [map_position(3, one).row for one in positions[::2]])


START = Position.start().row
PAIR = np.stack([START, START])
VALLEY = np.stack([Position.start("koom-valley").row] * 2)
FULL, ASTRAY = np.ones_like(PAIR), PAIR.copy()
ASTRAY[1, PENDING_CELL] = 30_000


@pytest.mark.parametrize(
    ("symmetries", "rows", "said"),
    [
        (8, PAIR, "8"),
        ([0, 9], PAIR, "9"),
        ([0], PAIR, "symmetries"),
        (0.5, PAIR, "symmetr"),
        (0, PAIR[:, 1:], r"rows are integers of shape \(N, 432\), not int16 of \(2, 431\)"),
        (0, 1.0 * PAIR, r"rows are integers of shape \(N, 432\), not float64"),
        (1, FULL, "ruleset"),
        (1, VALLEY, "^koom-valley is another game after symmetry 1: 0, 4 leave it as it is"),
        ([1, 4, 2], np.concatenate([PAIR[:1], VALLEY]), "after symmetry 2"),
        (1, ASTRAY, "row 1"),
    ],
)
def test_rows_and_symmetries_of_another_kind_are_refused(symmetries, rows, said) -> None:
    with pytest.raises((ThudError, TypeError), match=said):
        map_rows(symmetries, rows)


def test_sound_rows_need_no_check_but_their_symmetries_do() -> None:
    every_other = np.repeat(PAIR, 2, axis=0)[::2].astype(np.int64)
    np.testing.assert_array_equal(map_rows(3, every_other, check=False), map_rows(3, PAIR))
    endless = PAIR.copy()
    endless[1, MAX_TURNS] = 0
    with pytest.raises(ThudError, match="row 1"):
        map_rows(3, endless)
    assert map_rows(3, endless, check=False)[1, MAX_TURNS] == 0
    with pytest.raises(ThudError, match="another game after symmetry 1"):
        map_rows(1, VALLEY, check=False)


GAMES = ("classic", "koom-valley", "koom-valley-football")


@pytest.mark.parametrize("turned", [1, 2])
def test_of_rows_of_several_games_none_is_turned_into_another_game(turned: int) -> None:
    rows = np.stack([Position.start(name).row for name in GAMES])
    symmetries = np.array([1, 4, 4])
    map_rows(symmetries, rows)
    symmetries[turned] = 1
    with pytest.raises(ThudError, match=f"{GAMES[turned]} is another game after symmetry 1"):
        map_rows(symmetries, rows)
