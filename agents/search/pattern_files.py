"""Reads and writes the tables of the evaluation by patterns.

A file, ``configs/search/patterns-RULES.npz``, holds a value for each *class* of entries: of
patterns, of pieces on squares, of pieces beside the stone, of numbers of dwarfs and of trolls, and
of lines, which a file may lack. Entries that a symmetry maps onto each other are one class, so that
a position and its mirror image have the same value. The symmetries are those of the rules, and for
patterns that are not around the stone all eight of the board.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agents.durable import replace_flushed
from agents.search.evaluation import LARGEST_EVALUATION
from agents.search.lines import same_lines
from agents.search.patterns import (
    AT_STONE,
    INNER,
    NUM_CODES,
    NUM_PATTERNS,
    NUM_PIECES,
    NUM_PLACES,
    RIM,
    SAME_PLACE,
    Tables,
)
from thud_env.board import CELL_OF_SQUARE, NUM_CELLS, SQUARE_SYMMETRY, SYMMETRIES
from thud_env.errors import ThudError
from thud_env.rules.row import DWARF, STONE, TROLL
from thud_env.rulesets import MAX_DWARFS, MAX_TROLLS, RULESETS, Ruleset, get_ruleset

FOLDER = Path(__file__).parents[2] / "configs" / "search"
VERSION = 2


class TablesError(ThudError):
    """A file of tables is missing or invalid."""


class Classes:
    """The classes of a ruleset's tables: which entries share a value. -1: no class, the value is 0.

    Attributes:
        patterns: [78732] the class of each code, or -1.
        pieces: [4, 272] the class of each piece on each cell, or -1.
        beside_stone: [4, 1024] the class of each piece at each place beside the stone, or -1.
        counts: [33, 9] the class of each number of dwarfs and of trolls.
        lines: [2048] the class of each code of a line, or -1.
        count: how many classes there are, of all five together.
        without_lines: how many of all but lines, whose classes are the last.
    """

    def __init__(self, ruleset: Ruleset) -> None:
        shared = list(ruleset.symmetries)
        self.count = 0
        names = np.full(NUM_CODES, -1, dtype=np.int64)
        everything = range(len(SYMMETRIES))
        for first, symmetries in ((INNER, everything), (RIM, everything), (AT_STONE, shared)):
            names[first : first + NUM_PATTERNS] = first + _smallest_codes(symmetries)
        names[[INNER, RIM, AT_STONE]] = -1  # empty patterns
        self.patterns = self._number(names)
        images = SQUARE_SYMMETRY[shared].min(axis=0)
        names = np.full((NUM_PIECES, NUM_CELLS), -1, dtype=np.int64)
        for piece in (DWARF, TROLL, *((STONE,) if ruleset.stone_moves else ())):
            names[piece, CELL_OF_SQUARE] = piece * NUM_CELLS + images
        self.pieces = self._number(names)
        names = np.full((NUM_PIECES, NUM_PLACES), -1, dtype=np.int64)
        if ruleset.stone_moves:
            for piece in (DWARF, TROLL):
                names[piece] = _smallest_places(shared) + piece * NUM_PLACES
        self.beside_stone = self._number(names)
        self.counts = self._number(
            np.arange((MAX_DWARFS + 1) * (MAX_TROLLS + 1)).reshape(MAX_DWARFS + 1, MAX_TROLLS + 1)
        )
        self.without_lines = self.count
        self.lines = self._number(same_lines())

    def _number(self, names: NDArray[np.int64]) -> NDArray[np.int64]:
        known, numbers = np.unique(names[names >= 0], return_inverse=True)
        classes = np.full(names.shape, -1, dtype=np.int64)
        classes[names >= 0] = self.count + numbers
        self.count += len(known)
        return classes

    def spread(self, values: NDArray[np.int16], constant: NDArray[np.int64]) -> Tables:
        """The tables in which the classes have these values, [count, 2]; or [without_lines, 2], so
        that lines do not count.
        """
        with_nothing = np.concatenate((values, np.zeros((1, 2), dtype=np.int16)))
        no_lines = len(values) == self.without_lines
        return Tables(
            patterns=with_nothing[self.patterns].ravel(),
            lines=with_nothing[self.lines[:0] if no_lines else self.lines].ravel(),
            pieces=with_nothing[self.pieces],
            beside_stone=with_nothing[self.beside_stone],
            counts=with_nothing[self.counts],
            constant=constant,
        )


def _smallest_codes(symmetries: range | list[int]) -> NDArray[np.int64]:
    """[19683] for each code, the smallest that the symmetries map it to."""
    codes = np.arange(NUM_PATTERNS)
    digits = codes // 3 ** np.arange(9)[:, np.newaxis] % 3
    smallest = codes
    for number in symmetries:
        image = SYMMETRIES[number][1]
        row_and_column = [image(7 + k // 3 - 1, 7 + k % 3 - 1) for k in range(9)]
        places = [(row - 6) * 3 + column - 6 for row, column in row_and_column]
        smallest = np.minimum(smallest, (digits * 3 ** np.array(places)[:, np.newaxis]).sum(axis=0))
    return smallest


def _smallest_places(symmetries: list[int]) -> NDArray[np.int64]:
    """[1024] for each place, the smallest that the symmetries map it to."""
    smallest = np.arange(NUM_PLACES)
    for place in range(NUM_PLACES):
        rows, columns = divmod(place - SAME_PLACE + 16, 32)
        columns -= 16
        for number in symmetries:
            row, column = SYMMETRIES[number][1](7 + rows, 7 + columns)
            image = SAME_PLACE + 32 * (row - 7) + column - 7
            if 0 <= image < NUM_PLACES:
                smallest[place] = min(smallest[place], image)
    return smallest


@cache
def classes_of(rules: str) -> Classes:
    """The classes of a ruleset."""
    return Classes(get_ruleset(rules))


def empty_tables() -> Tables:
    """Tables that give every position the value 0."""
    return Tables(
        patterns=np.zeros(2 * NUM_CODES, dtype=np.int16),
        lines=np.zeros(0, dtype=np.int16),
        pieces=np.zeros((NUM_PIECES, NUM_CELLS, 2), dtype=np.int16),
        beside_stone=np.zeros((NUM_PIECES, NUM_PLACES, 2), dtype=np.int16),
        counts=np.zeros((MAX_DWARFS + 1, MAX_TROLLS + 1, 2), dtype=np.int16),
        constant=np.zeros(2, dtype=np.int64),
    )


def tables_path(rules: str) -> Path:
    """The file of a ruleset's tables."""
    return FOLDER / f"patterns-{get_ruleset(rules).name}.npz"


def write_tables(
    path: Path, rules: str, values: NDArray[np.int16], constant: NDArray[np.int64]
) -> None:
    """Write a file of tables, in one step.

    Args:
        path: the file.
        rules: the ruleset.
        values: [classes, 2] in hundredths of a point, by side to move.
        constant: [2].
    """
    data = io.BytesIO()
    np.savez_compressed(
        data, version=VERSION, rules=np.array(rules), values=values, constant=constant
    )
    replace_flushed(path, data.getvalue())


def read_values(path: Path) -> tuple[str, NDArray[np.int16], NDArray[np.int64]]:
    """The ruleset of a file of tables, the values of its classes, [classes, 2] in hundredths of a
    point by side to move, and the constants, [2].

    Raises:
        TablesError: naming the file and what is wrong with it.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            content = dict(file)
    except Exception as error:  # NumPy's, zipfile's and zlib's, as the damaged bytes will have it
        reason = getattr(error, "strerror", None) or error
        raise TablesError(f"{path} cannot be read: {reason}") from None
    is_whole = {"version", "rules", "values", "constant"} <= set(content)
    if not is_whole or str(content["version"]) != str(VERSION):
        raise TablesError(f"{path} is not a file of patterns of version {VERSION}")
    rules, values, constant = str(content["rules"]), content["values"], content["constant"]
    if rules not in RULESETS:
        raise TablesError(f"{path} has patterns of {rules!r}: no such ruleset")
    classes = classes_of(rules)
    shape = (classes.count, 2)
    if (
        values.shape not in (shape, (classes.without_lines, 2))
        or values.dtype != np.int16
        or constant.shape != (2,)
    ):
        raise TablesError(f"{path}: values of shape {shape} and type int16 would be right")
    if constant.dtype != np.int64 or (np.abs(constant) > LARGEST_EVALUATION).any():
        raise TablesError(
            f"{path}: a constant of type int64, {LARGEST_EVALUATION:,} at most, would be right"
        )
    return rules, values, constant


def read_tables(path: Path) -> tuple[str, Tables]:
    """The ruleset of a file of tables, and the tables.

    Raises:
        TablesError: naming the file and what is wrong with it.
    """
    rules, values, constant = read_values(path)
    return rules, classes_of(rules).spread(values, constant)


@cache
def published_tables(rules: str) -> Tables | None:
    """The tables in the checkout for a ruleset: its own or, if it has none, those of
    ``koom-valley`` where the stone moves and of ``classic`` where it does not. None if these are
    missing too, or of another scale: one game is played for points, the other to win.
    """
    ruleset = get_ruleset(rules)
    like = get_ruleset("koom-valley" if ruleset.stone_moves else "classic")
    for one in (ruleset, like):
        if one.reward == ruleset.reward and tables_path(one.spec).exists():
            return _tables_in(tables_path(one.spec))
    return None


@cache
def _tables_in(path: Path) -> Tables:
    """Those of a published file, once for all rulesets that play by it."""
    return read_tables(path)[1]


def tables_with(path: str) -> Callable[[str], Tables | None]:
    """``published_tables``, but for the ruleset whose tables are in a file.

    Raises:
        TablesError: naming the file and what is wrong with it.
    """
    return partial(_own_or_published, *read_tables(Path(path)))  # unlike a lambda, it pickles


def _own_or_published(own: str, tables: Tables, rules: str) -> Tables | None:
    return tables if rules == own else published_tables(rules)
