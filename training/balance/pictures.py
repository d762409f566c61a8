"""The figures of ``training.balance`` as pictures, written as SVG by hand."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from thud_env.board import SIZE, SQUARE_NAMES, SQUARE_POSITIONS
from thud_env.outcome import SIDES
from thud_env.rulesets import get_ruleset
from training.balance.figures import Balance
from training.svg import BLUE, RED, curve, line, picture, rectangle, text

_WIDTH, _HEIGHT, _LEFT, _TOP = 640, 280, 60, 46
_COLOURS = (BLUE, "#92c5de", "#762a83", RED, "#e08214")
"""Colours of rulesets, safe for colour blindness; they repeat from the sixth on."""
_SQUARE = 9


def margins_svg(found: list[Balance]) -> str:
    """A line for each ruleset: the mean margin, as a share of the largest, over the agents, with
    its interval.
    """
    agents = [mirror.agent for mirror in found[0].mirrors]
    width, height = _LEFT + _WIDTH + 20, _TOP + _HEIGHT + 72 + 18 * len(found)
    parts = [text(_LEFT, 24, "mean margin between equals, as a share of the largest", bold=True)]
    for share in (-1.0, -0.5, 0.0, 0.5, 1.0):
        y = _height_of(share)
        parts.append(line(_LEFT, y, _LEFT + _WIDTH, y, "#dddddd" if share else "#888888"))
        parts.append(text(_LEFT - 8, y + 4, f"{share:+g}" if share else "0", "end"))
    parts.append(text(_LEFT + 4, _height_of(1) + 15, "the dwarfs are ahead", size=11))
    parts.append(text(_LEFT + 4, _height_of(-1) - 6, "the trolls are ahead", size=11))
    for number, agent in enumerate(agents):
        x = _across(number, len(agents))
        for row, words in enumerate(agent.partition(":")[::2]):
            parts.append(text(x, _TOP + _HEIGHT + 20 + 14 * row, words, "middle", size=11))
    for number, balance in enumerate(found):
        colour = _COLOURS[number % len(_COLOURS)]
        parts += _curve(balance, number - (len(found) - 1) / 2, colour)
        y = _TOP + _HEIGHT + 62 + 18 * number
        parts.append(line(_LEFT, y - 4, _LEFT + 22, y - 4, colour, 2))
        parts.append(text(_LEFT + 28, y, get_ruleset(balance.rules).title))
    return picture(width, height, parts)


def _curve(balance: Balance, aside: float, colour: str) -> Iterator[str]:
    """The line of a ruleset, a little aside of the others', so that intervals do not overlap."""
    most = get_ruleset(balance.rules).largest_margin
    points = []
    for number, mirror in enumerate(balance.mirrors):
        x = _across(number, len(balance.mirrors)) + 4 * aside
        middle, low, high = (_height_of(part / most) for part in mirror.margin)
        points.append((x, middle))
        yield line(x, low, x, high, colour, 2)
        yield f'<circle cx="{x:.1f}" cy="{middle:.1f}" r="3.5" fill="{colour}"/>'
    yield curve(points, colour, 1.5)


def standing_svg(found: list[Balance]) -> str:
    """Two boards for each ruleset: where dwarfs and where trolls stand."""
    board, gap, labels = SIZE * _SQUARE, 24, 50
    width, height = labels + len(found) * (board + gap), 2 * (board + gap) + 20
    parts: list[str] = []
    for row, side in enumerate(SIDES):
        parts.append(text(labels - 8, 30 + row * (board + gap) + board / 2, side, "end", size=11))
    for column, balance in enumerate(found):
        left = labels + column * (board + gap)
        parts.append(text(left + board / 2, 20, balance.rules, "middle", size=11))
        for row, (side, colour) in enumerate(zip(SIDES, (BLUE, RED), strict=True)):
            parts += _board(balance.standing[side], left, 30 + row * (board + gap), colour)
    return picture(width, height, parts)


def _board(shares: dict[str, float], left: int, top: int, colour: str) -> Iterator[str]:
    """A board, its squares the deeper the more often they are taken."""
    most = max(shares.values()) or 1.0
    for row, columns in groupby(SQUARE_POSITIONS, key=lambda square: square[0]):
        places = [column for _, column in columns]
        yield _square(left, top, row, places[0], "#f2f2f2", width=len(places))
    for name, (row, column) in zip(SQUARE_NAMES, SQUARE_POSITIONS, strict=True):
        depth = round(shares[name] / most, 2)
        if depth:
            yield _square(left, top, row, column, colour, f'fill-opacity="{depth}"')


def _square(
    left: int, top: int, row: int, column: int, colour: str, more: str = "", width: int = 1
) -> str:
    x, y = left + column * _SQUARE, top + row * _SQUARE
    return rectangle(x, y, width * _SQUARE, _SQUARE, colour, more)


def _across(number: int, count: int) -> float:
    return _LEFT + _WIDTH * (number + 0.5) / count


def _height_of(share: float) -> float:
    return _TOP + _HEIGHT * (1 - share) / 2
