"""Whole battles of random decisions."""

from __future__ import annotations

from typing import NamedTuple, Never

import numpy as np
from numpy.typing import NDArray

from thud_env.arguments import as_count, refuse_unknown
from thud_env.batch.options import Device, make_device
from thud_env.jit.rng import seed_generators
from thud_env.rules.row import new_row
from thud_env.rulesets import Rules, get_ruleset


class Playouts(NamedTuple):
    """Battles of random decisions, played to their ends."""

    lengths: NDArray[np.int32]
    """[N] decisions played."""
    margins: NDArray[np.int16]
    """[N] final margins, from the dwarfs' view."""


def random_playouts(
    num_games: int,
    rules: Rules = "classic",
    seed: int | None = 0,
    *,
    device: Device = "cpu",
    num_threads: int | None = None,
    max_quiet_turns: int | None = None,
    max_turns: int | None = None,
    offer_after: int | None = None,
    agreement: bool = False,
    **unknown: Never,
) -> Playouts:
    """Play whole battles by decisions drawn uniformly from the legal ones.

    Args:
        num_games: N.
        rules: a ruleset, or the name of one.
        seed: the same seed plays the same battles, on every device; None plays others each time.
        device: ``"cpu"`` or ``"cuda"``.
        num_threads: threads that share the work; None for one a core, as far as each gets 8
            battles.
        max_quiet_turns, max_turns, offer_after: the limits of a battle; None for the ruleset's.
        agreement: whether a battle may end by agreement.

    Raises:
        ThudError: for any other value.
        TypeError: for any other keyword, naming the nearest there is.
        RuntimeError: if ``device`` is ``"cuda"`` and there is no GPU, or no Numba for it.
    """
    refuse_unknown(random_playouts, unknown)
    num_games = as_count("num_games", num_games)
    if seed is not None:
        seed = as_count("seed", seed, least=0)
    place = make_device(device, num_games, num_threads)
    start_row = new_row(
        get_ruleset(rules),
        max_quiet_turns=max_quiet_turns,
        max_turns=max_turns,
        offer_after=offer_after,
        agreement=agreement,
    )
    rows = place.copy(np.tile(start_row, (num_games, 1)))
    lengths = place.zeros((num_games,), np.int32)
    margins = place.zeros((num_games,), np.int16)
    place.play(rows, place.copy(seed_generators(num_games, seed)), lengths, margins)
    return Playouts(place.to_host(lengths), place.to_host(margins))
