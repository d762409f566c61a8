"""A position as the page draws it: pieces, marks, texts, and all that is legal.

Boards, pieces and marks are the shapes of ``thud_env.render``, as SVG elements, so the page looks
like the pictures.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from agents.words import aim, standing, verdict
from thud_env import Position
from thud_env.actions import (
    ACCEPT,
    CAPTURE,
    CAPTURE_ALL,
    DECLINE,
    DONE,
    MOVE_DIRECTION,
    MOVE_DISTANCE,
    MOVE_FROM,
    MOVE_TO,
    NUM_MOVES,
    OFFER,
)
from thud_env.board import (
    CELL_OF_SQUARE,
    CELL_STEP,
    GOAL_SQUARES,
    SQUARE_NAMES,
    SQUARE_OF_CELL,
)
from thud_env.notation.turns import PIECES
from thud_env.render import picture
from thud_env.render.scene import scene_of
from thud_env.render.shapes import Area, Shape
from thud_env.render.to_svg import Element, element
from thud_env.rules import row as fields
from thud_env.rules.play import apply
from thud_env.rules.row import DWARF, EMPTY, STONE, TROLL, Row, is_between_turns
from thud_env.rulesets import RULESETS, Ruleset

_LETTERS = {EMPTY: ".", **PIECES}
_WORDS = {
    CAPTURE_ALL: "Capture all",
    OFFER: "Offer to end the battle",
    ACCEPT: "Accept: end the battle",
    DECLINE: "Decline: play on",
}
_ASKED = {
    fields.NO_QUESTION: "move",
    fields.ANSWER_OFFER: "answer",
    fields.TRAMPLE_ON: "trample",
}


def elements(shapes: Iterable[Shape]) -> list[Element]:
    """Shapes as SVG elements."""
    return [element(shape) for shape in shapes]


def board_view() -> dict[str, Any]:
    """The views that never change: squares, boards, pieces and colours."""
    return {
        "squares": [(name, *picture.centre_of(i)) for i, name in enumerate(SQUARE_NAMES)],
        "boards": {
            "plain": elements(_board_shapes(())),
            "goals": elements(_board_shapes(GOAL_SQUARES)),
        },
        "pieces": {
            "d": elements(picture.piece_shapes(DWARF, False)),
            "T": elements(picture.piece_shapes(TROLL, False)),
            "R": elements(picture.piece_shapes(STONE, False)),
            "ball": elements(picture.piece_shapes(STONE, True)),
        },
        "colours": {
            "target": picture.TARGET,
            "captured": picture.CAPTURED,
            "deciding": picture.DECIDING,
            "last": picture.LAST_TURN,
        },
    }


def _board_shapes(goals: tuple[int, ...]) -> list[Shape]:
    """The empty board, its squares of one colour as one area: a path each is 12 kB more."""
    areas: dict[str, Area] = {}
    labels = []
    for shape in picture.board_shapes(goals):
        if isinstance(shape, Area):
            polygons = areas[shape.fill].polygons if shape.fill in areas else ()
            areas[shape.fill] = replace(shape, polygons=polygons + shape.polygons)
        else:
            labels.append(shape)
    return [*areas.values(), *labels]


def rules_view(rules: Ruleset) -> dict[str, Any]:
    """A ruleset: its name or spec, its title, its aim, and the board it is played on."""
    return {
        "name": rules.spec,
        "title": rules.title,
        "aim": aim(rules),
        "board": "goals" if rules.stone_wins else "plain",
        "stone": "ball" if rules.stone_goes == "far" else "R",
        "stoneName": rules.stone_name,
        "scored": rules.reward == "margin",
        "most": rules.largest_margin,
    }


def rulesets_view() -> list[dict[str, Any]]:
    """All rulesets."""
    return [rules_view(rules) for rules in RULESETS.values()]


def view(position: Position, last_turn: str | None = None) -> dict[str, Any]:
    """A position as the page needs it to draw it and to ask for the next decision.

    Args:
        position: the position to show.
        last_turn: the turn that led to it, drawn as well.
    """
    row = position.row
    scene = scene_of(position, last_turn, targets=())
    deciding = None
    if not is_between_turns(row):
        deciding = int(SQUARE_OF_CELL[row[fields.PENDING_CELL]])
    outcome = position.outcome
    return {
        "position": position.text,
        "pieces": "".join(_LETTERS[piece] for piece in scene.pieces),
        "toMove": None if outcome else position.to_move,
        "dwarfs": position.num_dwarfs,
        "trolls": position.num_trolls,
        "margin": position.margin,
        "standing": standing(position),
        "verdict": verdict(position) if outcome else None,
        "asks": None if outcome else _ASKED.get(int(row[fields.PENDING]), "capture"),
        "deciding": deciding,
        "path": list(scene.path),
        "captured": list(scene.captured),
        "below": elements(picture.marks_below(scene)),
        "above": elements(picture.marks_above(scene)),
        **_legal(position),
    }


def _legal(position: Position) -> dict[str, Any]:
    """Every legal decision: moves by the square they start from, captures, and the others."""
    moves: dict[int, list[dict[str, Any]]] = {}
    captures: list[dict[str, int]] = []
    words: list[dict[str, Any]] = []
    if position.row[fields.PENDING] == fields.TAKE_ALL:  # a click on any of them captures all
        captures = [{"square": s, "action": CAPTURE_ALL} for s in scene_of(position).targets]
    for action in position.legal_actions().tolist():
        if action < NUM_MOVES:
            start = int(SQUARE_OF_CELL[MOVE_FROM[action]])
            moves.setdefault(start, []).append(_move(position.row, action))
        elif action < CAPTURE_ALL:
            captures.append({"square": action - CAPTURE, "action": action})
        else:
            words.append({"action": action, "name": _word(position, action)})
    return {"moves": moves, "captures": captures, "words": words}


def _word(position: Position, action: int) -> str:
    if action != DONE:
        return _WORDS[action]
    if position.row[fields.PENDING] == fields.TRAMPLE_ON:
        return "Stop here"
    return "Capture no more" if position.row[fields.TAKEN] else "Capture none"


def _move(row: Row, action: int) -> dict[str, Any]:
    """A move and its effects: its ``kind`` unless it is a plain move; what it ``takes``, and what
    the turn ``may`` then take, at ``most`` so many.
    """
    after = row.copy()
    apply(after, action)
    taken: list[int] = []
    offered: tuple[int, ...] = ()
    if after[fields.NUM_DWARFS] + after[fields.NUM_TROLLS] < (
        row[fields.NUM_DWARFS] + row[fields.NUM_TROLLS]
    ):
        enemy = TROLL if row[fields.TO_MOVE] == fields.DWARFS else DWARF
        lost = (row[CELL_OF_SQUARE] == enemy) & (after[CELL_OF_SQUARE] != enemy)
        taken = np.flatnonzero(lost).tolist()
    asked = after[fields.PENDING]
    if asked not in (fields.NO_QUESTION, fields.TRAMPLE_ON):
        offered = scene_of(Position.unchecked(after)).targets
    move: dict[str, Any] = {"to": int(SQUARE_OF_CELL[MOVE_TO[action]]), "action": action}
    kind = _kind(row, action, bool(taken), asked == fields.TAKE_SOME)
    if kind != "move":
        move["kind"] = kind
    if taken:
        move["takes"] = taken
    if offered:
        move |= {"may": list(offered), "most": 1 if asked == fields.TAKE_ONE else len(offered)}
    return move


def _kind(row: Row, action: int, takes: bool, must_take: bool) -> str:
    """The name of a move's kind, by its effects."""
    piece = int(row[MOVE_FROM[action]])
    if piece == STONE:
        return "carry"
    if row[MOVE_TO[action]] == TROLL:
        return "hurl"
    if piece == TROLL and MOVE_DISTANCE[action] > 1:
        passed = MOVE_FROM[action] + CELL_STEP[MOVE_DIRECTION[action]]
        if row[passed] == DWARF:
            return "trample"
        if takes or must_take:
            return "shove"
    return "move"


def decide(position: Position, actions: list[int]) -> tuple[str | None, Position]:
    """The position after some decisions of one turn, and the turn's notation once it is complete.

    Raises:
        IllegalMove: if one of them is not legal when it is made.
        ThudError: if the turn is over before the last of them.
    """
    turn = position.turn_of(actions)
    here = position
    for action in actions:
        here = here.apply(action)
    return (turn if is_between_turns(here.row) else None), here
