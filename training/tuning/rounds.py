"""The battles of a tuning, kept in a file so that a stop loses at most one round of them.

The first line of the file is the plan. The next says what code the rounds below it were played
with, and another follows where that has changed. Every other line is a round. Each is on the disk
before the next is played.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

from agents.durable import flush_folder, make_folder
from training.arena.identity import CHANGED, code_of_play, own_files
from training.process.journal import Journal

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
        text = self._path.read_text(encoding="utf-8")
        if f"{header}\n".startswith(text):  # new, or stopped at its header
            self._journal.keep(0)
            self._write(header)
            self._write(code)
            flush_folder(self._path.parent)
            return {}
        first, *lines = text.splitlines(keepends=True)
        if first != f"{header}\n":
            raise ValueError(
                f"{self._path} was begun with other options: --games FILE names another"
            )
        whole = [line for line in lines if line.endswith("\n")]
        if whole != lines:  # a stop may cut a line
            self._journal.keep(len("".join((first, *whole)).encode()))
        entries = [json.loads(line) for line in whole]
        rounds = [Round(**entry) for entry in entries if "code" not in entry]
        codes = [entry for entry in entries if "code" in entry]
        if codes[-1:] != [json.loads(code)]:
            if rounds:
                self.notes.append(
                    f"{CHANGED}, or files that the players name, since the battles that are kept "
                    "were played"
                )
            self._write(code)
        return {one.key: one for one in rounds}  # of the same battles, the last ones count
