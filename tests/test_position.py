"""Position: errors, and the behaviour of a value."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import pytest
from by_hand import place
from positions import random_position
from reference import CLASSIC_RULES, RULES

from thud_env import BatchedGame, IllegalMove, Outcome, Position, Termination, ThudEnv, ThudError
from thud_env.actions import NUM_ACTIONS
from thud_env.board import SQUARE_NAMES, SQUARE_POSITIONS
from thud_env.rulesets import CLASSIC, RULESETS

# -- the start -----------------------------------------------------------------------------


@pytest.mark.parametrize("rules", RULES)
def test_a_start_is_the_rulesets(rules: str) -> None:
    start = Position.start(rules)
    assert start.rules is RULESETS[rules]
    assert (start.to_move, start.turn_number, start.quiet_turns) == ("dwarfs", 0, 0)
    assert (start.outcome, start.margin) == (None, 0)
    assert Position.start(RULESETS[rules]) == start


def test_an_unknown_ruleset_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(
        ValueError, match="unknown ruleset 'clasic-all': did you mean 'classic-all'"
    ):
        Position.start("clasic-all")
    with pytest.raises(
        ValueError, match=r"unknown ruleset 'chess': .* your own by their spec, such"
    ):
        Position.from_text(Position.start().text, "chess")


def test_a_users_ruleset_needs_a_name_of_its_own() -> None:
    with pytest.raises(ValueError, match="'classic': that name is taken"):
        dataclasses.replace(RULESETS["classic"], max_turns=100)
    own = RULESETS["classic"].replace(name="short", max_turns=100)
    assert Position.start(own).rules is own
    copied = copy.deepcopy(RULESETS["classic"])
    assert Position.start(copied).rules == RULESETS["classic"]


@pytest.mark.parametrize("limit", ["max_quiet_turns", "max_turns", "offer_after"])
@pytest.mark.parametrize("value", [0, -1, 32_768])
def test_limits_out_of_range_are_refused_by_name(limit: str, value: int) -> None:
    out_of_range: dict[str, Any] = {limit: value}
    with pytest.raises(ValueError, match=f"{limit} must be in 1 .. 32767, not {value}"):
        Position.start("classic", **out_of_range)


@pytest.mark.parametrize(
    ("limits", "complaint"),
    [
        ({"max_turns": 10.7}, "max_turns must be an integer in 1 .. 32767, not 10.7"),
        ({"max_turns": "10"}, "max_turns must be an integer in 1 .. 32767, not '10'"),
        (
            {"max_turns": np.array([10])},
            "max_turns must be an integer in 1 .. 32767, not int64 of shape (1,)",
        ),
        ({"offer_after": True}, "offer_after must be an integer in 1 .. 32767, not True"),
        ({"agreement": "no"}, "agreement must be True or False, not 'no'"),
        ({"agreement": None}, "agreement must be True or False, not None"),
    ],
)
def test_limits_of_the_wrong_kind_are_refused(limits: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=re.escape(complaint)):
        Position.start("classic", **limits)


@pytest.mark.parametrize(
    ("limits", "complaint"),
    [
        ({"max_turn": 3}, "unexpected keyword argument 'max_turn': did you mean 'max_turns'? "),
        ({"agree": True}, "unexpected keyword argument 'agree': did you mean 'agreement'? "),
        ({"speed": 3}, "unexpected keyword argument 'speed': known: rules, max_quiet_turns, max_"),
    ],
)
def test_unknown_limits_are_refused_as_python_does(limits: dict[str, Any], complaint: str) -> None:
    for made in (
        Position.start,
        lambda **given: Position.from_text(Position.start().text, **given),
    ):
        with pytest.raises(TypeError, match=re.escape(complaint.partition("known")[0])):
            made(**limits)


def test_limits_may_be_numpys() -> None:
    limits: dict[str, Any] = {"max_turns": np.int64(100), "agreement": np.True_}
    assert Position.start(**limits) == Position.start(max_turns=100, agreement=True)


# -- decisions -----------------------------------------------------------------------------


def test_masks_and_lists_of_legal_actions_agree() -> None:
    for rules in RULES:
        position = Position.start(rules)
        legal, mask = position.legal_actions(), position.action_mask()
        assert legal.dtype == np.int32
        assert mask.dtype == np.int8
        assert mask.shape == (NUM_ACTIONS,)
        assert np.array_equal(np.flatnonzero(mask), legal)


@pytest.mark.parametrize("rules", RULES)
def test_exactly_the_legal_actions_can_be_applied(rules: str) -> None:
    random = Random(f"apply {rules}")
    position = Position.start(rules)
    for _ in range(40):
        legal = set(position.legal_actions().tolist())
        for action in random.sample(range(NUM_ACTIONS), 60):
            if action not in legal:
                with pytest.raises(IllegalMove, match=f"action {action} "):
                    position.apply(action)
        position = random_position(position, random)


@pytest.mark.parametrize("action", [-1, NUM_ACTIONS, 2**31, -(2**63), 2**63, 10**30])
def test_actions_out_of_range_are_illegal_and_named(action: int) -> None:
    with pytest.raises(
        IllegalMove, match=f"action {action} is out of range: actions are 0 to 6469"
    ):
        Position.start().apply(action)


@pytest.mark.parametrize("action", [32.0, 0.5, "32", None, np.float32(32), np.array([32])])
def test_an_action_that_is_not_an_integer_is_refused(action: Any) -> None:
    with pytest.raises(
        TypeError, match=r"is not one integer: an int in 0 \.\. 6469 would be right"
    ):
        Position.start().apply(action)


def test_illegal_actions_are_described() -> None:
    with pytest.raises(IllegalMove, match=r"action 6466 \(done\) is illegal for the dwarfs"):
        Position.start().apply(6466)
    over = place("classic", "C8 A8", "D7").play("dC8-D7xD7")
    with pytest.raises(IllegalMove, match="the battle is over"):
        over.apply(0)


def test_numpy_integers_are_actions() -> None:
    start = Position.start()
    action = int(start.legal_actions()[0])
    same: list[Any] = [np.int32(action), np.uint16(action), np.int64(action)]
    assert {start.apply(number) for number in same} == {start.apply(action)}


# -- values --------------------------------------------------------------------------------


def test_positions_are_immutable() -> None:
    start = Position.start()
    text = start.text
    start.row[0] = 1
    start.legal_actions()[:] = 0
    start.action_mask()[:] = 0
    start.observation()[:] = 0
    start.turns().clear()
    start.apply(int(start.legal_actions()[0]))
    start.play("dF1-F5")
    assert start.text == text
    assert start == Position.start()


def test_a_position_keeps_a_copy_of_its_row() -> None:
    row = Position.start().row.copy()
    position = Position(row)
    row[:] = 0
    assert position == Position.start()


def test_a_row_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a state row has shape \(432,\), not \(431,\)"):
        Position(Position.start().row[:-1])


def test_equal_positions_are_equal_values() -> None:
    there_and_back = Position.start()
    first = there_and_back.play("dF1-F5").play("TG7-F7")
    second = there_and_back.play("dF1-F5").play("TG7-F7")
    assert first == second
    assert hash(first) == hash(second)
    assert len({first, second, there_and_back}) == 2
    assert first != there_and_back
    assert first != first.text
    assert first == mock.ANY


@pytest.mark.parametrize(
    "other",
    [
        Position.start("classic-any"),
        Position.start(max_turns=10),
        Position.start(agreement=True),
        Position.from_text(Position.start().text.replace(" d ", " t ")),
        Position.from_text(Position.start().text.replace("- 0 0", "- 1 1")),
    ],
)
def test_positions_differ_by_ruleset_limits_side_and_clocks(other: Position) -> None:
    assert other != Position.start()


@pytest.mark.parametrize("rules", RULES)
def test_copies_and_pickles_are_equal(rules: str) -> None:
    position = Position.start(rules, max_turns=300, agreement=True)
    random = Random(3)
    for _ in range(7):
        position = random_position(position, random)
    for twin in (
        copy.copy(position),
        copy.deepcopy(position),
        pickle.loads(pickle.dumps(position)),
    ):
        assert twin == position
        assert hash(twin) == hash(position)
        assert np.array_equal(twin.row, position.row)
        assert twin.text == position.text
        assert twin.turns() == position.turns()


def test_what_nothing_can_change_is_its_own_copy() -> None:
    position = Position.start()
    assert copy.copy(position) is position
    assert copy.deepcopy([position])[0] is position


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"max_quiet_turns": 5},
        {"max_turns": 9, "offer_after": 1, "agreement": True},
        {"max_turns": CLASSIC.max_turns, "agreement": False},
    ],
)
def test_repr_is_an_expression(limits: dict[str, Any]) -> None:
    position = Position.start(**limits).play("dF1-F5")
    assert eval(repr(position)) == position


def test_repr_names_the_limits_that_are_not_the_rulesets() -> None:
    assert repr(Position.start(max_turns=9, agreement=True)).endswith(
        " d - 0 0', 'classic', max_turns=9, agreement=True)"
    )
    assert repr(Position.start()).endswith(" d - 0 0', 'classic')")


@pytest.mark.parametrize("rules", CLASSIC_RULES)
def test_margin_and_observation_exist_at_any_time(rules: str) -> None:
    position = place(rules, "A8 A9", "H4")
    assert position.margin == -2
    observation = position.observation()
    assert observation.shape[1:] == (15, 15)
    assert observation.dtype == np.float32


@pytest.mark.parametrize(("margin", "winner"), [(3, "dwarfs"), (-1, "trolls"), (0, None)])
def test_an_outcome_names_its_winner(margin: int, winner: str | None) -> None:
    assert Outcome(Termination.TURN_LIMIT, margin).winner == winner


@pytest.mark.parametrize("value", [-1, 0, 7, "goal"])
def test_a_number_of_infos_that_is_no_ending_is_explained(value: Any) -> None:
    said = f"termination {value!r}: 1 to 6 would be right; in infos 0 means that the battle goes on"
    with pytest.raises(ThudError, match=said):
        Termination(value)


def test_a_message_is_shorter_than_what_it_is_about():
    row = Position.start().row
    for wrong in (row, list(range(10_000)), "x" * 100_000, 10**5000, [10**5000], np.ndarray):
        for take in (
            Position.start,
            Position.from_text,
            Position.start().play,
            Position.start().apply,
        ):
            with pytest.raises((TypeError, ValueError)) as caught:
                take(wrong)
            assert len(str(caught.value)) < 1000


def test_a_wrong_agreement_is_shown_in_a_line():
    for wrong in ("x" * 100_000, 10**5000, Position.start().row, 1):
        with pytest.raises(ValueError, match="agreement must be True or False, not ") as caught:
            Position.start(agreement=wrong)
        assert len(str(caught.value)) < 300


def test_text_is_no_row() -> None:
    with pytest.raises(TypeError, match=r"'text' is no row: Position\.from_text\(text\)"):
        Position("text")  # type: ignore[arg-type]


# -- what stands where, limits, turns ----------------------------------------------------------


def test_what_stands_on_a_square() -> None:
    start = Position.start()
    squares = ("F1", "G7", "H8", "E6")
    assert [start.piece_at(name) for name in squares] == ["dwarf", "troll", "stone", None]
    with pytest.raises(ValueError, match="no square 'A1'"):
        start.piece_at("A1")


@pytest.mark.parametrize("rules", RULESETS)
def test_the_board_holds_what_stands_on_each_square(rules: str) -> None:
    position = Position.start(rules)
    for turn in (0, 0, 0):
        position = position.play(position.turns()[turn])
    board = position.board
    assert (board.shape, board.dtype) == ((15, 15), np.int8)
    names = {0: None, 1: "dwarf", 2: "troll", 3: "stone"}
    found = {
        name: names[int(board[row, col])]
        for name, (row, col) in zip(SQUARE_NAMES, SQUARE_POSITIONS, strict=True)
    }
    assert found == {name: position.piece_at(name) for name in SQUARE_NAMES}
    assert np.count_nonzero(board == -1) == 225 - len(SQUARE_NAMES)
    counts = (np.count_nonzero(board == 1), np.count_nonzero(board == 2))
    assert counts == (position.num_dwarfs, position.num_trolls)
    board[:] = 0
    assert position.board.any(), "a copy"


@pytest.mark.parametrize("to_move", ["dwarfs", "trolls"])
@pytest.mark.parametrize("rules", RULESETS)
def test_a_position_is_made_from_a_board(rules: str, to_move: Any) -> None:
    played = Position.start(rules).play(Position.start(rules).turns()[0])
    for board in (played.board, np.maximum(played.board, 0), played.board.tolist()):
        made = Position.from_board(board, rules, to_move=to_move, max_turns=50)
        assert np.array_equal(made.board, played.board)
        assert (made.to_move, made.turn_number, made.quiet_turns) == (to_move, 0, 0)
        assert made.limits["max_turns"] == 50


@pytest.mark.parametrize(
    ("row", "column", "piece", "said"),
    [
        (7, 7, 4, "board has 4 on a square: 0 to 3"),
        (0, 0, 1, "board has a piece off the board"),
        (7, 7, 0, "0 R on the board"),
        (0, 5, 2, "9 trolls"),
    ],
)
def test_a_board_that_cannot_be_is_refused(row: int, column: int, piece: int, said: str) -> None:
    board = Position.start().board
    board[row, column] = piece
    with pytest.raises(ThudError, match=said):
        Position.from_board(board)


@pytest.mark.parametrize("board", [np.zeros(225, int), np.zeros((15, 15)), [[1], [1, 2]]])
def test_what_is_no_board_is_refused(board: Any) -> None:
    with pytest.raises(ThudError, match=r"^board"):
        Position.from_board(board)
    with pytest.raises(TypeError, match=r"from_board\(\) got .*'max_turn': did you mean 'max_tu"):
        Position.from_board(Position.start().board, max_turn=3)  # type: ignore[arg-type]
    with pytest.raises(ThudError, match="to_move 'dwarf'"):
        Position.from_board(Position.start().board, to_move="dwarf")  # type: ignore[arg-type]


@pytest.mark.parametrize("rules", ["classic", "koom-valley"])
def test_a_text_with_rules_and_limits_makes_an_equal_position(rules: str) -> None:
    start = Position.start(rules, max_turns=50, max_quiet_turns=7, offer_after=3, agreement=True)
    position = start.play(start.turns()[0])
    assert position.limits == {
        "max_quiet_turns": 7,
        "max_turns": 50,
        "offer_after": 3,
        "agreement": True,
    }
    assert Position.from_text(position.text, position.rules, **position.limits) == position


def test_a_turn_is_written_from_its_decisions() -> None:
    position = Position.start().play("dE2-E6")
    for turn in position.turns():
        assert position.turn_of(position.decisions(turn)) == turn
    position = place("classic", "G6 H6 J6 A9", "H3 H2", "t")
    moved, *captured = position.decisions("TH3-H5xG6")
    assert position.turn_of([moved]) == "TH3-H5"
    assert position.apply(moved).turn_of(np.array(captured)) == "TH5xG6"


def test_what_is_no_turn_is_not_written() -> None:
    position = Position.start()
    first, reply = position.decisions("dE2-E6"), position.play("dE2-E6").decisions("TG7-F6")
    with pytest.raises(ValueError, match="there are no actions: those of a turn would be right"):
        position.turn_of([])
    with pytest.raises(ValueError, match="the turn is over after 1 of them"):
        position.turn_of([*first, *reply])
    with pytest.raises(IllegalMove, match="illegal for the dwarfs"):
        position.turn_of(reply)


def test_the_position_of_a_batch_stays_as_it_is_when_the_battle_goes_on() -> None:
    games = BatchedGame(2, autoreset_mode="Disabled", max_turns=1)
    before = games.position(1)
    games.step(games.sample_actions())
    assert before == Position.start(max_turns=1)
    final = games.final_position(1)
    assert final == games.position(1) != before
    games.reset()
    games.step(games.sample_actions())
    assert final != games.final_position(1)


def test_the_position_of_an_environment_stays_as_it_is_when_the_battle_goes_on() -> None:
    env = ThudEnv()
    env.reset()
    before = env.position
    env.step(int(before.legal_actions()[0]))
    assert before == Position.start()
    assert env.position != before
