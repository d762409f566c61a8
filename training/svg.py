"""Figures as pictures, written as SVG by hand: white paper, one font, three kinds of marks."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape

BLUE, RED = "#2166ac", "#b2182b"
"""The colours of the dwarfs and of the trolls, safe for colour blindness."""
_SIZE = 13


def picture(width: float, height: float, parts: Iterable[str]) -> str:
    """A whole file.

    Args:
        width, height: in pixels.
        parts: the elements, those below first.
    """
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="Helvetica, Arial, sans-serif" '
        f'font-size="{_SIZE}">'
    )
    return "\n".join((opening, rectangle(0, 0, width, height, "#ffffff"), *parts, "</svg>", ""))


def text(
    x: float,
    y: float,
    words: str,
    anchor: str = "start",
    *,
    size: int = _SIZE,
    ink: str = "#000000",
    bold: bool = False,
) -> str:
    """A line of text; ``anchor`` says which end of it is at x: start, middle or end."""
    attributes = [f'x="{x:g}" y="{y:g}"']
    attributes += [f'text-anchor="{anchor}"'] if anchor != "start" else []
    attributes += [f'font-size="{size}"'] if size != _SIZE else []
    attributes += [f'fill="{ink}"'] if ink != "#000000" else []
    attributes += ['font-weight="bold"'] if bold else []
    return f"<text {' '.join(attributes)}>{escape(words)}</text>"


def line(
    x: float,
    y: float,
    to_x: float,
    to_y: float,
    colour: str,
    width: float = 1,
    dash: str = "",
) -> str:
    """A straight line; ``dash`` as SVG has it."""
    place = f'x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"'
    return f'<line {place} stroke="{colour}" stroke-width="{width}"{_dashed(dash)}/>'


def curve(points: Iterable[tuple[float, float]], colour: str, width: float, dash: str = "") -> str:
    """A line through points, likewise."""
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    stroke = f'stroke="{colour}" stroke-width="{width}"{_dashed(dash)}'
    return f'<polyline points="{places}" fill="none" {stroke}/>'


def _dashed(dash: str) -> str:
    return f' stroke-dasharray="{dash}"' if dash else ""


def rectangle(x: float, y: float, width: float, height: float, colour: str, more: str = "") -> str:
    """A filled rectangle, with ``more`` attributes."""
    place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    return f'<rect {place} fill="{colour}"{more and " " + more}/>'
