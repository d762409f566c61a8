"""The game in six pictures to be played, each a position with a task and what it shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from thud_env import Position
from thud_env.rulesets import get_ruleset


@dataclasses.dataclass(frozen=True)
class Lesson:
    """A position with a task."""

    title: str
    task: str
    shows: str
    """The text to show once it is done."""
    position: str
    solves: Callable[[str], bool]
    """Whether a legal turn, in notation, solves the task."""
    rules: str = "classic"
    agreement: bool = False

    @property
    def start(self) -> Position:
        """The position to begin with."""
        return Position.from_text(self.position, get_ruleset(self.rules), agreement=self.agreement)

    @property
    def solutions(self) -> list[str]:
        """The turns that solve the task."""
        return [turn for turn in self.start.turns() if self.solves(turn)]


LESSONS = (
    Lesson(
        "Dwarfs run",
        "Dwarfs and trolls capture one another; whoever has more points left at the end wins. You "
        "have the dwarfs: choose one and move it, any distance in a straight line, over empty "
        "squares.",
        "Dwarfs are quick and weak. They are safe in company: a troll seldom dares to stand "
        "beside a block of them.",
        "5/7/9/11/8d4/6T8/11d3/7R7/4dd9/10T4/13/4d6/9/7/5 d - 0 0",
        lambda turn: True,
    ),
    Lesson(
        "Dwarfs are hurled",
        "Three dwarfs stand in line, and a troll three squares in front of them. Hurl the first "
        "dwarf onto it.",
        "A line of dwarfs hurls its front dwarf as far as the line is long. What it lands on, "
        "it captures: the only way to take a troll.",
        "5/7/9/11/13/8T2d3/15/7R3d3/5d9/4d10/2d10/7T3/9/7/5 d - 0 0",
        lambda turn: "x" in turn,
    ),
    Lesson(
        "Trolls plod and crush",
        "Now you have the trolls. Step beside a dwarf, and capture it.",
        "A troll goes one square, in any direction, and may capture one dwarf beside the square "
        "where it lands. In other versions of the rules it may capture more.",
        "5/7/9/2d8/3d9/4d1T5d2/15/7R7/2d6T5/15/13/6d4/9/7/5 t - 0 0",
        lambda turn: "x" in turn,
    ),
    Lesson(
        "Trolls are shoved",
        "Three trolls in line shove the front one up to three squares. Shove it into the crowd, "
        "and capture at least two dwarfs.",
        "A shove must capture something, and may capture everything beside the square where the "
        "troll lands. Keep your dwarfs out of reach of such lines.",
        "5/7/9/11/5d7/6dd7/6d2TTT3/6dR7/15/4d10/13/11/5d3/7/5 t - 0 0",
        lambda turn: turn.count("x") >= 2,
    ),
    Lesson(
        "A battle is scored",
        "Thirteen dwarfs are left, a point each, and two trolls, four points each: the dwarfs "
        "lead by five. The trolls offer to end the battle here. Accept.",
        "A battle also ends when a side cannot move, or when nothing has been captured for "
        "long. A game has two battles: then the players change sides, and the margins are added.",
        "5/1dd4/9/6T4/2dd9/3dd10/15/7R7/10dd3/2T7dd3/13/11/2ddd4/7/5 d offer 24 131",
        lambda turn: turn == "accept",
        agreement=True,
    ),
    Lesson(
        "Koom Valley",
        "Another game on the same board. Dwarfs carry the Rock, a square a turn, from beside a "
        "dwarf to beside a dwarf. Bring it to the far edge, and win.",
        "Here dwarfs capture a troll between two of them, and trolls trample: they jump the "
        "dwarfs in their way. Three trolls beside the Rock win for the trolls.",
        "5/1dR4/3d5/7T3/1T5d1T3/3d11/15/15/15/15/13/11/9/7/5 d - 0 0",
        lambda turn: turn.startswith("R") and turn.endswith("1"),
        rules="koom-valley",
    ),
)


def lessons_view() -> list[dict[str, Any]]:
    """The lessons as the page needs them."""
    return [
        {
            "title": lesson.title,
            "task": lesson.task,
            "shows": lesson.shows,
            "rules": lesson.rules,
            "agreement": lesson.agreement,
            "position": lesson.position,
            "solutions": lesson.solutions,
        }
        for lesson in LESSONS
    ]
