"""A second, slow implementation of the rules, with which tests compare the compiled one.

It is written from docs/rules.md alone, whose sections are cited, with sets of (row, col) for pieces
and nothing from ``thud_env``. A turn is identified by its piece, its path and its captures (section
2), so a turn that two rules allow is one turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations, pairwise
from typing import NamedTuple

Square = tuple[int, int]
Squares = frozenset[Square]

# -- section 1: the board ------------------------------------------------------------------

COLUMNS = "ABCDEFGHJKLMNOP"
DIRECTIONS = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
WIDTHS = (5, 7, 9, 11, 13, 15, 15, 15, 15, 15, 13, 11, 9, 7, 5)
BOARD = frozenset(
    (row, col)
    for row, width in enumerate(WIDTHS)
    for col in range((15 - width) // 2, (15 + width) // 2)
)
PERIMETER = frozenset(
    (row, col)
    for row, col in BOARD
    if not {(row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)} <= BOARD
)


@cache
def name(square: Square) -> str:
    row, col = square
    return f"{COLUMNS[col]}{row + 1}"


def named(text: str) -> Square:
    return int(text[1:]) - 1, COLUMNS.index(text[0])


def squares(names: str) -> Squares:
    return frozenset(named(text) for text in names.split())


def beyond(square: Square, direction: tuple[int, int]) -> list[Square]:
    """The squares of the board in a line from ``square``, nearest first."""
    line = []
    row, col = square[0] + direction[0], square[1] + direction[1]
    while (row, col) in BOARD:
        line.append((row, col))
        row, col = row + direction[0], col + direction[1]
    return line


AHEAD = {
    (square, direction): beyond(square, direction) for square in BOARD for direction in DIRECTIONS
}
ADJACENT = {
    (row, col): BOARD.intersection((row + d_row, col + d_col) for d_row, d_col in DIRECTIONS)
    for row, col in BOARD
}

# -- the state of a battle, and a turn -----------------------------------------------------

STONE_ON_H8 = (7, 7)
GOAL = squares("F1 G1 H1 J1 K1")
CLASSIC_SETUP = (PERIMETER - squares("H1 A8 P8 H15"), ADJACENT[STONE_ON_H8])
VALLEY_SETUP = (
    squares("H9 A10 P10 B11 O11 C12 N12 D13 M13 E14 L14 F15 G15 H15 J15 K15"),
    squares("F2 H2 K2 E3 F3 H3 K3 L3"),
)


class Game(NamedTuple):
    """What a ruleset says, in the words of section 8."""

    dwarfs: Squares
    trolls: Squares
    stone: Square = STONE_ON_H8
    dwarfs_capture: str = "hurl"
    trolls_capture: str = "beside"
    step_captures: str = "one"
    shove_captures: str = "any"
    trolls_keep_off_edge: bool = False
    stone_goes: str = "nowhere"
    stone_wins: bool = False
    reward: str = "margin"


CLASSIC = Game(*CLASSIC_SETUP)
VALLEY = Game(
    *VALLEY_SETUP,
    STONE_ON_H8,
    "sandwich",
    "trample",
    stone_goes="one",
    stone_wins=True,
    reward="outcome",
)
GAMES = {
    "classic": CLASSIC,
    "classic-any": CLASSIC._replace(step_captures="any"),
    "classic-all": CLASSIC._replace(step_captures="all", shove_captures="all"),
    "koom-valley": VALLEY,
    "koom-valley-football": VALLEY._replace(
        dwarfs_capture="nothing",
        trolls_capture="nothing",
        trolls_keep_off_edge=True,
        stone_goes="far",
    ),
}
RULES = tuple(GAMES)
CLASSIC_RULES, VALLEY_RULES = RULES[:3], RULES[3:]


class State(NamedTuple):
    rules: str
    dwarfs: Squares
    trolls: Squares
    stone: Square = STONE_ON_H8
    side: str = "d"
    quiet: int = 0
    """Turns in a row without a capture; in the Koom Valley games, or a move of the Rock."""
    played: int = 0
    max_quiet: int = 200
    max_turns: int = 800

    @property
    def occupied(self) -> Squares:
        return self.dwarfs | self.trolls | {self.stone}


class Turn(NamedTuple):
    piece: str
    path: tuple[Square, ...]
    captured: Squares = frozenset()

    def __str__(self) -> str:
        taken = "".join(f"x{text}" for text in sorted(map(name, self.captured)))
        return self.piece + "-".join(map(name, self.path)) + taken


def start(rules: str) -> State:
    return State(rules, *GAMES[rules][:3])


# -- section 2: Classic Thud ---------------------------------------------------------------


def empty_ahead(state: State, square: Square, direction: tuple[int, int]) -> list[Square]:
    """The empty squares that a piece on ``square`` could go over in a line."""
    free = []
    for ahead in AHEAD[square, direction]:
        if ahead in state.dwarfs or ahead in state.trolls or ahead == state.stone:
            break
        free.append(ahead)
    return free


def line_behind(pieces: Squares, front: Square, direction: tuple[int, int]) -> int:
    """N: how many pieces stand in an unbroken line, the front one included."""
    line = 1
    for behind in AHEAD[front, (-direction[0], -direction[1])]:
        if behind not in pieces:
            break
        line += 1
    return line


def dwarf_moves(state: State) -> Iterator[Turn]:
    """Any distance in a line over empty squares."""
    for dwarf in state.dwarfs:
        for direction in DIRECTIONS:
            for target in empty_ahead(state, dwarf, direction):
                yield Turn("d", (dwarf, target))


def hurls(state: State) -> Iterator[Turn]:
    """As far as the line is long, over empty squares, onto a troll."""
    for dwarf in state.dwarfs:
        for direction in DIRECTIONS:
            line = line_behind(state.dwarfs, dwarf, direction)
            for distance, target in enumerate(AHEAD[dwarf, direction], start=1):
                if distance <= line and target in state.trolls:
                    yield Turn("d", (dwarf, target), frozenset({target}))
                if target in state.occupied:
                    break


def subsets(captives: Squares, sizes: range) -> Iterator[Squares]:
    for size in sizes:
        yield from map(frozenset, combinations(sorted(captives), size))


def step_captures(game: Game, captives: Squares) -> Iterator[Squares]:
    """What a step may capture: the table of section 2, and section 8."""
    yield frozenset()
    if game.step_captures == "one":
        yield from subsets(captives, range(1, 2))
    elif game.step_captures == "any":
        yield from subsets(captives, range(1, len(captives) + 1))
    elif game.step_captures == "all":
        yield captives


def shove_captures(game: Game, captives: Squares) -> Iterator[Squares]:
    """What a shove captures: one dwarf at least."""
    if game.shove_captures == "any":
        yield from subsets(captives, range(1, len(captives) + 1))
    elif captives:
        yield captives


def steps(state: State) -> Iterator[Turn]:
    """One square, then captures beside it or not."""
    for troll in state.trolls:
        for direction in DIRECTIONS:
            for target in empty_ahead(state, troll, direction)[:1]:
                for captured in step_captures(GAMES[state.rules], ADJACENT[target] & state.dwarfs):
                    yield Turn("T", (troll, target), captured)


def shoves(state: State) -> Iterator[Turn]:
    """As far as a line of two or more is long, over empty squares, beside a dwarf."""
    for troll in state.trolls:
        for direction in DIRECTIONS:
            line = line_behind(state.trolls, troll, direction)
            if line < 2:
                continue
            for target in empty_ahead(state, troll, direction)[:line]:
                for captured in shove_captures(GAMES[state.rules], ADJACENT[target] & state.dwarfs):
                    yield Turn("T", (troll, target), captured)


# -- section 3: Koom Valley Thud -----------------------------------------------------------


def sandwiched(state: State, start: Square, target: Square) -> Squares:
    """The trolls directly between the dwarf that went to ``target`` and another dwarf."""
    others = state.dwarfs - {start}
    return frozenset(
        AHEAD[target, direction][0]
        for direction in DIRECTIONS
        if len(AHEAD[target, direction]) >= 2
        and AHEAD[target, direction][0] in state.trolls
        and AHEAD[target, direction][1] in others
    )


def valley_dwarf_moves(state: State) -> Iterator[Turn]:
    for move in dwarf_moves(state):
        yield move._replace(captured=sandwiched(state, *move.path))


def rock_moves(state: State, reach: int) -> Iterator[Turn]:
    """From beside a dwarf to beside a dwarf, over empty squares."""
    if not ADJACENT[state.stone] & state.dwarfs:
        return
    for direction in DIRECTIONS:
        for target in empty_ahead(state, state.stone, direction)[:reach]:
            if ADJACENT[target] & state.dwarfs:
                yield Turn("R", (state.stone, target))


def slides(state: State) -> Iterator[Turn]:
    """One to three squares in a line."""
    for troll in state.trolls:
        for direction in DIRECTIONS:
            for target in empty_ahead(state, troll, direction)[:3]:
                yield Turn("T", (troll, target))


def tramples(state: State, path: tuple[Square, ...], taken: Squares) -> Iterator[Turn]:
    """Jumps that go on from the end of ``path``; each may be the last."""
    here = path[-1]
    blocked = (state.occupied - taken) - {path[0]}
    for direction in DIRECTIONS:
        if len(AHEAD[here, direction]) < 2:
            continue
        jumped, target = AHEAD[here, direction][:2]
        if jumped in state.dwarfs - taken and target not in blocked:
            yield Turn("T", (*path, target), taken | {jumped})
            yield from tramples(state, (*path, target), taken | {jumped})


# -- section 4: Koom Valley Football -------------------------------------------------------


def keeps_off_edge(turn: Turn) -> bool:
    """Whether a turn goes neither onto the edge nor over it."""
    for here, target in pairwise(turn.path):
        for direction in DIRECTIONS:
            ahead = AHEAD[here, direction]
            if target in ahead and not PERIMETER.isdisjoint(ahead[: ahead.index(target) + 1]):
                return False
    return True


# -- all turns, and what comes after one ---------------------------------------------------


def dwarf_turns(state: State) -> Iterator[Turn]:
    game = GAMES[state.rules]
    yield from (
        valley_dwarf_moves(state) if game.dwarfs_capture == "sandwich" else dwarf_moves(state)
    )
    if game.dwarfs_capture == "hurl":
        yield from hurls(state)
    if game.stone_goes != "nowhere":
        yield from rock_moves(state, reach=14 if game.stone_goes == "far" else 1)


def troll_turns(state: State) -> Iterator[Turn]:
    game = GAMES[state.rules]
    if game.trolls_capture == "beside":
        yield from steps(state)
        yield from shoves(state)
        return
    yield from slides(state)
    if game.trolls_capture == "trample":
        for troll in state.trolls:
            yield from tramples(state, (troll,), frozenset())


def possible_turns(state: State) -> Iterator[Turn]:
    """The turns of the side to move, whether or not the battle is over; some come twice."""
    if state.side == "d":
        return dwarf_turns(state)
    if GAMES[state.rules].trolls_keep_off_edge:
        return filter(keeps_off_edge, troll_turns(state))
    return troll_turns(state)


def turns(state: State) -> dict[str, Turn]:
    """Every distinct complete turn, by its notation; none once the battle is over."""
    if outcome(state) is not None:
        return {}
    return {str(turn): turn for turn in possible_turns(state)}


def after(state: State, turn: Turn) -> State:
    start, target = turn.path[0], turn.path[-1]
    quiet = state.quiet + 1
    if turn.captured or turn.piece == "R":
        quiet = 0
    state = state._replace(
        dwarfs=state.dwarfs - turn.captured,
        trolls=state.trolls - turn.captured,
        side="t" if state.side == "d" else "d",
        quiet=quiet,
        played=state.played + 1,
    )
    if turn.piece == "d":
        return state._replace(dwarfs=state.dwarfs - {start} | {target})
    if turn.piece == "T":
        return state._replace(trolls=state.trolls - {start} | {target})
    return state._replace(stone=target)


def margin(state: State) -> int:
    return len(state.dwarfs) - 4 * len(state.trolls)


def outcome(state: State) -> tuple[str, int] | None:
    """How the battle ended, before the turn of the side to move, and its margin."""
    game = GAMES[state.rules]

    def scored(result: int) -> int:
        return result if game.reward == "outcome" else margin(state)

    if game.stone_wins and state.side == "t" and state.stone in GOAL:
        return "GOAL", scored(1)
    if game.stone_wins and state.side == "d" and len(ADJACENT[state.stone] & state.trolls) >= 3:
        return "SURROUNDED", scored(-1)
    if next(possible_turns(state), None) is None:
        if state.side == "t" and state.dwarfs:
            return "NO_LEGAL_TURN", scored(1)
        if state.side == "d" and len(state.trolls) >= 3:
            return "NO_LEGAL_TURN", scored(-1)
        return "NO_LEGAL_TURN", scored(0)
    if state.quiet >= state.max_quiet:
        return "QUIET_LIMIT", scored(0)
    if state.played >= state.max_turns:
        return "TURN_LIMIT", scored(0)
    return None


def perft(state: State, depth: int) -> int:
    """How many sequences of ``depth`` turns there are."""
    if depth == 0:
        return 1
    here = turns(state).values()
    if depth == 1:
        return len(here)
    return sum(perft(after(state, turn), depth - 1) for turn in here)
