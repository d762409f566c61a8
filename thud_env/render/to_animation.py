"""Battles as SVG that moves by itself, and as a stepper for notebooks."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator
from html import escape
from itertools import groupby
from pathlib import Path

from thud_env.arguments import check_positive
from thud_env.board import NUM_SQUARES
from thud_env.render.film import Battle, Step, scenes_of, slide_of
from thud_env.render.picture import (
    INK,
    PAPER,
    board_shapes,
    centre_of,
    marks_above,
    marks_below,
    marks_beside,
    paper,
    pieces_beside,
)
from thud_env.render.scene import Scene
from thud_env.render.shapes import EXTENT, Point
from thud_env.render.to_svg import Picture, definitions, markup, number, opening, piece_id
from thud_env.rules.row import EMPTY

_CAPTION = 1.0
"""How high the line below the board is, in squares."""


def animation(
    battle: Battle, *, size: int = 480, seconds: float = 0.8, captions: bool = True
) -> Picture:
    """A battle as an SVG document that plays it again and again, without any script.

    Args:
        battle: a ``Record``.
        size: width in pixels.
        seconds: for each turn.
        captions: whether each turn is written below the board.

    Raises:
        ThudError: if a turn is not legal, or ``seconds`` is not a finite number above 0.
    """
    check_positive("seconds", seconds)
    return Picture("\n".join(_document(battle, size, seconds, captions)) + "\n")


def _document(battle: Battle, size: int, seconds: float, captions: bool) -> Iterator[str]:
    first, steps = scenes_of(battle)
    times = _Times(len(steps), seconds)
    height = EXTENT + (_CAPTION if captions else 0)
    yield opening(size, height)
    yield f"<title>{escape(first.rules.title)}: a battle of {len(steps)} turns</title>"
    yield from definitions(first.is_football)
    yield markup(paper())
    if captions:
        yield f'<path d="M0 {EXTENT}H{EXTENT}V{number(height)}H0Z" fill="{PAPER}"/>'
    yield from map(markup, board_shapes(first.goals))
    scenes = [first, *(step.after for step in steps)]
    for number_of_turn, scene in enumerate(scenes):
        yield from times.during(number_of_turn, map(markup, marks_below(scene)))
    for track in _tracks(first, steps):
        yield from times.moving(track)
    for number_of_turn, scene in enumerate(scenes):
        yield from times.during(number_of_turn, map(markup, marks_above(scene)))
    yield from _beside(scenes, times)
    if captions:
        for number_of_turn, step in enumerate(steps, start=1):
            words = f"{number_of_turn}. {escape(step.turn)}"
            text = (
                f'<text x="{EXTENT / 2}" y="{EXTENT + 0.45}" font-size="0.6" fill="{INK}">'
                f"{words}</text>"
            )
            yield from times.during(number_of_turn, [text])
    yield "</svg>"


def _beside(scenes: list[Scene], times: _Times) -> Iterator[str]:
    """The corners, which change less often than the turns."""
    numbered = ((_corners(scene), i) for i, scene in enumerate(scenes))
    for corners, run in groupby(numbered, key=lambda pair: pair[0]):
        shown = [i for _, i in run]
        yield from times.during(shown[0], corners, until=shown[-1])


def _corners(scene: Scene) -> list[str]:
    pieces = [
        f'<use xlink:href="#{piece_id(piece, scene.is_football)}" '
        f'transform="translate({number(x)} {number(y)}) scale({number(scale)})"/>'
        for piece, (x, y), scale in pieces_beside(scene)
    ]
    return [*pieces, *map(markup, marks_beside(scene))]


@dataclasses.dataclass
class _Track:
    """A piece's way through a battle."""

    name: str
    start: Point
    moves: list[tuple[int, list[Point]]] = dataclasses.field(default_factory=list)
    """In which turns it moved, and by which points."""
    gone: int | None = None
    """In which turn it was captured."""


def _tracks(first: Scene, steps: list[Step]) -> list[_Track]:
    on_square = {
        square: _Track(piece_id(first.pieces[square], first.is_football), centre_of(square))
        for square in range(NUM_SQUARES)
        if first.pieces[square] != EMPTY
    }
    tracks = list(on_square.values())
    for number_of_turn, step in enumerate(steps, start=1):
        path = step.after.path
        moved = on_square.pop(path[0]) if path else None
        for square in range(NUM_SQUARES):
            if square in on_square and step.after.pieces[square] != step.before.pieces[square]:
                on_square.pop(square).gone = number_of_turn
        if moved is not None:
            moved.moves.append((number_of_turn, [centre_of(square) for square in path]))
            on_square[path[-1]] = moved
    return tracks


class _Times:
    """When the turns of a battle are shown, as SVG's animations want it: parts of the whole."""

    def __init__(self, turns: int, seconds: float) -> None:
        self._turns, self._seconds, self._slide = turns, seconds, slide_of(seconds)
        self._whole = (turns + 3) * seconds  # the end is shown three times as long

    def _at(self, turn: int, slid: float) -> str:
        """When a turn's piece has done a part, 0 .. 1, of its way."""
        return number((turn * self._seconds + slid * self._slide) / self._whole, digits=5)

    def _clock(self) -> str:
        return f'dur="{number(self._whole)}s" repeatCount="indefinite"'

    def during(self, turn: int, parts: Iterable[str], until: int | None = None) -> Iterator[str]:
        """What is shown from when a turn's piece has arrived until the next turn begins, or until
        a later one's piece has arrived.
        """
        inner = "".join(parts)
        if not inner:
            return
        last = turn if until is None else until
        values, times = (["1"], ["0"]) if turn == 0 else (["0", "1"], ["0", self._at(turn, 1)])
        if last < self._turns:  # the end stays
            values.append("0")
            times.append(self._at(last + 1, 0 if until is None else 1))
        shown = 1 if turn == 0 else 0
        yield (
            f'<g opacity="{shown}"><animate attributeName="opacity" calcMode="discrete" '
            f'values="{";".join(values)}" keyTimes="{";".join(times)}" {self._clock()}/>{inner}</g>'
        )

    def moving(self, track: _Track) -> Iterator[str]:
        """A piece that goes its way."""
        x, y = track.start
        use = f'<use xlink:href="#{track.name}"/>'
        values, times = [track.start], ["0"]
        for turn, points in track.moves:
            parts = max(1, len(points) - 1)
            for i, point in enumerate(points):
                values.append(point)
                times.append(self._at(turn, i / parts))
        values.append(values[-1])
        times.append("1")
        inner = use
        if track.moves:
            places = ";".join(f"{number(x)} {number(y)}" for x, y in values)
            inner += (
                '<animateTransform attributeName="transform" type="translate" '
                f'values="{places}" keyTimes="{";".join(times)}" {self._clock()}/>'
            )
        if track.gone is not None:
            gone = self._at(track.gone, 1)
            inner += (
                '<animate attributeName="opacity" calcMode="discrete" values="1;0" '
                f'keyTimes="0;{gone}" {self._clock()}/>'
            )
        yield f'<g transform="translate({number(x)} {number(y)})">{inner}</g>'


class Frame(str):
    """The text of an HTML element, which notebooks show."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)


def stepper(battle: Battle, *, size: int = 480, seconds: float = 0.8) -> Frame:
    """A battle as HTML for a notebook: it plays by itself, and has buttons to step through.

    It stands in a frame of its own, so that nothing on the page around it gets in its way.

    Args:
        battle: a ``Record``.
        size: width in pixels.
        seconds: for each turn.

    Raises:
        ThudError: if a turn is not legal, or ``seconds`` is not a finite number above 0.
    """
    picture = animation(battle, size=size, seconds=seconds)
    turns, size, seconds = len(battle.turns), int(size), float(seconds)
    times = {"turns": turns, "seconds": seconds, "slide": slide_of(seconds)}
    page = Path(__file__).with_name("stepper.html").read_text(encoding="utf-8")
    page = page.replace("<!--picture-->", picture).replace("/*times*/", json.dumps(times))
    height = round(size * (EXTENT + _CAPTION) / EXTENT) + 40
    return Frame(
        f'<iframe title="A battle of {turns} turns" width="{size}" height="{height}" '
        f'style="border:0;max-width:100%" srcdoc="{escape(page)}"></iframe>'
    )
