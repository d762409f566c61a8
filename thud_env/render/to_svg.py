"""Positions as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from thud_env.board import SQUARE_NAMES
from thud_env.render.picture import board_shapes, marks_above, marks_below, piece_shapes, pieces_on
from thud_env.render.scene import HasRow, Scene, scene_of
from thud_env.render.shapes import EXTENT, Area, Disc, Shape
from thud_env.rules.row import DWARF, STONE, TROLL

_IDS = {DWARF: "thud-dwarf", TROLL: "thud-troll", STONE: "thud-stone"}


def svg(
    position: HasRow,
    *,
    last_turn: str | None = None,
    targets: str | Iterable[str] | None = None,
    size: int = 480,
) -> str:
    """A position as an SVG document.

    Args:
        position: a ``Position``.
        last_turn: the turn that led there, in notation, to be drawn as an arrow.
        targets: squares to be marked, by name, or one square, to mark where the piece on it
            may go. None marks what a troll in the middle of its turn may do.
        size: width and height in pixels.

    Raises:
        ValueError: if a turn or a square cannot be read.
    """
    scene = scene_of(position, last_turn, targets)
    return "\n".join(_document(scene, size)) + "\n"


def _document(scene: Scene, size: int) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="0 0 {EXTENT} {EXTENT}" width="{size}" height="{size}" role="img" '
        'font-family="Helvetica, Arial, sans-serif" text-anchor="middle" font-weight="bold">'
    )
    yield f"<title>{escape(_title(scene))}</title>"
    yield "<defs>"
    for piece, name in _IDS.items():
        yield f'<g id="{_id(name, scene)}">'
        yield from map(_element, piece_shapes(piece, scene.is_football))
        yield "</g>"
    yield "</defs>"
    yield from map(_element, board_shapes(scene.goals))
    yield from map(_element, marks_below(scene))
    for piece, (x, y), scale in pieces_on(scene):
        scaled = "" if scale == 1 else f" scale({_number(scale)})"
        yield (
            f'<use xlink:href="#{_id(_IDS[piece], scene)}" '
            f'transform="translate({_number(x)} {_number(y)}){scaled}"/>'
        )
    yield from map(_element, marks_above(scene))
    yield "</svg>"


def _id(name: str, scene: Scene) -> str:
    # Several pictures may stand on one page, and share what they define.
    return "thud-ball" if scene.is_football and name == "thud-stone" else name


def _title(scene: Scene) -> str:
    if scene.to_move is not None:
        state = f"{('dwarfs', 'trolls')[scene.to_move]} to move"
    elif len(scene.winners) == 2:
        state = "drawn"
    else:
        state = f"{('dwarfs', 'trolls')[scene.winners[0]]} won"
    last = "-".join(SQUARE_NAMES[square] for square in scene.path)
    return f"{scene.rules.title}: {state}" + (f", after {last}" if last else "")


def _number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")


def _element(shape: Shape) -> str:
    if isinstance(shape, Disc):
        seen = "" if shape.opacity == 1 else f' opacity="{_number(shape.opacity)}"'
        at = f'cx="{_number(shape.x)}" cy="{_number(shape.y)}"'
        if not shape.hole:
            return f'<circle {at} r="{_number(shape.radius)}" fill="{shape.fill}"{seen}/>'
        middle, width = (shape.radius + shape.hole) / 2, shape.radius - shape.hole
        return (
            f'<circle {at} r="{_number(middle)}" fill="none" stroke="{shape.fill}" '
            f'stroke-width="{_number(width)}"{seen}/>'
        )
    if isinstance(shape, Area):
        seen = "" if shape.opacity == 1 else f' opacity="{_number(shape.opacity)}"'
        path = "".join(
            "M" + "L".join(f"{_number(x)} {_number(y)}" for x, y in polygon) + "Z"
            for polygon in shape.polygons
        )
        return f'<path d="{path}" fill="{shape.fill}"{seen}/>'
    # A capital letter is some 0.72 of the font's size high.
    baseline = _number(shape.y + shape.height / 2)
    return (
        f'<text x="{_number(shape.x)}" y="{baseline}" '
        f'font-size="{_number(shape.height / 0.72)}" fill="{shape.fill}">{shape.text}</text>'
    )
