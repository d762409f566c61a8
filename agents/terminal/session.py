"""A battle at the terminal: prints boards and turns, and asks a person for theirs."""

from __future__ import annotations

import difflib
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping

from agents.agent import Agent
from agents.asking import errors_with_traceback
from agents.findings import ADVISER
from agents.registry import make
from agents.terminal.typed_turns import TypedTurn, read_turn, turns_beginning
from agents.words import standing, verdict
from thud_env import Position
from thud_env.errors import ThudError
from thud_env.outcome import Side
from thud_env.render import ansi

MOST_SHOWN = 60
"""The most turns to list at once."""

HELP = """\
dF1-F5     a dwarf moves; dA6-A9xA9: a dwarf is hurled at the troll on A9
TG7-F6xE5  a troll moves and captures the dwarf on E5; TG7-F6: it captures none
RH8-H7     the Rock or ball moves (Koom Valley)
TF3-F5-H7xF4xG6
           a troll tramples: the squares it goes to, then what it captures
f1-f5      the letter in front may be left out; turns that begin so are listed
offer      ends the battle if the other side answers accept, not decline
           (only with --agreement)

moves      lists the legal turns; moves F1: those of the piece on F1
hint       says what a searching agent would play
undo       takes back your last turn and the reply
board      shows the board again: [T] went there from o and captured on x
quit       ends it, as Ctrl-D and Ctrl-C do

docs/rules.md has the rules, docs/notation.md how turns are written, and
python -m agents.play --web teaches the game in six pictures."""


class Table:
    """A battle in progress: its players and its turns.

    Args:
        start: the position to begin with.
        players: each side's agent, or None for a person.
        ask: prints a prompt and returns what a person types, like ``input``.
        color: whether boards are coloured.
        boards: whether to show boards; if not, only turns, one a line.
        after_turn: called after every turn with all of them.
    """

    def __init__(
        self,
        start: Position,
        players: Mapping[Side, Agent | None],
        *,
        ask: Callable[[str], str] = input,
        color: bool = False,
        boards: bool = True,
        after_turn: Callable[[list[str]], None] = lambda turns: None,
    ) -> None:
        self._players, self._ask = players, ask
        self._color, self._boards, self._after_turn = color, boards, after_turn
        self._adviser: Agent | None = None
        self.positions = [start]
        self.turns: list[str] = []
        self._commands: dict[str, Callable[..., None]] = {
            "moves": self._list,
            "hint": self._hint,
            "undo": self._undo,
            "board": self._show,
            "help": lambda: print(HELP),
            "?": lambda: print(HELP),
        }

    @property
    def position(self) -> Position:
        """The current position."""
        return self.positions[-1]

    def play(self) -> None:
        """Play until the battle is over or a person quits."""
        if None in self._players.values():
            print("Type a turn, such as dF1-F2, or help.")
        if self._boards:
            self._show()
        try:
            while self.position.outcome is None:
                player = self._players[self.position.to_move]
                if player is not None:
                    with errors_with_traceback(player):
                        turn = player.turn(self.position)
                    self._take(turn)
                elif not self._listen():
                    break
        except EOFError:
            print()
        except KeyboardInterrupt:
            print()
            raise
        print(verdict(self.position))

    def _take(self, turn: str) -> None:
        before, after = self.position, self.position.play(turn)
        self.turns.append(turn)
        self.positions.append(after)
        self._after_turn(self.turns)
        if not self._boards:
            print(turn)
            return
        print(f"{before.turn_number + 1}. {before.to_move} {turn}")
        # A person sees the board when it is their turn, not between their turn and the reply.
        watching = None not in self._players.values()
        if watching or after.outcome is not None or self._players[after.to_move] is None:
            self._show()

    def _listen(self) -> bool:
        """Ask a person once and carry out the answer; False: to quit."""
        text = self._ask(f"{self.position.to_move}> ").strip()
        word, *rest = text.split() or [""]
        word = word.lower()
        if word in ("quit", "exit"):
            return False
        try:
            if word in self._commands and (not rest or word == "moves"):
                self._commands[word](*(["".join(rest)] if rest else []))
            elif word:
                self._read(text)
        except ThudError as error:
            known = [] if word == "moves" else [*self._commands, "quit"]
            near = difflib.get_close_matches(word, known, n=1)
            print(f"{error}; did you mean {near[0]!r}?" if near else error)
        return True

    def _read(self, text: str) -> None:
        turns = read_turn(self.position, text)
        if len(turns) == 1:
            self._take(turns[0])
        else:
            print("That may be any of these; type one in full:")
            print(columns(turns))

    def _list(self, beginning: str = "") -> None:
        if beginning and TypedTurn.of(beginning) is None:
            raise ThudError(f"{beginning!r} begins no turn: 'moves F1' would list those of F1")
        turns = turns_beginning(self.position, beginning)
        if beginning or len(turns) <= MOST_SHOWN:
            print(columns(turns) if turns else f"No legal turn begins with {beginning.upper()}.")
            return
        counts = Counter(turn.partition("-")[0] for turn in turns)
        print(f"{len(turns)} legal turns; 'moves F1' lists those of the piece on F1. By piece:")
        print(columns([f"{piece}:{count}" for piece, count in counts.items()]))

    def _hint(self) -> None:
        self._adviser = self._adviser or make(ADVISER)
        print(f"{ADVISER} would play {self._adviser.turn(self.position)}.")

    def _undo(self) -> None:
        asked = [i for i, p in enumerate(self.positions[:-1]) if self._players[p.to_move] is None]
        if not asked:
            print("There is no turn of yours to take back.")
            return
        del self.positions[asked[-1] + 1 :], self.turns[asked[-1] :]
        self._show()

    def _show(self) -> None:
        last_turn = self.turns[-1] if self.turns else None
        print()
        print(ansi(self.position, last_turn=last_turn, color=self._color))
        print(standing(self.position))


def columns(words: list[str]) -> str:
    """Arrange words in columns of a usual terminal's width, F2 before F10; only the first if there
    are many.
    """
    words = sorted(words, key=lambda word: re.sub(r"\d+", lambda n: n[0].zfill(3), word))
    more = f" ... and {len(words) - MOST_SHOWN} more" if len(words) > MOST_SHOWN else ""
    text = "  ".join(words[:MOST_SHOWN]) + more
    return textwrap.fill(
        text, 78, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
    )
