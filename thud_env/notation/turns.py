"""Notation: turns as text (docs/notation.md). Positions as text are in ``positions.py``.

Every function works on state rows; ``Position`` wraps them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np

from thud_env.actions import (
    ACCEPT,
    CAPTURE,
    CAPTURE_ALL,
    DECLINE,
    DONE,
    MOVE_FROM,
    MOVE_TO,
    NUM_MOVES,
    OFFER,
)
from thud_env.arguments import shown
from thud_env.board import (
    CELL_OF_SQUARE,
    NUM_CELLS,
    SQUARE_BY_NAME,
    SQUARE_NAMES,
    SQUARE_OF_CELL,
)
from thud_env.errors import ThudError
from thud_env.rules import row as fields
from thud_env.rules.legal import is_legal, legal_list
from thud_env.rules.play import apply
from thud_env.rules.row import DWARF, STONE, TROLL, Row
from thud_env.rules.turns import repeats_turn

PIECES = {DWARF: "d", TROLL: "T", STONE: "R"}
PIECE_NAMES = {DWARF: "dwarf", TROLL: "troll", STONE: "stone"}
AGREEMENT_WORDS = {OFFER: "offer", ACCEPT: "accept", DECLINE: "decline"}
_AGREEMENT_ACTIONS = {word: action for action, word in AGREEMENT_WORDS.items()}
_MOVE_BETWEEN = {
    cells: action
    for action, cells in enumerate(zip(MOVE_FROM.tolist(), MOVE_TO.tolist(), strict=True))
}

_TURN = re.compile(r"([dTR])([A-P]\d+)((?:-[A-P]\d+)*)((?:x[A-P]\d+)*)")


def normalise_turn(turn: str) -> str:
    """The canonical spelling of a turn: captures sorted by the square's text, each once.

    Raises:
        ThudError: if ``turn`` is not in turn notation or names a square that is not there.
        TypeError: if it is not a string.
    """
    if not isinstance(turn, str):
        raise TypeError(f"turn {shown(turn)}: text such as 'dF1-F5' would be right")
    word = turn.strip()
    if word in AGREEMENT_WORDS.values():
        return word
    match = _TURN.fullmatch(word)
    if match is None:
        raise ThudError(f"{shown(turn)} is not a turn: dF1-F5, TG7-F6xE5, RH8-H7 or offer would be")
    for name in re.findall(r"[A-P]\d+", word):
        if name not in SQUARE_BY_NAME:
            raise ThudError(f"{shown(turn)} names {name}, which is not a square of the board")
    piece, start, path, captures = match.groups()
    taken = sorted(set(captures.split("x")[1:]))
    return piece + start + path + "".join(f"x{name}" for name in taken)


def why_immovable(row: Row, piece: str, square: str) -> str:
    """Why the side to move cannot move a piece; "" if it can, though perhaps nowhere.

    Args:
        row: [432] a state row.
        piece: ``d``, ``T`` or ``R``, as a turn names it; "" for any.
        square: where the turn has it.
    """
    found = int(row[CELL_OF_SQUARE[SQUARE_BY_NAME[square]]])
    if found == fields.EMPTY:
        return f"nothing stands on {square}"
    if piece not in ("", PIECES[found]):
        return f"on {square} stands a {PIECE_NAMES[found]}"
    if found == (TROLL if row[fields.TO_MOVE] == fields.DWARFS else DWARF):
        return f"the {PIECE_NAMES[found]} on {square} is not theirs"
    return ""


def why_illegal(row: Row, turn: str) -> str:
    """Why a turn in canonical spelling is not legal in a battle that goes on."""
    match = _TURN.fullmatch(turn)
    if match is None:
        return why_no_agreement(row, turn)
    piece, start, steps, _ = match.groups()
    if row[fields.PENDING] == fields.ANSWER_OFFER:
        return "an offer comes first: accept or decline"
    if not fields.is_between_turns(row):
        deciding = SQUARE_NAMES[SQUARE_OF_CELL[row[fields.PENDING_CELL]]]
        if start != deciding:
            return f"it is in the middle of the turn of the troll on {deciding}"
        return "it is no way to end the turn that was begun"
    return why_immovable(row, piece, start) or _why_not_there(row, start, steps)


def why_no_agreement(row: Row, word: str) -> str:
    """Why ``offer``, ``accept`` or ``decline`` is not legal in a battle that goes on."""
    if row[fields.AGREEMENT] == 0:
        return "this battle cannot end by agreement; one with agreement=True, or --agreement, can"
    if word != AGREEMENT_WORDS[OFFER]:
        return "nothing has been offered"
    if row[fields.PENDING] == fields.ANSWER_OFFER:
        return "one is to be answered first, by accept or decline"
    if not fields.is_between_turns(row):
        return "an offer is made between turns"
    first = int(row[fields.OFFER_AFTER] - row[fields.QUIET_TURNS])
    if first > 0:
        return f"{int(row[fields.OFFER_AFTER])} quiet turns come first, {first} more"
    own = int(row[fields.OFFER_WAIT + row[fields.TO_MOVE]])
    return f"the last one was declined; turns of one's own until the next: {own}"


def _why_not_there(row: Row, start: str, steps: str) -> str:
    """Why a piece that may be moved does not go along a path."""
    cell = int(CELL_OF_SQUARE[SQUARE_BY_NAME[start]])
    decisions = legal_list(row)
    moves = decisions[decisions < NUM_MOVES]
    cells = MOVE_TO[moves[MOVE_FROM[moves] == cell]]
    there = [SQUARE_NAMES[SQUARE_OF_CELL[one]] for one in np.unique(cells)]
    piece = f"the {PIECE_NAMES[int(row[cell])]} on {start}"
    if not there:
        return f"{piece} has no legal turn"
    if steps.removeprefix("-").partition("-")[0] in there:
        return f"{piece} may go there, but not with these captures and steps"
    return f"{piece} may go to {', '.join(there)}"


def turn_decisions(row: Row, turn: str) -> list[int] | None:
    """The actions of one complete turn, in the order ``walk_turns`` gives them; None if it is
    not legal.

    The turn is followed, not searched for: a troll among many dwarfs can have hundreds of
    thousands of ways to trample.

    Args:
        row: [432] a state row.
        turn: in canonical spelling (``normalise_turn``).
    """
    here = row.copy()
    path: list[int] = []

    def decide(action: int) -> bool:
        if not is_legal(here, action):
            return False
        apply(here, action)
        path.append(action)
        return True

    match = _TURN.fullmatch(turn)
    if match is None:
        return path if decide(_AGREEMENT_ACTIONS.get(turn, -1)) else None
    _, start, steps, captures = match.groups()
    route = [int(CELL_OF_SQUARE[SQUARE_BY_NAME[name]]) for name in (start + steps).split("-")]
    if not fields.is_between_turns(here) and here[fields.PENDING_CELL] != route[0]:
        return None
    for step in pairwise(route):
        # A turn that is over must not continue as the other side's.
        turn_is_over = bool(path) and fields.is_between_turns(here)
        if turn_is_over or not decide(_MOVE_BETWEEN.get(step, -1)):
            return None
    targets = sorted(SQUARE_BY_NAME[name] for name in captures.split("x")[1:])
    while not fields.is_between_turns(here):
        answer = DONE
        if here[fields.PENDING] == fields.TAKE_ALL and targets:
            answer = CAPTURE_ALL
        elif here[fields.PENDING] != fields.TRAMPLE_ON and targets:
            answer = CAPTURE + targets.pop(0)
        if not decide(answer):
            return None
    return path if path and _turn_text(row, here, route) == turn else None


def walk_turns(row: Row) -> Iterator[tuple[str, list[int]]]:
    """Every way to complete the turn that is to be played: its notation and its actions.

    In the middle of a turn the notation starts from the troll that is deciding. Each set of
    captures comes once, decided in ascending order; tramples come once a path.

    Args:
        row: [432] a state row.
    """
    origin = [] if fields.is_between_turns(row) else [int(row[fields.PENDING_CELL])]
    unfinished: list[tuple[Row, list[int], list[int]]] = [(row, [], origin)]
    while unfinished:
        here, path, cells = unfinished.pop()
        last_captured = path[-1] if path and path[-1] >= CAPTURE else -1
        for decision in legal_list(here).tolist():
            if repeats_turn(here, decision, last_captured):
                continue
            child = here.copy()
            apply(child, decision)
            route = cells
            if decision < NUM_MOVES:
                route = [*(cells or [int(MOVE_FROM[decision])]), int(MOVE_TO[decision])]
            if fields.is_between_turns(child):
                word = AGREEMENT_WORDS.get(decision) or _turn_text(row, child, route)
                yield word, [*path, decision]
            else:
                unfinished.append((child, [*path, decision], route))


def turn_notation(row: Row, actions: Iterable[int]) -> str:
    """The notation of a turn, or the rest of one, from the legal actions that make it up."""
    after = row.copy()
    route = [] if fields.is_between_turns(row) else [int(row[fields.PENDING_CELL])]
    word = None
    for action in actions:
        word = AGREEMENT_WORDS.get(action)
        if action < NUM_MOVES:
            route = [*(route or [int(MOVE_FROM[action])]), int(MOVE_TO[action])]
        apply(after, action)
    return word or _turn_text(row, after, route)


def turns_of_decisions(row: Row, decisions: Iterable[int]) -> list[str]:
    """The complete turns, in turn notation, that legal decisions of both sides make up. Those of a
    turn that is not complete are left out.

    Args:
        row: [432] the state row in which the first of them is made.
        decisions: the decisions, one after the other.
    """
    before, after, made = row.copy(), row.copy(), []
    turns = []
    for decision in decisions:
        made.append(int(decision))
        apply(after, made[-1])
        if fields.is_between_turns(after):
            turns.append(turn_notation(before, made))
            before, made = after.copy(), []
    return turns


def _turn_text(before: Row, after: Row, route: list[int]) -> str:
    path = "-".join(SQUARE_NAMES[SQUARE_OF_CELL[cell]] for cell in route)
    moved = PIECES[int(before[route[0]])] + path
    by_dwarfs = before[fields.TO_MOVE] == fields.DWARFS
    enemy, left = (TROLL, fields.NUM_TROLLS) if by_dwarfs else (DWARF, fields.NUM_DWARFS)
    if before[left] == after[left]:
        return moved
    lost = np.flatnonzero((before[:NUM_CELLS] == enemy) & (after[:NUM_CELLS] != enemy))
    taken = sorted(SQUARE_NAMES[SQUARE_OF_CELL[cell]] for cell in lost)
    return moved + "".join(f"x{name}" for name in taken)
