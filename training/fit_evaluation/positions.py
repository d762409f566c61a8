"""Plays positions by self-play of a search, and computes their lambda returns.

Battles begin at starts of the book, some of them after further random turns. A search values every
position, and in half of the battles plays both sides. In the others a side blunders often, or looks
one turn ahead by features: battles of equals do not show the positions that weak play leads to.
A random turn is played now and then, so that mistakes are seen and punished.

A position's target is the lambda return of the search's values (Sutton, "Learning to predict by the
methods of temporal differences", 1988): a part is its own value, the rest the return of the
position after the search's turn; the last return is the result of the battle.
"""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agents.durable import replace_flushed
from agents.search.deepening import Searcher, SearchOptions
from agents.search.evaluation import POINT
from agents.search.evaluator import read_evaluator
from thud_env.board import CELL_OF_SQUARE
from thud_env.errors import ThudError
from thud_env.rules.legal import legal_list
from thud_env.rules.play import apply, margin
from thud_env.rules.row import (
    DWARFS,
    MAX_QUIET_TURNS,
    MAX_TURNS,
    NO_QUESTION,
    ONGOING,
    PENDING,
    STONE_CELL,
    TERMINATION,
    TO_MOVE,
    Row,
)
from thud_env.rulesets import get_ruleset

OUTCOME_POINTS = 10
"""The value of a won Koom Valley battle, in points."""
LONGEST, LONGEST_QUIET = 260, 60
"""Turns, and quiet turns, that end a battle: later positions teach nothing."""
OPENINGS = (0, 0, 0, 4, 10, 20)
"""Numbers of random turns after the book's start, each equally likely."""
BLUNDERS, CARELESS_BLUNDERS = 0.05, 0.25
"""The share of random turns after those, of most sides and of careless ones."""
SEARCHES, SEES_LITTLE, CARELESS = range(3)
MANNERS = (SEARCHES,) * 5 + (SEES_LITTLE, CARELESS)
"""How a side plays a battle, each equally likely."""
DEEP = 0.3
"""The share of battles searched to the full depth; the others are searched a turn less deep, but
two turns at least: more positions are worth more than deeper values."""


def damaged(path: Path) -> ThudError:
    """The error for a damaged file of a fit that is made anew if it is missing."""
    return ThudError(f"{path} is damaged: remove it, and it is made anew")


@dataclasses.dataclass(frozen=True)
class Positions:
    """N positions at the start of a turn."""

    boards: NDArray[np.int8]
    """[N, 165] what stands on each square."""
    stones: NDArray[np.int16]
    """[N] the cell of the stone."""
    sides: NDArray[np.int8]
    """[N] the side to move."""
    worth: NDArray[np.float32]
    """[N] the lambda returns, in points, for the dwarfs."""
    battles: NDArray[np.int32]
    """[N] the number of the battle each is from."""

    @classmethod
    def joined(cls, parts: list[Positions]) -> Positions:
        """Several lots as one, their battles renumbered."""
        starts = np.cumsum([0, *(int(part.battles.max()) + 1 for part in parts)])
        parts = [
            dataclasses.replace(part, battles=part.battles + start)
            for part, start in zip(parts, starts[:-1], strict=True)
        ]
        names = [field.name for field in dataclasses.fields(cls)]
        return cls(**{name: np.concatenate([getattr(p, name) for p in parts]) for name in names})

    def save(self, path: Path) -> None:
        """Write them to a file, in one step."""
        data = io.BytesIO()
        np.savez_compressed(data, **dataclasses.asdict(self))
        replace_flushed(path, data.getvalue())

    @classmethod
    def load(cls, path: Path) -> Positions:
        """Read a file of them.

        Raises:
            ThudError: if it is damaged; it may be removed, and is made anew then.
        """
        data = io.BytesIO(path.read_bytes())
        try:
            with np.load(data, allow_pickle=False) as file:
                found = cls(**file)
            (_,) = {len(part) for part in dataclasses.asdict(found).values()}
        except Exception:  # NumPy's, zipfile's and zlib's, as the damaged bytes will have it
            raise damaged(path) from None
        return found


class SearchPlay:
    """Plays battles and keeps their positions.

    Args:
        searcher: plays and values.
        options: how it searches at most.
        starts: rows that battles begin at.
        trace: lambda of the returns, 0 .. 1.
        rng: draws starts and random turns.
    """

    def __init__(
        self,
        searcher: Searcher,
        options: SearchOptions,
        starts: list[Row],
        trace: float,
        rng: np.random.Generator,
    ) -> None:
        self._searcher = searcher
        self._options = options
        self._little = SearchOptions(read_evaluator("features"), depth=1)
        """The search of a side that sees little."""
        self._starts = starts
        self._trace = trace
        self._rng = rng

    def play(self, least: int, rules: str, watch: Callable[[], object] = lambda: None) -> Positions:
        """Play whole battles until there are ``least`` positions or more; ``watch`` is called after
        each.
        """
        by_outcome = get_ruleset(rules).reward == "outcome"
        unit = OUTCOME_POINTS if by_outcome else 1
        largest = unit * get_ruleset(rules).largest_margin
        rows: list[Row] = []
        worth: list[float] = []
        battles: list[int] = []
        number = 0
        while len(rows) < least:
            seen, values, drawn, last = self._battle()
            following = float(margin(last) * unit)
            returns = []
            for hundredths, was_drawn in zip(reversed(values), reversed(drawn), strict=True):
                value = min(max(hundredths / POINT, -largest), largest)
                if was_drawn:  # the value after another turn is no estimate of the position's
                    following = value
                else:
                    following = (1 - self._trace) * value + self._trace * following
                returns.append(following)
            rows += seen
            worth += reversed(returns)
            battles += [number] * len(seen)
            number += 1
            watch()
        found = np.stack(rows)
        return Positions(
            boards=found[:, CELL_OF_SQUARE].astype(np.int8),
            stones=found[:, STONE_CELL],
            sides=found[:, TO_MOVE].astype(np.int8),
            worth=np.array(worth, dtype=np.float32),
            battles=np.array(battles, dtype=np.int32),
        )

    def _battle(self) -> tuple[list[Row], list[int], list[bool], Row]:
        """The rows of a battle, their values for the dwarfs, whether another turn than the search's
        was played there, and the row it ended with.
        """
        rng = self._rng
        row = self._starts[int(rng.integers(len(self._starts)))].copy()
        row[MAX_TURNS], row[MAX_QUIET_TURNS] = LONGEST, LONGEST_QUIET
        for _ in range(OPENINGS[int(rng.integers(len(OPENINGS)))]):
            self._play_randomly(row)
        options = self._options
        if rng.random() >= DEEP:
            shallower = max(options.depth - 1, min(options.depth, 2))
            options = dataclasses.replace(options, depth=shallower)
        manners = [MANNERS[int(rng.integers(len(MANNERS)))] for _ in range(2)]
        seen: list[Row] = []
        values: list[int] = []
        others: list[bool] = []
        while row[TERMINATION] == ONGOING:
            manner = manners[row[TO_MOVE]]
            found = self._searcher.search(row, options)
            seen.append(row.copy())
            values.append(found.value if row[TO_MOVE] == DWARFS else -found.value)
            blunders = bool(rng.random() < (CARELESS_BLUNDERS if manner == CARELESS else BLUNDERS))
            others.append(blunders or manner == SEES_LITTLE)
            if blunders:
                self._play_randomly(row)
            elif manner == SEES_LITTLE:
                little = self._little
                self._finish_turn(row, little, self._searcher.search(row, little).decisions)
            else:
                self._finish_turn(row, options, found.decisions)
        return seen, values, others, row

    def _finish_turn(self, row: Row, options: SearchOptions, decisions: list[int]) -> None:
        """Play decisions, and search for those that are left of the turn."""
        for decision in decisions:
            apply(row, decision)
        while row[PENDING] != NO_QUESTION and row[TERMINATION] == ONGOING:
            for decision in self._searcher.search(row, options).decisions:
                apply(row, decision)

    def _play_randomly(self, row: Row) -> None:
        """Play random decisions to the end of a turn, if the battle is not over."""
        while row[TERMINATION] == ONGOING:
            decisions = legal_list(row)
            apply(row, int(decisions[int(self._rng.integers(len(decisions)))]))
            if row[PENDING] == NO_QUESTION:
                return
