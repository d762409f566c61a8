"""Publishes the report of a ladder as a page of the documentation, with its picture."""

from __future__ import annotations

from pathlib import Path

from thud_env.rulesets import get_ruleset
from training import pages
from training.ladder.report import PICTURE, REPORT
from training.ladder.store import read_games

TITLE = "# How strong the agents are"
PAGES = {
    "classic": "strength.md",
    "classic-all": "strength-classic-all.md",
    "koom-valley": "strength-koom-valley.md",
    "koom-valley-football": "strength-koom-valley-football.md",
}
"""The pages of ``make ladder`` in ``docs``, by ruleset; its fields are in ``configs/ladder``."""
_HOW = """\
`make ladder` plays the games and writes this page. Stopped at any time, it continues where it was.
The games are the same wherever they are played; the times are of the processor that played them.
"""
_MARGINS = {
    "margin": """\
A margin is dwarfs less four times trolls at the end of a battle, so +32 is the best that dwarfs can
do and -32 the worst.""",
    "outcome": """\
A margin is 1 for a battle won, -1 for one lost and 0 for one drawn.""",
}
_WORDS = """\
Where two agents are said to be *not told apart*, their intervals overlap or rest on too few games:
that is no tie, and no win. Ratings and scores are relative to this field.
"""


def _preface(rules: str) -> str:
    others = [f"[{other}]({page})" for other, page in PAGES.items() if other != rules]
    field = f"configs/ladder/{rules}.yaml"
    ruleset = get_ruleset(rules)
    return (
        f"{TITLE}\n\n"
        f"All agents of [{field}](../{field}) against all, by the rules of\n`{rules}`. "
        f"Other rulesets: {', '.join(others)}.\n\n{_HOW}\n{_MARGINS[ruleset.reward]}\n{_WORDS}\n"
    )


def check_page(page: Path) -> None:
    """Refuse, before anything is played, a page that ``publish`` must not or cannot write.

    Raises:
        PageError: if there is another file where it would write, or it cannot be written.
    """
    pages.check_page("training.ladder", TITLE, page, _picture(page))


def _picture(page: Path) -> Path:
    return page.parent / "images" / f"{page.stem}.svg"


def publish(folder: Path, page: Path) -> None:
    """Write the existing report of a folder as a page and ``images/NAME.svg``, which ``check_page``
    has passed.

    Raises:
        PageError: if they cannot be written.
    """
    rules = get_ruleset(read_games(folder).header.rules).name
    picture = _picture(page)
    _, _, body = (folder / REPORT).read_text(encoding="utf-8").partition("\n\n")
    body = body.replace(f"]({PICTURE})", f"](images/{picture.name})")
    drawing = (folder / PICTURE).read_text(encoding="utf-8")
    pages.write_all({picture: drawing, page: _preface(rules) + body})
