"""Keeps results on disk in ``games.jsonl``, a file that is only appended to.

Its first line is a header; another header follows where the field has grown or the code has
changed. Every other line is one game. Each line is one write, so that a stop leaves at most one
unfinished line, at the end (``commands.journal``).
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from pathlib import Path
from typing import Any

from agents.durable import flush_folder, make_folder
from training.arena.field import Field, FieldError, Game
from training.arena.games import Result
from training.arena.identity import CHANGED, code_of_play, own_files
from training.commands.journal import Journal, JournalError, Whole, read_lines
from training.ladder.entries import Header, read_header, read_result
from training.pages import check_writable

FILE = "games.jsonl"
_SINCE = "since the games that are kept were played"


@dataclasses.dataclass
class Games:
    """The games in a folder."""

    header: Header
    results: list[Result]
    codes: int
    """How many versions of the code the games were played with."""
    changed: list[str]
    """Agents whose policy, weights or own code changed between the games, or since."""
    whole: Whole


def header_of(field: Field) -> Header:
    """The header of a field's ladder.

    Raises:
        OSError: naming a file of an agent that cannot be read.
    """
    return Header(
        field.rules,
        field.seed,
        field.openings.digest,
        dict(field.agents),
        code_of_play(),
        dict(field.limits),
        own_files(field.agents, field.rules),
    )


def read_games(folder: Path) -> Games:
    """Read a folder's games.

    Raises:
        FieldError: if there are none, or a line is damaged, except by a stop.
    """
    path = folder / FILE
    headers: list[Header] = []
    results: dict[Game, Result] = {}

    def take(entry: dict[str, Any]) -> None:
        if "ladder" in entry:
            headers.append(read_header(entry))
        else:
            result = read_result(entry, headers)
            results[result.game] = result

    try:
        whole = read_lines(path, take)
    except OSError as error:
        raise FieldError(f"{path} cannot be read: {error.strerror}") from None
    except JournalError as error:
        raise FieldError(str(error)) from None
    if not headers:
        raise FieldError(f"{path} has no header: it is not a ladder")
    versions = {version for header in headers for version in header.own_code.items()}
    several = Counter(spec for spec, _ in versions)
    changed = sorted(spec for spec, count in several.items() if count > 1)
    codes = len({header.code for header in headers})
    return Games(headers[-1], list(results.values()), codes, changed, whole)


def refuse_others(folder: Path, *names: str) -> None:
    """Refuse a folder without games in which files have the names of those that come from them,
    and one that cannot be written.

    Raises:
        FieldError: naming one.
        PageError: naming the folder.
    """
    check_writable(folder / FILE)
    if not (folder / FILE).exists():
        for name in names:
            if (folder / name).exists():
                raise FieldError(
                    f"{folder / name} is not of these games: --out DIR names another folder"
                )


class Store:
    """A folder that games are added to. A context manager; one process at a time may use a folder.

    Args:
        folder: created if it does not exist.
        field: the field of the ladder.

    Raises:
        FieldError: if the folder holds results of another field, or is in use.
    """

    def __init__(self, folder: Path, field: Field) -> None:
        self.folder = folder
        self.notes: list[str] = []
        """Notes for the user about the state of the folder."""
        header = header_of(field)
        try:
            make_folder(folder)
            self._journal = Journal(folder / FILE)
            flush_folder(folder)  # the file may be new, and its name is to outlast a power cut
        except BlockingIOError:
            raise FieldError(
                f"{folder} is being written by another process: --out DIR names another"
            ) from None
        except OSError as error:
            raise FieldError(f"{folder} cannot be written: {error.strerror}") from None
        try:
            self.results = self._resume(header)
        except BaseException:
            self._journal.close()
            raise

    def _resume(self, header: Header) -> list[Result]:
        if b"\n" not in (self.folder / FILE).read_bytes():  # new, or stopped at its header
            self._journal.keep(0)
            self._write(dataclasses.asdict(header))
            return []
        games = read_games(self.folder)
        _check_continues(self.folder, games, header)
        if games.whole.dropped:
            self._journal.keep(games.whole.size)
            self.notes.append("the last line was damaged, and is dropped: its game is played anew")
        if games.results and games.header.code != header.code:
            self.notes.append(f"{CHANGED} {_SINCE}")
        for spec, code in games.header.own_code.items():
            if games.results and header.own_code.get(spec) != code:
                self.notes.append(f"{spec} has changed {_SINCE}: --out DIR plays anew")
        if games.header != header:
            self._write(dataclasses.asdict(header))
        return games.results

    def add(self, result: Result) -> None:
        """Append a game."""
        self._write(dataclasses.asdict(result))
        self.results.append(result)

    def _write(self, entry: dict[str, Any]) -> None:
        self._journal.add(json.dumps(entry, separators=(",", ":")))

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        with self._journal:
            self._journal.flush()


def _check_continues(folder: Path, games: Games, new: Header) -> None:
    """Raise unless the games of a folder belong to a field, which may have grown, and may leave out
    agents who have played none of them.
    """
    old = games.header
    have_played = {spec for result in games.results for spec in (result.dwarfs, result.trolls)}

    def differ(what: str, had: object, wanted: object) -> FieldError:
        held = f"{folder} holds a ladder of {what} {had}, not {wanted}"
        return FieldError(f"{held}: --out DIR names another folder")

    if old.rules != new.rules:
        raise differ("ruleset", old.rules, new.rules)
    if old.book != new.book:
        raise differ("opening book", old.book, new.book)
    if old.limits != new.limits:
        had, wanted = (
            " ".join(f"{name}={value}" for name, value in header.limits.items()) or "none"
            for header in (old, new)
        )
        raise differ("limits", had, wanted)
    if old.seed != new.seed:
        raise differ("seed", old.seed, new.seed)
    missing = [spec for spec in old.agents if spec not in new.agents and spec in have_played]
    if missing:
        raise FieldError(
            f"{folder} holds games of {', '.join(missing)}, which this field leaves out, and a "
            "field may only grow: --out DIR names another folder"
        )
    for spec, number in old.agents.items():
        if spec in new.agents and new.agents[spec] < number:
            raise FieldError(
                f"{folder} holds a ladder with games={number} of {spec}, not {new.agents[spec]}, "
                "and a field may only grow: --out DIR names another folder"
            )
