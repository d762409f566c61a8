"""The battles of a tuning, kept in a file so that a stop loses at most one round of them.

The first line of the file is the plan. The next says what code the rounds below it were played
with, and another follows where that has changed. Every other line is a round. Each is on the disk
before the next is played.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agents.durable import flush_folder, make_folder
from training.arena.identity import CHANGED, code_of_play, own_files
from training.commands.changes import changes
from training.commands.journal import Journal, read_lines

Key = tuple[str, int, str, str]


@dataclasses.dataclass(frozen=True)
class Plan:
    """The settings of a tuning. All battles in a file have the same plan, except ``pairs``."""

    rules: str
    base: str
    candidates: tuple[str, ...]
    opponents: tuple[str, ...]
    pairs: int
    """Starts for each opponent, in the search and in the confirmation."""
    batch: int
    """Starts of a round."""
    book: str
    """The digest of the book that the starts are from."""


@dataclasses.dataclass(frozen=True)
class Round:
    """The battles of one player against one opponent from some starts."""

    phase: str
    number: int
    player: str
    opponent: str
    as_dwarfs: list[int]
    """Margins from the player's view."""
    as_trolls: list[int]
    seconds: float
    """CPU seconds of both players."""

    @property
    def key(self) -> Key:
        """What battles they are; with more ``--pairs`` there may be more of the last round."""
        return self.phase, self.number, self.player, self.opponent


def read_round(entry: dict[str, Any]) -> Round:
    """The round in a line.

    Raises:
        ValueError, TypeError: if the line is invalid.
    """
    one = Round(**entry)
    for name, is_right in (
        ("phase", type(one.phase) is str),
        ("number", type(one.number) is int and one.number >= 0),
        ("player", type(one.player) is str),
        ("opponent", type(one.opponent) is str),
        ("as_dwarfs", _are_margins(one.as_dwarfs)),
        ("as_trolls", _are_margins(one.as_trolls)),
        ("seconds", type(one.seconds) in (int, float) and 0 <= one.seconds < math.inf),
    ):
        if not is_right:
            raise ValueError(f"{name} cannot be {repr(entry[name])[:100]}")
    if len(one.as_dwarfs) != len(one.as_trolls):
        raise ValueError("as_dwarfs and as_trolls are of different lengths")
    return one


def _are_margins(values: object) -> bool:
    return isinstance(values, list) and values != [] and all(type(one) is int for one in values)


class Rounds:
    """The rounds of a tuning, in a file. A context manager; one process at a time may write a file.

    Args:
        plan: the tuning's settings.
        path: the file; made, with its folder, if it is missing.

    Raises:
        ValueError: if the file holds rounds of another plan or is in use.
    """

    def __init__(self, plan: Plan, path: Path) -> None:
        self._path = path
        self.notes: list[str] = []
        """Notes for the user about the state of the file."""
        make_folder(path.parent)
        try:
            self._journal = Journal(path)
        except BlockingIOError:
            raise ValueError(
                f"{path} is being written by another tuning: --games FILE names another"
            ) from None
        try:
            self._rounds = self._read(plan)
        except BaseException:
            self._journal.close()
            raise

    def __enter__(self) -> Rounds:
        return self

    def __exit__(self, *_: object) -> None:
        self._journal.close()

    def __iter__(self) -> Iterator[Round]:
        return iter(self._rounds.values())

    def add(self, played: Round) -> None:
        """Keep a round, instead of one of the same battles."""
        self._rounds[played.key] = played
        self._write(json.dumps(dataclasses.asdict(played)))

    def _write(self, line: str) -> None:
        self._journal.add(line)
        self._journal.flush()

    def _read(self, plan: Plan) -> dict[Key, Round]:
        header = json.dumps({**dataclasses.asdict(plan), "pairs": None})
        specs = (plan.base, *plan.candidates, *plan.opponents)
        code = json.dumps({"code": code_of_play(), "own_code": own_files(specs, plan.rules)})
        if f"{header}\n".encode().startswith(self._path.read_bytes()):  # new, or stopped there
            self._journal.keep(0)
            self._write(header)
            self._write(code)
            flush_folder(self._path.parent)
            return {}
        plans: list[dict[str, Any]] = []
        codes: list[dict[str, Any]] = []
        rounds: dict[Key, Round] = {}

        def take(entry: dict[str, Any]) -> None:
            if not plans:
                plans.append(entry)
            elif "code" in entry:
                codes.append(entry)
            else:
                one = read_round(entry)
                rounds[one.key] = one  # of the same battles, the last ones count

        whole = read_lines(self._path, take)
        wanted = json.loads(header)
        if [plan.keys() for plan in plans] != [wanted.keys()]:
            raise ValueError(f"{self._path} is not of a tuning: --games FILE names another")
        changed = changes(plans[0], wanted)
        if changed:
            raise ValueError(
                f"{self._path} was begun with other options, {', '.join(changed)}: "
                "--games FILE names another"
            )
        if whole.dropped:
            self._journal.keep(whole.size)
            self.notes.append("the last line was damaged, and is dropped: it is played anew")
        if codes[-1:] != [json.loads(code)]:
            if rounds:
                self.notes.append(
                    f"{CHANGED}, or files that the players name, since the battles that are kept "
                    "were played"
                )
            self._write(code)
        return rounds
