"""The starts of the book of openings, for the battles of a run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from training.arena.openings import OpeningsError, read_openings
from training.config import RunConfig
from training.errors import ConfigError


def starts_to_learn_from(config: RunConfig) -> NDArray[np.int16] | None:
    """The starts that battles to learn from begin at, [S, 432]; None if they do not begin from the
    book.

    Raises:
        ConfigError: as ``book_starts`` does.
    """
    return book_starts(config, config.book_key) if config.book_key else None


def book_starts(config: RunConfig, key: str) -> NDArray[np.int16]:
    """All starts of a run's ruleset, [S, 432], with the run's limits.

    Args:
        config: of the run.
        key: the key that asks for them.

    Raises:
        ConfigError: naming the key, if there is no book or a start is over by the limits.
    """
    try:
        book = read_openings(config.rules)
        return book.rows(len(book.starts), **config.limits)
    except OpeningsError as error:
        raise ConfigError(f"{key}: {error}") from None
