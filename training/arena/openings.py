"""The opening book: fixed starts, so that agents without chance play many different games.

::

    python -m training.arena.openings --rules classic --out configs/ladder/openings-classic.txt

The books of the games that have names come with the checkout, in ``configs/ladder``. That of a
ruleset of your own is read from ``runs/books``, in the folder where a command is started.

A start is a battle after 4 to 8 random turns, uniform over the complete turns, in which no troll
and at most one dwarf has been captured, and which is not over. No two starts of a book are the
same up to the symmetries of the rules. The book is a text file: a header line, then a position
text a line (docs/notation.md); lines that begin with ``#`` are comments.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thud_env import Position
from thud_env.arguments import as_count
from thud_env.board import CELL_OF_SQUARE, SQUARE_SYMMETRY
from thud_env.command import Command, bounded, counted
from thud_env.errors import ThudError
from thud_env.notation.turns import walk_turns
from thud_env.rules.play import apply
from thud_env.rules.row import NUM_DWARFS, NUM_TROLLS
from thud_env.rulesets import RULESETS, Ruleset, get_ruleset
from training.pages import check_page, write_all

FOLDER = Path(__file__).resolve().parents[2] / "configs" / "ladder"
OWN_FOLDER = Path("runs") / "books"
COUNT = 500
MOST_STARTS = 100_000
"""The most starts of a book."""
SEED = 1
TURNS = range(4, 9)
"""How many random turns lead to a start; the starts cycle through these lengths."""
MOST_DWARFS_LOST = 1
_MOST_IN_VAIN = 2_000
"""Draws in a row that give no other start before there are held to be no more."""

_HEADER_BEGINS = "thud-openings "
_HEADER = re.compile(rf"{_HEADER_BEGINS}1 rules=(\S+) seed=(\d+) count=(\d+)")


class OpeningsError(ThudError):
    """A book of openings that is missing, damaged or of another ruleset."""


@dataclass(frozen=True)
class Openings:
    """A book: the starts of one ruleset, in a fixed order."""

    rules: str
    starts: tuple[Position, ...]
    digest: str
    """Identifies the book: a hash of the ruleset and the starts."""

    @classmethod
    def of(cls, starts: list[Position]) -> Openings:
        """The book of these starts, one or more, all of one ruleset.

        Raises:
            OpeningsError: if there are more than ``MOST_STARTS``.
        """
        if len(starts) > MOST_STARTS:
            raise OpeningsError(f"{len(starts):,} starts are too many: {MOST_STARTS:,} at most")
        rules = starts[0].rules.spec
        text = "\n".join((rules, *(start.text for start in starts)))
        return cls(rules, tuple(starts), hashlib.sha256(text.encode()).hexdigest()[:16])

    def rows(self, count: int, **limits: Any) -> NDArray[np.int16]:
        """The first starts as rows, [count, 432], with the limits of a battle.

        Raises:
            OpeningsError: if there are fewer, or a limit is reached at one.
            ThudError: if ``count`` is no integer, or none is asked for.
        """
        count = as_count("count", count)
        if count > len(self.starts):
            raise OpeningsError(
                f"the book of {self.rules} has {len(self.starts)} starts, not {count}"
            )
        rows = []
        for number, start in enumerate(self.starts[:count], start=1):
            try:
                limited = Position.from_text(start.text, start.rules, **limits)
            except ThudError as error:
                raise OpeningsError(f"start {number} of the book: {error}") from None
            if limited.outcome is not None:
                ending = limited.outcome.termination.name.lower()
                raise OpeningsError(f"start {number} of the book is over by these limits: {ending}")
            rows.append(limited.row)
        return np.stack(rows)


def book_path(rules: str | Ruleset) -> Path:
    """Where the book of a ruleset is: the published one, or that of a ruleset of your own."""
    ruleset = get_ruleset(rules)
    name = f"openings-{ruleset.name}.txt"
    if ruleset.name in RULESETS:
        return FOLDER / name
    own = OWN_FOLDER / name
    return FOLDER / name if (FOLDER / name).exists() and not own.exists() else own


def read_openings(rules: str | Ruleset) -> Openings:
    """The book of a ruleset.

    Raises:
        OpeningsError: naming file, line and what is wrong.
        ThudError: if there is no ruleset called ``rules``.
    """
    ruleset = get_ruleset(rules)
    path = book_path(ruleset)
    if not path.exists():
        raise OpeningsError(
            f"there is no book of openings of {ruleset.spec}: "
            f"python -m training.arena.openings --rules {ruleset.spec} --out {path} makes one"
        )
    try:
        return _parsed(path.read_text(encoding="utf-8"), ruleset, path)
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError | UnicodeDecodeError) -> OpeningsError:
    reason = error.strerror if isinstance(error, OSError) else error
    return OpeningsError(f"{path} cannot be read: {reason}")


@lru_cache(maxsize=8)  # checking 500 starts takes 60 ms, and every match asks for its book
def _parsed(text: str, ruleset: Ruleset, path: Path) -> Openings:
    """The book of a ruleset, from the text of its file."""
    header, *lines = text.splitlines() or [""]
    match = _HEADER.fullmatch(header)
    if match is None:
        raise OpeningsError(f"{path} is not a book of openings: its first line is {header!r}")
    if match[1] != ruleset.spec:
        named = match[1].partition("name=")[2].partition(",")[0]
        hint = ": another name= for one of the two would be right" if named == ruleset.name else ""
        raise OpeningsError(f"{path} is a book of {match[1]}, not of {ruleset.spec}{hint}")
    starts = _positions(lines, 2, ruleset, path, {})
    if len(starts) != int(match[3]) or not starts:
        raise OpeningsError(f"{path} has {len(starts)} starts; its first line says {match[3]}")
    return Openings.of(starts)


def _positions(
    lines: list[str], first: int, ruleset: Ruleset, path: Path, limits: Mapping[str, Any]
) -> list[Position]:
    """The positions in lines of a file, the first of which has the number ``first``."""
    found = []
    for number, line in enumerate(lines, first):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            found.append(Position.from_text(line, ruleset, **limits))
        except ThudError as error:
            raise OpeningsError(f"{path}, line {number}: {error}") from None
        if found[-1].outcome is not None:
            raise OpeningsError(f"{path}, line {number}: this battle is over")
    return found


def read_own_starts(path: Path, rules: str, **limits: Any) -> Openings:
    """Starts of the user's own: a file with a position text a line. A book is one, too.

    Args:
        path: the file.
        rules: the ruleset, or its name.
        **limits: those of ``Position.from_text``, by which the positions came about.

    Raises:
        OpeningsError: naming file, line and what is wrong.
        ThudError: if there is no ruleset called ``rules``.
    """
    ruleset = get_ruleset(rules)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from None
    if text.startswith(_HEADER_BEGINS):
        return _parsed(text, ruleset, path)
    starts = _positions(text.splitlines(), 1, ruleset, path, limits)
    if not starts:
        raise OpeningsError(f"{path} has no start: a position text a line would be right")
    return Openings.of(starts)


def generate_openings(rules: str | Ruleset, count: int = COUNT, seed: int = SEED) -> list[Position]:
    """Draw a book. The first starts of a longer one are the same.

    Draws are by ``random.random()``, whose sequence Python keeps from version to version.

    Raises:
        OpeningsError: if battles end before the starts, or hardly any draw gives another one.
    """
    ruleset = get_ruleset(rules)
    draws = random.Random(seed)
    start = Position.start(ruleset)
    symmetries = SQUARE_SYMMETRY[list(ruleset.symmetries)]
    seen: set[bytes] = set()
    found: list[Position] = []
    in_vain = 0
    while len(found) < count:
        in_vain += 1
        turns = TURNS[len(found) % len(TURNS)]
        if in_vain > _MOST_IN_VAIN or turns >= ruleset.max_turns:
            raise OpeningsError(
                f"{ruleset.spec}: only {len(found)} starts of {TURNS[0]} to {TURNS[-1]} turns were "
                "found: fewer, or a ruleset of longer battles, would be right"
            )
        position = _after_random_turns(start, turns, draws)
        if position.outcome is not None or not _is_balanced(position, start):
            continue
        name = _name_up_to_symmetry(position, symmetries)
        if name not in seen:
            seen.add(name)
            found.append(position)
            in_vain = 0
    return found


def _after_random_turns(start: Position, turns: int, draws: random.Random) -> Position:
    position = start
    for _ in range(turns):
        if position.outcome is not None:
            break
        choices = sorted(dict(walk_turns(position.row)).items())
        _, decisions = choices[int(draws.random() * len(choices))]
        row = position.row.copy()
        for decision in decisions:
            apply(row, decision)
        position = Position.unchecked(row)
    return position


def _is_balanced(position: Position, start: Position) -> bool:
    dwarfs_lost = start.row[NUM_DWARFS] - position.row[NUM_DWARFS]
    return bool(
        dwarfs_lost <= MOST_DWARFS_LOST and position.row[NUM_TROLLS] == start.row[NUM_TROLLS]
    )


def _name_up_to_symmetry(position: Position, symmetries: np.ndarray) -> bytes:
    board = position.row[CELL_OF_SQUARE].astype(np.int8)
    return position.to_move.encode() + min(image.tobytes() for image in board[symmetries])


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    command = Command("training.arena.openings", __doc__)
    command.add_rules()
    command.add_argument(
        "--count",
        type=bounded(int, 1, MOST_STARTS),
        default=COUNT,
        metavar="N",
        help=f"starts ({COUNT})",
    )
    command.add_argument(
        "--seed", type=bounded(int, 0), default=SEED, metavar="N", help=f"seeds the draws ({SEED})"
    )
    command.add_argument(
        "--out", type=Path, metavar="FILE", help="where to write the book (standard output)"
    )
    return command.run(_write_book, words)


def _write_book(arguments: argparse.Namespace) -> None:
    rules, count, seed, out = arguments.rules, arguments.count, arguments.seed, arguments.out
    if out is not None:
        check_page("training.arena.openings", _HEADER_BEGINS, out)
        if out.exists():
            _check_same_rules(out, rules)
    lines = [f"{_HEADER_BEGINS}1 rules={rules} seed={seed} count={count}"]
    lines += [start.text for start in generate_openings(rules, count, seed)]
    if out is None:
        print(*lines, sep="\n")
    else:
        write_all({out: "".join(f"{line}\n" for line in lines)})
        print(f"{out}: {counted(count, 'start')} of {rules}")
        if out.resolve() != book_path(rules).resolve():
            book = book_path(rules)
            print(f"training.evaluate --starts {out} reads it; the book of {rules} is {book}")


def _check_same_rules(out: Path, rules: str) -> None:
    """Refuse to write over a book of another ruleset."""
    header = out.read_text(encoding="utf-8", errors="replace").partition("\n")[0]
    found = _HEADER.fullmatch(header)
    if found is not None and found[1] != rules:
        raise OpeningsError(
            f"{out} is a book of {found[1]}, and is left as it is: another file would be right"
        )


if __name__ == "__main__":
    sys.exit(main())
