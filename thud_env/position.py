"""Position: one immutable state of a battle, for searches, analysis and tests.

The fast paths work on state rows directly; a ``Position`` wraps one, with checks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Never, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thud_env.actions import OFFER, as_action, describe_action
from thud_env.arguments import as_array, as_list, one_of, refuse_unknown, shown
from thud_env.board import (
    CELL_OF_SQUARE,
    NUM_CELLS,
    SIZE,
    SQUARE_POSITIONS,
    STRIDE,
    square_named,
)
from thud_env.errors import IllegalMove, ThudError
from thud_env.notation.positions import (
    board_diagram,
    board_text,
    position_text,
    read_position,
)
from thud_env.notation.turns import (
    PIECE_NAMES,
    PIECES,
    normalise_turn,
    turn_decisions,
    turn_notation,
    walk_turns,
    why_illegal,
    why_no_agreement,
)
from thud_env.outcome import SIDES, Outcome, Side, Termination
from thud_env.rules import row as fields
from thud_env.rules.check import check_row
from thud_env.rules.legal import is_legal, legal_list
from thud_env.rules.play import apply, margin
from thud_env.rulesets import Rules, Ruleset, get_ruleset
from thud_env.views.encoding import encode_rows
from thud_env.views.masks import mask_of


class Position:
    """One state of a battle: the board, the side to decide, what is pending, the clocks.

    Immutable, hashable and comparable. Two positions are equal if their state rows are:
    board, decision, clocks, ruleset and limits.

    Examples:
        >>> start = Position.start("classic")
        >>> start.to_move, len(start.turns())
        ('dwarfs', 656)
        >>> start.play("dF1-F5").to_move
        'trolls'
    """

    __slots__ = ("_row",)
    _row: fields.Row
    """Nothing writes to it. It is not marked so, or Numba would compile the rules for it again;
    so callers get copies.
    """

    def __init__(self, row: NDArray[np.integer[Any]]) -> None:
        """A position over a copy of a state row, [432] integers (``rules/row.py``).

        Raises:
            RowError: if no play leads to that row; the message names the wrong entry.
            TypeError: for text, which ``from_text`` reads.
        """
        if isinstance(row, str):
            raise TypeError(f"{shown(row)} is no row: Position.from_text(text) would be right")
        self._row = check_row(row).copy()

    @classmethod
    def unchecked(cls, row: fields.Row) -> Position:
        """The same for a row that play has led to, [432] int16, which is not looked at."""
        position = cls.__new__(cls)
        position._row = row.copy()
        return position

    @classmethod
    def start(
        cls,
        rules: Rules = "classic",
        *,
        max_quiet_turns: int | None = None,
        max_turns: int | None = None,
        offer_after: int | None = None,
        agreement: bool = False,
        **unknown: Never,
    ) -> Position:
        """The start of a battle.

        Args:
            rules: a ruleset, or the name of one.
            max_quiet_turns, max_turns, offer_after: the limits; None for the ruleset's.
            agreement: whether the battle may end by agreement.

        Raises:
            ThudError: for an unknown ruleset or a limit out of range.
            TypeError: for any other keyword, naming the nearest there is.
        """
        refuse_unknown(cls.start, unknown)
        row = fields.new_row(
            get_ruleset(rules),
            max_quiet_turns=max_quiet_turns,
            max_turns=max_turns,
            offer_after=offer_after,
            agreement=agreement,
        )
        return cls.unchecked(row)

    @classmethod
    def from_text(
        cls,
        text: str,
        rules: Rules = "classic",
        *,
        max_quiet_turns: int | None = None,
        max_turns: int | None = None,
        offer_after: int | None = None,
        agreement: bool = False,
        **unknown: Never,
    ) -> Position:
        """The position that ``text`` describes; ``position.text`` is its inverse.

        Args:
            text: position text (docs/notation.md).
            rules, max_quiet_turns, max_turns, offer_after, agreement: as for ``start``.

        Raises:
            ThudError: naming what is wrong in the text, and where.
            TypeError: if it is not text, or for an unknown keyword.
        """
        refuse_unknown(cls.from_text, unknown)
        if not isinstance(text, str):
            raise TypeError(f"position {shown(text)}: position text would be right")
        row = fields.new_row(
            get_ruleset(rules),
            max_quiet_turns=max_quiet_turns,
            max_turns=max_turns,
            offer_after=offer_after,
            agreement=agreement,
        )
        read_position(text, row)
        return cls.unchecked(row)

    @classmethod
    def from_board(
        cls,
        board: ArrayLike,
        rules: Rules = "classic",
        *,
        to_move: Side = "dwarfs",
        max_quiet_turns: int | None = None,
        max_turns: int | None = None,
        offer_after: int | None = None,
        agreement: bool = False,
        **unknown: Never,
    ) -> Position:
        """The position with these pieces, as if nothing had been played before;
        ``position.board`` is its inverse.

        Args:
            board: [15, 15] integers, as ``board`` has them; 0 will do for -1.
            to_move: the side that begins a turn.
            rules, max_quiet_turns, max_turns, offer_after, agreement: as for ``start``.

        Raises:
            ThudError: naming what is wrong with the board, or with a limit.
            TypeError: for an unknown keyword.
        """
        refuse_unknown(cls.from_board, unknown)
        to_move = one_of("to_move", to_move, SIDES)
        grid = as_array("board", board)
        if grid.shape != (SIZE, SIZE) or grid.dtype.kind not in "iu":
            raise ThudError(f"board {shown(grid)}: integers of shape ({SIZE}, {SIZE}) are right")
        rows, columns = np.array(SQUARE_POSITIONS).T
        pieces, off_board = grid[rows, columns].tolist(), grid.copy()
        off_board[rows, columns] = 0
        strange = sorted({*pieces} - {fields.EMPTY, *PIECES})
        if strange or not np.isin(off_board, (-1, 0)).all():
            where = f"{strange[0]} on a square" if strange else "a piece off the board"
            raise ThudError(f"board has {where}: 0 to 3 on squares, -1 elsewhere, would be right")
        letters = board_text(PIECES.get(piece, " ") for piece in pieces)
        return cls.from_text(
            f"{letters} {to_move[0]} - 0 0",
            rules,
            max_quiet_turns=max_quiet_turns,
            max_turns=max_turns,
            offer_after=offer_after,
            agreement=agreement,
        )

    @property
    def row(self) -> fields.Row:
        """A copy of the state row, [432] int16."""
        return self._row.copy()

    @property
    def rules(self) -> Ruleset:
        """The ruleset that the battle is played by."""
        return fields.ruleset_of(self._row)

    @property
    def limits(self) -> dict[str, Any]:
        """The limits of the battle, as ``start`` and ``from_text`` take them: they may be others
        than those of ``rules``.
        """
        return fields.limits_of(self._row)

    @property
    def text(self) -> str:
        """The position as text, for example
        ``dd1dd/d5d/.../dd1dd d - 0 0`` (docs/notation.md). With ``rules`` and ``limits`` it is all
        that ``from_text`` needs to make an equal position.
        """
        return position_text(self._row)

    def piece_at(self, square: str) -> str | None:
        """What stands on a square, ``"H8"`` say: ``"dwarf"``, ``"troll"``, ``"stone"`` (the
        Thudstone, the Rock or the ball), or None.

        Raises:
            ThudError: if the board has no such square.
        """
        return PIECE_NAMES.get(int(self._row[CELL_OF_SQUARE[square_named(square)]]))

    @property
    def board(self) -> NDArray[np.int8]:
        """What stands where, [15, 15] int8, row 1 from the top and column A first: 0 nothing, 1 a
        dwarf, 2 a troll, 3 the stone (the Thudstone, the Rock or the ball), -1 off the board.
        """
        grid = self._row[:NUM_CELLS].reshape(-1, STRIDE)[1 : SIZE + 1, :SIZE]
        return np.where(grid == fields.OFF_BOARD, -1, grid).astype(np.int8)

    @property
    def num_dwarfs(self) -> int:
        """Dwarfs on the board."""
        return int(self._row[fields.NUM_DWARFS])

    @property
    def num_trolls(self) -> int:
        """Trolls on the board."""
        return int(self._row[fields.NUM_TROLLS])

    @property
    def to_move(self) -> Side:
        """The side that decides next."""
        return SIDES[self._row[fields.TO_MOVE]]

    @property
    def turn_number(self) -> int:
        """Complete turns played, by both sides together."""
        return int(self._row[fields.TURNS])

    @property
    def quiet_turns(self) -> int:
        """Turns in a row without a capture; in the Koom Valley games, or a move of the stone."""
        return int(self._row[fields.QUIET_TURNS])

    @property
    def margin(self) -> int:
        """The score as it stands, from the dwarfs' view."""
        return int(margin(self._row))

    @property
    def outcome(self) -> Outcome | None:
        """How the battle ended, or None if it has not."""
        termination = int(self._row[fields.TERMINATION])
        return Outcome(Termination(termination), self.margin) if termination else None

    def legal_actions(self) -> NDArray[np.int32]:
        """The legal decisions, [n] int32, ascending; empty once the battle is over."""
        return legal_list(self._row)

    def action_mask(self) -> NDArray[np.int8]:
        """1 for each legal decision, 0 for every other, [6470] int8."""
        return mask_of(self._row)

    def observation(self) -> NDArray[np.float32]:
        """The planes of ``encoding.PLANES``, [C, 15, 15] float32."""
        return encode_rows(self._row[np.newaxis], check=False)[0]

    def apply(self, action: SupportsIndex) -> Position:
        """The position after one decision.

        Raises:
            IllegalMove: if ``action`` is not one of ``legal_actions()``.
            TypeError: if it is not one integer.
        """
        index = as_action(action)
        if not is_legal(self._row, index):
            raise IllegalMove(self._why_illegal(index))
        successor = self._row.copy()
        apply(successor, index)
        return Position.unchecked(successor)

    def turns(self) -> list[str]:
        """Every distinct complete legal turn, sorted (docs/notation.md).

        In the middle of a turn: the ways to complete it. They are listed one by one, and ways to
        trample grow exponentially with the dwarfs around a troll.
        """
        return sorted({turn for turn, _ in walk_turns(self._row)})

    def play(self, turn: str) -> Position:
        """The position after a complete turn, for example ``play("TG7-F6xE5")``.

        Raises:
            ThudError: if ``turn`` is not in turn notation.
            IllegalMove: if it is not one of ``turns()``.
            TypeError: if it is no text.
        """
        successor = self._row.copy()
        for action in self.decisions(turn):
            apply(successor, action)
        return Position.unchecked(successor)

    def decisions(self, turn: str) -> list[int]:
        """The actions that make up a complete turn, in the order they are to be played.

        Raises:
            ThudError: if ``turn`` is not in turn notation.
            IllegalMove: if it is not one of ``turns()``.
            TypeError: if it is no text.
        """
        wanted = normalise_turn(turn)
        path = turn_decisions(self._row, wanted)
        if path is not None:
            return path
        if self.outcome is not None:
            raise IllegalMove(f"turn {shown(turn)} is illegal: the battle is over")
        why = why_illegal(self._row, wanted)
        raise IllegalMove(
            f"turn {shown(turn)} is illegal for the {self.to_move} in {self.text!r}: {why}"
        )

    def turn_of(self, actions: Iterable[SupportsIndex]) -> str:
        """The turn that actions make up, or as much of it as they are: what ``decisions`` undoes.

        Raises:
            IllegalMove: if one is not legal when it is made.
            ThudError: if there is none, or the turn is over before the last.
            TypeError: if one is not an integer.
        """
        made, here = as_list("actions", actions), self
        for number, action in enumerate(made):
            if number and fields.is_between_turns(here._row):
                raise ThudError(f"actions {shown(made)}: the turn is over after {number} of them")
            here = here.apply(action)
        if not made:
            raise ThudError("there are no actions: those of a turn would be right")
        return turn_notation(self._row, map(int, made))

    def _why_illegal(self, action: int) -> str:
        if self.outcome is not None:
            return f"action {action} ({describe_action(action)}) is illegal: the battle is over"
        if action == OFFER:
            why = why_no_agreement(self._row, describe_action(OFFER))
            return f"action {OFFER} (offer) is illegal for the {self.to_move}: {why}"
        legal = self.legal_actions()
        return (
            f"action {action} ({describe_action(action)}) is illegal for the {self.to_move} "
            f"in {self.text!r}: {len(legal)} others are legal, "
            f"{int(legal[0])} ({describe_action(int(legal[0]))}) for one"
        )

    def __eq__(self, other: object) -> bool:
        return (
            np.array_equal(self._row, other._row) if isinstance(other, Position) else NotImplemented
        )

    def __hash__(self) -> int:
        return hash(self._row.tobytes())

    def __copy__(self) -> Position:
        return self  # as of a tuple: nothing can change it

    def __deepcopy__(self, _memo: object) -> Position:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self._row, self.rules)

    def __repr__(self) -> str:
        usual = fields.new_row(self.rules)
        limits = "".join(
            f", {name}={True if name == 'agreement' else self._row[cell]}"
            for name, cell in fields.LIMITS.items()
            if self._row[cell] != usual[cell]
        )
        return f"Position.from_text({self.text!r}, {self.rules.spec!r}{limits})"

    def _repr_svg_(self) -> str:
        """The board as SVG, which notebooks show."""
        from thud_env.render import svg

        return svg(self)

    def __str__(self) -> str:
        return board_diagram(self._row)


def _unpickle(row: fields.Row, rules: Ruleset) -> Position:
    """A position from a pickle, which carries the ruleset for a process that has not made it."""
    return Position(row)
