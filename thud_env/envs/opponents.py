"""Opponents, which play the other side in the Gymnasium environments.

``opponent=`` takes any of these:

=====================================  ====================================================
opponent                               plays
=====================================  ====================================================
``"random-decisions"``                 decisions drawn uniformly from the legal ones
a function, ``Position -> int``        what it returns
an object with ``act(position)``       what that returns
an object with ``act_rows(rows)``      the same for many games at once, [N, 432] -> [N];
                                       if it takes ``games``, it is told which, [N]
``"MODULE:SPEC"``                      what ``MODULE.make(SPEC)`` returns: ``"agents:greedy"``
None                                   nothing: only where the learner plays both sides
=====================================  ====================================================

The package itself has no player but ``"random-decisions"``; a module is imported when a string
names it. ``"random"`` is short for it.
An opponent with a method ``seed(number)`` is seeded by ``reset(seed=...)``, one with
``get_state()`` and ``set_state(state)`` is part of its environment's state. One with
``check_plays(rules, side)`` is asked when the environment is made, and raises if it does not play
that side of the ruleset.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any, Protocol, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from thud_env.actions import as_action
from thud_env.arguments import as_integers, module_named, nearest, shown
from thud_env.batch.states import drawn_decisions
from thud_env.errors import IllegalMove, ThudError
from thud_env.outcome import SIDES
from thud_env.position import Position
from thud_env.rulesets import Ruleset

RANDOM_DECISIONS = "random-decisions"
_SHORT_NAME = "random"


class Acting(Protocol):
    """Chooses for one game."""

    def act(self, position: Position, /) -> SupportsIndex:
        """A legal action, of any integer type, in a position that is not over."""
        ...


class BatchOpponent(Protocol):
    """Chooses for many games at once: what every opponent is turned into."""

    def act_rows(self, rows: NDArray[np.int16], /) -> NDArray[np.integer[Any]]:
        """Legal actions, [N], for [N, 432] state rows of battles that are not over."""
        ...


class LeagueOpponent(Protocol):
    """Chooses for many games at once, and is told which."""

    def act_rows(
        self, rows: NDArray[np.int16], /, *, games: NDArray[np.int64]
    ) -> NDArray[np.integer[Any]]:
        """See ``BatchOpponent``; ``games``, [N] in 0 .. B - 1, are the games' numbers."""
        ...


OpponentLike = (
    str | Callable[[Position], SupportsIndex] | Acting | BatchOpponent | LeagueOpponent | None
)
"""What ``opponent=`` takes, as tabled above."""


class RandomDecisions:
    """Draws decisions uniformly from the legal ones, as ``BatchedGame.sample_actions`` does.

    ``"agents:random"`` draws uniformly from complete turns instead, which takes longer.
    """

    def __init__(self) -> None:
        self._generator = np.random.default_rng()

    def seed(self, seed: int) -> None:
        """Make what is drawn from here on depend on ``seed`` alone."""
        self._generator = np.random.default_rng(seed)

    def act_rows(self, rows: NDArray[np.int16]) -> NDArray[np.integer[Any]]:
        """See ``BatchOpponent``."""
        return drawn_decisions(rows, self._generator)

    def get_state(self) -> Any:
        """The state of its generator."""
        return self._generator.bit_generator.state

    def set_state(self, state: Any) -> None:
        """Return to a state that ``get_state`` gave."""
        self._generator.bit_generator.state = state


class _OneByOne:
    """Asks a function for one position after the other."""

    def __init__(self, choose: Callable[[Position], int], whose: Any) -> None:
        self._choose = choose
        for method in ("seed", "get_state", "set_state", "check_plays"):
            if callable(getattr(whose, method, None)):
                setattr(self, method, getattr(whose, method))

    def act_rows(self, rows: NDArray[np.int16]) -> NDArray[np.integer[Any]]:
        """See ``BatchOpponent``.

        Raises:
            ThudError: for a choice that is not one integer.
            IllegalMove: for one that is no action.
        """
        return np.array([_action(self._choose(Position.unchecked(row))) for row in rows])


def _action(choice: Any) -> int:
    try:
        return as_action(choice)
    except IllegalMove as error:
        raise IllegalMove(f"the opponent's choice: {error}") from None
    except TypeError as error:
        raise ThudError(f"the opponent's choice: {error}") from None


def _from_module(opponent: str) -> Any:
    """What ``MODULE.make(SPEC)`` returns, for ``"MODULE:SPEC"``, seeded anew: it may have a seed by
    default, with which many environments would meet the same draws.

    Raises:
        ThudError: if there is no such module, or it makes no players.
    """
    name, colon, spec = opponent.partition(":")
    if not (name and colon):
        raise ThudError(
            f"unknown opponent {shown(opponent)}: {RANDOM_DECISIONS!r}, or MODULE:SPEC for a "
            f"module that makes players, such as 'agents:{opponent or 'greedy'}', would be right"
        )
    try:
        module = module_named(name)
    except ValueError as error:
        example = f"agents:{spec if nearest(name, ('agents',)) else opponent}"
        hint = "" if name == "agents" else f"; MODULE:SPEC is read, such as {example!r}"
        raise ThudError(f"opponent {shown(opponent)}: {error}{hint}") from error.__cause__
    if not callable(getattr(module, "make", None)):
        raise ThudError(
            f"opponent {shown(opponent)}: module {name!r} has no function make(spec): {module!r}"
        )
    made = module.make(spec)
    _seed(made, np.random.default_rng())
    return made


def _taking_one(choose: Callable[[Position], int], opponent: Any) -> Callable[[Position], int]:
    """``choose``, unless it cannot be called with a position alone.

    Raises:
        TypeError: if so.
    """
    with contextlib.suppress(ValueError):  # a built-in function may tell nothing
        signature = inspect.signature(choose)
        try:
            signature.bind(None)
        except TypeError:
            raise TypeError(
                f"opponent {shown(opponent)} takes {signature}: "
                "a function from a Position to an action would be right"
            ) from None
    return choose


def make_opponent(opponent: Any, is_needed: bool = True) -> BatchOpponent:
    """The opponent that an environment was given, as something that plays many games.

    Args:
        opponent: one of those tabled above.
        is_needed: False where the learner plays both sides: None is right then, and the default.

    Raises:
        ThudError: for a string that names no player, and for a player that is not needed.
        TypeError: for anything that is not in the table above, or cannot be called with one
            argument.
    """
    by_default = isinstance(opponent, str) and opponent in (RANDOM_DECISIONS, _SHORT_NAME)
    if by_default or (opponent is None and not is_needed):
        return RandomDecisions()
    if not is_needed:
        raise ThudError(
            f"opponent {shown(opponent)} would never play: with side='both' None would be right"
        )
    if isinstance(opponent, str):
        opponent = _from_module(opponent)
    if isinstance(opponent, type):
        name = opponent.__name__
        raise TypeError(f"opponent {name} is a class: a player, {name}(), would be right")
    if callable(getattr(opponent, "act_rows", None)):
        return opponent
    if callable(getattr(opponent, "act", None)):
        return _OneByOne(_taking_one(opponent.act, opponent), opponent)
    if callable(opponent):
        return _OneByOne(_taking_one(opponent, opponent), opponent)
    hint = ", or side='both' without an opponent," if opponent is None else ""
    raise TypeError(
        f"opponent {shown(opponent)} cannot play: {RANDOM_DECISIONS!r}, a function from a Position "
        f"to an action, or an object with act(position) or act_rows(rows){hint} would be right"
    )


class Opponent:
    """The opponent of an environment.

    Args:
        given: one of those tabled above.
        rules: the ruleset that is played.
        side: the learner's side, or ``"random"`` or ``"both"``.
        match: whether the sides are changed after a battle.

    Raises:
        ThudError, TypeError: as ``make_opponent`` does; or what it raises that does not play this
            game.
    """

    def __init__(self, given: OpponentLike, rules: Ruleset, side: str, match: bool) -> None:
        self.given = given
        self._player = make_opponent(given, is_needed=side != "both")
        if callable(check := getattr(self._player, "check_plays", None)):
            for its in SIDES:
                if match or its != side:
                    check(rules, its)
        self._is_told = False
        with contextlib.suppress(ValueError):  # a built-in function may tell nothing
            self._is_told = "games" in inspect.signature(self._player.act_rows).parameters

    def choices(
        self, rows: NDArray[np.int16], games: NDArray[np.int64]
    ) -> NDArray[np.integer[Any]]:
        """What it chooses, [N] integers, which may be illegal.

        Args:
            rows: [N, 432] state rows, which it may overwrite.
            games: [N] the numbers of the games that they are of.

        Raises:
            ThudError: if it does not return N integers.
        """
        told = {"games": games} if self._is_told else {}
        return as_integers("the opponent's choices", self._player.act_rows(rows, **told), len(rows))

    def seed(self, generator: np.random.Generator) -> None:
        """Seed it, if it can be seeded."""
        _seed(self._player, generator)

    def state(self) -> Any:
        """Its state, or None if it has none."""
        get_state = getattr(self._player, "get_state", None)
        return get_state() if callable(get_state) else None

    @contextlib.contextmanager
    def restored(self, state: Any) -> Iterator[None]:
        """Return it to what ``state`` gave. If what happens within fails, it is as before.

        Raises:
            ThudError: if it does not take the state, or has none where one is given, or one where
                none is.
        """
        before = self.state()
        if state is None and before is not None:
            raise ThudError(
                "a state that holds no opponent's cannot be set where the opponent has one: "
                "a state of an environment with the same opponent would be right"
            )
        if state is not None and not callable(getattr(self._player, "set_state", None)):
            raise ThudError(
                "a state that holds its opponent's cannot be set where the opponent has no "
                "set_state(state): a state of an environment with the same opponent would be right"
            )
        try:
            if state is not None:
                self._set_state(state)
            yield
        except BaseException:
            if before is not None:
                self._set_state(before)
            raise

    def _set_state(self, state: Any) -> None:
        try:
            self._player.set_state(state)  # type: ignore[attr-defined] # it has a state
        except Exception as error:  # a player of the user's may raise anything
            raise ThudError(
                f"the opponent cannot return to the state of another one: {error}"
            ) from error


def _seed(player: Any, generator: np.random.Generator) -> None:
    seed = getattr(player, "seed", None)
    if callable(seed):
        seed(int(generator.integers(2**31)))
