"""A battle as it moves: which piece goes where, when, and what it captures.

Pictures that move are all made from this: frames of pixels, animated SVG, a stepper. A turn lasts
so many seconds; in the first part of them its piece slides, in the rest the turn's marks show.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import hypot
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from thud_env.arguments import check_positive, shown
from thud_env.render.picture import centre_of, marks_beside, pieces_beside, pieces_on
from thud_env.render.scene import HasRow, Scene, scene_of
from thud_env.render.shapes import Point
from thud_env.render.to_pixels import checked_size, paint, still

LONGEST_SLIDE = 0.4
"""Seconds in which a piece slides, at most; half of its turn if that is less."""


class Playable(HasRow, Protocol):
    """A ``Position``."""

    def play(self, turn: str) -> Self:
        """The position after a turn."""
        ...


class Battle(Protocol):
    """A ``Record``, or anything else with a start and turns."""

    @property
    def start(self) -> Playable:
        """The position to begin with."""
        ...

    @property
    def turns(self) -> tuple[str, ...]:
        """The turns, in notation."""
        ...


@dataclasses.dataclass(frozen=True)
class Step:
    """A turn of a battle, as it is drawn."""

    turn: str
    before: Scene
    after: Scene
    """With the turn's marks."""

    def place(self, part: float) -> Point:
        """Where the piece is when a part, 0 .. 1, of its way is done."""
        points = [centre_of(square) for square in self.after.path]
        lengths = [hypot(x - a, y - b) for (a, b), (x, y) in pairwise(points)]
        left = part * sum(lengths)
        for (start, end), length in zip(pairwise(points), lengths, strict=True):
            if left <= length:
                ratio = left / length
                return (
                    start[0] + ratio * (end[0] - start[0]),
                    start[1] + ratio * (end[1] - start[1]),
                )
            left -= length
        return points[-1]


def scenes_of(battle: Battle) -> tuple[Scene, list[Step]]:
    """The start of a battle, and its turns.

    Raises:
        ThudError: if a turn is not legal.
        TypeError: if it is no battle.
    """
    if callable(getattr(battle, "turns", None)):  # a Position's
        kind = type(battle).__name__
        raise TypeError(f"a {kind} is no battle: Record(position, turns) would be right")
    if not (hasattr(battle, "start") and hasattr(battle, "turns")):
        raise TypeError(
            f"{shown(battle)} is no battle: a Record, such as read_record(path), would be right"
        )
    position = battle.start
    first = before = scene_of(position, targets=())
    steps = []
    for turn in battle.turns:
        position = position.play(turn)
        after = scene_of(position, turn, targets=())
        steps.append(Step(turn, before, after))
        before = after
    return first, steps


def slide_of(seconds: float) -> float:
    """How much of a turn of so many seconds its piece slides."""
    return min(LONGEST_SLIDE, seconds / 2)


def frames(
    battle: Battle, *, size: int = 408, seconds: float = 0.8, fps: float = 12.5
) -> Iterator[tuple[NDArray[np.uint8], float, int]]:
    """A battle in pixels.

    Args:
        battle: a ``Record``.
        size: width and height, 102 at least.
        seconds: for each turn.
        fps: frames a second while a piece slides.

    Yields:
        [size, size, 3] uint8, for how many seconds it is shown, and how many turns have been
        played.

    Raises:
        ThudError: if a turn is not legal, the size too small, or ``seconds`` or ``fps`` not a
            finite number above 0.
    """
    size = checked_size(size)
    check_positive("seconds", seconds)
    check_positive("fps", fps)
    first, steps = scenes_of(battle)
    yield still(first, size), seconds, 0
    slide = slide_of(seconds)
    count = max(1, round(slide * fps))
    for number, step in enumerate(steps, start=1):
        moving = count - 1 if len(step.after.path) > 1 else 0
        for i in range(1, moving + 1):
            yield sliding(step, ease(i / count), size), slide / count, number - 1
        yield still(step.after, size), seconds - slide * moving / count, number


def sliding(step: Step, part: float, size: int) -> NDArray[np.uint8]:
    """A turn on its way."""
    start = centre_of(step.after.path[0])
    moving = [piece for piece in pieces_on(step.before) if piece[1] == start]
    others = [piece for piece in pieces_on(step.before) if piece[1] != start]
    moved = [(piece, step.place(part), scale) for piece, _, scale in moving]
    pieces: Iterable[tuple[int, Point, float]] = (*others, *moved, *pieces_beside(step.before))
    return paint(step.before, (), pieces, marks_beside(step.before), size)


def ease(part: float) -> float:
    """Slow at both ends."""
    return part * part * (3 - 2 * part)
