"""Positions as pixels, without a display and without any other package."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Never

import numpy as np
from numpy.typing import NDArray

from thud_env.arguments import as_count, refuse_unknown
from thud_env.render.font import GLYPH_HEIGHT, GLYPH_WIDTH, glyph
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
from thud_env.render.shapes import EXTENT, Area, Disc, Label, Point, Shape

Canvas = NDArray[np.float32]
SAMPLES = 4
"""Samples along each side of a pixel, for smooth edges."""


def rgb_array(
    position: HasRow,
    *,
    last_turn: str | None = None,
    targets: str | Iterable[str] | None = None,
    size: int = 544,
    **unknown: Never,
) -> NDArray[np.uint8]:
    """A position as pixels, [size, size, 3] uint8.

    Args:
        position: a ``Position``.
        last_turn, targets: as for ``svg``.
        size: width and height, 102 at least; a multiple of 17 gives the sharpest edges.

    Raises:
        ThudError: if a turn or a square cannot be read, or ``size`` is not such a number.
        TypeError: as for ``svg``.
    """
    refuse_unknown(rgb_array, unknown)
    return still(scene_of(position, last_turn, targets), checked_size(size))


def still(scene: Scene, size: int) -> NDArray[np.uint8]:
    """A scene with its marks, [size, size, 3] uint8."""
    pieces = (*pieces_on(scene), *pieces_beside(scene))
    marks = (*marks_above(scene), *marks_beside(scene))
    return paint(scene, marks_below(scene), pieces, marks, size)


def checked_size(size: int) -> int:
    """The size, unless it is too small to read.

    Raises:
        ThudError: if it is not an integer, 102 or more.
    """
    return as_count("size", size, least=6 * EXTENT)


def paint(
    scene: Scene,
    below: Iterable[Shape],
    pieces: Iterable[tuple[int, Point, float]],
    above: Iterable[Shape],
    size: int,
) -> NDArray[np.uint8]:
    """The board of a scene with what lies on it, [size, size, 3] uint8.

    Args:
        scene: whose board.
        below, above: what lies under the pieces, and over them.
        pieces: what, where and how large, 1 being that of a piece on a square.
        size: width and height.
    """
    canvas = _board(scene.goals, size).copy()
    unit = size / EXTENT
    for shape in below:
        _draw(canvas, shape, unit)
    for piece, (x, y), scale in pieces:
        left, top = int(x * unit), int(y * unit)
        stamp = _stamp(
            piece,
            scene.is_football,
            scale,
            unit,
            round(x * unit - left, 6),
            round(y * unit - top, 6),
        )
        reach = stamp.shape[0] // 2
        part = canvas[top - reach : top + reach, left - reach : left + reach]
        part *= 1 - stamp[..., 3:]
        part += stamp[..., :3]
    for shape in above:
        _draw(canvas, shape, unit)
    return np.rint(canvas).astype(np.uint8)


@lru_cache(maxsize=8)
def _board(goals: tuple[int, ...], size: int) -> Canvas:
    """The empty board, [size, size, 3]."""
    canvas = np.zeros((size, size, 3), dtype=np.float32)
    for shape in (paper(), *board_shapes(goals)):
        _draw(canvas, shape, size / EXTENT)
    canvas.flags.writeable = False
    return canvas


@lru_cache(maxsize=256)
def _stamp(piece: int, is_football: bool, scale: float, unit: float, x: float, y: float) -> Canvas:
    """A piece to be laid over the board.

    Args:
        piece, is_football: which one.
        scale: how large, 1 for those on squares.
        unit: pixels a square.
        x, y: where in its pixel the piece's middle lies.

    Returns:
        [2 r, 2 r, 4]: colours times how far they cover, and how far they cover, 0 .. 1. The
        middle is in pixel (r, r).
    """
    reach = int(np.ceil(0.5 * scale * unit)) + 1
    stamp = np.zeros((2 * reach, 2 * reach, 4), dtype=np.float32)
    for shape in piece_shapes(piece, is_football):
        placed = shape.placed((reach + x) / unit, (reach + y) / unit, scale)
        _draw(stamp, placed, unit)
    stamp.flags.writeable = False
    return stamp


def _draw(canvas: Canvas, shape: Shape, unit: float) -> None:
    """Draw a shape on [H, W, 3] colours, or on a stamp, [H, W, 4]."""
    if isinstance(shape, Label):
        _write(canvas, shape, unit)
        return
    if isinstance(shape, Disc):
        left, right = shape.x - shape.radius, shape.x + shape.radius
        top, bottom = shape.y - shape.radius, shape.y + shape.radius
    else:
        points = np.array([point for polygon in shape.polygons for point in polygon])
        (left, top), (right, bottom) = points.min(axis=0), points.max(axis=0)
    height, width = canvas.shape[:2]
    x0, x1 = max(0, int(left * unit)), min(width, int(np.ceil(right * unit)))
    y0, y1 = max(0, int(top * unit)), min(height, int(np.ceil(bottom * unit)))
    ticks = (np.arange(SAMPLES) + 0.5) / SAMPLES
    xs = ((np.arange(x0, x1)[:, np.newaxis] + ticks) / unit).ravel()
    ys = ((np.arange(y0, y1)[:, np.newaxis] + ticks) / unit).ravel()
    inside = _disc(shape, xs, ys) if isinstance(shape, Disc) else _area(shape, xs, ys)
    cover = inside.reshape(y1 - y0, SAMPLES, x1 - x0, SAMPLES).mean(axis=(1, 3), dtype=np.float32)
    _blend(canvas[y0:y1, x0:x1], cover * np.float32(shape.opacity), shape.fill)


def _disc(disc: Disc, xs: NDArray[np.float64], ys: NDArray[np.float64]) -> NDArray[np.bool_]:
    squared = (xs - disc.x) ** 2 + ((ys - disc.y) ** 2)[:, np.newaxis]
    return (squared <= disc.radius**2) & (squared >= disc.hole**2)


def _area(area: Area, xs: NDArray[np.float64], ys: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which points lie in one of the polygons: those that a ray leaves an odd number of times."""
    inside = np.zeros((len(ys), len(xs)), dtype=np.bool_)
    for polygon in area.polygons:
        odd = np.zeros_like(inside)
        for (x, y), (to_x, to_y) in zip(polygon, polygon[1:] + polygon[:1], strict=True):
            crossed = (ys < y) != (ys < to_y)
            if not crossed.any():
                continue
            at = x + (ys[crossed] - y) * ((to_x - x) / (to_y - y))
            odd[crossed] ^= xs < at[:, np.newaxis]
        inside |= odd
    return inside


def _write(canvas: Canvas, label: Label, unit: float) -> None:
    scale = max(1, round(label.height * unit / GLYPH_HEIGHT))
    pitch = (GLYPH_WIDTH + 1) * scale
    x = round(label.x * unit - (len(label.text) * pitch - scale) / 2)
    y = round(label.y * unit - GLYPH_HEIGHT * scale / 2)
    for letter in label.text:
        cover = np.kron(glyph(letter), np.ones((scale, scale), dtype=np.float32))
        part = canvas[y : y + cover.shape[0], x : x + cover.shape[1]]
        _blend(part, cover[: part.shape[0], : part.shape[1]], label.fill)
        x += pitch


def _blend(part: Canvas, cover: NDArray[np.float32], fill: str) -> None:
    colour = [int(fill[i : i + 2], 16) for i in (1, 3, 5)] + [1] * (part.shape[-1] - 3)
    part += cover[..., np.newaxis] * (np.array(colour, dtype=np.float32) - part)
