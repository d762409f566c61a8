"""Plays two players against each other, from which starts and counted how."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.agent import BatchPolicy
from thud_env.arguments import as_count, one_of, shown
from thud_env.command import counted
from thud_env.rulesets import Ruleset
from training.arena.battles import (
    Battles,
    GamePairs,
    Watch,
    check_limits,
    distinct,
    ignore,
    play_battles,
    play_pairs,
)
from training.arena.intervals import ENOUGH_PAIRS
from training.arena.openings import Openings, OpeningsError, read_openings


class Evaluation(NamedTuple):
    """What two players played."""

    played: Battles | GamePairs
    openings: str | None
    """The digest of the starts they began from; None: from the setup."""
    starts: int
    """From how many different starts those counted began."""
    notes: list[str]
    """Notes for the user, a line each."""


def evaluate(
    players: tuple[BatchPolicy, BatchPolicy],
    games: int,
    rules: str | Ruleset,
    *,
    match: bool = False,
    openings: bool | Openings | None = None,
    watch: Watch = ignore,
    **limits: Any,
) -> Evaluation:
    """Play battles, or game pairs. Two players without chance repeat themselves: each distinct
    battle then counts once.

    Args:
        players: the dwarfs and the trolls, or the first and the second player of a match.
        games: how many.
        rules: a ruleset, or the name of one.
        match: whether to play game pairs.
        openings: where the battles begin. True: from the opening book, a start for each. False:
            from the setup. An ``Openings``: from its starts, repeated when they run out. None: from
            the book, repeated, if there is one and the limits end none of its starts; else from the
            setup, where players without chance play one battle, and searches, which draw among
            equals alone, its mirror images.
        watch: called after each decision with how many battles ended by it.
        **limits: ``max_quiet_turns``, ``max_turns``, ``offer_after``, ``agreement``.

    Raises:
        OpeningsError: if the book is wanted, and is missing or has too few starts.
        ThudError: if ``games`` is not an integer, 1 or more, ``match`` is no bool, or ``openings``
            is something else.
        TypeError: if the players are not two, or there is no such limit.
    """
    if not (isinstance(players, Collection) and len(players) == 2):
        raise TypeError(f"players {shown(players)}: two, (first, second), would be right")
    games = as_count("games", games)
    match = one_of("match", match, (True, False))
    if not isinstance(openings, Openings):
        openings = one_of("openings", openings, (True, False, None))
    check_limits(limits)
    by_chance = any(getattr(player, "stochastic", False) for player in players)
    starts, digest, notes = _starts(openings, rules, games, limits)
    play, kind = (play_pairs, "game pair") if match else (play_battles, "battle")
    played = play(*players, games, rules, starts=starts, watch=watch, **limits)
    different = distinct(played)
    if len(different) < games:
        what = "all are counted" if by_chance else "repeats are not counted"
        are = "is" if len(different) == 1 else "are"
        notes.append(f"only {len(different)} of {games} {kind}s {are} distinct: {what}")
    if not by_chance:
        played = played.chosen(different)
        starts = None if starts is None else starts[different]
    number = games if by_chance else len(different)
    begun = 1 if starts is None else len(np.unique(starts, axis=0))
    if begun < number:
        these = "this start" if begun == 1 else "these starts"
        many = f"{counted(number, kind)} from {counted(begun, 'start')}"
        notes.append(f"{many}: the intervals are of {these} alone")
    if len(different) < ENOUGH_PAIRS:
        why = f"intervals of fewer than {ENOUGH_PAIRS} are too narrow"
        notes.append(f"too few {kind}s, {len(different)}: {why}")
    return Evaluation(played, digest, begun, notes)


def _starts(
    openings: bool | Openings | None, rules: str | Ruleset, games: int, limits: dict[str, Any]
) -> tuple[NDArray[np.int16] | None, str | None, list[str]]:
    """The starts, [games, 432], and their digest, or None and None for the setup; and notes."""
    if openings is False:
        return None, None, []
    try:
        book = openings if isinstance(openings, Openings) else read_openings(rules)
        if openings is True:  # a start for each
            count = games
        elif openings is None:  # all or none, however many are needed
            count = len(book.starts)
        else:
            count = min(games, len(book.starts))
        rows = book.rows(count, **limits)
    except OpeningsError as error:
        if openings is None:
            return None, None, [f"from the setup alone: {error}"]
        raise
    return rows[np.arange(games) % len(rows)], book.digest, []
