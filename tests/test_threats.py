"""Threat planes: what could be captured once the side to move has moved."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from by_hand import place
from test_attacks import some_rows

from agents.networks.attacks import NUM_ATTACK_PLANES, attack_planes
from agents.networks.inputs import Inputs, planes_read
from agents.networks.on_device import inputs_on_device
from agents.networks.threats import THREAT_PLANES
from thud_env import Position
from thud_env.actions import MOVE_TO, NUM_MOVES
from thud_env.board import CELL_OF_SQUARE, CELL_STEP, SQUARE_BY_NAME, SQUARE_POSITIONS
from thud_env.rules.row import (
    DWARF,
    DWARFS,
    EMPTY,
    NUM_DWARFS,
    ONGOING,
    TERMINATION,
    TO_MOVE,
    TROLL,
    TROLLS,
    index_row,
)
from thud_env.symmetry import map_observation, map_position, symmetries_of

NAMES = [plane.name for plane in THREAT_PLANES]


def threats(row: np.ndarray) -> dict[str, np.ndarray]:
    """Each threat plane by square, [165]."""
    shown = attack_planes(row[None], threats=True)[0, NUM_ATTACK_PLANES:]
    points = tuple(np.array(SQUARE_POSITIONS).T)
    return {name: plane[points] for name, plane in zip(NAMES, shown, strict=True)}


def struck(row: np.ndarray) -> set[int]:
    """The cells of the trolls that the dwarfs could strike if it were their turn."""
    row = row.copy()
    row[TO_MOVE] = DWARFS
    actions = Position(row).legal_actions()
    cells = MOVE_TO[actions[actions < NUM_MOVES]]
    return set(cells[row[cells] == TROLL].tolist())


def after_each_turn(row: np.ndarray) -> list[np.ndarray]:
    """The rows after each turn of the trolls."""
    row = row.copy()
    row[TO_MOVE] = TROLLS
    waiting, found = [Position(row)], []
    while waiting:
        position = waiting.pop()
        for decision in position.legal_actions():
            child = position.apply(int(decision))
            ends = child.row[TERMINATION] != ONGOING or child.row[TO_MOVE] == DWARFS
            found += [child.row] if ends else []
            waiting += [] if ends else [child]
    return found


def trolls_of(row: np.ndarray) -> set[int]:
    return set(CELL_OF_SQUARE[row[CELL_OF_SQUARE] == TROLL].tolist())


def is_cornered(row: np.ndarray, troll: int) -> bool:
    """Whether a troll could be struck wherever it steps."""
    for target in troll + CELL_STEP:
        if row[target] == EMPTY:
            gone = row.copy()
            gone[troll], gone[target] = EMPTY, TROLL
            index_row(gone)
            if target not in struck(gone):
                return False
    return True


def by_the_rules(row: np.ndarray) -> list[int]:
    """The most dwarfs captured in a turn of trolls unanswered, and at all; how many trolls could be
    struck; and 4 if there are two of them, or one that is cornered.
    """
    most, unanswered, struck_before = 0, 0, struck(row)
    for after in after_each_turn(row):
        taken = int(row[NUM_DWARFS] - after[NUM_DWARFS])
        most = max(most, taken)
        here, there = trolls_of(row), trolls_of(after)
        ((start,), (target,)) = here - there, there - here
        if not struck_before - {start} and target not in struck(after):
            unanswered = max(unanswered, taken)
    cornered = len(struck_before) > 1 or any(is_cornered(row, one) for one in struck_before)
    return [unanswered, most, len(struck_before), 4 * cornered]


@pytest.mark.parametrize("side", [DWARFS, TROLLS])
@pytest.mark.parametrize(
    "rules", ["classic", "classic-any", "classic-all", "classic:name=shoves,step_captures=none"]
)
def test_planes_show_what_the_rules_let_be_captured(rules: str, side: int) -> None:
    mine = DWARF if side == DWARFS else TROLL
    for row in some_rows(rules, seed=7)[::6]:
        for piece in (DWARF, TROLL):  # room for another
            row[CELL_OF_SQUARE[np.argmax(row[CELL_OF_SQUARE] == piece)]] = EMPTY
        index_row(row)
        row[TO_MOVE] = side
        actions = Position(row).legal_actions()
        reached = MOVE_TO[actions[actions < NUM_MOVES]]
        shown = threats(row)
        for square, cell in enumerate(CELL_OF_SQUARE):
            seen = [int(4 * shown[name][square]) for name in NAMES]
            if row[cell] != mine and cell not in reached:
                assert seen == [0, 0, 0, 0]
                continue
            changed = row.copy()
            changed[cell] = EMPTY if row[cell] == mine else mine
            index_row(changed)
            assert seen == by_the_rules(changed)


def test_a_line_answers_what_a_troll_captures() -> None:
    shown = threats(place("classic", "D1 E1 F1 A10", "H1", "d").row)
    beside, away = SQUARE_BY_NAME["F2"], SQUARE_BY_NAME["F3"]
    assert (shown["capturable"][beside], shown["unanswered"][beside]) == (0.25, 0)
    assert (shown["capturable"][away], shown["unanswered"][away]) == (0.25, 0.25)


def test_threat_planes_turn_with_the_board() -> None:
    for row in some_rows("classic")[::4]:
        for symmetry in symmetries_of("classic"):
            image = map_position(symmetry, Position(row)).row
            expected = map_observation(symmetry, attack_planes(row[None], threats=True))
            assert np.array_equal(attack_planes(image[None], threats=True), expected)


def test_rows_are_not_changed_and_may_be_read_only() -> None:
    rows = np.stack(some_rows("classic"))
    before = rows.copy()
    rows.flags.writeable = False
    attack_planes(rows, threats=True)
    assert np.array_equal(rows, before)


def test_koom_valley_has_no_threat_planes() -> None:
    shown = attack_planes(np.stack(some_rows("koom-valley")), threats=True)
    assert not shown[:, NUM_ATTACK_PLANES:].any()


def test_threat_planes_follow_the_attack_planes_on_every_device() -> None:
    rows = np.stack(some_rows("classic"))
    inputs = Inputs.of_rows(rows, attacks=True, threats=True)
    there = inputs_on_device(torch.from_numpy(rows), attacks=True, threats=True)
    assert torch.equal(inputs.planes, there.planes)
    assert inputs.planes.shape[1] == len(planes_read(attacks=True, threats=True))
    assert torch.equal(inputs.planes[:, :-4], Inputs.of_rows(rows, attacks=True).planes)
