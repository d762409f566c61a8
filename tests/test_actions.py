"""The numbering of decisions (``thud_env/actions.py``)."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
import reference

from thud_env import actions
from thud_env.actions import (
    ACCEPT,
    ACTION_SYMMETRY,
    CAPTURE,
    CAPTURE_ALL,
    DECLINE,
    DONE,
    MOVE_BASE,
    MOVE_DIRECTION,
    MOVE_DISTANCE,
    MOVE_FROM,
    MOVE_LINE,
    MOVE_PASSES,
    MOVE_TO,
    NUM_ACTIONS,
    NUM_MOVES,
    OFFER,
    describe_action,
    move_action,
)
from thud_env.board import (
    CELL_STEP,
    DIRECTION_VECTORS,
    LINE_OF_CELL,
    NUM_AXES,
    NUM_SQUARES,
    POINT_OF_CELL,
    RAY_LENGTH,
    SQUARE_NAMES,
    SQUARE_OF_CELL,
    SQUARE_POSITIONS,
    SQUARE_SYMMETRY,
    square_named,
)
from thud_env.errors import ThudError


def test_there_are_6470_actions() -> None:
    assert (NUM_MOVES, NUM_ACTIONS) == (6_300, 6_470)


def test_the_table_of_the_module_holds() -> None:
    """Each row of the docstring's table: its indices and how many they are."""
    rows = re.findall(
        r"^([\d, ]+?|\d+ \.\. \d+)  +(\S.*?)  +([\d,]+)$", actions.__doc__ or "", re.MULTILINE
    )
    table = {}
    for indices, decision, count in rows:
        numbers = [int(number) for number in re.findall(r"\d+", indices)]
        assert numbers[-1] - numbers[0] + 1 == int(count.replace(",", ""))
        table[" ".join(decision.split()[:2])] = numbers
    assert table == {
        "move the": [0, CAPTURE - 1],
        "capture the": [CAPTURE, CAPTURE_ALL - 1],
        "capture all": [CAPTURE_ALL],
        "done: end": [DONE],
        "offer to": [OFFER, ACCEPT, DECLINE],
    }
    assert DECLINE == NUM_ACTIONS - 1


def test_moves_are_all_pairs_of_squares_in_line() -> None:
    pairs = {(square, target) for (square, _), line in reference.AHEAD.items() for target in line}
    start, end = SQUARE_OF_CELL[MOVE_FROM], SQUARE_OF_CELL[MOVE_TO]
    found = [
        (SQUARE_POSITIONS[a], SQUARE_POSITIONS[b])
        for a, b in zip(start.tolist(), end.tolist(), strict=True)
    ]
    assert len(found) == len(pairs) == NUM_MOVES
    assert set(found) == pairs


def test_moves_are_ordered_by_square_then_direction_then_distance() -> None:
    keys = list(
        zip(
            SQUARE_OF_CELL[MOVE_FROM].tolist(),
            MOVE_DIRECTION.tolist(),
            MOVE_DISTANCE.tolist(),
            strict=True,
        )
    )
    assert keys == sorted(keys)


def test_a_move_goes_where_its_direction_and_distance_say() -> None:
    for action in range(NUM_MOVES):
        row, col = SQUARE_POSITIONS[SQUARE_OF_CELL[MOVE_FROM[action]]]
        d_row, d_col = DIRECTION_VECTORS[MOVE_DIRECTION[action]]
        distance = int(MOVE_DISTANCE[action])
        target = SQUARE_POSITIONS[SQUARE_OF_CELL[MOVE_TO[action]]]
        assert target == (row + distance * d_row, col + distance * d_col)
        base = MOVE_BASE[MOVE_FROM[action], MOVE_DIRECTION[action]]
        assert action == base + distance - 1


def test_move_action_is_the_inverse_of_the_tables() -> None:
    for action in range(0, NUM_MOVES, 7):
        square = int(SQUARE_OF_CELL[MOVE_FROM[action]])
        assert (
            move_action(square, int(MOVE_DIRECTION[action]), int(MOVE_DISTANCE[action])) == action
        )


@pytest.mark.parametrize("distance", [8, 15])
def test_moves_off_the_board_are_refused(distance: int) -> None:
    with pytest.raises(ThudError, match="H8 is not on the board: 1 to 7"):
        move_action(square_named("H8"), 0, distance)


def test_actions_are_described() -> None:
    assert describe_action(move_action(square_named("F1"), 4, 4)) == "F1-F5"
    assert describe_action(CAPTURE + square_named("E5")) == "capture E5"
    words = [describe_action(action) for action in range(CAPTURE_ALL, NUM_ACTIONS)]
    assert words == ["capture all", "done", "offer", "accept", "decline"]
    assert len({describe_action(action) for action in range(NUM_ACTIONS)}) == NUM_ACTIONS


@pytest.mark.parametrize("action", [-1, NUM_ACTIONS, 10**30])
def test_actions_out_of_range_are_not_described(action: int) -> None:
    with pytest.raises(ValueError, match=f"action {action} is out of range: actions are 0 to 6469"):
        describe_action(action)


def test_symmetries_permute_the_actions_and_form_a_group() -> None:
    images = {image.tobytes() for image in ACTION_SYMMETRY}
    assert len(images) == 8
    for image in ACTION_SYMMETRY:
        assert np.array_equal(np.sort(image), np.arange(NUM_ACTIONS))
    for first, second in product(ACTION_SYMMETRY, repeat=2):
        assert second[first].tobytes() in images


def test_symmetries_move_squares_and_keep_distances() -> None:
    for image, squares in zip(ACTION_SYMMETRY, SQUARE_SYMMETRY, strict=True):
        moves = image[:NUM_MOVES]
        for cells in (MOVE_FROM, MOVE_TO):
            before, after = SQUARE_OF_CELL[cells], SQUARE_OF_CELL[cells[moves]]
            assert np.array_equal(squares[before], after)
        assert np.array_equal(MOVE_DISTANCE[moves], MOVE_DISTANCE)
        assert np.array_equal(image[CAPTURE:CAPTURE_ALL], CAPTURE + squares)
        assert image[CAPTURE_ALL:].tolist() == list(range(CAPTURE_ALL, NUM_ACTIONS))


def test_a_ray_is_a_run_of_actions() -> None:
    assert int(RAY_LENGTH.sum()) == NUM_MOVES
    assert len(SQUARE_NAMES) == NUM_SQUARES == CAPTURE_ALL - CAPTURE


def test_a_move_passes_the_points_of_its_line_between_its_ends() -> None:
    for action in range(NUM_MOVES):
        start, direction = int(MOVE_FROM[action]), int(MOVE_DIRECTION[action])
        axis = direction % NUM_AXES
        between = [start + i * CELL_STEP[direction] for i in range(1, MOVE_DISTANCE[action])]
        assert MOVE_PASSES[action] == sum(1 << int(POINT_OF_CELL[cell, axis]) for cell in between)
        assert {int(LINE_OF_CELL[cell, axis]) for cell in between} <= {MOVE_LINE[action]}


class OneBool:
    """As PyTorch has them."""

    dtype = "torch.bool"

    def __index__(self) -> int:
        return 1


def test_what_is_no_action_is_not_described():
    with pytest.raises(TypeError, match=r"'x' is not one integer: an int in 0 \.\. 6469 would"):
        describe_action("x")
    with pytest.raises(TypeError, match="True is a bool"):
        describe_action(True)
    with pytest.raises(TypeError, match="is a bool"):
        describe_action(OneBool())
    with pytest.raises(ValueError, match="integer of 16610 bits is out of range"):
        describe_action(10**5000)
    with pytest.raises(ValueError, match=r"6470 is out of range: actions are 0 to 6469$"):
        describe_action(6470)


@pytest.mark.parametrize(
    ("told", "wrong"),
    [
        ((-1, 0, 1), r"square must be in 0 \.\. 164, not -1"),
        (("G7", 0, 1), r"square must be an integer in 0 \.\. 164, not 'G7'"),
        ((0, 8, 1), r"direction must be in 0 \.\. 7, not 8"),
        ((0, 4, 0), "distance must be 1 or more, not 0"),
        ((0, 4, 1.5), "distance must be an integer, not 1.5"),
    ],
)
def test_what_is_no_move_is_refused_by_name(told, wrong):
    with pytest.raises(ThudError, match=wrong):
        move_action(*told)


def test_a_direction_without_squares_is_told():
    with pytest.raises(ValueError, match="N of F1 is not on the board: no square is"):
        move_action(0, 0, 1)
