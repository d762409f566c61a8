"""Write ``thud.tactics``, positions in which few turns are best by far, beside this file.

    python tests/data/make_tactics.py

Positions come from play, half greedy and half at random, and from a builder of awkward ones. One
is kept if a search that sees nothing but captures and battles won, 4 turns deep and 5, finds the
same few turns best and every other one clearly worse (``Prover``). No player's evaluation has a
say in that, nor whether a player finds the turn: this is what the suite is for. The first that
come are taken until there are as many of each kind as ``QUOTAS`` asks for.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from positions import (  # noqa: E402 - found through the line above
    AHEAD,
    DIRECTIONS,
    EDGE,
    SQUARES,
    Builder,
    constructed,
    position_of,
    random_position,
)

import agents  # noqa: E402
from agents.alphabeta import Searcher, SearchOptions  # noqa: E402
from agents.search.evaluation import INFINITE, POINT, WIN, final_value  # noqa: E402
from agents.search.weights import Weights, material_weights  # noqa: E402
from thud_env import Position  # noqa: E402
from thud_env.jit.rng import seed_generators  # noqa: E402
from thud_env.notation.turns import walk_turns  # noqa: E402
from thud_env.rules.play import apply  # noqa: E402
from thud_env.rules.row import (  # noqa: E402
    NUM_DWARFS,
    NUM_TROLLS,
    ONGOING,
    TERMINATION,
    TO_MOVE,
    Row,
)
from thud_env.rulesets import get_ruleset  # noqa: E402

DEPTHS = (4, 5)
"""Turns that a proof looks ahead: an even and an odd number, so that neither side always has the
last word. Captures are followed up beyond that."""
QUIESCENCE = 6
CLEAR = 2 * POINT
"""By how much every other move must be worse; the same move with other captures by one point."""
MOST_BEST = 3
"""Turns that are equally good."""
FEWEST_TURNS, MOST_TURNS, MOST_NODES = 10, 80, 200_000
"""Positions with fewer turns or more, or that take more to search, are passed over."""
CANDIDATES, CORNERED, VALLEY_CANDIDATES = 800, 250, 1600
"""Positions looked at, of each Classic ruleset and of each other, at most. Saving moves are so rare
that ``CORNERED`` more are built for them."""
QUOTAS = {
    "classic": {"hurl": 8, "shove": 9, "capture": 8, "save": 6, "bait": 7},
    "classic-any": {"hurl": 4, "shove": 5, "capture": 4, "save": 3, "bait": 4},
    "classic-all": {"hurl": 4, "shove": 5, "capture": 4, "save": 3, "bait": 4},
    "koom-valley": {"win": 12, "hold": 10},
    "koom-valley-football": {"win": 12, "hold": 10},
}
"""How many of each kind are taken at most."""
HEADER = """\
# Thud tactics: positions in which one turn, or up to three alike, is best by far.
# One position a line: ruleset | position text | the best turns | what kind the first is of.
# Kinds: hurl, shove (takes four or more), capture, bait (a larger capture is declined), save
# (captures nothing, but any other move comes off worse); in the Koom Valley games win and hold
# (any other move loses). Limits are 200 and 800 turns. Proven and written by make_tactics.py;
# free to use.
"""


class Tactic(NamedTuple):
    """A position and its best turns, of which there are ``MOST_BEST`` at most."""

    position: Position
    turns: list[str]
    kind: str

    def __str__(self) -> str:
        best = " ".join(self.turns)
        return " | ".join((self.position.rules.name, self.position.text, best, self.kind))


def move_of(turn: str) -> str:
    """A turn without its captures. A trample is one with its path."""
    return turn.partition("x")[0]


class Prover:
    """Searches that see captures and battles won, and nothing else."""

    def __init__(self) -> None:
        own = material_weights().own
        own["koom-valley"] = np.zeros_like(own["classic"])  # captures are no aim there
        self._searcher = Searcher(Weights(own), seed_generators(1, 0))

    def best_turns(self, position: Position) -> tuple[list[str], int] | None:
        """The turns that are best by far and their value in hundredths of a point, if there are
        such.
        """
        after = {turn: _after(position.row, way) for turn, way in walk_turns(position.row)}
        if not FEWEST_TURNS <= len(after) <= MOST_TURNS:
            return None
        proof = None
        for depth in DEPTHS:
            found = self._best_at(position.row, depth, after)
            if found is None or (proof is not None and proof[0] != found[0]):
                return None
            proof = found
        return proof

    def _best_at(self, row: Row, depth: int, after: dict[str, Row]) -> tuple[list[str], int] | None:
        options = SearchOptions(depth=depth, nodes=MOST_NODES, quiescence=QUIESCENCE)
        result = self._searcher.search(row, options)
        if result.depth < depth and abs(result.value) < WIN:
            return None
        best: list[str] = []
        near: list[str] = []
        # Those that look best come first: they show soonest that there are too many.
        likely = {turn: self._value(child, 1, row) for turn, child in after.items()}
        for turn, child in sorted(after.items(), key=lambda item: -likely[item[0]]):
            if self._is_below(child, depth - 1, result.value - CLEAR + 1, row):
                continue
            if self._is_below(child, depth - 1, result.value, row):
                near.append(turn)
            else:
                best.append(turn)
                if len(best) > MOST_BEST:
                    return None
        moves = {move_of(turn) for turn in best}
        return (best, result.value) if all(move_of(turn) in moves for turn in near) else None

    def _is_below(self, child: Row, depth: int, limit: int, before: Row) -> bool:
        """Whether a turn is worth less than ``limit`` to the side that has played it."""
        return self._value(child, depth, before, -limit, 1 - limit) < limit

    def _value(
        self, child: Row, depth: int, before: Row, alpha: int = -INFINITE, beta: int = INFINITE
    ) -> int:
        """What a turn is worth to the side that has played it. The window is the other side's."""
        if child[TERMINATION] != ONGOING:
            value = int(final_value(child))
            return value if child[TO_MOVE] == before[TO_MOVE] else -value
        options = SearchOptions(depth=depth, quiescence=QUIESCENCE)
        return -self._searcher.value(child, options, alpha, beta)


def _after(row: Row, decisions: list[int]) -> Row:
    child = row.copy()
    for decision in decisions:
        apply(child, decision)
    return child


def kind_of(position: Position, turn: str, value: int) -> str:
    """What makes a turn the best: see ``HEADER``."""
    if position.rules.stone_wins:
        return "hold" if value < WIN else "win"
    trolls_move = position.to_move == "trolls"
    taken = _taken(position, turn)
    if taken < max(_taken(position, other) for other in position.turns()):
        return "bait"
    if taken == 0:
        return "save"
    if not trolls_move:
        return "hurl"
    return "shove" if taken >= 4 else "capture"


def _taken(position: Position, turn: str) -> int:
    rows = position.row, position.play(turn).row
    dwarfs, trolls = (int(rows[0][count] - rows[1][count]) for count in (NUM_DWARFS, NUM_TROLLS))
    return dwarfs + trolls


def from_games(rules: str, random: Random) -> Iterator[Position]:
    """Now and then a position from play in which either side is greedy or not, each turn anew."""
    greedy = agents.make("greedy", seed=random.randrange(2**31))
    while True:
        position = Position.start(rules)
        skill = random.choice((0.3, 0.6, 0.9))
        while position.outcome is None:
            if random.random() < skill:
                position = position.apply(greedy.act(position))
            else:
                position = random_position(position, random)
            if position.text.split()[2] == "-" and random.random() < 0.1:
                yield position


def built(rules: str, random: Random) -> Iterator[Position]:
    """Awkward positions, those who could do something to move."""
    return map(position_of, constructed(rules, 10**9, random))


def threatened(rules: str, random: Random) -> Iterator[Position]:
    """The same for those who have something to fear."""
    for state in constructed(rules, 10**9, random):
        yield position_of(state._replace(side="t" if state.side == "d" else "d"))


def cornered(rules: str, random: Random) -> Iterator[Position]:
    """A troll, often at the edge, that lines of dwarfs are aimed at from several sides."""
    while True:
        build = Builder(rules, random)
        troll = random.choice(EDGE if random.random() < 0.6 else SQUARES)
        build.put("T", troll)
        for direction in random.sample(DIRECTIONS, 4):
            gap = random.randint(0, 3)
            for square in AHEAD[troll, direction][gap : gap + random.randint(gap + 1, gap + 2)]:
                build.put("d", square)
        build.scatter("d", random.randint(0, 6))
        build.scatter("T", random.randint(0, 2))
        yield position_of(build.state("t"))


def candidates(rules: str) -> Iterator[Position]:
    """All positions to be looked at, from all sources in turn."""
    random = Random(f"tactics {rules}")
    sources = [from_games(rules, random), built(rules, random), threatened(rules, random)]
    if get_ruleset(rules).stone_wins:
        return islice(_usable(chain.from_iterable(zip(*sources, strict=False))), VALLEY_CANDIDATES)
    sources.append(cornered(rules, random))
    mixed = islice(_usable(chain.from_iterable(zip(*sources, strict=False))), CANDIDATES)
    more = islice(_usable(cornered(rules, Random(f"cornered {rules}"))), CORNERED)
    return chain(mixed, more)


def _usable(positions: Iterator[Position]) -> Iterator[Position]:
    """Those far from the limits of turns and not over."""
    for position in positions:
        if position.outcome is None and position.quiet_turns < 150 and position.turn_number < 700:
            yield position


def tactics(rules: str) -> Iterator[Tactic]:
    """One ruleset's part of the suite."""
    prover, wanted = Prover(), Counter(QUOTAS[rules])
    for position in candidates(rules):
        proof = prover.best_turns(position)
        if proof is None:
            continue
        kind = kind_of(position, proof[0][0], proof[1])
        if wanted[kind] > 0:
            wanted[kind] -= 1
            yield Tactic(position, proof[0], kind)
        if not wanted.total():
            return


def main() -> None:
    """Write the suite."""
    lines = []
    for rules in QUOTAS:
        found = list(tactics(rules))
        lines += map(str, found)
        print(rules, dict(Counter(tactic.kind for tactic in found)), flush=True)
    (HERE / "thud.tactics").write_text(HEADER + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
