"""The report of a ladder as a page of the documentation, its picture beside it."""

from __future__ import annotations

from pathlib import Path

from training.ladder.report import PICTURE, REPORT
from training.ladder.schedule import LadderError

TITLE = "# How strong the agents are"
_PREFACE = f"""\
{TITLE}

All agents of [configs/ladder/reference.yaml](../configs/ladder/reference.yaml) against all. `make
ladder` plays the games and writes this page: some 40 minutes of an idle core.
Stopped at any time, it continues where it was. The games are the same wherever they are played; the
times are of the machine that played them, whatever else it did meanwhile.

A margin is dwarfs less four times trolls at the end of a battle, so +32 is the best that dwarfs can
do and -32 the worst. Where two agents are said to be *not told apart*, their intervals overlap or
rest on too few games: that is no tie, and no win. Ratings and scores are relative to this field.

"""


def publish(folder: Path, page: Path) -> None:
    """Write the report of a folder, which must be there, as a page and ``images/NAME.svg``.

    Raises:
        LadderError: if the page exists and is something else, or cannot be written.
    """
    picture = page.parent / "images" / f"{page.stem}.svg"
    _, _, body = (folder / REPORT).read_text(encoding="utf-8").partition("\n\n")
    body = body.replace(f"]({PICTURE})", f"](images/{picture.name})")
    try:
        if page.exists() and not page.read_text(encoding="utf-8").startswith(TITLE):
            raise LadderError(f"{page} is no report of a ladder, and is left as it is")
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.write_bytes((folder / PICTURE).read_bytes())
        page.write_text(_PREFACE + body, encoding="utf-8")
    except OSError as error:
        raise LadderError(f"{page} cannot be written: {error.strerror}") from None
