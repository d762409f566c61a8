"""The base classes of all players."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agents.answers import checked
from thud_env import Position
from thud_env.actions import NUM_ACTIONS
from thud_env.arguments import as_count, no_position
from thud_env.errors import ThudError
from thud_env.jit.rng import seed_generators
from thud_env.outcome import Side
from thud_env.rules import row as fields
from thud_env.rules.check import check_rows
from thud_env.rules.play import apply
from thud_env.rulesets import Ruleset, get_ruleset


class BatchPolicy(Protocol):
    """Chooses decisions for many games at once."""

    def act_rows(self, rows: NDArray[np.int16]) -> NDArray[np.int32]:
        """Choose a legal action for each game.

        Args:
            rows: [B, 432] int16 state rows of battles of one ruleset that are not over, any side to
                decide; a copy of its own.

        Returns:
            [B] legal actions.

        Raises:
            ThudError: if one of the battles is over.
        """
        ...


@dataclasses.dataclass(frozen=True)
class Opinion:
    """What a policy or a search thinks of a position."""

    probabilities: NDArray[np.float64]
    """[6470] the probability of every action, 0 for illegal ones: a network's, or the share of a
    tree search's simulations; all on one action if the player says no more."""
    margin: float
    """The expected margin at the end, from the dwarfs' view; in Koom Valley games 1 is a win of the
    dwarfs and -1 one of the trolls."""


def all_on(action: int) -> NDArray[np.float64]:
    """The probabilities of an ``Opinion`` that are all on one action."""
    probabilities = np.zeros(NUM_ACTIONS)
    probabilities[action] = 1.0
    return probabilities


def read_rows(given: ArrayLike) -> NDArray[np.int16]:
    """State rows of battles that go on, [B, 432] int16, from integers of any type.

    Raises:
        ThudError: if they are not: a ``RowError`` if no play leads to one of them.
    """
    rows = check_rows(given)
    over = np.flatnonzero(rows[:, fields.TERMINATION])
    if len(over):
        text = Position.unchecked(rows[over[0]]).text
        raise ThudError(f"the battle is over: nothing to decide in {text!r} (row {over[0]})")
    return rows


class Agent(ABC):
    """A player, which chooses one decision at a time.

    Subclasses implement ``act_rows``; the rest follows from it. A player that draws or remembers
    anything also implements ``seed``, ``get_state`` and ``set_state``; one that draws sets
    ``stochastic``.
    """

    stochastic: bool = False
    """Whether it draws, so that it may decide differently in the same position."""
    timed: bool = False
    """Whether it has a time limit, so that its decisions depend on the machine."""
    searched: int | None = None
    """Nodes or simulations of the searches for its turns so far; None if it does not count any."""

    @property
    def trained_for(self) -> str | None:
        """The ruleset that it has learnt, as its spec, if it is one; None: it plays others too."""
        return None

    @abstractmethod
    def act_rows(self, rows: NDArray[np.int16]) -> NDArray[np.int32]:
        """See ``BatchPolicy``."""

    def seed(self, seed: int) -> None:  # noqa: B027 (without chance there is nothing to do)
        """Make all later decisions depend on ``seed`` alone.

        Raises:
            ThudError: if it is not an integer, 0 or more.
        """

    def check_plays(self, rules: Ruleset, side: Side) -> None:
        """Refuse a game that it does not play: by default one of another ruleset than it was
        trained for. Environments, runs, battles and ladders ask before they begin.

        Args:
            rules: the ruleset.
            side: the side that it is to play.

        Raises:
            ThudError: saying why.
        """
        learnt = self.trained_for
        if learnt is not None and get_ruleset(learnt) != rules:
            raise ThudError(
                f"{type(self).__name__} was trained for {learnt}, not {rules.spec}: it plays "
                f"{learnt} alone"
            )

    def get_state(self) -> dict[str, Any]:
        """The state, made of values that JSON can hold, for ``set_state``."""
        return {}

    def set_state(self, state: dict[str, Any]) -> None:  # noqa: B027 (nor without memory)
        """Restore a state that ``get_state`` returned."""

    def stop(self) -> None:  # noqa: B027 (nor where no turn takes long)
        """Make it answer soon, with the best found so far. Another thread may call this."""

    def act(self, position: Position) -> int:
        """A legal action in a position that is not over.

        Raises:
            AnswerError: if ``act_rows`` does not return one legal action; a ``ValueError``.
            ThudError: if the battle is over.
            TypeError: if it is not a ``Position``.
        """
        check_going_on(position, "decide")
        rows = position.row[np.newaxis]
        return int(checked(type(self).__name__, self.act_rows(rows.copy()), rows)[0])

    def turn(self, position: Position) -> str:
        """A complete legal turn, in turn notation.

        Raises:
            AnswerError, ThudError, TypeError: as ``act`` does.
        """
        actions = [self.act(position)]
        row = position.row.copy()
        apply(row, actions[0])
        while not fields.is_between_turns(row):
            actions.append(self.act(Position.unchecked(row)))
            apply(row, actions[-1])
        return position.turn_of(actions)


def check_going_on(position: Position, what: str) -> None:
    """Refuse what is not a ``Position`` of a battle that goes on.

    Args:
        position: the position.
        what: what is asked, "decide" or "judge", for the message.

    Raises:
        TypeError: if it is not a ``Position``.
        ThudError: if the battle is over.
    """
    if not isinstance(position, Position):
        raise TypeError(no_position(position))
    if position.outcome is not None:
        raise ThudError(f"the battle is over: nothing to {what} in {position.text!r}")


def _generator(seed: int) -> NDArray[np.uint64]:
    """[1] a generator of compiled code."""
    return seed_generators(1, as_count("seed", seed, least=0))


class DrawingAgent(Agent):
    """A player that draws from a generator of its own, ``_rng``, [1] uint64.

    Args:
        seed: seeds it.
    """

    def __init__(self, seed: int = 0) -> None:
        self._rng = _generator(seed)

    stochastic = True

    def seed(self, seed: int) -> None:
        """See ``Agent``."""
        self._rng[:] = _generator(seed)

    def get_state(self) -> dict[str, Any]:
        """See ``Agent``."""
        return {"rng": int(self._rng[0])}

    def set_state(self, state: dict[str, Any]) -> None:
        """See ``Agent``."""
        self._rng[0] = state["rng"]
