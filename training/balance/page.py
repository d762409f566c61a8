"""The figures of ``training.balance`` as tables and as a page of the documentation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from thud_env.command import counted
from thud_env.rulesets import get_ruleset
from training import pages
from training.arena.intervals import ENOUGH_PAIRS, decimals
from training.arena.limits import what_ends
from training.arena.summary import markdown_table
from training.balance.figures import FIRST_TURN, LAST_TURN, Balance, Mirror
from training.balance.pictures import margins_svg, standing_svg

TITLE = "# What each game is worth to each side"
_PREFACE = """\
`make balance` lets the agents of [configs/ladder/balance.yaml](../configs/ladder/balance.yaml) play
themselves, from the book of openings, and writes this page. The two sides are then equally strong,
so the mean margin is the game's own: the *fair margin*. Two battles with the seats changed cancel
it ([rules.md](rules.md), section 6).

The fair margin depends on how well both sides play. Each table begins with the weakest agent and
ends with the strongest. All is from the dwarfs' view: in Classic Thud a margin is dwarfs less four
times trolls, -32 to +32; in the Koom Valley games it is 1 for a battle won, 0 for one drawn and -1
for one lost. Intervals are 95%. *By limit* is the share of battles that a limit ended; turns, of
both sides together, and captures are means of a battle.

![The mean margin between equals](images/{margins})

"""
_STANDING = f"""\
## Where they stand

The last agent of each table on both sides: the share of positions, after turns {FIRST_TURN} to
{LAST_TURN}, in which a dwarf (blue) or a troll (red) stands on a square. A board's darkest square
is the one that is taken most often. Mirror images that the rules treat alike are averaged.

![Where dwarfs and trolls stand](images/{{standing}})
"""


def tables(found: list[Balance]) -> Iterator[str]:
    """A section for each ruleset: a table, and a line that says what it shows."""
    for balance in found:
        ruleset = get_ruleset(balance.rules)
        yield f"## {ruleset.title}\n"
        places = decimals(ruleset.largest_margin)
        rows = [_cells(mirror, places) for mirror in balance.mirrors]
        headings = ["against itself", "battles", "dwarfs won", "trolls won", "margin"]
        more = ["by limit", "turns", "dwarfs captured", "trolls captured"]
        yield from markdown_table([*headings, *more], rows)
        ends = f" Battles end after {what_ends(balance.limits)}." if balance.limits else ""
        yield f"\n{verdict(balance.mirrors[-1], places)}{ends}\n"


def verdict(mirror: Mirror, places: int) -> str:
    """What an agent's battles against itself show of the game."""
    margin = mirror.margin
    if mirror.battles < ENOUGH_PAIRS:
        are = "is" if mirror.battles == 1 else "are"
        shown = f"{counted(mirror.battles, 'battle')} {are} too few to show which side is ahead"
    elif margin.low <= 0 <= margin.high:
        shown = "neither side is shown to be ahead"
    else:
        shown = f"the {'dwarfs' if margin.value > 0 else 'trolls'} are ahead"
    return f"With `{mirror.agent}` on both sides {shown}: {margin.text(places)}."


def check_page(page: Path) -> None:
    """Refuse, before anything is played, a page that ``publish`` must not or cannot write.

    Raises:
        PageError: if there is another file where it would write, or it cannot be written.
    """
    pages.check_page("training.balance", TITLE, page, _figures(page), *_pictures(page))


def _figures(page: Path) -> Path:
    """The file of a page's figures."""
    return page.with_suffix(".json")


def _pictures(page: Path) -> tuple[Path, Path]:
    """The files of a page's two pictures."""
    images = page.parent / "images"
    return images / f"{page.stem}.svg", images / f"{page.stem}-standing.svg"


def publish(found: list[Balance], page: Path) -> None:
    """Write a page, its figures beside it as ``NAME.json``, and two pictures in ``images``.

    Raises:
        PageError: if it cannot be written.
    """
    figures = json.dumps([balance.as_json() for balance in found], indent=1) + "\n"
    pages.write_all({**documents(found, page), _figures(page): figures})


def documents(found: list[Balance], page: Path) -> dict[Path, str]:
    """The texts of the page and its pictures, by file."""
    margins, standing = _pictures(page)
    body = "\n".join(tables(found))
    text = f"{TITLE}\n\n{_PREFACE.format(margins=margins.name)}{body}\n"
    return {
        page: text + _STANDING.format(standing=standing.name),
        margins: margins_svg(found),
        standing: standing_svg(found),
    }


def _cells(mirror: Mirror, places: int) -> list[str]:
    return [
        mirror.agent,
        str(mirror.battles),
        mirror.won.percent(),
        mirror.lost.percent(),
        mirror.margin.text(places),
        f"{mirror.limited:.0%}",
        f"{mirror.turns:.0f}",
        f"{mirror.dwarfs_taken:.1f}",
        f"{mirror.trolls_taken:.1f}",
    ]
