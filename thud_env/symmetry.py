"""The board's symmetries: observations, masks and policies turned and mirrored together.

Classic Thud is the same game after any of the eight symmetries of ``board.SYMMETRIES``; the
Koom Valley games, which have a goal, only after the left-right mirror (``Ruleset.symmetries``).
An observation, its mask and a policy for it, mapped by the same symmetry, belong together again:
a learner may train on any of them, or average its policy over all.

>>> from thud_env import Position
>>> start = Position.start()
>>> planes, mask = map_together(1, start.observation(), start.action_mask())
>>> image = map_position(1, start)
>>> bool((planes == image.observation()).all() and (mask == image.action_mask()).all())
True

Observations, masks and policies are NumPy arrays, torch tensors or anything else that reshapes and
is indexed as those are, with any number of leading dimensions; what is returned is a new one of the
same kind. ``map_action`` takes and returns integers and NumPy arrays only, and ``map_rows`` the
state rows of a batch. Of a batch each may have a symmetry of its own.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from thud_env.actions import ACTION_SYMMETRY, NUM_ACTIONS, as_action
from thud_env.arguments import as_array, as_count, as_integers, shown
from thud_env.board import (
    SIZE,
    SYMMETRIES,
)
from thud_env.errors import ThudError
from thud_env.position import Position
from thud_env.rules.check import as_rows, check_rows
from thud_env.rules.images import mapped_rows
from thud_env.rules.row import RULESET_KEY, UNUSED, ruleset_of
from thud_env.rulesets import Ruleset, get_ruleset

Array = TypeVar("Array")

NUM_SYMMETRIES = len(SYMMETRIES)


def _sources(images: NDArray[Any]) -> NDArray[np.int64]:
    """For each symmetry, what comes to lie at each place; the inverse of where each goes."""
    return np.argsort(images, axis=1)


_POINT_IMAGES = np.array(
    [
        [SIZE * row + col for row, col in (image(*divmod(p, SIZE)) for p in range(SIZE * SIZE))]
        for _, image in SYMMETRIES
    ]
)
_POINT_SOURCE = _sources(_POINT_IMAGES)
"""[8, 225] which point of a plane comes to lie on each."""
_ACTION_SOURCE = _sources(ACTION_SYMMETRY)
"""[8, 6470] which action becomes each."""

INVERSE: tuple[int, ...] = tuple(
    next(
        back
        for back in range(NUM_SYMMETRIES)
        if np.array_equal(_POINT_IMAGES[back], _POINT_SOURCE[symmetry])
    )
    for symmetry in range(NUM_SYMMETRIES)
)
"""The symmetry that undoes each."""


def symmetries_of(rules: str | Ruleset) -> tuple[int, ...]:
    """The symmetries of a game, the identity first.

    Raises:
        ThudError: if there is no such ruleset.
    """
    return get_ruleset(rules).symmetries


def map_observation(symmetry: int | NDArray[Any], observation: Array) -> Array:
    """An observation mapped, [..., C, 15, 15] of any dtype, whatever its planes; or [B, ..., C, 15,
    15], each by its own of [B] symmetries.

    Raises:
        ThudError: if a symmetry is not in 0 .. 7, or a shape is another.
        TypeError: if it is no array.
    """
    planes: Any = observation
    shape = _shape("an observation", planes)
    if shape[-2:] != (SIZE, SIZE):
        raise ThudError(f"planes of shape {shape}: [..., 15, 15] would be right")
    points = planes.reshape(*shape[:-2], SIZE * SIZE)
    mapped: Array = _taken(points, _POINT_SOURCE, symmetry, 2).reshape(shape)
    return mapped


def map_policy(symmetry: int | NDArray[Any], policy: Array) -> Array:
    """A policy, its logits or a mask mapped, [..., 6470] of any dtype: a number for each action; or
    [B, ..., 6470], each by its own of [B] symmetries.

    Raises:
        ThudError: if a symmetry is not in 0 .. 7, or a shape is another.
        TypeError: if it is no array.
    """
    values: Any = policy
    shape = _shape("a policy", values)
    if shape[-1:] != (NUM_ACTIONS,):
        raise ThudError(f"policy of shape {shape}: [..., {NUM_ACTIONS}] would be right")
    mapped: Array = _taken(values, _ACTION_SOURCE, symmetry, 1)
    return mapped


def map_action(symmetry: int | NDArray[Any], action: Any) -> Any:
    """Actions mapped: an int, or an integer NumPy array of any shape; or [B, ...], each of the B by
    its own of [B] symmetries.

    Returns:
        an int, or an array of the same dtype, or int16 where that is too small for actions.

    Raises:
        ThudError: if a symmetry is not in 0 .. 7, they are not as many as the actions, or
            ``action`` is lists of several lengths; an ``IllegalMove`` if an action is not in
            0 .. 6469.
        TypeError: if ``action`` is neither one integer nor an array of them.
    """
    actions = as_array("actions", action)
    numbers = _numbers(symmetry, actions.shape[:1])
    if actions.ndim == 0:
        return int(ACTION_SYMMETRY[numbers, as_action(action)])
    if actions.dtype.kind not in "iu":
        raise TypeError(f"actions {shown(actions)}: integers would be right")
    outside = actions[(actions < 0) | (actions >= NUM_ACTIONS)]
    if len(outside):
        as_action(outside[0])  # raises
    images = ACTION_SYMMETRY[numbers.reshape(numbers.shape + (1,) * (actions.ndim - 1)), actions]
    fits = np.iinfo(actions.dtype).max >= NUM_ACTIONS - 1
    return images.astype(actions.dtype) if fits else images


def map_together(
    symmetry: int | NDArray[Any], observation: Array, *policies: Array
) -> tuple[Array, ...]:
    """An observation, its mask and policies for it, mapped together.

    Args:
        symmetry: 0 .. 7, an index of ``board.SYMMETRIES``; or [B], one for each of a batch.
        observation: [..., C, 15, 15]; or [B, ..., C, 15, 15].
        *policies: each [..., 6470]; or [B, ..., 6470].

    Raises:
        ThudError: if a symmetry is not in 0 .. 7, or a shape is another.
        TypeError: if one of them is no array.
    """
    return (
        map_observation(symmetry, observation),
        *(map_policy(symmetry, policy) for policy in policies),
    )


def map_rows(
    symmetry: int | NDArray[Any], rows: NDArray[np.integer[Any]], *, check: bool = True
) -> NDArray[np.int16]:
    """State rows mapped: of each the board and the square that it remembers.

    Args:
        symmetry: 0 .. 7, an index of ``board.SYMMETRIES``; or [N], one for each row.
        rows: [N, 432] integers, as ``BatchedGame.rows`` has them.
        check: whether to look at the rows first. Pass False for rows that are known to be sound,
            as a batch's are: what others give means nothing, and reading them may end the process.

    Returns:
        new rows, [N, 432].

    Raises:
        ThudError: if a symmetry is not one of ``symmetries_of`` a row's game; a ``RowError`` if no
            play leads to a row.
    """
    given = check_rows(rows) if check else as_rows(rows)
    numbers = as_array("symmetry", symmetry)
    if numbers.ndim == 0:
        numbers = np.full(len(given), _number(symmetry))  # type: ignore[arg-type]
    numbers = as_integers("symmetries", numbers, len(given))
    keys = given[:, RULESET_KEY:UNUSED]
    if (keys == keys[:1]).all():
        firsts, games = np.arange(min(len(given), 1)), np.zeros(len(given), dtype=np.int64)
    else:
        _, firsts, games = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    for game, first in enumerate(firsts):
        rules = ruleset_of(given[first])
        for number in set(numbers[games == game].tolist()):
            _check_leaves(rules, number)
    return mapped_rows(numbers, given)


def map_position(symmetry: int, position: Position) -> Position:
    """A position mapped: its board and the square that it remembers.

    Raises:
        ThudError: if ``symmetry`` is not one of ``symmetries_of`` the game.
        TypeError: if it is no ``Position``.
    """
    if not isinstance(position, Position):
        raise TypeError(f"{shown(position)} is no position: map_rows maps rows")
    _check_leaves(position.rules, symmetry)
    return Position.unchecked(mapped_rows(np.array([symmetry]), position.row[np.newaxis])[0])


def _check_leaves(rules: Ruleset, symmetry: int) -> None:
    """Refuse a symmetry after which the game is another."""
    if _number(symmetry) not in rules.symmetries:
        raise ThudError(
            f"{rules.name} is another game after symmetry {symmetry}: "
            f"{', '.join(map(str, rules.symmetries))} leave it as it is"
        )


def _shape(name: str, array: Any) -> tuple[int, ...]:
    if not hasattr(array, "shape"):
        raise TypeError(f"{name} is an array, not {shown(array)}: numpy.asarray makes one")
    return tuple(array.shape)


def _taken(
    values: Any, sources: NDArray[np.int64], symmetry: int | NDArray[Any], dimensions: int
) -> Any:
    """The last axis of an array in the order that a symmetry gives it, or each of [B] its own.

    Args:
        values: the array.
        sources: by symmetry, where each number comes from.
        symmetry: one, or [B].
        dimensions: how many one of a batch has: two for planes, which are mapped together.
    """
    shape = tuple(values.shape)
    batch = shape[:1] if len(shape) > dimensions else ()
    numbers = _numbers(symmetry, batch)
    if numbers.ndim == 0:
        return values[..., sources[numbers]]
    count, planes = shape[0], math.prod(shape[1:-1])
    each = values.reshape(count, planes, shape[-1])
    one, plane = np.arange(count)[:, np.newaxis, np.newaxis], np.arange(planes)[:, np.newaxis]
    return each[one, plane, sources[numbers][:, np.newaxis]].reshape(shape)


def _numbers(symmetry: int | NDArray[Any], batch: tuple[int, ...]) -> NDArray[Any]:
    """One symmetry, [], or one for each of a batch, [B].

    Args:
        symmetry: what is given.
        batch: (B,), or () if it is no batch.
    """
    numbers = as_array("symmetry", symmetry)
    if numbers.ndim == 0 or not batch:
        return np.array(_number(symmetry))  # type: ignore[arg-type]
    numbers = as_integers("symmetries", numbers, batch[0])
    for number in set(numbers.tolist()):
        _number(number)
    return numbers


def _number(symmetry: int) -> int:
    return as_count("symmetry", symmetry, least=0, most=NUM_SYMMETRIES - 1)
