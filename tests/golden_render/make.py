"""Golden pictures: positions as SVG and as text for a terminal.

``python tests/golden_render/make.py`` writes them anew, those in docs/images as well, after a
change that is meant to change them: open the SVG files and look. ``tests/test_render.py`` makes
them again and compares.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from thud_env import Position
from thud_env.render import ansi, svg

FOLDER = Path(__file__).parent
IMAGES = FOLDER.parents[1] / "docs" / "images"
IN_DOCUMENTS = ("start", "hurl", "which-dwarf", "koom-valley", "tramples", "football")
"""The pictures that README and the pages of docs show."""


@dataclass(frozen=True)
class Picture:
    """A position to be drawn, and how."""

    name: str
    rules: str = "classic"
    start: str | None = None
    """Position text; None: the start of a battle."""
    turns: tuple[str, ...] = ()
    """Complete turns played from there."""
    decided: str = ""
    """A turn of which the first decision is played as well."""
    last_turn: str | None = None
    targets: str | Iterable[str] | None = None

    @property
    def position(self) -> Position:
        """The position that is drawn."""
        position = Position.start(self.rules)
        if self.start is not None:
            position = Position.from_text(self.start, self.rules)
        for turn in self.turns:
            position = position.play(turn)
        if self.decided:
            position = position.apply(position.decisions(self.decided)[0])
        return position

    @property
    def svg(self) -> str:
        """The picture as SVG."""
        return svg(self.position, last_turn=self.last_turn, targets=self.targets)

    def ansi(self, color: bool = True) -> str:
        """The picture as text."""
        marks = {"last_turn": self.last_turn, "targets": self.targets}
        return ansi(self.position, color=color, **marks) + "\n"


BESIDE_THREE = "1ddd1/7/4T4/11/13/15/15/7R7/15/15/13/11/9/7/5 t - 0 4"
THREE_IN_LINE = "5/7/9/5d5/6d6/15/6T8/6TR7/6T8/15/13/11/9/7/5 t - 0 0"
TRAMPLING = "5/7/9/5R5/13/5d9/4d10/3Td10/15/15/13/11/9/7/5 t - 0 0"
NEAR_THE_GOAL = "2d2/3R3/9/11/13/15/15/15/15/15/13/11/5T3/7/5 d - 0 90"
SANDWICH = "5/7/9/5R5/13/15/15/3dT10/15/5d9/13/5d5/9/7/5 d - 0 0"
PICTURES = (
    Picture("start"),
    Picture(
        "hurl",
        turns=("dE2-E6", "TG7-F6", "dE6-F6xF6"),
        last_turn="dE6-F6xF6",
        targets="G8",
    ),
    Picture("shove", start=THREE_IN_LINE, turns=("TG7-G5xH5",), last_turn="TG7-G5xH5"),
    Picture("which-dwarf", start=BESIDE_THREE, decided="TH3-H2xG1", last_turn="TH3-H2"),
    Picture("all-or-none", "classic-all", BESIDE_THREE, decided="TH3-H2", last_turn="TH3-H2"),
    Picture("any", "classic-any", BESIDE_THREE, turns=("TH3-H2xG1xH1",), last_turn="TH3-H2xG1xH1"),
    Picture("drawn", start="5/7/9/11/13/15/15/7R7/15/15/13/11/9/7/5 d - 0 8"),
    Picture("koom-valley", "koom-valley"),
    Picture("tramples", "koom-valley", TRAMPLING, decided="TD8-F8-D6xE7xE8", last_turn="TD8-F8xE8"),
    Picture("sandwich", "koom-valley", SANDWICH, ("dF10-F8xE8",), last_turn="dF10-F8xE8"),
    Picture("goal", "koom-valley", NEAR_THE_GOAL, ("RH2-G1",), last_turn="RH2-G1"),
    Picture("football", "koom-valley-football", targets="H8"),
)


def main() -> None:
    """Write every picture's files, and remove those of none."""
    for path in (*FOLDER.glob("*.svg"), *FOLDER.glob("*.ansi")):
        path.unlink()
    for picture in PICTURES:
        (FOLDER / f"{picture.name}.svg").write_text(picture.svg, encoding="utf-8")
        (FOLDER / f"{picture.name}.ansi").write_text(picture.ansi(), encoding="utf-8")
        if picture.name in IN_DOCUMENTS:
            (IMAGES / f"{picture.name}.svg").write_text(picture.svg, encoding="utf-8")
        print(f"{picture.name}: {picture.svg.splitlines()[1]}")


if __name__ == "__main__":
    main()
