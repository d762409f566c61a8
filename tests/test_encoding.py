"""Observation planes, each compared with its row in the table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from by_hand import decide, place
from positions import position_of
from reference import BOARD, RULES, squares
from reference import start as reference_start

from thud_env import RULESETS, BatchedGame, Position, RowError, Termination
from thud_env.rules.row import PENDING_CELL
from thud_env.views.encoding import (
    NUM_PLANES,
    OBSERVATION_SHAPE,
    PLANES,
    encode_rows,
    level_at,
    value_at,
)
from thud_env.views.masks import action_masks
from thud_env.views.results import margins, terminations, to_move

NAMES = [plane.name for plane in PLANES]
WHOLE_GAME = {
    name: plane.shows.startswith("all") for name, plane in zip(NAMES, PLANES, strict=True)
}


def seen(position: Position) -> dict[str, np.ndarray]:
    """The planes by name."""
    return dict(zip(NAMES, position.observation(), strict=True))


def marked(plane: np.ndarray) -> set[tuple[int, int]]:
    """The (row, column) of the points that are 1; all others must be 0."""
    assert set(np.unique(plane)) <= {0, 1}
    return {(int(row), int(col)) for row, col in np.argwhere(plane)}


def levels(position: Position) -> dict[str, float]:
    """The planes that speak of the whole game, each of which must be constant."""
    found = {}
    for name, plane in seen(position).items():
        if WHOLE_GAME[name]:
            assert (plane == plane[0, 0]).all(), name
            found[name] = float(plane[0, 0])
    return found


def test_the_shape_follows_from_the_table() -> None:
    assert (NUM_PLANES, 15, 15) == OBSERVATION_SHAPE == Position.start().observation().shape
    assert Position.start().observation().dtype == np.float32
    assert len(set(NAMES)) == NUM_PLANES


@pytest.mark.parametrize("rules", RULES)
def test_pieces_and_board_at_the_start(rules: str) -> None:
    start = reference_start(rules)
    planes = seen(position_of(start))
    assert marked(planes["dwarfs"]) == set(start.dwarfs)
    assert marked(planes["trolls"]) == set(start.trolls)
    assert marked(planes["stone"]) == {start.stone}
    assert marked(planes["board"]) == set(BOARD)
    assert marked(planes["deciding_troll"]) == set()


def test_row_1_is_at_the_top_and_column_a_on_the_left() -> None:
    planes = seen(place("koom-valley", "A6 P10", "F1", rock="K15"))
    assert marked(planes["dwarfs"]) == {(5, 0), (9, 14)}
    assert marked(planes["trolls"]) == {(0, 5)}
    assert marked(planes["stone"]) == {(14, 9)}


def test_both_sides_see_the_board_the_same_way_round() -> None:
    dwarfs, trolls = (seen(place("classic", "A6", "F1", side)) for side in "dt")
    differing = {name for name in NAMES if not np.array_equal(dwarfs[name], trolls[name])}
    assert differing == {"trolls_to_move"}
    assert marked(dwarfs["trolls_to_move"]) == set()
    assert trolls["trolls_to_move"].all()


# "none" here: the trolls between turns. The others: a troll beside three dwarfs is asked.
QUESTIONS = [
    pytest.param("classic", "H4-H5", "", {"one_capture"}, id="one or none"),
    pytest.param("classic", "H4-H5", "H3", set(), id="any or none"),
    pytest.param("classic", "H3-H5", "H3 H2", {"capture_owed"}, id="one or more"),
    pytest.param("classic-any", "H4-H5", "", set(), id="any step"),
    pytest.param("classic-all", "H4-H5", "", set(), id="all or none"),
]


@pytest.mark.parametrize(("rules", "move", "line", "asked"), QUESTIONS)
def test_a_pending_capture_shows_its_troll_and_what_is_owed(
    rules: str, move: str, line: str, asked: set[str]
) -> None:
    trolls = line if move.startswith("H3") else f"H4 {line}"
    before = place(rules, "G6 H6 J6 A8", trolls, "t")
    assert marked(seen(before)["deciding_troll"]) == set()
    after = decide(before, move)
    assert marked(seen(after)["deciding_troll"]) == set(squares("H5"))
    shown = {name for name, level in levels(after).items() if level == 1}
    assert shown == {"trolls_to_move", *asked}


def test_a_shove_that_has_captured_owes_no_more() -> None:
    pending = decide(place("classic", "G6 H6 J6", "H3 H2", "t"), "H3-H5")
    assert levels(pending)["capture_owed"] == 1
    paid = decide(pending, "capture G6")
    assert levels(paid)["capture_owed"] == 0
    assert marked(seen(paid)["deciding_troll"]) == set(squares("H5"))
    assert marked(seen(paid)["dwarfs"]) == set(squares("H6 J6"))


def test_a_trample_that_may_go_on_shows_its_troll() -> None:
    pending = decide(place("koom-valley", "H4 J5 A8", "H3", "t"), "H3-H5")
    assert marked(seen(pending)["deciding_troll"]) == set(squares("H5"))
    shown = levels(pending)
    assert (shown["one_capture"], shown["capture_owed"]) == (0, 0)
    assert not seen(decide(pending, "done"))["deciding_troll"].any()


def test_the_clocks_are_shares_of_their_limits() -> None:
    shown = levels(
        place("classic", "A8", "H3", quiet=30, played=77, max_quiet_turns=40, max_turns=700)
    )
    assert shown["quiet_turns"] == np.float32(30 / 40)
    assert shown["turns"] == np.float32(77 / 700)
    over = place("classic", "A8", "H3", quiet=39, played=77, max_quiet_turns=40).play("dA8-A9")
    assert levels(over)["quiet_turns"] == 1


def test_an_offer_is_shown_to_the_side_that_answers() -> None:
    before = place("classic", "A8", "H3", quiet=9, played=9, offer_after=4, agreement=True)
    asked = decide(before, "offer")
    assert levels(before)["offer"] == 0
    shown = levels(asked)
    assert (shown["offer"], shown["trolls_to_move"]) == (1, 1)
    assert not seen(asked)["deciding_troll"].any()


def test_a_declined_offer_shows_how_long_its_side_must_wait() -> None:
    position = place("classic", "A8", "H3", quiet=9, played=9, offer_after=4, agreement=True)

    def waits() -> tuple[float, float]:
        shown = levels(position)
        return shown["dwarfs_wait"], shown["trolls_wait"]

    assert waits() == (0, 0)
    seen_waits = []
    for turn in ("offer", "decline", "dA8-A9", "offer", "decline", "TH3-H4", "dA9-A8"):
        position = position.play(turn)
        seen_waits.append(waits())
    dwarfs, trolls = zip(*seen_waits, strict=True)
    assert dwarfs == (0, 1, 0.75, 0.75, 0.75, 0.75, 0.5)
    assert trolls == (0, 0, 0, 0, 1, 0.75, 0.75)


@pytest.mark.parametrize("rules", RULESETS)
def test_every_value_of_every_battle_is_in_0_to_1(rules: str) -> None:
    games = BatchedGame(
        200,
        rules,
        seed=1,
        masks=None,
        autoreset_mode="Disabled",
        max_quiet_turns=20,
        max_turns=60,
        offer_after=2,
        agreement=True,
    )
    highest = games.observations.max(axis=(0, 2, 3))
    for _ in range(90):
        games.step(games.sample_actions())
        assert games.observations.min() == 0
        highest = np.maximum(highest, games.observations.max(axis=(0, 2, 3)))
    reached = dict(zip(NAMES, highest.tolist(), strict=True))
    assert max(highest) == 1
    assert reached["offer"] == reached["dwarfs_wait"] == 1


def test_rows_are_encoded_as_positions_are() -> None:
    positions = [
        decide(place("classic", "G6 H6 J6", "H3 H2", "t"), "H3-H5"),
        Position.start("koom-valley"),
    ]
    planes = encode_rows(np.stack([position.row for position in positions]))
    masks = action_masks(np.stack([position.row for position in positions]))
    assert masks.dtype == np.int8
    for position, mask in zip(positions, masks, strict=True):
        assert np.flatnonzero(mask).tolist() == position.legal_actions().tolist()
    for position, shown in zip(positions, planes, strict=True):
        np.testing.assert_array_equal(shown, position.observation())
    assert encode_rows(np.empty((0, len(positions[0].row)), np.int16)).shape == (
        0,
        *planes[0].shape,
    )


def test_rows_stand_and_have_ended_as_positions_have() -> None:
    won = place("koom-valley", "G2 N8", "G3 H3 J4", rock="H2").play("RH2-H1")
    positions = [won, Position.start().play("dE2-E6").play("TG7-F6").play("dE6-F6xF6")]
    rows = np.stack([position.row for position in positions])
    assert margins(rows).tolist() == [1, 4]
    assert terminations(rows).tolist() == [Termination.GOAL.value, 0]
    assert margins(rows).dtype == terminations(rows).dtype == np.int64
    sides = [int(position.to_move == "trolls") for position in positions]
    assert to_move(rows).tolist() == sides
    assert to_move(np.stack([Position.start().row])).tolist() == [0]
    assert to_move(rows).dtype == np.int8


@pytest.mark.parametrize("shown", [encode_rows, action_masks, margins, terminations, to_move])
def test_rows_of_a_batch_need_no_check(shown: Any) -> None:
    games = BatchedGame(8, "koom-valley", seed=0, max_turns=30, autoreset_mode="Disabled")
    for _ in range(40):
        games.step(games.sample_actions())
    chosen = games.rows[::2]  # every other, not side by side in memory
    np.testing.assert_array_equal(shown(chosen, check=False), shown(chosen))
    with pytest.raises(RowError, match=r"rows are integers of shape"):
        shown(games.rows[0], check=False)
    damaged = chosen.copy()
    damaged[1, PENDING_CELL] = 3
    shown(damaged, check=False)


@pytest.mark.parametrize("shown", [encode_rows, action_masks, margins, terminations, to_move])
def test_rows_that_play_does_not_lead_to_are_refused(shown: Any) -> None:
    rows = np.stack([Position.start(rules).row for rules in ("classic", "koom-valley")])
    assert len(shown(rows.astype(np.int64))) == 2
    damaged = rows.copy()
    damaged[1, PENDING_CELL] = 30_000
    with pytest.raises(RowError, match=r"^row 1: the row is damaged: entry \d+ \(PENDING_CELL\)"):
        shown(damaged)
    with pytest.raises(RowError, match=r"^row 1 is damaged: entry \d+ \(PENDING_CELL\)"):
        shown(np.stack([rows[1], damaged[1]]))
    with pytest.raises(RowError, match=r"not int16 of \(432,\): row\[np.newaxis\] would be right"):
        shown(rows[0])
    with pytest.raises(RowError, match=r"of \(2,\): np\.stack\(\[position\.row for position in"):
        shown([Position.start(), Position.start()])
    random = np.random.default_rng(1).integers(-(2**15), 2**15, (64, 432)).astype(np.int16)
    with pytest.raises(RowError, match="a row of a ruleset unknown to this process"):
        shown(random)


def test_encoding_overwrites_whatever_stood_there() -> None:
    games = BatchedGame(
        1, buffers={"observations": np.full((1, *OBSERVATION_SHAPE), 9, np.float32)}
    )
    np.testing.assert_array_equal(games.observations[0], Position.start().observation())


@pytest.mark.parametrize("rules", RULESETS)
def test_values_one_by_one_are_the_planes(rules: str) -> None:
    games = BatchedGame(4, rules, seed=3, agreement=True, offer_after=2)
    for _ in range(25):
        games.step(games.sample_actions())
    for row, planes in zip(games.rows, games.observations, strict=True):
        for plane in range(NUM_PLANES):
            values = [
                value_at(row, plane, point, level_at(row, plane, 1.0)) for point in range(225)
            ]
            np.testing.assert_array_equal(np.float32(values), planes[plane].ravel())
