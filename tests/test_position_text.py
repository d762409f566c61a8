"""Positions as text (docs/notation.md), and as a diagram."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest
from by_hand import place
from positions import constructed, position_of, random_position
from reference import RULES

from thud_env import Position, Termination
from thud_env.actions import DECLINE, OFFER
from thud_env.notation.positions import board_diagram
from thud_env.rulesets import CLASSIC

LIMITS: dict[str, Any] = {
    "max_quiet_turns": 60,
    "max_turns": 300,
    "offer_after": 5,
    "agreement": True,
}
EMPTY_FROM_ROW_8 = "7R7/15/15/13/11/9/7/5"
DWARF_BESIDE_TROLL = f"5/7/9/11/13/d14/T14/{EMPTY_FROM_ROW_8}"


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
            pending.add(re.sub(r"^[A-P]\d+:|\+\d+$", "", text.split()[2]))
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
    assert pending >= {"-", "offer", "agreed", *asked}
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


def test_a_trample_over_many_dwarfs_comes_back_from_its_text() -> None:
    start = place("koom-valley", "B8 D8 F8 H8 K8 M8 O8 P7 O6 M6 K6", "A8", "t", rock="H12")
    path, taken = "TA8-C8-E8-G8-J8-L8-N8-P8-P6-N6-L6", "xB8xD8xF8xH8xK8xM6xM8xO6xO8xP7"
    position = start
    for action in start.decisions(path + taken)[:10]:
        position = position.apply(action)
    assert position.text.split()[2] == "L6:trample+10"
    assert Position.from_text(position.text, "koom-valley") == position


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
        (f"{BOARD.replace('9/11', '9/011', 1)} d - 0 0", "'011' in row 4"),
        (f"{BOARD.replace('9/11', '9/1100', 1)} d - 0 0", "'1100' in row 4"),
        (f"{BOARD.replace('9/11', '9/5t5', 1)} d - 0 0", "'t' in row 4"),
        (f"{BOARD.replace('9/11', '9/', 1)} d - 0 0", "row 4, '', has 0 squares"),
        (f"{BOARD.replace('d6R7', 'd14')} d - 0 0", "0 R on the board"),
        (f"{BOARD.replace('9/11', '9/5R5', 1)} d - 0 0", "2 R on the board"),
        (f"{BOARD.replace('d6R7', 'd5R8')} d - 0 0", "R on G8: in classic the stone stands on H8"),
        (f"{BOARD.replace('11/13', 'TTTTTTTT3/13', 1)} d - 0 0", "9 trolls on the board"),
        (
            f"{BOARD.replace('/15/15/', '/ddddddddddddddd/ddddddddddddddd/')} d - 0 0",
            "33 dwarfs on the board: classic has 32 at most",
        ),
        (f"{BOARD} x - 0 0", "side 'x'"),
        (f"{BOARD} D - 0 0", "side 'D'"),
        (f"{BOARD} d - 201 300", "quiet turns '201': a number in 0 .. 200 would be right"),
        (f"{BOARD} d - 0 801", "turns played '801': a number in 0 .. 800 would be right"),
        (f"{BOARD} d - many 0", "quiet turns 'many'"),
        (f"{BOARD} d - -1 0", "quiet turns '-1'"),
        (f"{BOARD} d - 0 32768", "turns played '32768'"),
        (f"{BOARD} d - 0 1e3", "turns played '1e3'"),
        (f"{BOARD} d - 0 ²", "turns played '²'"),
        (f"{BOARD} d - 00 0", "quiet turns '00'"),
        (f"{BOARD} d - 0 007", "turns played '007'"),
        (f"{BOARD} d - 0 0 3", "turns without offers '3'"),
        (f"{BOARD} d - 0 0 1,0", "turns without offers"),
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
        (f"{BOARD} t G7:any+0 0 0", "pending 'G7:any+0'"),
        (f"{BOARD} t G7:any+01 0 0", "pending 'G7:any+01'"),
        (f"{BOARD} t G7:any+7 0 0", "cannot be: 2 dwarfs"),
        (f"{BOARD} t G7:any+32 0 0", "cannot be"),
        (f"{BOARD} t G7:any+100 0 0", "pending 'G7:any+100'"),
        (
            f"{BOARD.replace('/15/15/', '/ddddddddddddddd/dddddddddddddd1/')} t G7:any+1 0 0",
            "cannot be: 2 dwarfs stand beside G7, 32 on the board",
        ),
        (f"{BOARD.replace('6d8/6Td7', '15/6T8')} t G7:one 0 0", "cannot be: 0 dwarfs"),
        (f"{BOARD} t G7:one 200 0", "the battle was over before this turn"),
    ],
)
def test_damaged_text_is_refused_by_what_is_wrong(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=re.escape(complaint)):
        Position.from_text(text, "classic")


def test_a_stone_that_never_moves_stands_where_the_ruleset_has_it() -> None:
    own = CLASSIC.replace(name="stone-on-h4", stone="H4")
    elsewhere = f"{BOARD} d - 0 0"
    with pytest.raises(ValueError, match="R on H8: in stone-on-h4 the stone stands on H4"):
        Position.from_text(elsewhere, own)
    with pytest.raises(ValueError, match="R on G8: in classic-all the stone stands on H8"):
        Position.from_text(elsewhere.replace("d6R7", "d5R8"), "classic-all")


@pytest.mark.parametrize(
    ("rules", "question"),
    [
        ("classic", "one"),
        ("classic", "any"),
        ("classic", "some"),
        ("classic-any", "some"),
        ("classic-all", "all"),
    ],
)
def test_a_troll_that_moved_has_seven_dwarfs_around_it_at_most(rules: str, question: str) -> None:
    text = f"5/7/3ddd3/4dTd4/5ddd5/15/15/7R7/15/15/13/11/9/7/5 t H4:{question} 0 0"
    with pytest.raises(ValueError, match="cannot be: 8 dwarfs stand beside H4"):
        Position.from_text(text, rules)
    seven = text.replace("3ddd3", "3d1d3")
    assert Position.from_text(seven, rules).text == seven


def test_damaged_text_is_refused_or_read_as_another_position() -> None:
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
            assert position.text.split()[:5] == "".join(letters).split()[:5]
            assert Position.from_text(position.text, "classic-any") == position
            for action in position.legal_actions()[:2].tolist():
                position.apply(action)
    assert 1_000 < refused < 3_000


def test_the_rock_may_stand_anywhere_in_the_valley() -> None:
    text = f"{BOARD.replace('d6R7', 'd5R8')} d - 0 0"
    for rules in ("koom-valley", "koom-valley-football"):
        assert Position.from_text(text, rules).text == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"{DWARF_BESIDE_TROLL} t A7:one 0 800", "pending 'A7:one' cannot be: the battle was over"),
        (f"{DWARF_BESIDE_TROLL} t A7:one 200 200", "the battle was over before this turn"),
        (f"5/7/9/11/13/15/T14/{EMPTY_FROM_ROW_8} t offer 30 30", "the battle was over before"),
        (f"{DWARF_BESIDE_TROLL} t offer 19 30", "pending 'offer' cannot be: the other side"),
        (f"{DWARF_BESIDE_TROLL} t offer 30 30 4,0", "the other side might not offer yet"),
        (f"{DWARF_BESIDE_TROLL} t agreed 0 0", "the other side might not offer yet"),
        (f"{DWARF_BESIDE_TROLL} t agreed 19 30", "the other side might not offer yet"),
        (f"{DWARF_BESIDE_TROLL} t agreed 200 200", "the battle was over before this turn"),
    ],
)
def test_a_turn_that_could_not_have_begun_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Position.from_text(text, agreement=True)


def test_a_turn_that_could_have_begun_is_read() -> None:
    for text in (
        f"{DWARF_BESIDE_TROLL} t A7:one 199 799",
        f"{DWARF_BESIDE_TROLL} t agreed 20 30 0,4",
        f"{DWARF_BESIDE_TROLL} t offer 20 30 0,4",
    ):
        position = Position.from_text(text, agreement=True)
        assert position.text == text
    declined = position.apply(DECLINE)
    assert declined.to_move == "dwarfs"
    assert declined.turns()


def test_clocks_at_their_limits_are_read() -> None:
    for clocks, termination in (
        ("200 300", Termination.QUIET_LIMIT),
        ("0 800", Termination.TURN_LIMIT),
    ):
        position = Position.from_text(f"{DWARF_BESIDE_TROLL} t - {clocks}")
        assert position.outcome is not None
        assert position.outcome.termination is termination
        assert position.observation().max() == 1
    late = f"{DWARF_BESIDE_TROLL} t - 0 900"
    assert Position.from_text(late, max_turns=1_000).text == late


def test_the_diagram_shows_the_board_with_coordinates() -> None:
    lines = board_diagram(Position.start().row).splitlines()
    assert len(lines) == 16
    assert lines[0].split() == list("ABCDEFGHJKLMNOP")
    assert lines[1].split() == ["1", "d", "d", ".", "d", "d"]
    assert lines[8].split() == ["8", *"......TRT......"]
    assert lines[1].index("d") == lines[0].index("F")
    assert str(Position.start()) == "\n".join(lines)
