"""Checks the arguments of public functions: an error names what was given and what is right."""

from __future__ import annotations

import difflib
import importlib
import inspect
import operator
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Never, TypeVar

import numpy as np
from numpy.typing import NDArray

from thud_env.errors import ThudError

_T = TypeVar("_T")
_MOST_SHOWN = 200
"""Characters of a value that a message shows."""


def one_of(name: str, value: Any, allowed: Iterable[Any]) -> Any:
    """Return the allowed value that ``value`` equals; ``1`` is not ``True``.

    Raises:
        ThudError: if there is none, naming what would be right.
    """
    values = list(allowed)
    for one in [] if _is_array(value) else values:
        if isinstance(one, bool) == isinstance(value, bool | np.bool_) and one == value:
            return one
    *others, last = map(repr, values)
    right = f"{', '.join(others)} or {last}" if others else last
    raise ThudError(f"unknown {name} {shown(value)}: {right} would be right")


def as_count(name: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """Return ``value`` if it counts something.

    Raises:
        ThudError: if it is not an integer, ``least`` or more and ``most`` at most; a bool is not
            one.
    """
    span = "" if most is None else f"in {least} .. {most}"
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        right = f"an integer {span}".rstrip()
        raise ThudError(f"{name} must be {right}, not {shown(value)}") from None
    if number < least or (most is not None and number > most):
        raise ThudError(f"{name} must be {span or f'{least} or more'}, not {shown(number)}")
    return number


def check_positive(name: str, value: Any) -> None:
    """Refuse what is not a finite number above 0.

    Raises:
        ThudError: if it is not one.
    """
    is_number = isinstance(value, int | float | np.integer | np.floating)
    # As a number of Python's own: NumPy would take the bound in the value's precision.
    number = value.item() if isinstance(value, np.generic) else value
    if not (is_number and 0 < number <= sys.float_info.max):
        raise ThudError(f"{name} must be a finite number above 0, not {shown(value)}")


def as_array(name: str, given: Any, dtype: Any = None) -> NDArray[Any]:
    """``given`` as an array of any shape, of ``dtype`` or what it holds.

    Raises:
        ThudError: if it cannot be one, as lists of several lengths cannot, nor tensors on a GPU
            or with a gradient.
    """
    try:
        return np.asarray(given, dtype)
    except (TypeError, RuntimeError) as error:
        raise ThudError(f"{name}: {shown(given)} is not read: {error}") from None
    except ValueError:
        right = "an array, or lists of the same length, would be right"
        raise ThudError(f"{name}: {shown(given)} is no array: {right}") from None


def as_list(name: str, given: Iterable[_T]) -> list[_T]:
    """``given`` as a list.

    Raises:
        TypeError: if it is not iterable.
    """
    try:
        found = iter(given)
    except TypeError:  # an array of no dimension has __iter__, too
        raise TypeError(f"{name} {shown(given)}: a list of them would be right") from None
    return list(found)


def check_integers(name: str, array: Any, count: int) -> None:
    """Refuse an array, of the host or a device, that does not hold [count] integers.

    Raises:
        ThudError: if its shape or dtype is another.
    """
    if array.shape != (count,) or np.dtype(array.dtype).kind not in "iu":
        raise ThudError(
            f"{name} are {array.dtype} of shape {array.shape}: "
            f"integers of shape ({count},) would be right"
        )


def as_integers(name: str, given: Any, count: int) -> NDArray[np.integer[Any]]:
    """``given`` as [count] integers.

    Raises:
        ThudError: if it is anything else.
    """
    array = as_array(name, given)
    check_integers(name, array, count)
    return array


def shown(value: Any) -> str:
    """A value as a message shows it: an array by its dtype and shape, all else in a line."""
    if _is_array(value):
        return f"{getattr(value, 'dtype', type(value).__name__)} of shape {tuple(value.shape)}"
    try:
        text = str(value) if isinstance(value, np.bool_) else repr(value)
    except ValueError:  # an int of more digits than Python writes, or something that holds one
        whole = isinstance(value, int)
        return f"an integer of {value.bit_length()} bits" if whole else f"a {type(value).__name__}"
    if "\n" in text:  # arrays within: all else writes a line
        text = " ".join(text.split())
    if len(text) <= _MOST_SHOWN:
        return text
    return f"{text[:_MOST_SHOWN]}... ({len(text):,} characters)"


def no_position(given: object) -> str:
    """What is wrong with something that is no ``Position``, and what would be right."""
    kind = type(given)
    inner = getattr(given, "unwrapped", given)
    has = getattr(type(inner), "position", None)  # asked of the class: reset may not have been
    right = "Position(row) or Position.from_text(text)"
    if has is not None:
        where = ".position" if inner is given else ".unwrapped.position"
        right = f"its {where}{'(0)' if callable(has) else ''}"
    return f"a {kind.__name__} is no position: {right} would be right"


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and not isinstance(value, np.generic | type)


def nearest(name: str, known: Iterable[str]) -> str:
    """``"did you mean ...? "`` for a misspelt name, or nothing if none of those known is near."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]!r}? " if near else ""


def module_named(name: str) -> ModuleType:
    """Import a module of the user's.

    Raises:
        ThudError: if there is no such module, or it cannot be imported.
    """
    try:
        return importlib.import_module(name)
    except Exception as error:  # it may raise anything
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and f"{name}.".startswith(f"{missing}."):  # itself, or a package that it is in
            reason = f"not in {Path.cwd()}, nor anywhere else where Python looks"
            if missing in ("agents", "training"):
                reason += '; it comes with the checkout: pip install --editable "CHECKOUT[agents]"'
            raise ThudError(f"there is no module {missing!r}: {reason}") from None
        reason = f"{type(error).__name__}: {error}"
        raise ThudError(f"module {name!r} cannot be imported: {reason}") from error


def refuse_unknown(
    called: Callable[..., Any], unknown: Mapping[str, Any], hints: Mapping[str, str] | None = None
) -> None:
    """Refuse the keyword arguments that a function or class does not have.

    The functions that use this declare ``**unknown: Never``, so that type checkers refuse what
    is refused here, and the message can name the nearest argument there is.

    Args:
        called: the function or class.
        unknown: the arguments that it does not have.
        hints: messages for some of them.

    Raises:
        TypeError: as Python's own, for the first of them.
    """
    for name in unknown:
        known = _keywords(called)
        hint = (hints or {}).get(name) or f"{nearest(name, known)}known: {', '.join(known)}"
        raise TypeError(
            f"{called.__qualname__}() got an unexpected keyword argument {name!r}: {hint}"
        )


def _keywords(called: Callable[..., Any]) -> list[str]:
    """The arguments that a function takes by name, or a class or those that it is made from."""
    making = called.mro()[:-1] if isinstance(called, type) else [called]
    collects = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    found: dict[str, None] = {}
    for part in making:
        if part is not called and "__init__" not in vars(part):
            continue
        parameters = list(inspect.signature(part).parameters.values())
        found |= {one.name: None for one in parameters if one.kind not in collects}
        if all(one.kind is not one.VAR_KEYWORD for one in parameters):
            break  # nothing is handed on
    return list(found)


class _GivenWhenMade:
    """Given when an object is made; no attribute: set later, it would change nothing."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, made: Any, owner: type) -> Any:
        if made is None:
            return self
        if self._name not in vars(made):
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self._name!r}")
        return vars(made)[self._name]

    def __set__(self, made: Any, value: Any) -> None:
        kind = type(made)
        if not kind.__module__.startswith("thud_env."):  # a subclass may keep what it likes
            vars(made)[self._name] = value
            return
        raise AttributeError(
            f"{self._name} of a {kind.__name__} is given when it is made: "
            f"another {kind.__name__} would be right"
        )


def given_when_made(*names: str) -> Callable[[type[_T]], type[_T]]:
    """A decorator of a class: setting these of its arguments as attributes is an
    ``AttributeError``.
    """

    def decorate(made: type[_T]) -> type[_T]:
        for name in names:
            setattr(made, name, _GivenWhenMade(name))
        return made

    return decorate


def refuse_copy(original: object) -> Never:
    """``__copy__`` of what a shallow copy would share its arrays with.

    Raises:
        TypeError: always.
    """
    raise TypeError(
        f"copy.copy of a {type(original).__name__} would share its board: "
        "copy.deepcopy would be right"
    )
