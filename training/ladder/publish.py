"""Publishes the report of a ladder as a page of the documentation, with its picture."""

from __future__ import annotations

from pathlib import Path

from thud_env.rulesets import get_ruleset
from training import pages
from training.arena.field import Field
from training.ladder.entries import Header
from training.ladder.fields import read_field
from training.ladder.report import PICTURE, REPORT
from training.ladder.store import read_games

FIELDS = Path(__file__).resolve().parents[2] / "configs" / "ladder"
TITLE, OTHER_TITLE = "# How strong the agents are", "# A ladder of agents"
"""Of the pages of ``make ladder``, and of others, which so never take their place."""
PAGES = {
    "classic": "strength.md",
    "classic-all": "strength-classic-all.md",
    "koom-valley": "strength-koom-valley.md",
    "koom-valley-football": "strength-koom-valley-football.md",
}
"""The pages of ``make ladder`` in ``docs``, by ruleset; its fields are in ``FIELDS``."""
_HOW = """\
`make ladder` plays the games and writes this page. Stopped at any time, it continues where it was.
"""
_ALIKE = """\
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
Where two agents are said to be *not told apart*, their intervals overlap, or the interval of the
difference of their ratings holds 0: that is no tie, and no win. Ratings and scores are relative to
this field.
"""


def _preface(ladder: Header) -> str:
    ruleset = get_ruleset(ladder.rules)
    words = f"{_ALIKE}\n{_MARGINS[ruleset.reward]}\n{_WORDS}\n"
    if not _is_reference(ladder):
        how = "`python -m training.ladder` has played the games and written this page."
        return f"{OTHER_TITLE}\n\nBy the rules of `{ruleset.name}`.\n\n{how}\n{words}"
    others = [f"[{other}]({page})" for other, page in PAGES.items() if other != ruleset.name]
    field = f"configs/ladder/{ruleset.name}.yaml"
    return (
        f"{TITLE}\n\n"
        f"All agents of [{field}](../{field}) against all, by the rules of\n`{ruleset.name}`. "
        f"Other rulesets: {', '.join(others)}.\n\n{_HOW}{words}"
    )


def _is_reference(ladder: Header | Field) -> bool:
    """Whether a ladder is one of those of ``make ladder``."""
    if ladder.rules not in PAGES:
        return False
    field = read_field(FIELDS / f"{ladder.rules}.yaml")
    kept = (ladder.agents, ladder.seed, ladder.limits)
    return kept == (field.agents, field.seed, field.limits)


def check_page(page: Path, ladder: Header | Field) -> None:
    """Refuse, before anything is played, a page that ``publish`` must not or cannot write.

    Args:
        page: the page.
        ladder: whose report it will be.

    Raises:
        PageError: if there is another file where it would write, or it cannot be written.
    """
    if _is_reference(ladder):
        pages.check_page("make ladder", TITLE, page, _picture(page))
    else:
        pages.check_page("a ladder of your own", OTHER_TITLE, page, _picture(page))


def _picture(page: Path) -> Path:
    return page.parent / "images" / f"{page.stem}.svg"


def publish(folder: Path, page: Path) -> None:
    """Write the existing report of a folder as a page and ``images/NAME.svg``, which ``check_page``
    has passed.

    Raises:
        PageError: if they cannot be written.
    """
    preface = _preface(read_games(folder).header)
    picture = _picture(page)
    _, _, body = (folder / REPORT).read_text(encoding="utf-8").partition("\n\n")
    body = body.replace(f"]({PICTURE})", f"](images/{picture.name})")
    drawing = (folder / PICTURE).read_text(encoding="utf-8")
    pages.write_all({page: preface + body, picture: drawing})
