"""Turns as text (docs/notation.md)."""

from __future__ import annotations

from random import Random

import pytest
from by_hand import place
from positions import constructed, from_play, position_of
from reference import RULES

from thud_env import RULESETS, IllegalMove, Position
from thud_env.actions import OFFER
from thud_env.notation.turns import (
    normalise_turn,
    turn_decisions,
    turn_notation,
    turns_of_decisions,
    walk_turns,
)

EMPTY_FROM_ROW_8 = "7R7/15/15/13/11/9/7/5"
DWARF_BESIDE_TROLL = f"5/7/9/11/13/d14/T14/{EMPTY_FROM_ROW_8}"


def test_a_finished_turn_is_not_continued() -> None:
    # The second step is legal for neither side; the third word is the other side's piece.
    start = Position.from_text(f"5/7/9/11/13/d14/d13T/{EMPTY_FROM_ROW_8} d - 0 0")
    for turn in ("dA6-B6-C6", "dA6-B6-B7", "TP7-P6", "dA6"):
        with pytest.raises(IllegalMove):
            start.play(turn)


def test_captures_are_read_in_any_order() -> None:
    position = place("classic-any", "G6 H6 J6 A8", "H4", "t")
    for word in ("TH4-H5xJ6xG6xH6", "TH4-H5xH6xJ6xG6", " TH4-H5xG6xH6xJ6xG6 "):
        assert normalise_turn(word) == "TH4-H5xG6xH6xJ6"
        assert position.play(word) == position.play("TH4-H5xG6xH6xJ6")


def test_captures_are_sorted_as_text() -> None:
    assert normalise_turn("TF9-F10xE9xG11xE10xE11") == "TF9-F10xE10xE11xE9xG11"


@pytest.mark.parametrize(
    "word",
    [
        "",
        "F1-F5",
        "d",
        "dF1F5",
        "dF1-",
        "df1-f5",
        "DF1-F5",
        "dF1-F5-",
        "TG7-F6xE5x",
        "x",
        "dF1 -F5",
        "Offer",
        "resign",
        "dF1-F5 dG1-G5",
        "TG7xE5-F6",
    ],
)
def test_what_is_not_a_turn_is_refused_by_name(word: str) -> None:
    with pytest.raises(ValueError, match="is not a turn") as refusal:
        Position.start().play(word)
    assert repr(word) in str(refusal.value)
    assert not isinstance(refusal.value, IllegalMove)


@pytest.mark.parametrize(
    ("word", "square"),
    [
        ("dI1-F5", "I1"),
        ("dF1-F16", "F16"),
        ("dA1-A2", "A1"),
        ("TG7-F6xE0", "E0"),
        ("dF1-F005", "F005"),
    ],
)
def test_squares_that_are_not_there_are_named(word: str, square: str) -> None:
    with pytest.raises(ValueError, match=f"names {square}, which is not a square"):
        Position.start().play(word)


@pytest.mark.parametrize(
    "word",
    [
        "dF1-F1",
        "dF1-G1",
        "dH8-H9",
        "TF1-F5",
        "TG7-F6",
        "dF1-F5xG7",
        "RH8-H9",
        "offer",
        "accept",
        "dF1-F5-F6",
        "dF1",
        "dF2-F3",
    ],
)
def test_illegal_turns_are_refused_by_name(word: str) -> None:
    with pytest.raises(IllegalMove, match="is illegal for the dwarfs in") as refusal:
        Position.start().play(word)
    assert repr(word) in str(refusal.value)


NO_AGREEMENT = "this battle cannot end by agreement; one with agreement=True, or --agreement, can"


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("dF2-F3", ": nothing stands on F2"),
        ("TF1-F5", ": on F1 stands a dwarf"),
        ("TG7-F6", ": the troll on G7 is not theirs"),
        ("RH8-H9", ": the stone on H8 has no legal turn"),
        (
            "dF1-G9",
            ": the dwarf on F1 may go to F2, G2, F3, H3, F4, J4, F5, K5, F6, L6, F7, M7, F8, "
            "N8, F9, O9, F10, F11, F12, F13, F14",
        ),
        ("dF1-F5xG7", ": the dwarf on F1 may go there, but not with these captures and steps"),
        ("offer", f": {NO_AGREEMENT}"),
        ("accept", f": {NO_AGREEMENT}"),
    ],
)
def test_an_illegal_turn_says_why(word: str, why: str) -> None:
    with pytest.raises(IllegalMove) as refusal:
        Position.start().play(word)
    assert str(refusal.value).endswith(why)


def test_a_path_that_ends_elsewhere_begins_where_the_piece_may_go() -> None:
    position = place("koom-valley", "B8 D8", "A8", "t", rock="H12")
    with pytest.raises(IllegalMove, match="the troll on A8 may go there, but not with these"):
        position.play("TA8-C8-J12xB8")


def test_a_turn_of_agreement_that_is_not_legal_says_why() -> None:
    start = Position.start(agreement=True, offer_after=2)
    moved = start.play("dF1-F2").play("TG7-F6")
    offered = moved.play("offer")
    declined = offered.play("decline")
    theirs_declined = moved.play("dF2-F1").play("offer").play("decline")
    for position, word, why in (
        (start, "offer", "2 quiet turns come first, 2 more"),
        (start.play("dF1-F2"), "offer", "2 quiet turns come first, 1 more"),
        (start, "accept", "nothing has been offered"),
        (offered, "TF6-F5", "an offer comes first: accept or decline"),
        (offered, "offer", "one is to be answered first, by accept or decline"),
        (declined, "offer", "the last one was declined; turns of one's own until the next: 2"),
        (
            theirs_declined,
            "offer",
            "the last one was declined; turns of one's own until the next: 2",
        ),
    ):
        with pytest.raises(IllegalMove, match=f": {why}$"):
            position.play(word)
    refused = r"action 6467 \(offer\) is illegal for the dwarfs: 2 quiet turns come first, 2 more"
    with pytest.raises(IllegalMove, match=refused):
        start.apply(OFFER)


def test_another_turn_in_the_middle_of_one_says_whose_it_is() -> None:
    position = Position.from_text(
        "5/7/9/11/4ddd6/6T8/15/6TR7/15/15/13/11/9/7/5 t G6:any 0 0", "classic-any"
    )
    with pytest.raises(IllegalMove, match=r"in the middle of the turn of the troll on G6$"):
        position.play("TH8-H7")
    with pytest.raises(IllegalMove, match=r"no way to end the turn that was begun$"):
        position.play("TG6-G7")


def test_a_turn_that_is_not_text_is_named() -> None:
    with pytest.raises(TypeError, match=r"turn 5: text such as 'dF1-F5' would be right"):
        Position.start().play(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="position None: position text would be right"):
        Position.from_text(None)  # type: ignore[arg-type]


def test_turns_after_the_end_are_refused_as_such() -> None:
    over = place("classic", "C8 A8", "D7").play("dC8-D7xD7")
    with pytest.raises(IllegalMove, match="the battle is over"):
        over.play("TD7-D8")


@pytest.mark.parametrize(
    "word",
    ["TH3-H5", "TH3-H5-K5xJ5", "TH3-H5-K5xH4", "TH3-K5xH4xJ5", "TH3-H5-K5-K8xH4xJ5", "TH5-K5xJ5"],
)
def test_tramples_are_played_as_written_or_not_at_all(word: str) -> None:
    position = place("koom-valley", "H4 J5 A8", "H3", "t")
    assert "TH3-H5-K5xH4xJ5" in position.turns()
    with pytest.raises(IllegalMove):
        position.play(word)


def test_what_is_not_a_turn_has_no_decisions() -> None:
    assert turn_decisions(place("classic", "F1", "P8").row, "nonsense") is None


@pytest.mark.parametrize("rules", RULESETS)
def test_following_a_turn_gives_the_decisions_that_searching_gives(rules: str) -> None:
    random = Random(rules)
    seen: list[str] = []
    refused = 0
    for _ in range(2):
        position = Position.start(rules, agreement=True, max_turns=120, offer_after=3)
        while position.outcome is None:
            position = position.apply(random.choice(position.legal_actions().tolist()))
            in_a_turn = position.text.split()[2] not in ("-", "agreed")
            if not in_a_turn and random.random() < 0.9:
                continue
            found = dict(walk_turns(position.row))
            for turn, decisions in found.items():
                assert turn_decisions(position.row, turn) == decisions
            seen = [*seen, *random.sample(sorted(found), min(len(found), 5))][-100:]
            less = {turn.split("x")[0] for turn in seen}
            more = {f"{turn}xE6" for turn in seen if "-" in turn}
            for turn in {*seen, *less, *more} - found.keys():
                assert turn_decisions(position.row, turn) is None
                refused += 1
    assert refused > 1000


@pytest.mark.parametrize("rules", RULES)
def test_turns_come_back_as_the_decisions_they_name(rules: str) -> None:
    random = Random(f"notation {rules}")
    for state in [*constructed(rules, 80, random), *from_play(rules, 40, random)]:
        position = position_of(state)
        walked = dict(walk_turns(position.row))
        assert sorted(walked) == position.turns()
        for turn in random.sample(sorted(walked), min(8, len(walked))):
            assert normalise_turn(turn) == turn
            decisions = position.decisions(turn)
            assert decisions == walked[turn]
            assert turn_notation(position.row, decisions) == turn
            played = position
            for decision in decisions:
                played = played.apply(decision)
            assert played == position.play(turn)


@pytest.mark.parametrize("rules", RULES)
def test_whole_battles_come_back_from_their_turns(rules: str) -> None:
    random = Random(f"battle {rules}")
    start = Position.start(rules, offer_after=2, agreement=True)
    turns: list[str] = []
    decisions: list[int] = []
    position = start
    while position.outcome is None and len(turns) < 200:
        choices = position.turns()
        turn = random.choice(choices)
        if len(turns) < 100:
            turn = next((word for word in ("offer", "decline") if word in choices), turn)
        turns.append(turn)
        decisions += position.decisions(turn)
        position = position.play(turn)
    from_turns = from_decisions = start
    for turn in turns:
        from_turns = from_turns.play(turn)
    for decision in decisions:
        from_decisions = from_decisions.apply(decision)
    assert from_turns == from_decisions == position
    assert turns_of_decisions(start.row, decisions) == turns
    assert {"offer", "decline"} <= set(turns)


@pytest.mark.parametrize("rules", RULES[:-1])
def test_the_rest_of_a_turn_is_a_turn(rules: str) -> None:
    """Written from the square of the troll that is deciding."""
    random = Random(f"rest {rules}")
    rests = 0
    for state in constructed(rules, 120, random):
        position = position_of(state)
        for turn in position.turns():
            first, *others = position.decisions(turn)
            if others:
                middle = position.apply(first)
                rest = turn_notation(middle.row, others)
                assert rest in middle.turns()
                assert middle.play(rest) == position.play(turn)
                rests += 1
    assert rests > 20
