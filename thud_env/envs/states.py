"""States of environments: what is kept of a board, and what ``set_state`` checks first."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from sys import float_info
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thud_env.arguments import shown
from thud_env.envs.games import Game
from thud_env.errors import ThudError
from thud_env.outcome import Outcome
from thud_env.rules.check import check_rows
from thud_env.rules.row import ONGOING, TERMINATION, TO_MOVE
from thud_env.rulesets import Ruleset

BOARD_PARTS = {
    "_row": np.ndarray,
    "_start_row": np.ndarray,
    "battles": tuple,
    "_seats": tuple,
    "is_over": bool,
    "_forfeited": bool,
    "agents": list,
    "agent_selection": str,
    "_skip_agent_selection": (str, type(None)),
    "rewards": dict,
    "_cumulative_rewards": dict,
    "terminations": dict,
    "truncations": dict,
    "infos": dict,
}
"""The attributes of a ``BoardEnv`` that are its state, and their types."""
_OF_AGENTS: dict[str, type | tuple[type, ...]] = {
    "rewards": (float, int),  # PettingZoo sets them to 0 where an agent steps that is done
    "_cumulative_rewards": (float, int),
    "terminations": bool,
    "truncations": bool,
    "infos": dict,
}
"""Of those that hold something for each agent, its type, or its types."""
_RIGHT = "what get_state() returned would be right"


def check_state(
    whose: object, state: Any, made: Mapping[str, Any], parts: Mapping[str, Any]
) -> None:
    """Refuse what ``get_state`` of an environment made like this one cannot have returned.

    Args:
        whose: the environment, for the message.
        state: what was given.
        made: the arguments that a state depends on, which it holds, too, as ``"made"``.
        parts: the other keys of a state, and the type, or the types, of what is there.

    Raises:
        ThudError: if it is not a dictionary with these parts, or of an environment that was made
            otherwise; the message names the part or the argument.
    """
    name = type(whose).__name__
    of_made = state.get("made") if isinstance(state, dict) else None
    if not isinstance(of_made, dict) or of_made.keys() != made.keys():
        raise ThudError(f"not a state of {name}: {_RIGHT}")
    for argument, own in made.items():
        given = of_made[argument]
        if not isinstance(given, type(own)) or given != own:
            raise ThudError(
                f"a state of an environment with {argument}={given!r} cannot be set in one with "
                f"{argument}={own!r}"
            )
    for part, kind in parts.items():
        if part not in state:
            raise ThudError(f"not a state of {name}, as it has no {part}: {_RIGHT}")
        check_part(whose, part, state[part], isinstance(state[part], kind))


def board_parts(
    whose: object,
    state: Mapping[str, Any],
    rules: Ruleset,
    game: Game,
) -> dict[str, Any]:
    """A copy of the parts of a ``BoardEnv``'s state that its attributes are set to.

    Args:
        whose: the environment, for the message.
        state: what ``check_state`` has let pass.
        rules, game: what is played.

    Raises:
        ThudError: if a row is damaged or of another ruleset, if others play than the game's agents,
            if a reward is not finite, or if the battle is over and the environment is not.
    """
    parts = {name: copied(state[name]) for name in BOARD_PARTS}
    for name in ("_row", "_start_row"):
        parts[name] = check_rows(parts[name][np.newaxis], rules)[0]
    row, agents, battles = parts["_row"], parts["agents"], parts["battles"]
    is_ended = bool(row[TERMINATION] != ONGOING)
    before = len(battles) - is_ended  # battles before the one on the board
    is_last = before == game.num_battles - 1
    players = game.agents
    seats = players[::-1] if before > 0 else players
    # A wrapper may end a game: then agents step in their own order, though the battle is not over.
    ended = any(_all_true(parts[name]) for name in ("terminations", "truncations"))
    deciding = players if ended or parts["is_over"] else (seats[row[TO_MOVE]],)
    right = {
        "battles": 0 <= before < game.num_battles
        and (is_last or not is_ended)
        and all(isinstance(outcome, Outcome) for outcome in battles),
        "_seats": parts["_seats"] == seats,
        "is_over": parts["is_over"] == (parts["_forfeited"] or is_ended),
        "agents": agents in (list(players), [players[0]], [players[1]], []),
        "agent_selection": parts["agent_selection"] in deciding,
    }
    for name, kind in _OF_AGENTS.items():
        values = parts[name].values()
        are_right = list(parts[name]) == agents and all(isinstance(of, kind) for of in values)
        right[name] = are_right and (kind is dict or all(map(_is_finite, values)))
    for name, is_right in right.items():
        check_part(whose, name, parts.get(name), is_right)
    return parts


def _is_finite(value: float) -> bool:
    # math.isfinite raises for integers beyond the floats.
    return abs(value) <= float_info.max


def _all_true(values: Mapping[str, Any]) -> bool:
    return all(value is True for value in values.values())


def copied(part: Any) -> Any:
    """A copy of a part of a state, and of what a dictionary of agents holds."""
    if isinstance(part, dict):
        return {agent: copy.copy(value) for agent, value in part.items()}
    return copy.copy(part)


def check_arrays(
    whose: object, state: Mapping[str, NDArray[Any]], own: Mapping[str, NDArray[Any]]
) -> None:
    """Refuse arrays of another shape or dtype than an environment's own of the same names.

    Raises:
        ThudError: naming the first one.
    """
    for name, array in own.items():
        given = state[name]
        if given.shape != array.shape or given.dtype != array.dtype:
            raise _wrong(whose, name, given)


def check_generator(whose: object, name: str, generator: np.random.Generator, state: Any) -> None:
    """Refuse one part of a state unless it is one of a generator like this, which stays as it is.

    Raises:
        ThudError: if so.
    """
    try:
        copy.deepcopy(generator).bit_generator.state = state
    except (KeyError, OverflowError, TypeError, ValueError):
        raise _wrong(whose, name, state) from None


def check_part(whose: object, name: str, value: Any, is_right: bool) -> None:
    """Refuse one part of a state unless it is right.

    Raises:
        ThudError: naming the part.
    """
    if not is_right:
        raise _wrong(whose, name, value)


def _wrong(whose: object, name: str, value: Any) -> ThudError:
    return ThudError(
        f"not a state of {type(whose).__name__}, as its {name} is {shown(value)}: {_RIGHT}"
    )
