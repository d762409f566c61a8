"""Classic Thud, one rule a test (docs/rules.md, section 2)."""

from __future__ import annotations

import pytest
from by_hand import decide, decisions, ended, place, turns_of

from thud_env import CLASSIC, Position, Termination
from thud_env.rules.row import AGREEMENT, new_row

CLASSICS = ("classic", "classic-any", "classic-all")


# -- dwarfs --------------------------------------------------------------------------------


def test_a_dwarf_moves_any_distance_over_empty_squares() -> None:
    position = place("classic", "A8 A10", "D8 K1 D11")
    assert turns_of(position, "dA8-") == [
        "dA8-A6",
        "dA8-A7",
        "dA8-A9",
        "dA8-B7",
        "dA8-B8",
        "dA8-B9",
        "dA8-C10",
        "dA8-C6",
        "dA8-C8",
        "dA8-D5",
        "dA8-E4",
        "dA8-F3",
        "dA8-G2",
        "dA8-H1",
    ]


def test_a_lone_dwarf_takes_an_adjacent_troll() -> None:
    after = place("classic", "C8 A8", "D7 F3").play("dC8-D7xD7")
    assert after.margin == 2 - 4


@pytest.mark.parametrize(("troll", "legal"), [("H3", True), ("H4", True), ("H5", False)])
def test_a_hurl_goes_as_far_as_the_line_is_long(troll: str, legal: bool) -> None:
    position = place("classic", "H1 H2 A8", troll)
    assert (f"dH2-{troll}x{troll}" in position.turns()) is legal


def test_the_line_of_a_hurl_is_counted_backwards_from_the_front() -> None:
    behind = place("classic", "E6 E7", "E4")
    assert turns_of(behind, "dE6-E4") == ["dE6-E4xE4"]
    sideways = place("classic", "E6 D6 F6", "E4")
    assert turns_of(sideways, "dE6-E4") == []
    across = place("classic", "E6 E7 E8", "G8")
    assert turns_of(across, "dE8-G8") == []


def test_a_gap_breaks_the_line_of_a_hurl() -> None:
    assert turns_of(place("classic", "E6 E8 E9", "E4"), "dE6-E4") == []


def test_a_hurl_passes_over_empty_squares_only() -> None:
    assert turns_of(place("classic", "E7 E8 E9", "E4 E5"), "dE7-E4") == []
    assert turns_of(place("classic", "E7 E8 E9", "E4"), "dE7-E4") == ["dE7-E4xE4"]


def test_a_hurl_captures_exactly_the_troll_it_lands_on() -> None:
    position = place("classic", "E6 E7", "D4 E4 F4 E3")
    assert turns_of(position, "dE6-E4") == ["dE6-E4xE4"]
    assert position.play("dE6-E4xE4").margin == 2 - 12


def test_a_hurl_of_seven_is_the_longest() -> None:
    assert turns_of(place("classic", "A7 B7 C7 D7 E7 F7 G7", "O7"), "dG7-O7") == ["dG7-O7xO7"]
    assert turns_of(place("classic", "B7 C7 D7 E7 F7 G7", "O7"), "dG7-O7") == []
    eight = place("classic", "A7 B7 C7 D7 E7 F7 G7 H7", "P7")
    assert turns_of(eight, "dH7-P7") == ["dH7-P7xP7"]


# -- the stone -----------------------------------------------------------------------------


def test_nothing_lands_on_or_passes_the_stone() -> None:
    dwarfs = place("classic", "H7 G8", "A8")
    trolls = place("classic", "A8", "H7 G8 J9", side="t")
    assert not any("H8" in turn for turn in dwarfs.turns() + trolls.turns())
    assert turns_of(dwarfs, "dH7-H9") == turns_of(dwarfs, "dG8-J8") == []


def test_the_stone_breaks_the_line_of_a_hurl() -> None:
    assert turns_of(place("classic", "H9 H7 H6 H5", "H11"), "dH9-H11") == []
    over_it = place("classic", "H9 H10 H11 H12", "H7")
    assert not any("x" in turn for turn in over_it.turns())


def test_the_stone_breaks_the_line_of_a_shove() -> None:
    assert turns_of(place("classic", "H12", "H9 H7 H6", side="t"), "TH9-H11") == []
    assert turns_of(place("classic", "H10", "H7 H6 H5", side="t"), "TH7-H9") == []


# -- trolls --------------------------------------------------------------------------------


def test_a_troll_steps_one_square_and_need_not_capture() -> None:
    position = place("classic", "H4 A8", "H2", side="t")
    assert turns_of(position, "TH2-H3") == ["TH2-H3", "TH2-H3xH4"]
    assert turns_of(position, "TH2-F2") == []


def test_a_shove_needs_two_trolls() -> None:
    assert turns_of(place("classic", "H6", "H3", side="t"), "TH3-H5") == []
    assert turns_of(place("classic", "H6", "H3 H2", side="t"), "TH3-H5") == ["TH3-H5xH6"]


def test_a_shove_must_capture() -> None:
    position = place("classic", "A8 H7", "H3 H2", side="t")
    assert turns_of(position, "TH3-H4") == ["TH3-H4"]
    assert turns_of(position, "TH3-H5") == []


def test_a_shove_goes_as_far_as_the_line_is_long() -> None:
    position = place("classic", "G5 G6", "H2 H1", side="t")
    assert turns_of(position, "TH2-H4") == ["TH2-H4xG5"]
    assert turns_of(position, "TH2-H5") == []
    assert turns_of(place("classic", "G6", "H3 H2 H1", side="t"), "TH3-H6") == ["TH3-H6xG6"]


def test_the_line_of_a_shove_is_counted_backwards_from_the_front() -> None:
    assert turns_of(place("classic", "H6", "H3 G3 J3", side="t"), "TH3-H5") == []
    assert turns_of(place("classic", "H6", "H3 H1", side="t"), "TH3-H5") == []


def test_a_shove_passes_over_and_lands_on_empty_squares_only() -> None:
    assert turns_of(place("classic", "H5 G6", "H4 H3 H2", side="t"), "TH4-H6") == []
    assert turns_of(place("classic", "H5 G6", "H4 H3 H2", side="t"), "TH4-H5") == []


def test_in_classic_a_step_of_one_captures_none_or_one() -> None:
    position = place("classic", "G6 H6 J6", "H4", side="t")
    assert turns_of(position, "TH4-H5") == ["TH4-H5", "TH4-H5xG6", "TH4-H5xH6", "TH4-H5xJ6"]


EVERY_SUBSET = [
    "TH4-H5",
    "TH4-H5xG6",
    "TH4-H5xG6xH6",
    "TH4-H5xG6xH6xJ6",
    "TH4-H5xG6xJ6",
    "TH4-H5xH6",
    "TH4-H5xH6xJ6",
    "TH4-H5xJ6",
]


def test_in_classic_a_step_with_a_line_behind_captures_any_subset() -> None:
    """The shove of one square captures any; the step, none."""
    position = place("classic", "G6 H6 J6", "H4 H3", side="t")
    assert turns_of(position, "TH4-H5") == EVERY_SUBSET


@pytest.mark.parametrize("rules", ["classic", "classic-any"])
def test_a_shove_captures_any_but_none(rules: str) -> None:
    position = place(rules, "G7 H7 J7", "H4 H3", side="t")
    assert turns_of(position, "TH4-H6") == [
        "TH4-H6xG7",
        "TH4-H6xG7xH7",
        "TH4-H6xG7xH7xJ7",
        "TH4-H6xG7xJ7",
        "TH4-H6xH7",
        "TH4-H6xH7xJ7",
        "TH4-H6xJ7",
    ]


def test_in_classic_any_a_step_captures_any_subset() -> None:
    position = place("classic-any", "G6 H6 J6", "H4", side="t")
    assert turns_of(position, "TH4-H5") == EVERY_SUBSET


@pytest.mark.parametrize("trolls", ["H4", "H4 H3"])
def test_in_classic_all_a_step_captures_all_or_none(trolls: str) -> None:
    position = place("classic-all", "G6 H6 J6", trolls, side="t")
    assert turns_of(position, "TH4-H5") == ["TH4-H5", "TH4-H5xG6xH6xJ6"]


def test_in_classic_all_a_shove_captures_all() -> None:
    position = place("classic-all", "G7 H7 J7", "H4 H3", side="t")
    assert turns_of(position, "TH4-H6") == ["TH4-H6xG7xH7xJ7"]


@pytest.mark.parametrize(("rules", "ways"), [("classic", 8), ("classic-any", 128)])
def test_a_troll_turn_captures_seven_at_most(rules: str, ways: int) -> None:
    around = ("G3", "J3", "G4", "J4", "G5", "H5", "J5")
    position = place(rules, "A8 " + " ".join(around), "H3", side="t")
    assert len(turns_of(position, "TH3-H4")) == ways
    assert max(turn.count("x") for turn in position.turns()) == (1 if rules == "classic" else 7)


# -- decisions in the middle of a turn -----------------------------------------------------


def test_one_dwarf_or_none_is_asked_dwarf_by_dwarf() -> None:
    position = decide(place("classic", "G6 H6 A8", "H4", side="t"), "H4-H5")
    assert position.to_move == "trolls"
    assert decisions(position) == ["capture G6", "capture H6", "done"]
    assert decide(position, "capture G6").to_move == "dwarfs"


def test_any_dwarfs_are_asked_one_by_one_or_all() -> None:
    position = decide(place("classic-any", "G6 H6 A8", "H4", side="t"), "H4-H5")
    assert decisions(position) == ["capture G6", "capture H6", "capture all", "done"]
    position = decide(position, "capture H6")
    assert decisions(position) == ["capture G6", "done"]
    assert decide(position, "capture G6").to_move == "dwarfs"


def test_one_dwarf_is_not_also_all_dwarfs() -> None:
    position = decide(place("classic-any", "H6 A8", "H4", side="t"), "H4-H5")
    assert decisions(position) == ["capture H6", "done"]


def test_a_shove_may_not_be_done_before_it_captures() -> None:
    position = decide(place("classic", "G7 H7 J7 A8", "H4 H3", side="t"), "H4-H6")
    assert decisions(position) == ["capture G7", "capture H7", "capture J7", "capture all"]
    position = decide(position, "capture J7")
    assert decisions(position) == ["capture G7", "capture H7", "capture all", "done"]


def test_what_a_troll_has_captured_in_its_turn_is_counted() -> None:
    position = decide(place("classic-any", "G6 H6 J6 A8", "H4", side="t"), "H4-H5")
    assert position.text.split()[2] == "H5:any"
    position = decide(position, "capture H6")
    assert position.text.split()[2] == "H5:any+1"
    position = decide(position, "capture G6")
    assert position.text.split()[2] == "H5:any+2"


def test_what_keeps_trolls_off_the_edge_keeps_a_line_of_them_off_it() -> None:
    text = place("classic", "G1 A8", "H2 H3", side="t").text
    assert turns_of(Position.from_text(text), "TH2-H1") == ["TH2-H1", "TH2-H1xG1"]
    inside = CLASSIC.replace(name="inside", trolls_keep_off_edge=True)
    assert turns_of(Position.from_text(text, inside), "TH2-H1") == []


def test_a_shove_beside_one_dwarf_asks_nothing() -> None:
    position = decide(place("classic", "G7 A8", "H4 H3", side="t"), "H4-H6")
    assert position.to_move == "dwarfs"
    assert position.margin == 1 - 8


def test_classic_all_asks_all_or_none_and_a_shove_nothing() -> None:
    start = place("classic-all", "G7 H7 A8", "H4 H3 E7", side="t")
    position = decide(start, "E7-F6")
    assert decisions(position) == ["capture all", "done"]
    shoved = decide(start, "H4-H6")
    assert (shoved.to_move, shoved.margin) == ("dwarfs", 1 - 12)


def test_a_step_beside_no_dwarf_asks_nothing() -> None:
    assert decide(place("classic", "A8", "H4", side="t"), "H4-H5").to_move == "dwarfs"


def test_clocks_wait_for_the_end_of_the_turn() -> None:
    before = place("classic", "G6 H6 A8", "H4", side="t", quiet=5, played=9)
    middle = decide(before, "H4-H5")
    assert (middle.quiet_turns, middle.turn_number) == (5, 9)
    declined, captured = decide(middle, "done"), decide(middle, "capture G6")
    assert (declined.quiet_turns, declined.turn_number) == (6, 10)
    assert (captured.quiet_turns, captured.turn_number) == (0, 10)


# -- the end of the battle -----------------------------------------------------------------


@pytest.mark.parametrize("rules", CLASSICS)
def test_a_side_without_pieces_has_no_legal_turn(rules: str) -> None:
    last_troll = place(rules, "C8 A8", "D7")
    assert ended(last_troll.play("dC8-D7xD7")) == (Termination.NO_LEGAL_TURN, 2)
    last_dwarf = place(rules, "C8", "E8", side="t")
    assert ended(last_dwarf.play("TE8-D8xC8")) == (Termination.NO_LEGAL_TURN, -4)


def test_a_side_that_cannot_move_has_no_legal_turn() -> None:
    shut_in = place("classic", "F2 G2 H2 F1 H1", "G1", side="t")
    assert ended(shut_in) == (Termination.NO_LEGAL_TURN, 1)
    assert shut_in.turns() == []
    assert len(shut_in.legal_actions()) == 0


def test_the_quiet_limit_ends_the_battle() -> None:
    position = place("classic", "A8 H6", "H4", quiet=199)
    assert ended(position) is None
    after = position.play("dA8-A9")
    assert ended(after) == (Termination.QUIET_LIMIT, -2)
    assert after.outcome is not None
    assert after.outcome.winner == "trolls"


def test_a_capture_starts_the_quiet_count_anew() -> None:
    after = place("classic", "A8 H5", "H4 K4", quiet=199).play("dH5-H4xH4")
    assert ended(after) is None
    assert after.quiet_turns == 0


def test_the_turn_limit_is_distinguished_from_the_quiet_limit() -> None:
    position = place("classic", "A8 A9 A7 B8 C8", "H4", played=799)
    after = position.play("dC8-D8")
    assert ended(after) == (Termination.TURN_LIMIT, 1)


def test_the_limits_are_the_callers() -> None:
    limits = {"max_quiet_turns": 2, "max_turns": 9, "offer_after": 3, "agreement": True}
    position = place("classic", "A8", "H4", **limits)
    assert position.limits == limits
    position = position.play("dA8-A9").play("TH4-H5")
    assert ended(position) == (Termination.QUIET_LIMIT, -3)
    position = place("classic", "A8", "H4", max_quiet_turns=9, max_turns=1).play("dA8-A9")
    assert ended(position) == (Termination.TURN_LIMIT, -3)


def test_equal_scores_draw() -> None:
    after = place("classic", "A8 A7 A9 B8", "H4", played=799).play("dA8-B9")
    assert after.outcome is not None
    assert (after.outcome.margin, after.outcome.winner) == (0, None)


def test_a_repeated_position_changes_nothing() -> None:
    position = place("classic", "A8", "H4")
    for _ in range(10):
        for turn in ("dA8-A9", "TH4-H5", "dA9-A8", "TH5-H4"):
            position = position.play(turn)
    assert position.outcome is None
    assert position.quiet_turns == 40


@pytest.mark.parametrize("rules", CLASSICS)
def test_the_battle_starts_even_with_dwarfs_to_move(rules: str) -> None:
    start = Position.start(rules)
    assert start.text == (
        "dd1dd/d5d/d7d/d9d/d11d/d13d/d5TTT5d/6TRT6/d5TTT5d/d13d/d11d/d9d/d7d/d5d/dd1dd d - 0 0"
    )
    assert start.margin == 0


def test_there_is_no_agreement_unless_it_is_asked_for() -> None:
    assert new_row(CLASSIC)[AGREEMENT] == 0
    assert new_row(CLASSIC, agreement=True)[AGREEMENT] == 1
