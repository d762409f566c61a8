"""Positions to test the rules on: from random play, and awkward ones built for the purpose.

Every generator draws from the ``random.Random`` that it is given and yields states of the
reference (``reference.py``); ``position_of`` turns one into a ``Position``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import numpy as np
from reference import (
    ADJACENT,
    AHEAD,
    BOARD,
    DIRECTIONS,
    GAMES,
    GOAL,
    PERIMETER,
    STONE_ON_H8,
    WIDTHS,
    Game,
    Square,
    State,
    named,
    squares,
)

from thud_env import Position, Ruleset
from thud_env.board import CELL_OF_SQUARE, SQUARE_POSITIONS
from thud_env.notation.turns import turn_notation
from thud_env.rules import row as fields

SQUARES = sorted(BOARD)
EDGE = sorted(PERIMETER)
_PIECES = (fields.DWARF, fields.TROLL, fields.STONE)


# -- between the reference and the package -------------------------------------------------


def text_of(state: State) -> str:
    """Position text (docs/notation.md)."""
    lines = []
    for row, width in enumerate(WIDTHS):
        line, run = "", 0
        for col in range((15 - width) // 2, (15 + width) // 2):
            square = (row, col)
            piece = "d" if square in state.dwarfs else "T" if square in state.trolls else ""
            piece = "R" if square == state.stone else piece
            if not piece:
                run += 1
                continue
            line += (str(run) if run else "") + piece
            run = 0
        lines.append(line + (str(run) if run else ""))
    return f"{'/'.join(lines)} {state.side} - {state.quiet} {state.played}"


def learn(ruleset: Ruleset) -> None:
    """Add a ruleset to those that the reference knows, under its spec."""
    traits = {name: getattr(ruleset, name) for name in Game._fields[3:]}
    setup = (squares(" ".join(names)) for names in (ruleset.dwarfs, ruleset.trolls))
    GAMES[ruleset.spec] = Game(*setup, named(ruleset.stone), **traits)


def position_of(state: State) -> Position:
    return Position.from_text(
        text_of(state), state.rules, max_quiet_turns=state.max_quiet, max_turns=state.max_turns
    )


def state_of(position: Position, max_quiet: int = 200, max_turns: int = 800) -> State:
    """The reference's state of a position between two turns."""
    row, pieces = position.row, {piece: set[Square]() for piece in _PIECES}
    board = row[CELL_OF_SQUARE]
    for square in np.flatnonzero(board != fields.EMPTY).tolist():
        pieces[board[square]].add(SQUARE_POSITIONS[square])
    (stone,) = pieces[fields.STONE]
    return State(
        position.rules.spec,
        frozenset(pieces[fields.DWARF]),
        frozenset(pieces[fields.TROLL]),
        stone,
        "dt"[row[fields.TO_MOVE]],
        int(row[fields.QUIET_TURNS]),
        int(row[fields.TURNS]),
        max_quiet,
        max_turns,
    )


# -- positions from play -------------------------------------------------------------------


def random_position(position: Position, random: Random) -> Position:
    """The position after one random decision."""
    return position.apply(random.choice(position.legal_actions().tolist()))


def random_turn(position: Position, random: Random) -> tuple[str, list[int]]:
    """A turn of random decisions, and its notation; no list is made of all turns, which is slow."""
    row, decisions = position.row, list[int]()
    while not decisions or not fields.is_between_turns(position.row):
        decisions += [random.choice(position.legal_actions().tolist())]
        position = position.apply(decisions[-1])
    return turn_notation(row, decisions), decisions


def from_play(rules: str, count: int, random: Random) -> Iterator[State]:
    """Every seventh turn or so of battles of random decisions, to their very ends."""
    while True:
        position = Position.start(rules)
        while position.outcome is None:
            position = random_position(position, random)
            between_turns = position.row[fields.PENDING] == fields.NO_QUESTION
            if between_turns and (random.random() < 1 / 7 or position.outcome is not None):
                yield state_of(position)
                count -= 1
                if count == 0:
                    return


# -- constructed positions -----------------------------------------------------------------


class Builder:
    """A board being filled, within the numbers of pieces that the ruleset has."""

    def __init__(self, rules: str, random: Random) -> None:
        self.rules = rules
        self.random = random
        self.game = GAMES[rules]
        self.pieces: dict[str, set[Square]] = {"d": set(), "T": set()}
        self.most = {"d": len(self.game.dwarfs), "T": len(self.game.trolls)}
        fixed = self.game.stone_goes == "nowhere"
        self.stone = self.game.stone if fixed else random.choice(SQUARES)

    def is_free(self, square: Square) -> bool:
        return square != self.stone and not any(square in held for held in self.pieces.values())

    def put(self, piece: str, square: Square) -> None:
        """Put a piece on a free square, if there is one left of its kind."""
        if self.is_free(square) and len(self.pieces[piece]) < self.most[piece]:
            self.pieces[piece].add(square)

    def put_stone(self, square: Square) -> None:
        """Put the Rock on a square, whatever stands there. The Thudstone stays."""
        if self.game.stone_goes != "nowhere":
            for held in self.pieces.values():
                held.discard(square)
            self.stone = square

    def scatter(self, piece: str, count: int, among: list[Square] | None = None) -> None:
        for square in self.random.choices(among or SQUARES, k=count):
            self.put(piece, square)

    def state(self, side: str) -> State:
        near_a_limit = self.random.random() < 0.1
        return State(
            self.rules,
            frozenset(self.pieces["d"]),
            frozenset(self.pieces["T"]),
            self.stone,
            side,
            quiet=self.random.choice((198, 199, 200)) if near_a_limit else 7,
            played=self.random.choice((798, 799, 800)) if near_a_limit else 300,
        )


def line_up(build: Builder) -> str:
    """A line of 1 to 8, often at the edge, with an enemy or the stone where it may land."""
    random = build.random
    piece = random.choice("dT")
    direction = random.choice(DIRECTIONS)
    front = random.choice(EDGE if random.random() < 0.4 else SQUARES)
    if random.random() < 0.3:  # a line that the Thudstone stands in
        front = random.choice(AHEAD[STONE_ON_H8, (-direction[0], -direction[1])])
    length = random.randint(1, 8)
    ahead = AHEAD[front, direction]
    behind = AHEAD[front, (-direction[0], -direction[1])]
    for square in [front, *behind[: length - 1]]:
        build.put(piece, square)
    enemy = "T" if piece == "d" else "d"
    for _ in range(2):
        if ahead:
            target = ahead[min(random.randint(1, length + 1), len(ahead)) - 1]
            beside = sorted(ADJACENT[target])
            build.put(enemy, target if piece == "d" else random.choice(beside))
    if behind and random.random() < 0.2:
        build.put_stone(random.choice(behind))
    build.scatter("d", random.randint(0, 5))
    build.scatter("T", random.randint(0, 2))
    return "d" if piece == "d" else "t"


def crowd(build: Builder) -> str:
    """Up to 7 dwarfs beside a square that a troll, or a line of them, may land on."""
    random = build.random
    target = random.choice(SQUARES)
    while target == build.stone:
        target = random.choice(SQUARES)
    directions = [direction for direction in DIRECTIONS if AHEAD[target, direction]]
    arms = AHEAD[target, random.choice(directions)]
    gap = random.choice((0, 0, 1, 2))
    for square in arms[gap : gap + random.randint(1, 4)]:
        build.put("T", square)
    around = [square for square in sorted(ADJACENT[target]) if square != arms[0]]
    for square in random.sample(around, random.randint(0, len(around))):
        build.put("d", square)
    build.pieces["d"].discard(target)
    for _ in range(random.randint(0, 6)):
        square = random.choice(SQUARES)
        if square != target:
            build.put("d", square)
    return "t"


def nearly_empty(build: Builder) -> str:
    """A few pieces, or none of a side."""
    build.scatter("d", build.random.randint(0, 3))
    build.scatter("T", build.random.randint(0, 4))
    return build.random.choice("dt")


def shut_in(build: Builder) -> str:
    """Pieces without a free square around, two rings deep: often no legal turn."""
    random = build.random
    side = random.choice("dT")
    other = "T" if side == "d" else "d"
    for _ in range(random.choice((1, 1, 2)) if side == "T" else 1):
        square = random.choice(EDGE)
        build.put(side, square)
        ring = sorted(ADJACENT[square])
        for inner in ring:
            build.put(other if random.random() < 0.8 else side, inner)
        if random.random() < 0.7:
            for inner in ring:
                for outer in sorted(ADJACENT[inner]):
                    build.put("d", outer)
    return side.lower()


def melee(build: Builder) -> str:
    """Half of a small area is filled: sandwiches, tramples, hurls of one."""
    random = build.random
    row, col = random.choice(SQUARES)
    reach = random.randint(1, 3)
    area = [
        square for square in SQUARES if max(abs(square[0] - row), abs(square[1] - col)) <= reach
    ]
    if random.random() < 0.5:
        build.put_stone(random.choice(area))
    build.scatter("T", random.randint(1, 6), area)
    build.scatter("d", random.randint(1, len(area) // 2), area)
    return random.choice("dt")


def full(build: Builder) -> str:
    """As many pieces as there are, anywhere."""
    build.scatter("T", 8)
    build.scatter("d", build.random.randint(0, build.most["d"]))
    return build.random.choice("dt")


def near_goal(build: Builder) -> str:
    """The Rock one to three rows from the goal, or on it, with dwarfs beside."""
    random = build.random
    rock = random.choice([square for square in SQUARES if square[0] <= 3])
    build.put_stone(random.choice(sorted(GOAL)) if random.random() < 0.2 else rock)
    build.scatter("d", random.randint(0, 3), sorted(ADJACENT[build.stone]))
    build.scatter("d", random.randint(0, 6))
    build.scatter("T", random.randint(0, 6))
    return random.choice("dt")


def around_rock(build: Builder) -> str:
    """One to four trolls beside the Rock, others a few steps away, and a dwarf at hand."""
    random = build.random
    beside = sorted(ADJACENT[build.stone])
    near = sorted({square for inner in beside for square in ADJACENT[inner]})
    build.scatter("T", random.randint(1, 4), beside)
    build.scatter("T", random.randint(0, 4), near)
    build.scatter("d", random.randint(0, 3), beside)
    build.scatter("d", random.randint(0, 5), near)
    return random.choice("dt")


def trample_chain(build: Builder) -> str:
    """A troll among dwarfs that stand two squares apart: chains that turn and come back."""
    random = build.random
    troll = random.choice(SQUARES)
    build.put("T", troll)
    landings = [
        square
        for square in SQUARES
        if (square[0] - troll[0]) % 2 == 0 and (square[1] - troll[1]) % 2 == 0
    ]
    near = [
        square
        for square in SQUARES
        if max(abs(square[0] - troll[0]), abs(square[1] - troll[1])) <= 3 and square not in landings
    ]
    for square in random.sample(near, min(len(near), random.randint(1, 9))):
        build.put("d", square)
    build.scatter("d", random.randint(0, 2))
    build.scatter("T", random.randint(0, 2))
    return "t"


CLASSIC_KINDS: tuple[Callable[[Builder], str], ...] = (
    line_up,
    line_up,
    line_up,
    crowd,
    crowd,
    nearly_empty,
    shut_in,
    melee,
    full,
)
VALLEY_KINDS: tuple[Callable[[Builder], str], ...] = (
    line_up,
    crowd,
    nearly_empty,
    shut_in,
    melee,
    full,
    near_goal,
    around_rock,
    trample_chain,
    trample_chain,
)


def constructed(rules: str, count: int, random: Random) -> Iterator[State]:
    """Awkward positions of every kind in turn."""
    kinds = CLASSIC_KINDS if GAMES[rules].stone_goes == "nowhere" else VALLEY_KINDS
    for number in range(count):
        build = Builder(rules, random)
        side = kinds[number % len(kinds)](build)
        yield build.state(side if random.random() < 0.9 else random.choice("dt"))


def trample_crowd() -> Position:
    """Trolls to decide, whose one on G7 is in the middle of a lattice of dwarfs: it may trample
    them in countless orders.
    """
    crowd = (
        "koom-valley:name=crowd,dwarfs=F5+H5+K5+E6+F6+G6+H6+J6+K6+L6+F7+H7+K7+E8+F8+G8+H8+J8+K8+L8"
        "+F9+H9+K9+E10+F10+G10+H10+J10+K10+L10+F11,trolls=G7+H2+F2,stone=H14"
    )
    return Position.start(crowd).play("dE10-A10")
