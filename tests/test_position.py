"""Position: text and back, errors, and the manners of a value."""

from __future__ import annotations

import copy
import pickle
import re
from random import Random
from typing import Any

import numpy as np
import pytest
from by_hand import place
from positions import constructed, position_of, random_position
from reference import CLASSIC_RULES, RULES

from thud_env import IllegalMove, Outcome, Position, Termination
from thud_env.actions import DECLINE, NUM_ACTIONS, OFFER
from thud_env.rulesets import RULESETS

LIMITS: dict[str, Any] = {
    "max_quiet_turns": 60,
    "max_turns": 300,
    "offer_after": 5,
    "agreement": True,
}

# -- position text -------------------------------------------------------------------------


def livelier_position(position: Position, random: Random) -> Position:
    """The position after a random decision, an offer or its refusal likelier than others."""
    legal = position.legal_actions().tolist()
    likely = next((action for action in (OFFER, DECLINE) if action in legal), None)
    if likely is not None and random.random() < 0.8:
        return position.apply(likely)
    return random_position(position, random)


@pytest.mark.parametrize("rules", RULES)
def test_every_state_of_play_comes_back_from_its_text(rules: str) -> None:
    """Between turns and in the middle of them, with offers, waits and endings."""
    random = Random(f"text {rules}")
    pending: set[str] = set()
    waits = False
    for _ in range(8):
        position = Position.start(rules, **LIMITS)
        while True:
            text = position.text
            assert Position.from_text(text, rules, **LIMITS) == position, text
            pending.add(re.sub(r"^[A-P]\d+:|\+\d$", "", text.split()[2]))
            waits |= len(text.split()) == 6
            if position.outcome is not None:
                break
            position = livelier_position(position, random)
    asked = {
        "classic": {"one", "any"},
        "classic-any": {"any"},
        "classic-all": {"all"},
        "koom-valley": {"trample"},
        "koom-valley-football": set(),
    }[rules]
    assert pending >= {"-", "offer", *asked}
    assert waits


@pytest.mark.parametrize("rules", RULES)
def test_the_middle_of_awkward_turns_comes_back_from_its_text(rules: str) -> None:
    random = Random(f"middle {rules}")
    for state in constructed(rules, 150, random):
        position = position_of(state)
        while position.outcome is None and position.turn_number == state.played:
            limits = {"max_quiet_turns": state.max_quiet, "max_turns": state.max_turns}
            assert Position.from_text(position.text, rules, **limits) == position
            position = random_position(position, random)


def test_an_agreed_battle_comes_back_from_its_text() -> None:
    position = place("classic", "A8", "H3", quiet=20, agreement=True).play("offer")
    assert position.text.split()[1:] == ["t", "offer", "20", "0"]
    agreed = position.play("accept")
    assert agreed.text.split()[1:] == ["t", "agreed", "20", "0"]
    assert Position.from_text(agreed.text, agreement=True) == agreed


BOARD = "5/7/9/11/13/6d8/6Td7/d6R7/15/15/13/11/9/7/5"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "0 fields"),
        (f"{BOARD} d - 0", "4 fields"),
        (f"{BOARD} d - 0 0 0,0 0", "7 fields"),
        ("15/15 d - 0 0", "2 rows"),
        (f"{BOARD}/5 d - 0 0", "16 rows"),
        (f"{BOARD.replace('9/11', '9/10', 1)} d - 0 0", "row 4, '10', has 10 squares: 11"),
        (f"{BOARD.replace('9/11', '9/12', 1)} d - 0 0", "row 4, '12', has 12 squares: 11"),
        (f"{BOARD.replace('9/11', '9/5X5', 1)} d - 0 0", "'X' in row 4, '5X5'"),
        (f"{BOARD.replace('9/11', '9/0d10', 1)} d - 0 0", "'0' in row 4"),
        (f"{BOARD.replace('9/11', '9/5t5', 1)} d - 0 0", "'t' in row 4"),
        (f"{BOARD.replace('9/11', '9/', 1)} d - 0 0", "row 4, '', has 0 squares"),
        (f"{BOARD.replace('d6R7', 'd14')} d - 0 0", "0 R on the board"),
        (f"{BOARD.replace('9/11', '9/5R5', 1)} d - 0 0", "2 R on the board"),
        (f"{BOARD.replace('d6R7', 'd5R8')} d - 0 0", "R on G8: in classic the stone stands on H8"),
        (f"{BOARD.replace('11/13', 'TTTTTTTT3/13', 1)} d - 0 0", "9 trolls on the board"),
        (f"{BOARD.replace('/15/15/', '/ddddddddddddddd/ddddddddddddddd/')} d - 0 0",
         "33 dwarfs on the board: classic has 32 at most"),
        (f"{BOARD} x - 0 0", "side 'x'"),
        (f"{BOARD} D - 0 0", "side 'D'"),
        (f"{BOARD} d - many 0", "quiet turns 'many'"),
        (f"{BOARD} d - -1 0", "quiet turns '-1'"),
        (f"{BOARD} d - 0 32768", "turns played '32768'"),
        (f"{BOARD} d - 0 1e3", "turns played '1e3'"),
        (f"{BOARD} d - 0 ²", "turns played '²'"),
        (f"{BOARD} d - 0 0 3", "turns without offers '3'"),
        (f"{BOARD} d - 0 0 3,0", "turns without offers"),
        (f"{BOARD} d offer 0 0", "'offer', but the battle is played with agreement=False"),
        (f"{BOARD} d agreed 0 0", "'agreed', but"),
        (f"{BOARD} t later 0 0", "pending 'later'"),
        (f"{BOARD} t I7:one 0 0", "pending 'I7:one'"),
        (f"{BOARD} t G7:two 0 0", "pending 'G7:two'"),
        (f"{BOARD} t G7:trample+1 0 0", "classic never asks 'trample'"),
        (f"{BOARD} t G7:all 0 0", "classic never asks 'all'"),
        (f"{BOARD} d G7:one 0 0", "only for a troll on G7 with the trolls to move"),
        (f"{BOARD} t H7:one 0 0", "only for a troll on H7"),
        (f"{BOARD} t G7:one+1 0 0", "cannot be"),
        (f"{BOARD.replace('6d8/6Td7', '15/6T8')} t G7:one 0 0", "cannot be: 0 dwarfs"),
        (f"{BOARD} t G7:one 200 0", "the battle was over before this turn"),
    ],
)  # fmt: skip
def test_damaged_text_is_refused_by_what_is_wrong(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=re.escape(complaint)):
        Position.from_text(text, "classic")


def test_any_damage_is_refused_or_read_as_another_position() -> None:
    """Nothing but ValueError ever comes of damaged text; what is read can be played on."""
    random = Random(7)
    text = place("classic-any", "G6 H6 J6 A8", "H4", "t").play("TH4-H5xG6").text
    refused = 0
    for _ in range(3_000):
        letters = list(text)
        for _ in range(random.randint(1, 3)):
            letters[random.randrange(len(letters))] = random.choice("dTR/ -0159,:+xt²é")
        try:
            position = Position.from_text("".join(letters), "classic-any")
        except ValueError:
            refused += 1
        else:
            assert Position.from_text(position.text, "classic-any") == position
            for action in position.legal_actions()[:2].tolist():
                position.apply(action)
    assert 1_000 < refused < 3_000


def test_the_rock_may_stand_anywhere_in_the_valley() -> None:
    text = f"{BOARD.replace('d6R7', 'd5R8')} d - 0 0"
    for rules in ("koom-valley", "koom-valley-football"):
        assert Position.from_text(text, rules).text == text


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
    with pytest.raises(ValueError, match="unknown ruleset 'chess'"):
        Position.from_text(f"{BOARD} d - 0 0", "chess")


@pytest.mark.parametrize("limit", ["max_quiet_turns", "max_turns", "offer_after"])
@pytest.mark.parametrize("value", [0, -1, 32_768])
def test_limits_out_of_range_are_refused_by_name(limit: str, value: int) -> None:
    out_of_range: dict[str, Any] = {limit: value}
    with pytest.raises(ValueError, match=f"{limit} must be in 1 .. 32767, not {value}"):
        Position.start("classic", **out_of_range)


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
    with pytest.raises(ValueError, match="read-only"):
        start.row[0] = 1
    text = start.text
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
    position = Position.start(rules, **LIMITS)
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
        assert not twin.row.flags.writeable
        assert twin.text == position.text
        assert twin.turns() == position.turns()


def test_repr_is_an_expression() -> None:
    position = Position.start().play("dF1-F5")
    assert eval(repr(position)) == position


@pytest.mark.parametrize("rules", CLASSIC_RULES)
def test_margin_and_observation_can_be_asked_at_any_time(rules: str) -> None:
    position = place(rules, "A8 A9", "H4")
    assert position.margin == -2
    observation = position.observation()
    assert observation.shape[1:] == (15, 15)
    assert observation.dtype == np.float32


@pytest.mark.parametrize(("margin", "winner"), [(3, "dwarfs"), (-1, "trolls"), (0, None)])
def test_an_outcome_names_its_winner(margin: int, winner: str | None) -> None:
    assert Outcome(Termination.TURN_LIMIT, margin).winner == winner
