"""Positions as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Never

from thud_env.arguments import as_count, refuse_unknown
from thud_env.board import SQUARE_NAMES
from thud_env.render.picture import (
    board_shapes,
    marks_above,
    marks_below,
    marks_beside,
    paper,
    piece_shapes,
    pieces_beside,
    pieces_on,
)
from thud_env.render.scene import HasRow, Scene, scene_of
from thud_env.render.shapes import EXTENT, Area, Label, Shape
from thud_env.rules.row import DWARF, STONE, TROLL

Element = tuple[str, dict[str, str], str]
"""Tag, attributes, text."""


class Picture(str):
    """The text of an SVG document, which notebooks show as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


_IDS = {DWARF: "thud-dwarf", TROLL: "thud-troll", STONE: "thud-stone"}


def svg(
    position: HasRow,
    *,
    last_turn: str | None = None,
    targets: str | Iterable[str] | None = None,
    size: int = 480,
    **unknown: Never,
) -> Picture:
    """A position as an SVG document: text, which notebooks show as a picture.

    Args:
        position: a ``Position``.
        last_turn: the turn that led there, in notation, to be drawn as an arrow.
        targets: squares to be marked, by name, or one square, to mark where the piece on it
            may go. None marks what a troll in the middle of its turn may do.
        size: width and height in pixels.

    Raises:
        ThudError: if a turn or a square cannot be read, or ``size`` is not an integer, 1 or more.
        TypeError: if ``targets`` are no list, or for any other keyword, naming the nearest there
            is.
    """
    refuse_unknown(svg, unknown)
    scene = scene_of(position, last_turn, targets)
    marks = (*marks_above(scene), *marks_beside(scene))
    return document(scene, size, marks_below(scene), marks, _title(scene))


def document(
    scene: Scene, size: int, below: Iterable[Shape], above: Iterable[Shape], title: str
) -> Picture:
    """A scene with shapes under its pieces and over them."""
    return Picture("\n".join(_lines(scene, size, below, above, title)) + "\n")


def _lines(
    scene: Scene, size: int, below: Iterable[Shape], above: Iterable[Shape], title: str
) -> Iterator[str]:
    yield opening(size)
    yield f"<title>{escape(title)}</title>"
    yield from definitions(scene.is_football)
    yield markup(paper())
    yield from map(markup, board_shapes(scene.goals))
    yield from map(markup, below)
    for piece, (x, y), scale in (*pieces_on(scene), *pieces_beside(scene)):
        scaled = "" if scale == 1 else f" scale({number(scale)})"
        yield (
            f'<use xlink:href="#{piece_id(piece, scene.is_football)}" '
            f'transform="translate({number(x)} {number(y)}){scaled}"/>'
        )
    yield from map(markup, above)
    yield "</svg>"


def opening(size: int, height: float = EXTENT) -> str:
    """The tag that a picture begins with, ``size`` pixels wide and ``height`` squares high.

    Raises:
        ThudError: if ``size`` is not an integer, 1 or more.
    """
    size = as_count("size", size)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="0 0 {EXTENT} {number(height)}" width="{size}" '
        f'height="{number(round(size * height / EXTENT, 1))}" role="img" '
        'font-family="Helvetica, Arial, sans-serif" text-anchor="middle" font-weight="bold">'
    )


def definitions(is_football: bool) -> Iterator[str]:
    """The pieces, each drawn once, to be used by its ``piece_id``."""
    yield "<defs>"
    for piece in _IDS:
        yield f'<g id="{piece_id(piece, is_football)}">'
        yield from map(markup, piece_shapes(piece, is_football))
        yield "</g>"
    yield "</defs>"


def piece_id(piece: int, is_football: bool) -> str:
    """What a piece is called in a picture."""
    # Several pictures may stand on one page, and share what they define.
    return "thud-ball" if is_football and piece == STONE else _IDS[piece]


def _title(scene: Scene) -> str:
    if scene.to_move is not None:
        state = f"{('dwarfs', 'trolls')[scene.to_move]} to move"
    elif len(scene.winners) == 2:
        state = "drawn"
    else:
        state = f"{('dwarfs', 'trolls')[scene.winners[0]]} won"
    last = "-".join(SQUARE_NAMES[square] for square in scene.path)
    return f"{scene.rules.title}: {state}" + (f", after {last}" if last else "")


def number(value: float, digits: int = 3) -> str:
    """A number rounded; of a coordinate three digits are a thousandth of a square."""
    return f"{value:.{digits}f}".rstrip("0").rstrip(".")


def element(shape: Shape) -> Element:
    """A shape as an SVG element: its tag, its attributes, and its text, if it has one."""
    if isinstance(shape, Label):
        return (
            "text",
            {
                "x": number(shape.x),
                # A capital letter is some 0.72 of the font's size high.
                "y": number(shape.y + shape.height / 2),
                "font-size": number(shape.height / 0.72),
                "fill": shape.fill,
            },
            shape.text,
        )
    seen = {} if shape.opacity == 1 else {"opacity": number(shape.opacity)}
    if isinstance(shape, Area):
        path = "".join(
            "M" + "L".join(f"{number(x)} {number(y)}" for x, y in polygon) + "Z"
            for polygon in shape.polygons
        )
        return "path", {"d": path, "fill": shape.fill, **seen}, ""
    place = {"cx": number(shape.x), "cy": number(shape.y)}
    if not shape.hole:
        return "circle", {**place, "r": number(shape.radius), "fill": shape.fill, **seen}, ""
    middle, width = (shape.radius + shape.hole) / 2, shape.radius - shape.hole
    ring = {"r": number(middle), "fill": "none", "stroke": shape.fill}
    return "circle", {**place, **ring, "stroke-width": number(width), **seen}, ""


def markup(shape: Shape) -> str:
    """A shape as text."""
    tag, attributes, text = element(shape)
    given = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<{tag}{given}>{escape(text)}</{tag}>" if text else f"<{tag}{given}/>"
