"""The shapes that pictures are made of, and those that pieces are made of.

Coordinates are in squares, x to the right and y down, with the board's row 0, column 0 at
x 1 .. 2, y 1 .. 2: around the 15 x 15 grid lies a margin of one square::

        0 1 2     16 17
      0 +-+-+-- - --+-+      the whole picture is 17 x 17
      1 +-+-+-- - --+-+
      2 | |A2 ...      |
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from math import cos, hypot, pi, sin

EXTENT = 17
"""The picture's width and height, in squares."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Disc:
    """A filled circle, or a ring if ``hole`` is not 0."""

    x: float
    y: float
    radius: float
    fill: str
    opacity: float = 1
    hole: float = 0

    def placed(self, x: float, y: float, scale: float = 1) -> Disc:
        """The disc with its origin moved to a point."""
        return replace(
            self,
            x=x + scale * self.x,
            y=y + scale * self.y,
            radius=scale * self.radius,
            hole=scale * self.hole,
        )


@dataclass(frozen=True)
class Area:
    """Polygons filled together, as one area. All run the same way round."""

    polygons: tuple[tuple[Point, ...], ...]
    fill: str
    opacity: float = 1

    def placed(self, x: float, y: float, scale: float = 1) -> Area:
        """The area with its origin moved to a point."""
        moved = tuple(
            tuple((x + scale * px, y + scale * py) for px, py in polygon)
            for polygon in self.polygons
        )
        return replace(self, polygons=moved)


@dataclass(frozen=True)
class Label:
    """Text of letters and digits, centred on a point."""

    x: float
    y: float
    text: str
    height: float
    """Of a capital letter."""
    fill: str


Shape = Disc | Area | Label


def polygon(*points: Point, fill: str) -> Area:
    """One filled polygon."""
    return Area((points,), fill)


def regular(sides: int, radius: float, turn: float = 0) -> tuple[Point, ...]:
    """A regular polygon's corners around (0, 0), the first one ``turn`` of a circle from north."""
    angles = [2 * pi * (i / sides + turn) for i in range(sides)]
    return tuple((radius * sin(angle), -radius * cos(angle)) for angle in angles)


def stroke(points: Iterable[Point], width: float) -> tuple[tuple[Point, ...], ...]:
    """The polygons that make up a line through points, its corners rounded."""
    line = list(points)
    polygons: list[tuple[Point, ...]] = []
    for (x, y), (to_x, to_y) in pairwise(line):
        length = hypot(to_x - x, to_y - y)
        across_x, across_y = (y - to_y) / length * width / 2, (to_x - x) / length * width / 2
        polygons.append(
            (
                (x - across_x, y - across_y),
                (to_x - across_x, to_y - across_y),
                (to_x + across_x, to_y + across_y),
                (x + across_x, y + across_y),
            )
        )
    for x, y in line:
        polygons.append(tuple((x + px, y + py) for px, py in regular(12, width / 2)))
    return tuple(polygons)


def arrow(
    points: list[Point], width: float, head: float, short: float
) -> tuple[tuple[Point, ...], ...]:
    """The polygons of an arrow through points, its tip ``short`` of the last of them."""
    (x, y), (end_x, end_y) = points[-2:]
    length = hypot(end_x - x, end_y - y)
    along_x, along_y = (end_x - x) / length, (end_y - y) / length
    tip_x, tip_y = end_x - short * along_x, end_y - short * along_y
    neck_x, neck_y = tip_x - head * along_x, tip_y - head * along_y
    wing = head * 0.6
    triangle = (
        (tip_x, tip_y),
        (neck_x - wing * along_y, neck_y + wing * along_x),
        (neck_x + wing * along_y, neck_y - wing * along_x),
    )
    return (*stroke([*points[:-1], (neck_x, neck_y)], width), triangle)


# -- pieces --------------------------------------------------------------------------------
#
# Around (0, 0), within half a square: a dwarf is round, with helmet and beard; a troll a
# boulder with eyes. They differ in outline and in brightness as well as in colour.

DWARF_SHAPES: tuple[Disc | Area, ...] = (
    Disc(0, 0, 0.4, "#4a1a10"),
    Disc(0, 0, 0.355, "#b4452c"),
    polygon((-0.2, 0), (0.2, 0), (0.17, 0.14), (0, 0.33), (-0.17, 0.14), fill="#f3dfae"),
    polygon((-0.15, -0.1), (0.15, -0.1), (0.15, 0.04), (-0.15, 0.04), fill="#e2a87c"),
    polygon(
        *((-0.21, -0.07), (-0.17, -0.21), (0, -0.31), (0.17, -0.21), (0.21, -0.07)),
        fill="#5c6470",
    ),
    polygon((-0.23, -0.11), (0.23, -0.11), (0.23, -0.055), (-0.23, -0.055), fill="#d9a441"),
    Disc(-0.07, 0, 0.028, "#2a120c"),
    Disc(0.07, 0, 0.028, "#2a120c"),
)

_BOULDER: tuple[Point, ...] = (
    *((-0.16, -0.45), (0.2, -0.44), (0.4, -0.24), (0.46, 0.1), (0.36, 0.38)),
    *((0.08, 0.46), (-0.26, 0.43), (-0.45, 0.18), (-0.42, -0.22)),
)
TROLL_SHAPES: tuple[Disc | Area, ...] = (
    Area((_BOULDER,), "#26302b"),
    Area((_BOULDER,), "#7f9084").placed(0, 0, 0.89),
    polygon((-0.13, -0.38), (0.17, -0.38), (0.08, -0.25), (-0.2, -0.26), fill="#a3b1a5"),
    polygon((-0.3, -0.17), (0.31, -0.17), (0.27, -0.04), (-0.26, -0.04), fill="#3c4a42"),
    Disc(-0.13, -0.05, 0.07, "#fbe48a"),
    Disc(0.14, -0.05, 0.07, "#fbe48a"),
    Disc(-0.13, -0.04, 0.03, "#26302b"),
    Disc(0.14, -0.04, 0.03, "#26302b"),
    polygon((-0.22, 0.16), (0.22, 0.16), (0.17, 0.26), (-0.17, 0.26), fill="#26302b"),
    polygon((-0.15, 0.26), (-0.1, 0.14), (-0.05, 0.26), fill="#eef6f7"),
    polygon((0.05, 0.26), (0.1, 0.14), (0.15, 0.26), fill="#eef6f7"),
)

_MONOLITH: tuple[Point, ...] = (
    *((-0.1, -0.44), (0.14, -0.41), (0.26, -0.1), (0.33, 0.38)),
    *((0.1, 0.45), (-0.3, 0.41), (-0.27, -0.06)),
)
STONE_SHAPES: tuple[Disc | Area, ...] = (
    Area((_MONOLITH,), "#141318"),
    Area((_MONOLITH,), "#4b4754").placed(0, 0, 0.88),
    polygon(
        (-0.08, -0.37), (0.05, -0.33), (-0.02, 0.36), (-0.25, 0.34), (-0.22, -0.05), fill="#6f6a7a"
    ),
)

BALL_SHAPES: tuple[Disc | Area, ...] = (
    Disc(0, 0, 0.38, "#1d1b20"),
    Disc(0, 0, 0.335, "#f7f3ea"),
    Area((regular(5, 0.13),), "#2b2930"),
    *(
        Area(stroke(((0.11 * x, 0.11 * y), (0.24 * x, 0.24 * y)), 0.045), "#2b2930")
        for x, y in regular(5, 1)
    ),
    *(
        Area(
            (tuple((0.28 * x + px, 0.28 * y + py) for px, py in regular(5, 0.075, 0.5)),), "#2b2930"
        )
        for x, y in regular(5, 1)
    ),
)
