"""Ending a battle by agreement, one rule a test (docs/rules.md, section 5)."""

from __future__ import annotations

import pytest
from by_hand import decisions, ended, place
from reference import RULES

from thud_env import Position, Termination
from thud_env.actions import ACCEPT, DECLINE, OFFER


def sparse(side: str = "d", *, rules: str = "classic", quiet: int = 3, after: int = 3) -> Position:
    """A lone dwarf and a lone troll, which can go to and fro for ever."""
    return place(rules, "A8", "H3", side, quiet=quiet, offer_after=after, agreement=True)


def to_and_fro(position: Position) -> Position:
    """One quiet turn of either side."""
    there = {"dwarfs": "dA8-A9", "trolls": "TH3-H4"}
    back = {"dwarfs": "dA9-A8", "trolls": "TH4-H3"}
    side = position.to_move
    turn = there[side] if there[side] in position.turns() else back[side]
    return position.play(turn)


def can_offer(position: Position) -> bool:
    return "offer" in position.turns()


@pytest.mark.parametrize("rules", RULES)
def test_there_are_no_offers_without_agreement(rules: str) -> None:
    position = place(rules, "A8", "H3", quiet=50, offer_after=3)
    assert not can_offer(position)
    assert OFFER not in position.legal_actions()
    assert not can_offer(Position.start(rules))


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("side", ["d", "t"])
def test_an_offer_needs_quiet_turns(rules: str, side: str) -> None:
    assert not can_offer(sparse(side, rules=rules, quiet=2))
    assert can_offer(sparse(side, rules=rules, quiet=3))
    assert sparse(side, rules=rules).legal_actions()[-1] == OFFER


def test_the_default_is_twenty_quiet_turns() -> None:
    assert not can_offer(place("classic", "A8", "H3", quiet=19, agreement=True))
    assert can_offer(place("classic", "A8", "H3", quiet=20, agreement=True))


def test_the_other_side_answers() -> None:
    position = sparse("d").play("offer")
    assert position.to_move == "trolls"
    assert position.turns() == ["accept", "decline"]
    assert position.legal_actions().tolist() == [ACCEPT, DECLINE]
    assert decisions(position) == ["accept", "decline"]
    assert position.outcome is None


@pytest.mark.parametrize("side", ["d", "t"])
def test_accepting_ends_the_battle_scored_as_it_stands(side: str) -> None:
    position = sparse(side).play("offer").play("accept")
    assert ended(position) == (Termination.AGREEMENT, -3)
    assert len(position.legal_actions()) == 0
    assert position.turn_number == 0


def test_an_agreed_battle_of_koom_valley_is_drawn() -> None:
    for rules in ("koom-valley", "koom-valley-football"):
        position = sparse(rules=rules).play("offer").play("accept")
        assert ended(position) == (Termination.AGREEMENT, 0)


@pytest.mark.parametrize("side", ["d", "t"])
def test_declining_gives_the_offerer_its_turn(side: str) -> None:
    before = sparse(side)
    after = before.play("offer").play("decline")
    assert (after.to_move, after.turn_number, after.quiet_turns) == (before.to_move, 0, 3)
    assert after.turns() == [turn for turn in before.turns() if turn != "offer"]


@pytest.mark.parametrize("after", [1, 2, 3, 7])
def test_a_declined_side_waits_for_so_many_turns_of_its_own(after: int) -> None:
    """The turn in which its offer was declined is the first of them."""
    position = sparse(quiet=after, after=after).play("offer").play("decline")
    for _ in range(after):
        assert not can_offer(position)
        position = to_and_fro(to_and_fro(position))
    assert can_offer(position)


def test_only_the_side_that_was_declined_waits() -> None:
    position = to_and_fro(sparse().play("offer").play("decline"))
    assert position.to_move == "trolls"
    assert can_offer(position)
    position = to_and_fro(position.play("offer").play("decline"))
    assert not can_offer(position)
    assert position.text.endswith("2,2")


def test_a_capture_puts_offers_off() -> None:
    position = place("classic", "A8 H4", "H3 K3", quiet=9, offer_after=3, agreement=True)
    after = position.play("dH4-H3xH3")
    assert not can_offer(after)


def test_no_side_offers_in_the_middle_of_a_turn() -> None:
    position = place("classic", "G5 A8", "H3", "t", quiet=9, offer_after=3, agreement=True)
    middle = position.apply(
        next(
            action
            for action in position.legal_actions().tolist()
            if position.apply(action).text.split()[2] != "-"
        )
    )
    assert decisions(middle) == ["capture G5", "done"]
