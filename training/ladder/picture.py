"""Draws the payoff matrix as a heat map, in SVG."""

from __future__ import annotations

from training.arena.intervals import decimals
from training.ladder.figures import Cell, Figures
from training.svg import picture, rectangle, text

_CELL_WIDTH, _CELL_HEIGHT = 92, 54
_LETTER = 7.2
"""The approximate width of a letter in the labels."""
_TITLE = 8.2
"""The approximate width of a letter in the title, which is bold."""
_LEGEND = 350
"""The width of the legend."""
_TOP = 96
_DWARFS, _EVEN, _TROLLS = (33, 102, 172), (247, 247, 247), (178, 24, 43)
"""Blue where the dwarfs gain, red where the trolls do: safe for colour blindness."""


def payoff_svg(figures: Figures, title: str, most: float) -> str:
    """The picture.

    Args:
        figures: the figures of the ladder.
        title: the title of the picture.
        most: the largest possible margin, which gets the deepest colour.
    """
    left = 30 + round(_LETTER * max(len(agent) for agent in figures.agents))
    size = len(figures.agents)
    width = max(left + size * _CELL_WIDTH, left + _LEGEND, round(_TITLE * len(title))) + 20
    height = _TOP + size * _CELL_HEIGHT + 66
    middle = left + size * _CELL_WIDTH / 2
    parts = [
        text(10, 22, title, bold=True),
        text(middle, 48, "trolls", "middle"),
        text(12, _TOP - 14, "dwarfs"),
    ]
    for number, agent in enumerate(figures.agents):
        across = left + (number + 0.5) * _CELL_WIDTH
        for line, words in enumerate(_in_lines(agent)):
            parts.append(text(across, _TOP - 26 + 16 * line, words, "middle"))
        down = _TOP + (number + 0.5) * _CELL_HEIGHT + 5
        parts.append(text(left - 10, down, agent, "end"))
    for row in range(size):
        for column in range(size):
            x, y = left + column * _CELL_WIDTH, _TOP + row * _CELL_HEIGHT
            parts += _cell(figures.cell(row, column), x, y, most)
    parts += _legend(left, _TOP + size * _CELL_HEIGHT + 18, most)
    return picture(width, height, parts)


def _cell(cell: Cell, x: float, y: float, most: float) -> list[str]:
    colour, ink = _colours(cell.margin.value / most)
    margin = f"{cell.margin.value:+z.{decimals(most)}f}"
    shares = " / ".join(
        f"{100 * count / cell.games:.0f}" for count in (cell.wins, cell.draws, cell.losses)
    )
    middle = x + _CELL_WIDTH / 2
    return [
        rectangle(x, y, _CELL_WIDTH, _CELL_HEIGHT, colour, 'stroke="#ffffff" stroke-width="2"'),
        text(middle, y + 24, margin, "middle", size=16, ink=ink),
        text(middle, y + 42, shares, "middle", size=11, ink=ink),
    ]


def _legend(left: float, y: float, most: float) -> list[str]:
    parts = []
    for step in range(9):
        colour, _ = _colours((step - 4) / 4)
        parts.append(rectangle(left + 22 * step, y, 22, 12, colour))
    label = f"mean margin for the dwarfs, {-most:+.0f} to {most:+.0f}"
    parts.append(text(left, y + 28, label, size=11))
    words = "below it: games won / drawn / lost by the dwarfs, in percent"
    parts.append(text(left, y + 43, words, size=11))
    return parts


def _colours(share: float) -> tuple[str, str]:
    """The colour of a margin, -1 .. 1, and of the letters on it."""
    full = _DWARFS if share > 0 else _TROLLS
    depth = min(1.0, abs(share))
    mixed = [round(even + depth * (end - even)) for even, end in zip(_EVEN, full, strict=True)]
    return "#" + "".join(f"{value:02x}" for value in mixed), "#ffffff" if depth > 0.6 else "#000000"


def _in_lines(agent: str) -> tuple[str, str]:
    """A spec in two lines above its column: its name and its options, or the first of them."""
    room = int(_CELL_WIDTH / _LETTER)
    name, _, options = agent.partition(":")
    if len(options) <= room:
        return name, options
    first, comma, _ = options.partition(",")
    first = first.rpartition("/")[2]  # of a path, what tells it apart
    if len(first) > room:
        return name, f"...{first[3 - room :]}"
    return name, f"{first}..." if comma and len(first) <= room - 3 else first
