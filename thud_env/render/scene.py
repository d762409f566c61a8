"""What a picture shows, whatever it is drawn with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from thud_env.actions import CAPTURE, CAPTURE_ALL, MOVE_FROM, MOVE_TO, NUM_MOVES
from thud_env.arguments import as_list, no_position, shown
from thud_env.board import (
    CELL_OF_SQUARE,
    CELL_STEP,
    GOAL_SQUARES,
    SQUARE_OF_CELL,
    square_named,
)
from thud_env.errors import ThudError
from thud_env.notation.turns import AGREEMENT_WORDS, normalise_turn
from thud_env.rules import row as fields
from thud_env.rules.legal import legal_list
from thud_env.rules.play import margin
from thud_env.rules.row import DWARF, DWARFS, TROLLS, Row
from thud_env.rulesets import Ruleset


class HasRow(Protocol):
    """A ``Position``, or anything else with a state row."""

    @property
    def row(self) -> Row:
        """[432] int16."""
        ...


@dataclass(frozen=True)
class Scene:
    """A position as it is to be drawn. Squares are numbers, 0 .. 164."""

    rules: Ruleset
    pieces: tuple[int, ...]
    """[165] what stands on each square: EMPTY, DWARF, TROLL or STONE."""
    to_move: int | None
    """The side that decides next, 0 or 1; None once the battle is over."""
    winners: tuple[int, ...]
    """The side that won; both if the battle was drawn; none while it lasts."""
    deciding: int | None
    """Where the troll stands that may capture or trample on, or whose targets are marked."""
    path: tuple[int, ...]
    """The squares that the last turn went by, first to last."""
    captured: tuple[int, ...]
    """Where the last turn captured."""
    targets: tuple[int, ...]
    """Where a piece may go, or what may be captured."""
    goals: tuple[int, ...]
    """The goal squares, in the games that have them."""

    @property
    def is_football(self) -> bool:
        """Whether the stone is a ball."""
        return self.rules.stone_goes == "far"

    def count(self, piece: int) -> int:
        """How many pieces of a kind stand on the board."""
        return self.pieces.count(piece)


def scene_of(
    position: HasRow,
    last_turn: str | None = None,
    targets: str | Iterable[str] | None = None,
) -> Scene:
    """What a picture of a position shows.

    Args:
        position: what is drawn.
        last_turn: the turn that led there, in notation, to be drawn as well.
        targets: squares to be marked, by name. The name of one square marks where the piece
            on it may go. None marks what the troll that is deciding may do.

    Raises:
        ThudError: if a turn or a square cannot be read.
        TypeError: if it is not a position, or ``targets`` are neither text nor a list.
    """
    if not hasattr(position, "row"):
        raise TypeError(no_position(position))
    row = position.row
    rules = fields.ruleset_of(row)
    deciding = None
    if not fields.is_between_turns(row):
        deciding = int(SQUARE_OF_CELL[row[fields.PENDING_CELL]])
    if isinstance(targets, str):
        deciding = square_named(targets)
        marked = _targets_of(row, deciding)
    elif targets is not None:
        marked = tuple(square_named(name) for name in as_list("targets", targets))
    else:
        marked = () if deciding is None else _targets_of(row, deciding)
    path, captured = _read_turn(last_turn)
    over = row[fields.TERMINATION] != fields.ONGOING
    score = int(margin(row))
    winners = (DWARFS, TROLLS) if score == 0 else (DWARFS if score > 0 else TROLLS,)
    return Scene(
        rules=rules,
        pieces=tuple(row[CELL_OF_SQUARE].tolist()),
        to_move=None if over else int(row[fields.TO_MOVE]),
        winners=winners if over else (),
        deciding=deciding,
        path=path,
        captured=captured,
        targets=marked,
        goals=GOAL_SQUARES if rules.stone_wins else (),
    )


def _targets_of(row: Row, square: int) -> tuple[int, ...]:
    """Where the piece on a square may go, and what may be captured, in ascending order."""
    legal = legal_list(row)
    moves = legal[legal < NUM_MOVES]
    ends = MOVE_TO[moves[MOVE_FROM[moves] == CELL_OF_SQUARE[square]]]
    captures = legal[(legal >= CAPTURE) & (legal < CAPTURE_ALL)] - CAPTURE
    marked = {*SQUARE_OF_CELL[ends].tolist(), *captures.tolist()}
    if row[fields.PENDING] == fields.TAKE_ALL:  # all or none: there is no action for one
        beside = CELL_OF_SQUARE[square] + CELL_STEP
        marked.update(SQUARE_OF_CELL[beside[row[beside] == DWARF]].tolist())
    return tuple(sorted(marked))


def _read_turn(turn: str | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The squares a turn went by, and those it captured on."""
    word = "" if turn is None else normalise_turn(turn)
    if not word or word in AGREEMENT_WORDS.values():
        return (), ()
    route, *captured = word[1:].split("x")
    squares = route.split("-")
    if any(one == other for one, other in pairwise(squares)):
        raise ThudError(f"turn {shown(turn)} goes from a square to itself")
    return (
        tuple(square_named(name) for name in squares),
        tuple(square_named(name) for name in captured),
    )
