"""A policy's probabilities over a position: where it would move from, and where to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Never

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thud_env.actions import (
    CAPTURE,
    CAPTURE_ALL,
    MOVE_FROM,
    MOVE_TO,
    NUM_ACTIONS,
    NUM_MOVES,
    describe_action,
)
from thud_env.arguments import as_array, refuse_unknown
from thud_env.board import NUM_SQUARES, SQUARE_OF_CELL
from thud_env.errors import ThudError
from thud_env.render.picture import centre_of, tile
from thud_env.render.scene import HasRow, scene_of
from thud_env.render.shapes import Area, Disc, Shape, arrow
from thud_env.render.to_svg import Picture, document
from thud_env.rules.legal import legal_list

FROM, TO = "#d9480f", "#1864ab"
"""The colours of from- and of to-squares."""
_MOST_ARROWS = 5
_LEAST = 0.002
"""Probabilities below this are not drawn."""


def heat(
    position: HasRow, probabilities: ArrayLike, *, size: int = 480, **unknown: Never
) -> Picture:
    """A position with a policy's probabilities over it, as an SVG document.

    Orange squares are those that it moves from, blue discs those that it moves to or captures on:
    the stronger, the likelier, as against the likeliest of its kind. Arrows show its five likeliest
    moves.

    Args:
        position: a ``Position``.
        probabilities: [6470] of every action, as ``policy.judge(position)`` gives them; those of
            actions that are not legal are 0.
        size: width and height in pixels.

    Raises:
        ThudError: if these are no probabilities of the legal actions.
        TypeError: for any other keyword, naming the nearest there is.
    """
    refuse_unknown(heat, unknown)
    scene = scene_of(position, targets=())
    chances = _checked(position, probabilities)
    likeliest = int(np.argmax(chances))
    title = f"{scene.rules.title}: {describe_action(likeliest)} with {chances[likeliest]:.0%}"
    return document(scene, size, tuple(_below(chances)), tuple(_above(chances)), title)


def _checked(position: HasRow, probabilities: ArrayLike) -> NDArray[np.float64]:
    chances = as_array("probabilities", probabilities, np.float64)
    if chances.shape != (NUM_ACTIONS,):
        raise ThudError(f"probabilities of shape {chances.shape}: ({NUM_ACTIONS},) would be right")
    if not np.isfinite(chances).all() or (chances < 0).any() or chances.sum() <= 0:
        raise ThudError("probabilities must be finite, 0 or more, and not all 0")
    legal = legal_list(position.row)
    if chances.sum() - chances[legal].sum() > 1e-3 * chances.sum():
        raise ThudError("probabilities of actions that are not legal must be 0")
    return chances / chances.sum()


def squares_of(chances: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How likely each square is to be moved from, and to be moved to or captured on, [165] each."""
    moves = chances[:NUM_MOVES]
    starts = np.bincount(SQUARE_OF_CELL[MOVE_FROM], weights=moves, minlength=NUM_SQUARES)
    ends = np.bincount(SQUARE_OF_CELL[MOVE_TO], weights=moves, minlength=NUM_SQUARES)
    ends = np.asarray(ends, dtype=np.float64)
    return np.asarray(starts, dtype=np.float64), ends + chances[CAPTURE:CAPTURE_ALL]


def _below(chances: NDArray[np.float64]) -> Iterator[Shape]:
    starts, _ = squares_of(chances)
    for square in np.flatnonzero(starts > _LEAST).tolist():
        x, y = centre_of(square)
        yield tile(x, y, FROM, round(0.12 + 0.78 * _strength(starts, square), 3))


def _above(chances: NDArray[np.float64]) -> Iterator[Shape]:
    _, ends = squares_of(chances)
    for square in np.flatnonzero(ends > _LEAST).tolist():
        x, y = centre_of(square)
        strength = _strength(ends, square)
        yield Disc(x, y, round(0.1 + 0.28 * strength, 3), TO, round(0.25 + 0.5 * strength, 3))
    moves = chances[:NUM_MOVES]
    for action in np.argsort(-moves, kind="stable")[:_MOST_ARROWS].tolist():
        if moves[action] <= _LEAST:
            break
        squares = SQUARE_OF_CELL[[MOVE_FROM[action], MOVE_TO[action]]].tolist()
        line = arrow([centre_of(square) for square in squares], width=0.1, head=0.32, short=0.3)
        yield Area(line, TO, round(0.15 + 0.7 * _strength(moves, action), 3))


def _strength(chances: NDArray[np.float64], index: int) -> float:
    """0 .. 1 beside the likeliest; small chances are raised, or they would not be seen."""
    return float(np.sqrt(chances[index] / chances.max()))
