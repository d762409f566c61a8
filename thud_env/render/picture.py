"""The board as a list of shapes: what the SVG and the pixels have in common."""

from __future__ import annotations

from collections.abc import Iterator

from thud_env.board import COLUMNS, NUM_SQUARES, SIZE, SQUARE_POSITIONS
from thud_env.render.scene import Scene
from thud_env.render.shapes import (
    BALL_SHAPES,
    DWARF_SHAPES,
    EXTENT,
    STONE_SHAPES,
    TROLL_SHAPES,
    Area,
    Disc,
    Label,
    Point,
    Shape,
    arrow,
    polygon,
    stroke,
)
from thud_env.rules.row import DWARF, EMPTY, STONE, TROLL

PAPER, INK = "#f8f0e0", "#6b4a2d"
FRAME, FRAME_EDGE = "#7a4e2a", "#4c2f18"
SQUARES, GOALS = ("#efdcb4", "#d8b680"), ("#b5d3b0", "#93bb97")
LAST_TURN = "#2a6f97"
CAPTURED = "#b3261e"
TARGET = "#1f5c38"
DECIDING = "#f2b705"


def centre_of(square: int) -> Point:
    """The middle of a square in the picture."""
    row, col = SQUARE_POSITIONS[square]
    return col + 1.5, row + 1.5


def paper() -> Shape:
    """What the board lies on: the whole picture."""
    return polygon((0, 0), (EXTENT, 0), (EXTENT, EXTENT), (0, EXTENT), fill=PAPER)


def board_shapes(goals: tuple[int, ...]) -> Iterator[Shape]:
    """The empty board with its coordinates."""
    for grown, fill in ((0.3, FRAME_EDGE), (0.22, FRAME)):
        yield Area((_octagon(grown),), fill)
    for square, (row, col) in enumerate(SQUARE_POSITIONS):
        fill = (GOALS if square in goals else SQUARES)[(row + col) % 2]
        x, y = col + 1, row + 1
        yield polygon((x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1), fill=fill)
    for i in range(SIZE):
        for margin in (0.42, EXTENT - 0.42):
            yield Label(i + 1.5, margin, COLUMNS[i], 0.3, INK)
            yield Label(margin, i + 1.5, str(i + 1), 0.3, INK)


def _octagon(grown: float) -> tuple[Point, ...]:
    near, far, cut, end = 1 - grown, 16 + grown, 6 - 0.4 * grown, 11 + 0.4 * grown
    return (
        *((cut, near), (end, near), (far, cut), (far, end)),
        *((end, far), (cut, far), (near, end), (near, cut)),
    )


def piece_shapes(piece: int, is_football: bool) -> tuple[Disc | Area, ...]:
    """A piece around (0, 0)."""
    stone = BALL_SHAPES if is_football else STONE_SHAPES
    return {DWARF: DWARF_SHAPES, TROLL: TROLL_SHAPES, STONE: stone}[piece]


def marks_below(scene: Scene) -> Iterator[Shape]:
    """What lies under the pieces: the squares of the last turn, the piece that is deciding."""
    for square in {*scene.path[:1], *scene.path[-1:]}:
        x, y = centre_of(square)
        yield tile(x, y, LAST_TURN, 0.38)
    if scene.deciding is not None:
        x, y = centre_of(scene.deciding)
        yield tile(x, y, DECIDING, 0.75)
    for square in scene.captured:
        x, y = centre_of(square)
        yield tile(x, y, CAPTURED, 0.3)


def tile(x: float, y: float, fill: str, opacity: float) -> Area:
    """The whole of the square around a point."""
    corners = ((x - 0.5, y - 0.5), (x + 0.5, y - 0.5), (x + 0.5, y + 0.5), (x - 0.5, y + 0.5))
    return Area((corners,), fill, opacity)


def pieces_on(scene: Scene) -> Iterator[tuple[int, Point, float]]:
    """Every piece on the board: what, where, how large."""
    for square in range(NUM_SQUARES):
        if scene.pieces[square] != EMPTY:
            yield scene.pieces[square], centre_of(square), 1.0


def pieces_beside(scene: Scene) -> Iterator[tuple[int, Point, float]]:
    """The pieces in the corners that the board leaves free: who decides, or won, and what the
    counts (``marks_beside``) are of.
    """
    shown = scene.winners if scene.to_move is None else (scene.to_move,)
    for i, side in enumerate(shown):
        yield (DWARF, TROLL)[side], (1.75 + 1.55 * i, 15.2), 1.3
    yield DWARF, (14.0, 14.6), 0.9
    yield TROLL, (14.0, 15.6), 0.9


def marks_above(scene: Scene) -> Iterator[Shape]:
    """What lies over the pieces: the arrow of the last turn, crosses, targets."""
    if len(scene.path) > 1:
        points = [centre_of(square) for square in scene.path]
        yield Area(arrow(points, width=0.12, head=0.34, short=0.36), LAST_TURN, 0.8)
    for square in scene.captured:
        x, y = centre_of(square)
        if scene.pieces[square] != EMPTY:  # a dwarf was hurled there
            yield Disc(x, y, 0.49, CAPTURED, 0.9, hole=0.41)
            continue
        reach = 0.3
        lines = (
            *stroke(((x - reach, y - reach), (x + reach, y + reach)), 0.11),
            *stroke(((x - reach, y + reach), (x + reach, y - reach)), 0.11),
        )
        yield Area(lines, CAPTURED, 0.9)
    for square in scene.targets:
        x, y = centre_of(square)
        if scene.pieces[square] == EMPTY:
            yield Disc(x, y, 0.15, TARGET, 0.85)
        else:
            yield Disc(x, y, 0.49, TARGET, 0.9, hole=0.41)


def marks_beside(scene: Scene) -> Iterator[Shape]:
    """What the corners show: how many pieces of a kind are left, and a ring around winners."""
    for piece, y in ((DWARF, 14.6), (TROLL, 15.6)):
        yield Label(15.0, y, str(scene.count(piece)), 0.42, INK)
    if scene.winners:
        for i in range(len(scene.winners)):
            yield Disc(1.75 + 1.55 * i, 15.2, 0.73, DECIDING, 1, hole=0.65)
