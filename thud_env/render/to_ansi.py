"""Positions as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Never

from thud_env.arguments import refuse_unknown
from thud_env.board import COLUMNS, SIZE, SQUARE_POSITIONS
from thud_env.notation.turns import PIECES
from thud_env.render.scene import HasRow, Scene, scene_of
from thud_env.rules.row import DWARF, EMPTY, STONE, TROLL

# Colours by their numbers among a terminal's 256.
_LIGHT, _DARK, _GOAL = 223, 180, 151
_LAST_TURN, _CAPTURED, _DECIDING = 110, 174, 220
_INK = {EMPTY: 137, DWARF: 88, TROLL: 22, STONE: 16}
_TARGET_INK, _CROSS_INK = 28, 124
_RESET = "\x1b[0m"

_SQUARE_AT = {position: square for square, position in enumerate(SQUARE_POSITIONS)}


def ansi(
    position: HasRow,
    *,
    last_turn: str | None = None,
    targets: str | Iterable[str] | None = None,
    color: bool = True,
    **unknown: Never,
) -> str:
    """A position as text, with the escape sequences that colour it.

    ==========  ======================================================================
    characters  show
    ==========  ======================================================================
    ``d T R``   a dwarf, a troll, the stone, Rock or ball
    ``[T]``     the piece that moved in the last turn; ``o`` is where it came from
    ``<T>``     the troll that may now capture or trample on, or the piece asked for
    ``(d)``     a dwarf that may be captured; ``(T)`` a troll that may be hurled at
    ``*``       a square where a piece may go
    ``x``       where something was captured
    ==========  ======================================================================

    Args:
        position: a ``Position``.
        last_turn, targets: as for ``svg``.
        color: whether to colour it. The text is the same without.

    Raises:
        ThudError: if a turn or a square cannot be read.
        TypeError: as for ``svg``.
    """
    refuse_unknown(ansi, unknown)
    scene = scene_of(position, last_turn, targets)
    names = "   " + "".join(f" {name} " for name in COLUMNS)
    lines = [names.rstrip()]
    for row in range(SIZE):
        cells = []
        for col in range(SIZE):
            square = _SQUARE_AT.get((row, col))
            cells.append("   " if square is None else _cell(scene, square, row + col, color))
        lines.append(f"{row + 1:2d} {''.join(cells)} {row + 1}")
    return "\n".join([*lines, names.rstrip()])


def _cell(scene: Scene, square: int, parity: int, color: bool) -> str:
    piece = scene.pieces[square]
    text, ink = _text(scene, square, piece)
    if not color:
        return text
    ground = (_LIGHT, _DARK)[parity % 2]
    if square in scene.goals:
        ground = _GOAL
    if square in (*scene.path[:1], *scene.path[-1:]):
        ground = _LAST_TURN
    if square in scene.captured:
        ground = _CAPTURED
    if square == scene.deciding:
        ground = _DECIDING
    bold = "" if ink == _INK[EMPTY] else "1;"
    return f"\x1b[{bold}38;5;{ink};48;5;{ground}m{text}{_RESET}"


def _text(scene: Scene, square: int, piece: int) -> tuple[str, int]:
    """The three characters of a square, and their colour."""
    if piece == EMPTY:
        if square in scene.targets:
            return " * ", _TARGET_INK
        if square in scene.captured:
            return " x ", _CROSS_INK
        return (" o " if square in scene.path[:1] else " . "), _INK[EMPTY]
    left, right = " ", " "
    if square == scene.deciding:
        left, right = "<", ">"
    elif square in scene.targets:
        left, right = "(", ")"
    elif square in scene.path[-1:]:
        left, right = "[", "]"
    return f"{left}{PIECES[piece]}{right}", _INK[piece]
