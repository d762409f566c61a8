"""Koom Valley Thud and Koom Valley Football, one rule a test (docs/rules.md, sections 3 and 4)."""

from __future__ import annotations

import pytest
from by_hand import decide, decisions, ended, place, turns_of

from thud_env import Position, Termination

VALLEY, FOOTBALL = "koom-valley", "koom-valley-football"
BOTH = pytest.mark.parametrize("rules", [VALLEY, FOOTBALL])

# -- dwarfs --------------------------------------------------------------------------------


def test_a_dwarf_captures_the_troll_between_it_and_another() -> None:
    position = place(VALLEY, "J5 G9", "H5 M8")
    assert turns_of(position, "dG9-G5") == ["dG9-G5xH5"]
    after = position.play("dG9-G5xH5")
    assert after.text.startswith("5/7/9/11/5d1d5/")
    assert after.quiet_turns == 0


def test_a_dwarf_captures_every_troll_between_it_and_others() -> None:
    position = place(VALLEY, "G9 J5 J3 G3", "H5 H4 G4")
    assert turns_of(position, "dG9-G5") == ["dG9-G5xG4xH4xH5"]


def test_the_captured_troll_must_be_adjacent_and_in_line() -> None:
    gap = place(VALLEY, "K5 G9", "H5")
    bent = place(VALLEY, "J4 G9", "H5")
    assert turns_of(gap, "dG9-G5") == turns_of(bent, "dG9-G5") == ["dG9-G5"]


def test_only_dwarfs_hem_a_troll_in() -> None:
    assert turns_of(place(VALLEY, "G9", "H5", rock="J5"), "dG9-G5") == ["dG9-G5"]
    assert turns_of(place(VALLEY, "G9", "H5 J5"), "dG9-G5") == ["dG9-G5"]


def test_only_the_moved_dwarf_captures() -> None:
    position = place(VALLEY, "G5 J5 A8", "H5")
    assert turns_of(position, "dA8-A9") == ["dA8-A9"]


def test_a_troll_steps_between_two_dwarfs_unharmed() -> None:
    position = place(VALLEY, "G5 J5 A8", "H3", side="t").play("TH3-H5")
    assert position.text.startswith("5/7/9/11/5dTd5/")
    assert turns_of(position.play("dA8-A9"), "TH5-H6") == ["TH5-H6"]


def test_dwarfs_are_not_hurled_in_the_valley() -> None:
    assert turns_of(place(VALLEY, "H3 H4", "H5"), "dH4-H5") == []


# -- the Rock ------------------------------------------------------------------------------


def test_the_rock_moves_one_square_from_beside_a_dwarf_to_beside_a_dwarf() -> None:
    beside_h9 = ["RH8-G8", "RH8-G9", "RH8-J8", "RH8-J9"]
    assert turns_of(place(VALLEY, "H9", "A8"), "R") == beside_h9
    assert turns_of(place(VALLEY, "H9 E8", "A8"), "R") == beside_h9
    assert turns_of(place(VALLEY, "H10", "A8"), "R") == []


def test_the_rock_moves_to_empty_squares_only() -> None:
    assert turns_of(place(VALLEY, "H9 G8", "J8"), "R") == ["RH8-G7", "RH8-G9", "RH8-H7", "RH8-J9"]


def test_trolls_do_not_move_the_rock() -> None:
    assert turns_of(place(VALLEY, "H9", "H7", side="t"), "R") == []


def test_the_rock_captures_nothing() -> None:
    position = place(VALLEY, "H9 J7", "H7 K7").play("RH8-G8")
    assert position.text.split()[0].count("T") == 2


@BOTH
def test_a_rock_or_ball_move_starts_the_quiet_count_anew(rules: str) -> None:
    position = place(rules, "H9", "A8", quiet=199).play("RH8-G8")
    assert (position.quiet_turns, position.outcome) == (0, None)


# -- trolls --------------------------------------------------------------------------------


def test_a_troll_moves_one_to_three_squares() -> None:
    position = place(VALLEY, "A8", "H3", side="t", rock="H6")
    assert turns_of(position, "TH3-H") == ["TH3-H1", "TH3-H2", "TH3-H4", "TH3-H5"]
    assert turns_of(position, "TH3-K") == ["TH3-K1", "TH3-K3", "TH3-K5"]
    assert turns_of(position, "TH3-L") == ["TH3-L3", "TH3-L6"]


def test_trolls_are_not_shoved_and_do_not_capture_beside() -> None:
    position = place(VALLEY, "H8", "C5 D5 E5 F5 G5", side="t", rock="P8")
    assert turns_of(position, "TG5-L5") == []
    assert turns_of(position, "TG5-G7") == ["TG5-G7"]
    assert decide(position, "G5-G7").to_move == "dwarfs"


def test_a_troll_jumps_an_adjacent_dwarf_onto_the_empty_square_beyond() -> None:
    position = place(VALLEY, "H4 A8", "H3", side="t")
    assert turns_of(position, "TH3-H") == ["TH3-H1", "TH3-H2", "TH3-H5xH4"]
    assert position.play("TH3-H5xH4").quiet_turns == 0


@pytest.mark.parametrize("beyond", ["dwarf", "troll", "rock", "edge"])
def test_a_troll_does_not_jump_onto_anything_else(beyond: str) -> None:
    position = {
        "dwarf": place(VALLEY, "H4 H5", "H3", side="t"),
        "troll": place(VALLEY, "H4", "H3 H5", side="t"),
        "rock": place(VALLEY, "H4", "H3", side="t", rock="H5"),
        "edge": place(VALLEY, "H1", "H2", side="t"),
    }[beyond]
    assert not any("x" in turn for turn in position.turns())


def test_only_dwarfs_are_jumped() -> None:
    position = place(VALLEY, "A8", "H3 H4", side="t", rock="G3")
    assert turns_of(position, "TH3-H5") == turns_of(position, "TH3-F3") == []


def test_tramples_go_on_turn_and_stop_after_any_jump() -> None:
    position = place(VALLEY, "H4 J5 A8", "H3", side="t")
    assert turns_of(position, "TH3-H5") == ["TH3-H5-K5xH4xJ5", "TH3-H5xH4"]
    middle = decide(position, "H3-H5")
    assert middle.to_move == "trolls"
    assert decisions(middle) == ["H5-K5", "done"]
    assert middle.turns() == ["TH5", "TH5-K5xJ5"]
    assert decide(middle, "done").text.split()[1:] == ["d", "-", "0", "1"]


def test_a_trample_that_cannot_go_on_asks_nothing() -> None:
    position = decide(place(VALLEY, "H4 J6 K7 A8", "H3", side="t"), "H3-H5")
    assert position.to_move == "dwarfs"


def test_only_the_troll_that_jumped_goes_on() -> None:
    position = decide(place(VALLEY, "H4 J5 F5", "H3 F4", side="t"), "H3-H5")
    assert decisions(position) == ["H5-K5", "done"]


def test_tramples_may_come_back_to_their_own_square() -> None:
    position = place(VALLEY, "H6 J7 K6 J5 A8", "H5", side="t", rock="P8")
    circle = "TH5-H7-K7-K5-H5xH6xJ5xJ7xK6"
    assert circle in position.turns()
    after = position.play(circle)
    assert after.text == "5/7/9/11/6T6/15/15/d13R/15/15/13/11/9/7/5 d - 0 1"


def test_there_is_no_approach_step_before_a_trample_and_none_after() -> None:
    position = place(VALLEY, "H5 A8", "H3", side="t")
    assert not any("x" in turn for turn in position.turns())
    assert turns_of(place(VALLEY, "H4 A8", "H3", side="t"), "TH3-H5-") == []


# -- the end of the battle -----------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    ("rock", "goal", "dwarf"),
    [
        ("F2", "F1", "G2"),
        ("G2", "G1", "H2"),
        ("H2", "H1", "G2"),
        ("J2", "J1", "H2"),
        ("K2", "K1", "J2"),
        ("E2", "F1", "F2"),
    ],
)
def test_the_rock_on_a_goal_square_wins_for_the_dwarfs(
    rules: str, rock: str, goal: str, dwarf: str
) -> None:
    after = place(rules, dwarf, "P8", rock=rock).play(f"R{rock}-{goal}")
    assert ended(after) == (Termination.GOAL, 1)
    assert after.outcome is not None
    assert after.outcome.winner == "dwarfs"


@BOTH
def test_other_squares_of_the_edge_are_no_goal(rules: str) -> None:
    assert ended(place(rules, "E3", "P8", rock="F2").play("RF2-E2")) is None


@BOTH
def test_three_trolls_beside_the_rock_after_a_troll_turn_win(rules: str) -> None:
    position = place(rules, "A8", "G7 H7 J5", side="t").play("TJ5-J7")
    assert ended(position) == (Termination.SURROUNDED, -1)
    assert ended(place(rules, "A8", "G7 M8 J5", side="t").play("TJ5-J7")) is None


@BOTH
def test_three_trolls_win_after_any_troll_turn(rules: str) -> None:
    """Whether or not the troll that moved is one of them."""
    position = place(rules, "G8", "G6 H6 J6 M8")
    rolled = position.play("RH8-H7")
    assert ended(rolled) is None, "a dwarf that moves it beside three trolls loses nothing yet"
    assert ended(rolled.play("TM8-M7")) == (Termination.SURROUNDED, -1)
    assert ended(rolled.play("TJ6-K6")) is None


@BOTH
@pytest.mark.parametrize(
    ("dwarfs", "trolls", "side", "margin"),
    [
        ("", "A8 B8 C8", "d", -1),
        ("", "A8 B8", "d", 0),
        ("A8", "", "t", 1),
        ("", "", "t", 0),
    ],
)
def test_without_a_legal_turn_the_other_side_wins_if_it_still_can(
    rules: str, dwarfs: str, trolls: str, side: str, margin: int
) -> None:
    position = place(rules, dwarfs, trolls, side)
    assert ended(position) == (Termination.NO_LEGAL_TURN, margin)


def test_pieces_that_are_shut_in_have_no_legal_turn() -> None:
    dwarf = place(VALLEY, "F1", "G1 G2 F2 E2")
    assert ended(dwarf) == (Termination.NO_LEGAL_TURN, -1)
    troll = place(VALLEY, "F1 F2 G2 H2 H1 F3 G3 H3 E3 J3 E2 J1", "G1", side="t")
    assert ended(troll) == (Termination.NO_LEGAL_TURN, 1)


def test_taking_the_last_troll_wins() -> None:
    after = place(VALLEY, "J5 G9", "H5").play("dG9-G5xH5")
    assert ended(after) == (Termination.NO_LEGAL_TURN, 1)


@BOTH
def test_the_limits_draw(rules: str) -> None:
    quiet = place(rules, "A8", "H3", quiet=199).play("dA8-A9")
    turns = place(rules, "A8", "H3", played=799).play("dA8-A9")
    assert ended(quiet) == (Termination.QUIET_LIMIT, 0)
    assert ended(turns) == (Termination.TURN_LIMIT, 0)


@BOTH
def test_the_object_of_the_game_comes_before_the_limits(rules: str) -> None:
    last = place(rules, "G2 G3", "P8", rock="H2", played=799)
    assert ended(last.play("RH2-H1")) == (Termination.GOAL, 1)
    last = place(rules, "A8", "G7 H7 J5", side="t", quiet=199, played=799)
    assert ended(last.play("TJ5-J7")) == (Termination.SURROUNDED, -1)


@BOTH
def test_the_start_of_the_valley(rules: str) -> None:
    assert Position.start(rules).text == (
        "5/1T1T1T1/1TT1T1TT1/11/13/15/15/7R7/7d7/d13d/d11d/d9d/d7d/d5d/ddddd d - 0 0"
    )


# -- Football ------------------------------------------------------------------------------


def test_there_are_no_captures_in_football() -> None:
    dwarfs = place(FOOTBALL, "J5 G9", "H5")
    assert turns_of(dwarfs, "dG9-G5") == ["dG9-G5"]
    trolls = place(FOOTBALL, "H4 A8", "H3", side="t")
    assert turns_of(trolls, "TH3-H") == ["TH3-H2"]


def test_the_ball_goes_any_distance_from_a_dwarf_to_a_dwarf() -> None:
    position = place(FOOTBALL, "J14 J4 G4", "A8", rock="H13")
    assert turns_of(position, "RH13-H") == [
        "RH13-H14",
        "RH13-H15",
        "RH13-H3",
        "RH13-H4",
        "RH13-H5",
    ]
    assert turns_of(place(FOOTBALL, "J15 G4", "A8", rock="H13"), "R") == []


def test_the_ball_passes_nothing() -> None:
    position = place(FOOTBALL, "J14 G4", "H9", rock="H13")
    assert turns_of(position, "RH13-H") == ["RH13-H14", "RH13-H15"]


def test_trolls_do_not_go_to_the_edge_in_football() -> None:
    position = place(FOOTBALL, "P8", "H2", side="t", rock="B8")
    assert turns_of(position, "TH2-") == [
        "TH2-E5",
        "TH2-F2",
        "TH2-F4",
        "TH2-G2",
        "TH2-G3",
        "TH2-H3",
        "TH2-H4",
        "TH2-H5",
        "TH2-J2",
        "TH2-J3",
        "TH2-K2",
        "TH2-K4",
        "TH2-L5",
    ]


def test_a_troll_on_the_edge_may_leave_it_but_not_go_along_it() -> None:
    position = place(FOOTBALL, "P8", "H1", side="t", rock="B8")
    assert {turn[4:] for turn in position.turns()} == {
        "H2",
        "H3",
        "H4",
        "G2",
        "F3",
        "E4",
        "J2",
        "K3",
        "L4",
    }
