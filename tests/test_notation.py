from random import Random

import pytest

from thud_env import RULESETS, IllegalMove, Position
from thud_env.actions import DECLINE
from thud_env.notation import turn_decisions, walk_turns

EMPTY_FROM_ROW_8 = "7R7/15/15/13/11/9/7/5"
DWARF_BESIDE_TROLL = f"5/7/9/11/13/d14/T14/{EMPTY_FROM_ROW_8}"


@pytest.mark.parametrize("rules", RULESETS)
def test_following_a_turn_gives_the_decisions_that_searching_gives(rules):
    random = Random(rules)
    seen, refused = [], 0
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


def test_a_turn_that_is_over_is_not_gone_on_with():
    # The second step would be legal for nobody; the third word is the other side's piece.
    start = Position.from_text(f"5/7/9/11/13/d14/d13T/{EMPTY_FROM_ROW_8} d - 0 0")
    for turn in ("dA6-B6-C6", "dA6-B6-B7", "TP7-P6", "dA6"):
        with pytest.raises(IllegalMove):
            start.play(turn)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"{DWARF_BESIDE_TROLL} t A7:one 0 800", "the battle was over before this turn"),
        (f"{DWARF_BESIDE_TROLL} t A7:one 200 200", "the battle was over before this turn"),
        (f"5/7/9/11/13/15/T14/{EMPTY_FROM_ROW_8} t offer 30 30", "the battle was over before"),
        (f"{DWARF_BESIDE_TROLL} t offer 19 30", "the other side might not offer yet"),
        (f"{DWARF_BESIDE_TROLL} t offer 30 30 4,0", "the other side might not offer yet"),
    ],
)
def test_a_turn_that_could_not_have_begun_is_refused(text, reason):
    with pytest.raises(ValueError, match=reason):
        Position.from_text(text, agreement=True)


def test_a_turn_that_could_have_begun_is_read():
    for text in (
        f"{DWARF_BESIDE_TROLL} t A7:one 199 799",
        f"{DWARF_BESIDE_TROLL} t offer 20 30 0,4",
    ):
        position = Position.from_text(text, agreement=True)
        assert position.text == text
    declined = position.apply(DECLINE)
    assert declined.to_move == "dwarfs"
    assert declined.turns()
