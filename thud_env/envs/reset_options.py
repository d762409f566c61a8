"""Reads the options of an environment's ``reset``."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thud_env.arguments import as_array, nearest, shown
from thud_env.errors import ThudError


def as_options(options: dict[str, Any] | None) -> dict[str, Any]:
    """The options of a reset, none if there are none.

    Raises:
        TypeError: if they are not a dictionary.
    """
    if options is None or isinstance(options, dict):
        return options or {}
    raise TypeError(
        f"options is of type {type(options).__name__}: "
        "a dictionary, such as {'position': text}, would be right"
    )


def start_option(options: dict[str, Any] | None) -> Any:
    """The start that the options of a reset give, None if they give none. Other options are
    ignored, as PettingZoo's tests have some of their own, but not a misspelt ``"position"``.

    Raises:
        TypeError: if they are not a dictionary.
        ThudError: if one is nearly ``"position"``.
    """
    options = as_options(options)
    for name in options:
        if name != "position" and get_close_matches(str(name).lower(), ["position"], cutoff=0.87):
            raise ThudError(f"unknown option {shown(name)}: did you mean 'position'?")
    return options.get("position")


def read_options(options: dict[str, Any] | None, known: tuple[str, ...]) -> dict[str, Any]:
    """The same of an environment that knows all its options.

    Raises:
        TypeError: if they are not a dictionary.
        ThudError: if one is unknown.
    """
    options = as_options(options)
    for name in options:
        if name not in known:
            hint = nearest(str(name), known)
            raise ThudError(f"unknown option {shown(name)}: {hint}known: {', '.join(known)}")
    return options


def read_mask(mask: Any, count: int) -> NDArray[np.bool_]:
    """``options["reset_mask"]``, [count] bool; all True if it is None.

    Raises:
        ThudError: if it is anything else.
    """
    if mask is None:
        return np.ones(count, dtype=np.bool_)
    array = as_array("reset_mask", mask)
    if array.shape != (count,) or array.dtype != np.bool_:
        raise ThudError(
            f"reset_mask is {array.dtype} of shape {array.shape}: "
            f"bool of shape ({count},) would be right"
        )
    return array
