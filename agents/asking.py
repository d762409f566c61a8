"""How others ask a player: its answers are checked, and its errors told from those of a command."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from agents.agent import Agent, BatchPolicy
from agents.answers import AnswerError, checked
from thud_env.arguments import shown
from thud_env.errors import ThudError
from thud_env.outcome import Side
from thud_env.rulesets import Ruleset


class OwnAgentError(RuntimeError):
    """An agent that is not of this checkout raised an error. It is raised from that one, which
    tells its author where; commands show it with its traceback.
    """


@contextlib.contextmanager
def errors_with_traceback(player: BatchPolicy) -> Iterator[None]:
    """Within, a player decides. A command would take a ``ThudError`` or ``OSError`` of the user's
    own code for a wrong word on its command line, and the page for a wrong request.

    Raises:
        OwnAgentError: if the player is the user's own and raises any error.
        AnswerError: as it does, which says all.
    """
    kind = type(player)
    try:
        yield
    except AnswerError:
        raise
    except Exception as error:
        if kind.__module__.partition(".")[0] in ("agents", "training"):
            raise
        raise OwnAgentError(f"{kind.__module__}:{kind.__qualname__} failed") from error


def answer_of(player: BatchPolicy, name: str, rows: NDArray[np.int16]) -> NDArray[np.int32]:
    """What a player decides.

    Args:
        player: the player.
        name: who it is.
        rows: [N, 432] the battles in which it decides.

    Returns:
        [N] its actions.

    Raises:
        AnswerError: if they are not a legal action for each battle.
        OwnAgentError: if a player of the user's own fails.
        TypeError: if the player has no ``act_rows``, as a spec has none.
    """
    if isinstance(player, type):
        name = player.__name__
        raise TypeError(f"{name} is a class: a player, {name}(), would be right")
    if not hasattr(player, "act_rows"):
        if isinstance(player, str):
            raise TypeError(f"{player!r} is a spec: agents.make({player!r}) would be right")
        is_pair = isinstance(player, tuple | list) and all(hasattr(p, "act_rows") for p in player)
        hint = ": its two players, one after the other, would be right" if is_pair else ""
        raise TypeError(f"{shown(player)} cannot play: it has no method act_rows(self, rows){hint}")
    with errors_with_traceback(player):
        answer = player.act_rows(rows.copy())  # it may write into them
    return checked(name, answer, rows)


def check_seat(player: BatchPolicy, rules: Ruleset, side: Side) -> None:
    """Refuse a game that a player does not play, if it has a ``check_plays`` to ask.

    Raises:
        ThudError: as its ``check_plays`` says, which may be a user's own and raise any
            ``ValueError``.
    """
    check = getattr(player, "check_plays", None)
    if isinstance(player, type) or not callable(check):  # ``answer_of`` refuses classes
        return
    try:
        check(rules, side)
    except ValueError as error:
        raise ThudError(str(error)) from error


def rules_learnt(players: Iterable[Agent]) -> str:
    """The ruleset that all players were trained for that know one alone, or else ``classic``."""
    learnt = {player.trained_for for player in players} - {None}
    return (learnt.pop() if len(learnt) == 1 else None) or "classic"


def as_resumed(players: Iterable[Agent]) -> None:
    """Let players forget what their states leave out, such as what a search has found about
    positions. Before each update, it makes a run that goes on and a resumed one alike.
    """
    for player in players:
        player.set_state(player.get_state())
