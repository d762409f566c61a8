"""Write ``thud.tactics``, positions that two turns of search do not solve, beside this file.

    python tests/data/make_tactics.py
    python tests/data/make_tactics.py koom-valley

Positions come from play that looks one turn ahead and errs at random now and then, from the book's
starts. One is kept if

- alpha-beta two turns deep misses its best turns, by patterns and by features;
- by patterns, four turns deep, every turn but the best few is worse than the best by ``CLEAR``;
- by features, four turns deep, one of the best is played, and what two turns of search would have
  played is worse by ``CLEAR``;
- by patterns, five turns deep, one of the best is played.

So the results of two and of four turns of search on this suite follow from how it was made. It
measures what lies between, other players, and changes of the search. Other tables or another search
make another suite, as good as this one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from agents.search.deepening import Searcher, SearchOptions  # noqa: E402 - found through the line above
from agents.search.evaluation import INFINITE, POINT, final_value  # noqa: E402
from agents.search.evaluator import read_evaluator  # noqa: E402
from thud_env import RULESETS, Position  # noqa: E402
from thud_env.jit.rng import seed_generators  # noqa: E402
from thud_env.notation.turns import turn_notation, walk_turns  # noqa: E402
from thud_env.rules.legal import legal_actions  # noqa: E402
from thud_env.rules.play import apply  # noqa: E402
from thud_env.rules.row import (  # noqa: E402
    MAX_DECISIONS_AT_ONCE,
    NO_QUESTION,
    ONGOING,
    PENDING,
    TERMINATION,
    TO_MOVE,
    Row,
)
from training.arena.openings import read_openings  # noqa: E402

FILE = HERE / "thud.tactics"
SHALLOW, DEEP, DEEPER = 2, 4, 5
"""Turns that a search looks ahead: the one that misses, and those that agree."""
CLEAR = POINT // 2
"""By how much every other turn must be worse."""
MOST_BEST = 5
"""Turns that are about equally good."""
FEWEST_TURNS = 10
POSITIONS = {
    "classic": 42,
    "classic-any": 42,
    "classic-all": 32,
    "koom-valley": 24,
    "koom-valley-football": 66,
}
"""How many are found, by ruleset; where few positions have one right turn, few."""
BLUNDERS = 0.2
"""The share of random turns."""
LOOKS = 0.15
"""The share of positions of a battle that are looked at."""
FIRST_TURN, LAST_TURN = 5, 160
HEADER = """\
# Thud tactics: positions in which a few turns are best, and two turns of search find none of them.
# One position a line: ruleset | position text | the best turns. Limits are 200 and 800 turns.
# Found by make_tactics.py, which says how; free to use.
"""


class Tactic(NamedTuple):
    """A position and its best turns, of which there are ``MOST_BEST`` at most."""

    position: Position
    turns: list[str]

    def __str__(self) -> str:
        return " | ".join((self.position.rules.name, self.position.text, " ".join(self.turns)))


def read_tactics() -> list[Tactic]:
    """The suite as it is published."""
    found = []
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            rules, text, turns = line.split(" | ")
            found.append(Tactic(Position.from_text(text, rules), turns.split()))
    return found


class Examiner:
    """Searches that say whether a position belongs to the suite."""

    def __init__(self) -> None:
        self._searcher = Searcher(seed_generators(1, 0))

    def best_turns(self, row: Row) -> list[str] | None:
        """The best turns of a position that belongs to the suite; None for any other."""
        missing = {self.turn(row, SHALLOW, learned) for learned in (True, False)}
        deep = self._searcher.search(row, _options(DEEP, True))
        after = {turn: _after(row, way) for turn, way in walk_turns(row)}
        if len(after) < FEWEST_TURNS or not self._are_worse(missing, after, row, deep.value, True):
            return None
        best = self._best(after, row, deep.value)
        if best is None or self.turn(row, DEEPER, True) not in best:
            return None
        by_features = self._searcher.search(row, _options(DEEP, False)).value
        if self.turn(row, DEEP, False) not in best:
            return None
        return best if self._are_worse(missing, after, row, by_features, False) else None

    def turn(self, row: Row, depth: int, learned: bool) -> str:
        """The turn that a search plays."""
        row, before, decisions = row.copy(), row, []
        while True:
            for decision in self._searcher.search(row, _options(depth, learned)).decisions:
                apply(row, decision)
                decisions.append(decision)
            if row[PENDING] == NO_QUESTION or row[TERMINATION] != ONGOING:
                return turn_notation(before, decisions)

    def _are_worse(
        self, turns: set[str], after: dict[str, Row], row: Row, best: int, learned: bool
    ) -> bool:
        """Whether turns are all worse than the best by ``CLEAR``."""
        least = best - CLEAR + 1
        return all(self._value(after[turn], row, learned, least) < least for turn in turns)

    def _best(self, after: dict[str, Row], row: Row, best: int) -> list[str] | None:
        """The turns that are not worse than the best by ``CLEAR``; None if they are too many."""
        least = best - CLEAR + 1
        # Those that look best come first: they show soonest that there are too many.
        likely = {turn: self._value(child, row, True, depth=1) for turn, child in after.items()}
        found = []
        for turn in sorted(after, key=lambda turn: -likely[turn]):
            if self._value(after[turn], row, True, least) >= least:
                found.append(turn)
                if len(found) > MOST_BEST:
                    return None
        return sorted(found)

    def _value(
        self,
        child: Row,
        before: Row,
        learned: bool,
        least: int | None = None,
        depth: int = DEEP - 1,
    ) -> int:
        """What a turn is worth to the side that played it; with ``least``, whether so much."""
        if child[TERMINATION] != ONGOING:
            value = int(final_value(child))
            return value if child[TO_MOVE] == before[TO_MOVE] else -value
        window = (-INFINITE, INFINITE) if least is None else (-least, 1 - least)
        return -self._searcher.value(child, _options(depth, learned), *window)


def _options(depth: int, learned: bool) -> SearchOptions:
    evaluator = read_evaluator("learned" if learned else "features")
    return SearchOptions(evaluator, depth=depth, reductions=1)


def _after(row: Row, decisions: list[int]) -> Row:
    child = row.copy()
    for decision in decisions:
        apply(child, decision)
    return child


def candidates(rules: str) -> Iterator[Row]:
    """Rows from play with random turns, between turns."""
    random = Random(f"tactics {rules}")
    starts = read_openings(rules).starts
    searcher = Searcher(seed_generators(1, random.randrange(2**31)))
    legal = np.empty(MAX_DECISIONS_AT_ONCE, dtype=np.int32)
    while True:
        row = random.choice(starts).row.copy()
        for number in range(LAST_TURN):
            errs = random.random() < BLUNDERS
            while row[TERMINATION] == ONGOING:
                if errs:
                    apply(row, int(legal[random.randrange(legal_actions(row, legal))]))
                else:
                    for decision in searcher.search(row, _options(1, True)).decisions:
                        apply(row, decision)
                if row[PENDING] == NO_QUESTION:
                    break
            if row[TERMINATION] != ONGOING:
                break
            if number >= FIRST_TURN and random.random() < LOOKS:
                yield row.copy()


def tactics(rules: str) -> Iterator[Tactic]:
    """One ruleset's part of the suite."""
    examiner = Examiner()
    seen = set()
    for row in candidates(rules):
        best = examiner.best_turns(row)
        position = Position.unchecked(row)
        if best is not None and position.text not in seen:
            seen.add(position.text)
            yield Tactic(position, best)
            if len(seen) == POSITIONS[rules]:
                return


def main() -> None:
    """Write the suite, or the parts of the rulesets that are named."""
    for rules in sys.argv[1:] or RULESETS:
        found = []
        for tactic in tactics(rules):
            found.append(str(tactic))
            print(tactic, flush=True)
        kept = [str(tactic) for tactic in read_tactics() if tactic.position.rules.name != rules]
        FILE.write_text(HEADER + "\n".join(sorted(kept + found)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
