"""Battles as ``.thud`` files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from agents.durable import new_folder
from thud_env import Position, Record, write_record
from training.arena.battles import Battles, GamePairs
from training.pages import check_writable


def records_of(
    played: Battles | GamePairs, first: str, second: str, tags: dict[str, str]
) -> Iterator[Record]:
    """The records of battles, or of game pairs: the two battles of each, one after the other.

    Args:
        played: the battles.
        first, second: the specs of the dwarfs and the trolls, or of the first and the second
            player of game pairs.
        tags: facts of all of them, besides the players.
    """
    if isinstance(played, Battles):
        for number in range(len(played.margins)):
            yield _record(played, number, {"Dwarfs": first, "Trolls": second, **tags})
        return
    for number in range(len(played.totals)):
        pair = {**tags, "Pair": str(number + 1)}
        yield _record(played.first, number, {"Dwarfs": first, "Trolls": second, **pair})
        yield _record(played.second, number, {"Dwarfs": second, "Trolls": first, **pair})


def _record(battles: Battles, number: int, tags: dict[str, str]) -> Record:
    start = Position.unchecked(battles.starts[number])
    return Record.from_decisions(start, battles.decisions[number], tags)


def check_records_folder(folder: Path) -> None:
    """Raise unless ``write_records`` may write a folder.

    Raises:
        FileExistsError: if it is a file, or a folder with anything in it.
        PageError: if it cannot be made or written.
    """
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise FileExistsError(f"{folder} exists and is not an empty folder: name another one")
    whole = folder.resolve()  # which is made under another name, and renamed
    check_writable(folder / "1.thud", whole.with_name(f".{whole.name}.new"))


def write_records(folder: Path, records: list[Record]) -> None:
    """Write ``1.thud``, ``2.thud`` ... into a folder, which appears with all of them or not at all.

    Raises:
        FileExistsError, PageError: as ``check_records_folder``.
        OSError: if it cannot be written.
    """
    check_records_folder(folder)
    folder = folder.resolve()  # through a link, so as not to replace the link itself
    width = len(str(len(records)))
    with new_folder(folder) as temporary:
        for number, record in enumerate(records, start=1):
            write_record(temporary / f"{number:0{width}}.thud", record)
