"""Afterstate features: what each legal decision brings about, compared with all turns played."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
import torch
from by_hand import decide, decisions, place
from positions import constructed, learn, position_of
from test_attacks import some_rows
from test_device_play import rows_of

from agents.networks.afterstates import AFTERSTATE_FEATURES, afterstate_features
from agents.networks.inputs import Inputs
from agents.networks.on_device import inputs_on_device
from agents.search.strikes import MOST_JUMPS
from thud_env import Position, Termination
from thud_env.actions import MOVE_DISTANCE, MOVE_FROM, MOVE_TO, NUM_MOVES
from thud_env.board import CELL_OF_SQUARE
from thud_env.outcome import SIDES
from thud_env.rules.row import (
    ANSWER_OFFER,
    DWARF,
    DWARFS,
    EMPTY,
    NO_QUESTION,
    NUM_DWARFS,
    NUM_TROLLS,
    ONGOING,
    PENDING,
    PENDING_CELL,
    QUIET_TURNS,
    TAKEN,
    TERMINATION,
    TO_MOVE,
    TROLL,
    TROLLS,
    TURNS,
    index_row,
)
from thud_env.rulesets import RULESETS, get_ruleset

NAMES = [feature.name for feature in AFTERSTATE_FEATURES]
ON_THE_BOARD = "capturable unanswered strikable cornered captured won"
BY_THE_STONE = "won stone_lost stone_won"
OWN = {
    "classic:name=off-the-edge,trolls_keep_off_edge=yes": ON_THE_BOARD,
    "classic:name=only-shoves,step_captures=none": ON_THE_BOARD,
    "classic:name=sandwiched,dwarfs_capture=sandwich": ON_THE_BOARD,
    "koom-valley:name=hurled-at,dwarfs_capture=hurl": " ".join(NAMES),
    "koom-valley:name=points,reward=margin": " ".join(NAMES),
}
GAMES = {
    **dict.fromkeys(("classic", "classic-any", "classic-all"), ON_THE_BOARD),
    "koom-valley": " ".join(NAMES),
    "koom-valley-football": BY_THE_STONE,
    **OWN,
}
"""What each game can show."""
for _spec in OWN:
    learn(get_ruleset(_spec))

BY_STONE = (Termination.GOAL, Termination.SURROUNDED)


def to_play(row: np.ndarray, side: int) -> np.ndarray:
    """The same board at the start of a side's turn, far from all limits."""
    board = row.copy()
    board[TO_MOVE], board[PENDING], board[TERMINATION] = side, NO_QUESTION, ONGOING
    board[[PENDING_CELL, TAKEN, QUIET_TURNS, TURNS]] = 0
    return board


def turns(row: np.ndarray, side: int) -> Iterator[tuple[int, np.ndarray]]:
    """Each turn of a side: the cell that a piece leaves, and the row after it."""
    waiting = [(0, Position.unchecked(to_play(row, side)))]  # even if the battle is over there
    while waiting:
        start, position = waiting.pop()
        for decision in position.legal_actions().tolist():
            child = position.apply(decision)
            first = start or (int(MOVE_FROM[decision]) if decision < NUM_MOVES else 0)
            if child.row[TERMINATION] != ONGOING or child.row[TO_MOVE] != side:
                yield first, child.row
            else:
                waiting.append((first, child))


def cells(row: np.ndarray, piece: int) -> set[int]:
    return set(CELL_OF_SQUARE[row[CELL_OF_SQUARE] == piece].tolist())


def struck(row: np.ndarray) -> set[int]:
    """The cells of the trolls that the dwarfs could capture if it were their turn."""
    here = cells(row, TROLL)
    after = (cells(one, TROLL) for _, one in turns(row, DWARFS))
    return set().union(*(here - there for there in after))


def has_no_way_out(row: np.ndarray, troll: int) -> bool:
    """Whether a troll could be struck wherever it goes: in Classic Thud by a step."""
    classic = Position(row).rules.trolls_capture == "beside"
    position = Position.unchecked(to_play(row, TROLLS))
    for move in position.legal_actions():
        if move >= NUM_MOVES or MOVE_FROM[move] != troll or (classic and MOVE_DISTANCE[move] > 1):
            continue
        gone, target = row.copy(), MOVE_TO[move]
        between = (troll + target) // 2
        if MOVE_DISTANCE[move] == 2 and row[between] == DWARF:
            gone[between] = EMPTY
        gone[troll], gone[target] = EMPTY, TROLL
        index_row(gone)
        if target not in struck(gone):
            return False
    return True


def by_the_rules(row: np.ndarray, decision: int) -> dict[str, float]:
    """The features of one afterstate, from all turns of both sides."""
    position = Position(row)
    child = position.apply(decision)
    after, side = child.row, int(row[TO_MOVE])
    found = dict.fromkeys(NAMES, 0.0)
    pieces = row[NUM_DWARFS] + row[NUM_TROLLS] - after[NUM_DWARFS] - after[NUM_TROLLS]
    found["captured"] = float(pieces) / 4
    if child.outcome is not None:
        found["won"] = float(child.outcome.winner == SIDES[side])
        return found
    threatened, here = struck(after), cells(after, TROLL)
    for start, turn in turns(after, TROLLS):
        taken = int(after[NUM_DWARFS] - turn[NUM_DWARFS])
        if taken > MOST_JUMPS and position.rules.trolls_capture == "trample":
            continue  # it may stop earlier, which is another turn
        found["capturable"] = max(found["capturable"], taken / 4)
        end = cells(turn, TROLL) - here or {start}  # it may come back
        if not threatened - {start} and not end & struck(turn):
            found["unanswered"] = max(found["unanswered"], taken / 4)
    found["strikable"] = len(threatened) / 4
    found["cornered"] = float(
        len(threatened) > 1 or any(has_no_way_out(after, troll) for troll in threatened)
    )
    if after[PENDING] == NO_QUESTION:
        for name, who in (("stone_lost", 1 - side), ("stone_won", side)):
            ends = (Position(turn).outcome for _, turn in turns(after, who))
            found[name] = float(any(end and end.termination in BY_STONE for end in ends))
    return found


def shown(position: Position, word: str) -> dict[str, float]:
    features = afterstate_features(position.row[None])[0]
    decision = position.legal_actions()[decisions(position).index(word)]
    return dict(zip(NAMES, features[decision].tolist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("rules", "shown_in_it"), GAMES.items(), ids=GAMES)
def test_features_are_those_that_all_turns_show(rules: str, shown_in_it: str) -> None:
    random, seen = Random(3), set()
    for position in map(position_of, constructed(rules, 150, random)):
        if position.outcome is not None:
            continue
        features = afterstate_features(position.row[None])[0]
        legal = position.legal_actions().tolist()
        assert not np.delete(features, legal, axis=0).any()
        for decision in random.sample(legal, min(2, len(legal))):
            found = dict(zip(NAMES, features[decision].tolist(), strict=True))
            assert found == by_the_rules(position.row, decision), (position, decision)
            seen |= {name for name, value in found.items() if value > 0}
    assert seen == set(shown_in_it.split())


@pytest.mark.parametrize(
    ("position", "word", "seen"),
    [
        (place("koom-valley", "D8 F4", "E8 N11"), "F4-F8", {"captured": 0.25}),
        (place("koom-valley", "D8 E9", "E8 N11"), "E9-J9", {"capturable": 0.25}),
        (place("koom-valley", "J2", "N11", rock="H2"), "H2-J1", {"won": 1}),
        (place("koom-valley", "J2 J1 A10", "N11", rock="H3"), "H3-H2", {"stone_won": 1}),
        (place("koom-valley", "A10", "G8 J8 H4", rock="H8"), "A10-B10", {"stone_lost": 1}),
        (place("koom-valley", "H4 H6 A10", "G8 J8 H3", rock="H8"), "A10-B10", {"stone_lost": 1}),
        (place("koom-valley", "D8 F4", "E8"), "F4-F8", {"captured": 0.25, "won": 1}),
        (place("classic", "D8 E8", "F8 A10"), "E8-F8", {"captured": 0.25, "strikable": 0}),
        (decide(place("classic", "H6", "H4 K12", "t"), "H4-H5"), "capture H6", {"won": 1}),
        (place("classic", "A8", "H3", "d", quiet=199), "A8-A7", {"won": 0, "captured": 0}),
    ],
    ids=[
        "a sandwich",
        "a dwarf left alone",
        "the Rock gets there",
        "the Rock is near",
        "a third troll comes",
        "a third troll tramples",
        "the last troll",
        "a hurl",
        "the last dwarf",
        "a limit",
    ],
)
def test_features_by_hand(position: Position, word: str, seen: dict[str, float]) -> None:
    features = shown(position, word)
    assert {name: features[name] for name in seen} == seen
    decision = position.legal_actions()[decisions(position).index(word)]
    assert features == by_the_rules(position.row, int(decision))


def test_in_the_midst_of_a_trample_the_board_is_seen_as_it_stands() -> None:
    position = place("koom-valley", "E8 G8 A10", "D8", "t", rock="H15")
    first = shown(position, "D8-F8")
    assert (first["captured"], first["capturable"]) == (0.25, 0.25)
    assert decide(position, "D8-F8").row[PENDING] != NO_QUESTION
    assert (first["stone_lost"], first["stone_won"]) == (0, 0)


def test_a_crowd_that_could_be_trampled_in_countless_orders_is_soon_seen() -> None:
    lattice = " ".join(f"{column}{row}" for column in "EGJL" for row in (4, 6, 8, 10))
    crowd = place("koom-valley", lattice, "D5", "t", rock="H15")
    features = afterstate_features(crowd.row[None])[0]
    assert features[crowd.legal_actions(), NAMES.index("capturable")].max() == 1


def test_offers_leave_the_board_as_it_is() -> None:
    limits = {"quiet": 9, "played": 9, "offer_after": 4, "agreement": True}
    position = place("classic", "A8 D3 O7", "H3 K12", **limits)
    assert decide(position, "offer").row[PENDING] == ANSWER_OFFER
    found = shown(position, "offer")
    assert found == by_the_rules(position.row, int(position.legal_actions()[-1]))


@pytest.mark.parametrize("rules", RULESETS)
def test_inputs_have_them_in_the_order_of_the_decisions(rules: str) -> None:
    rows = rows_of(rules, 60)
    inputs = Inputs.of_rows(rows, afterstates=True)
    dense = torch.from_numpy(afterstate_features(rows))
    assert torch.equal(inputs.afterstates, dense[inputs.game, inputs.decisions])
    on_device = inputs_on_device(torch.from_numpy(rows), afterstates=True)
    assert torch.equal(on_device.afterstates, inputs.afterstates)
    first, second = inputs.split(20)
    assert torch.equal(torch.cat([first.afterstates, second.afterstates]), inputs.afterstates)
    quiet = inputs.without_agreement()
    assert torch.equal(quiet.afterstates, dense[quiet.game, quiet.decisions])
    assert Inputs.of_rows(rows).afterstates.shape == (len(inputs.decisions), 0)


def test_rows_are_not_changed_and_may_be_read_only() -> None:
    rows = np.stack(some_rows("koom-valley"))
    before = rows.copy()
    rows.flags.writeable = False
    afterstate_features(rows)
    assert np.array_equal(rows, before)
