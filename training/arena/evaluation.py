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
    starts: NDArray[np.int16] | None = None
    digest: str | None = None
    notes: list[str] = []
    if isinstance(openings, Openings):
        starts, digest = _begun_again(openings, games, limits), openings.digest
    elif openings:
        book = read_openings(rules)
        starts, digest = book.rows(games, **limits), book.digest
    elif openings is None:
        starts, digest, notes = _different_starts(rules, games, limits)
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


def _different_starts(
    rules: str | Ruleset, games: int, limits: dict[str, Any]
) -> tuple[NDArray[np.int16] | None, str | None, list[str]]:
    """Starts from the book and its digest; without one neither, and a note that says why."""
    try:
        book = read_openings(rules)
        rows = book.rows(len(book.starts), **limits)
    except OpeningsError as error:
        return None, None, [f"from the setup alone: {error}"]
    return _repeated(rows, games), book.digest, []


def _begun_again(openings: Openings, games: int, limits: dict[str, Any]) -> NDArray[np.int16]:
    """[games, 432] the starts, one after the other, and from the first again after the last."""
    return _repeated(openings.rows(min(games, len(openings.starts)), **limits), games)


def _repeated(rows: NDArray[np.int16], count: int) -> NDArray[np.int16]:
    return rows[np.arange(count) % len(rows)]
