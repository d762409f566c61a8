"""Plays two agents against each other: many battles at once, or many game pairs.

A game pair is one start played twice by two players with the seats swapped: the two-battle game of
docs/rules.md, section 6.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from agents.agent import BatchPolicy
from agents.asking import answer_of, check_seat
from thud_env import BatchedGame
from thud_env.arguments import as_count, nearest
from thud_env.notation.turns import turns_of_decisions
from thud_env.outcome import SIDES
from thud_env.rules.row import (
    LIMITS,
    NUM_DWARFS,
    NUM_TROLLS,
    ONGOING,
    TERMINATION,
    TURNS,
)
from thud_env.rulesets import Ruleset, get_ruleset
from thud_env.starts import Limits, Starts, read_starts
from thud_env.views.results import margins
from training.arena.strikes import strikes_of

Watch = Callable[[int], object]
_HINTS = {
    "seed": "it is the players that draw, and agents.make(spec, seed=...) takes it",
    "starts": "play_battles and play_pairs take them, evaluate takes openings=",
}
"""What to say of keywords that are looked for here."""


def ignore(ended: int) -> None:
    """Watches nothing."""


@dataclasses.dataclass(frozen=True)
class Battles:
    """How N battles between two agents went, one entry a battle in every array."""

    rules: str
    """The ruleset they were played by."""
    margins: NDArray[np.int64]
    """Final margins, from the dwarfs' view."""
    turns: NDArray[np.int64]
    """Turns played from the start of each."""
    terminations: NDArray[np.int64]
    """How they ended: values of ``Termination``."""
    strikes: dict[str, NDArray[np.int64]]
    """By side, see ``strike_names``. Hurls and sandwiches: turns in which dwarfs captured. Shoves:
    those of two squares or more, as the others may be steps. Tramples: turns with any.
    """
    trolls_lost: NDArray[np.int64]
    """Trolls captured."""
    dwarfs_lost: NDArray[np.int64]
    """Dwarfs captured."""
    starts: NDArray[np.int16]
    """[N, 432] the states they began in."""
    decisions: tuple[tuple[int, ...], ...]
    """Every decision of both sides."""

    @property
    def courses(self) -> list[tuple[bytes, tuple[int, ...]]]:
        """The start and the decisions of each: battles with the same course are one battle."""
        began = (start.tobytes() for start in self.starts)
        return list(zip(began, self.decisions, strict=True))

    def turns_of(self, battle: int) -> list[str]:
        """The complete turns of one battle, in turn notation."""
        return turns_of_decisions(self.starts[battle], self.decisions[battle])

    def chosen(self, numbers: NDArray[np.int64] | NDArray[np.bool_]) -> Battles:
        """Some of the battles: their numbers, or a mask, [N] bool."""
        numbers = np.arange(len(self.margins))[numbers]
        return Battles(
            rules=self.rules,
            margins=self.margins[numbers],
            turns=self.turns[numbers],
            terminations=self.terminations[numbers],
            strikes={side: counts[numbers] for side, counts in self.strikes.items()},
            trolls_lost=self.trolls_lost[numbers],
            dwarfs_lost=self.dwarfs_lost[numbers],
            starts=self.starts[numbers],
            decisions=tuple(self.decisions[number] for number in numbers),
        )


def check_limits(limits: Mapping[str, Any]) -> None:
    """Refuse keyword arguments that are no limits of a battle.

    Raises:
        TypeError: naming the limits there are.
    """
    for name in limits.keys() - LIMITS:
        known = f"{nearest(name, LIMITS)}the limits are {', '.join(LIMITS)}"
        raise TypeError(f"battles have no limit {name!r}: {_HINTS.get(name, known)}")


def play_battles(
    dwarfs: BatchPolicy,
    trolls: BatchPolicy,
    games: int,
    rules: str | Ruleset = "classic",
    *,
    starts: Starts | None = None,
    watch: Watch = ignore,
    **limits: Any,
) -> Battles:
    """Play whole battles.

    Args:
        dwarfs, trolls: the players. Each gets only the battles in which it decides.
        games: how many battles.
        rules: the ruleset, or its name.
        starts: [games] positions or their texts, or [games, 432] state rows, where they begin; a
            position or text alone: all there; None: at the setup. Positions and rows keep their
            limits, except those given below.
        watch: called after each decision with how many battles ended by it.
        **limits: ``max_quiet_turns``, ``max_turns``, ``offer_after``, ``agreement``.

    Raises:
        AnswerError: if a player does not answer with a legal action for each battle.
        ThudError: if ``games`` is not an integer, 1 or more, a start is damaged, of another
            ruleset, or over, or a player does not play this game or this side.
        TypeError: if a player cannot play, or there is no such limit.
    """
    games = as_count("games", games)
    check_limits(limits)
    ruleset = get_ruleset(rules)
    check_seat(dwarfs, ruleset, "dwarfs")
    check_seat(trolls, ruleset, "trolls")
    batch = BatchedGame(
        games,
        ruleset,
        observations=False,
        masks=None,
        autoreset_mode="Disabled",
        **limits,
    )
    if starts is not None:
        everywhere = np.ones(games, dtype=np.bool_)
        batch.set_rows(read_starts(starts, ruleset, cast(Limits, limits), everywhere, "starts"))
    began = batch.rows.copy()
    decisions: list[list[int]] = [[] for _ in range(games)]
    strikes = np.zeros((2, games), dtype=np.int64)
    actions = np.zeros(games, dtype=np.int32)
    going = games
    while True:
        alive = batch.rows[:, TERMINATION] == ONGOING
        left = int(alive.sum())
        watch(going - left)
        going = left
        if not going:
            break
        for side, player in enumerate((dwarfs, trolls)):
            asked = np.flatnonzero(alive & (batch.to_move == side))
            if len(asked):
                rows = batch.rows[asked]
                actions[asked] = answer_of(player, f"the {SIDES[side]}' player", rows)
                for game in asked.tolist():
                    decisions[game].append(int(actions[game]))
        before = batch.rows.copy()
        batch.step(actions)
        strikes += alive & strikes_of(before, actions, batch.rows, batch.rules)
    return Battles(
        rules=batch.rules.spec,
        margins=margins(batch.rows, check=False),
        turns=(batch.rows[:, TURNS] - began[:, TURNS]).astype(np.int64),
        terminations=batch.rows[:, TERMINATION].astype(np.int64),
        strikes=dict(zip(SIDES, strikes, strict=True)),
        trolls_lost=(began[:, NUM_TROLLS] - batch.rows[:, NUM_TROLLS]).astype(np.int64),
        dwarfs_lost=(began[:, NUM_DWARFS] - batch.rows[:, NUM_DWARFS]).astype(np.int64),
        starts=began,
        decisions=tuple(map(tuple, decisions)),
    )


@dataclasses.dataclass(frozen=True)
class GamePairs:
    """How N game pairs between two players went."""

    first: Battles
    """The first battles, in which the first player has the dwarfs."""
    second: Battles
    """The second battles, in which the first player has the trolls."""

    @property
    def totals(self) -> NDArray[np.int64]:
        """[N] the sums of the first player's two margins."""
        return self.first.margins - self.second.margins

    @property
    def courses(self) -> list[Any]:
        """The courses of both battles: game pairs with the same courses are one."""
        return list(zip(self.first.courses, self.second.courses, strict=True))

    def chosen(self, numbers: NDArray[np.int64] | NDArray[np.bool_]) -> GamePairs:
        """Some of the pairs: their numbers, or a mask, [N] bool."""
        return GamePairs(self.first.chosen(numbers), self.second.chosen(numbers))


def play_pairs(
    first: BatchPolicy,
    second: BatchPolicy,
    games: int,
    rules: str | Ruleset = "classic",
    *,
    starts: Starts | None = None,
    watch: Watch = ignore,
    **limits: Any,
) -> GamePairs:
    """Play game pairs, which the first player begins with the dwarfs.

    Args:
        first, second: the players.
        games: how many pairs.
        rules: the ruleset, or its name.
        starts: as of ``play_battles``, where both battles of each pair begin.
        watch: called after each decision with how many battles ended by it.
        **limits: ``max_quiet_turns``, ``max_turns``, ``offer_after``, ``agreement``.

    Raises:
        as ``play_battles`` does.
    """
    games = as_count("games", games)
    for side in SIDES:  # both, before any battle is played
        for player in (first, second):
            check_seat(player, get_ruleset(rules), side)
    return GamePairs(
        first=play_battles(first, second, games, rules, starts=starts, watch=watch, **limits),
        second=play_battles(second, first, games, rules, starts=starts, watch=watch, **limits),
    )


def distinct(played: Battles | GamePairs) -> NDArray[np.int64]:
    """The numbers of the battles, or game pairs, that do not repeat an earlier one."""
    first = {course: number for number, course in reversed(list(enumerate(played.courses)))}
    return np.array(sorted(first.values()), dtype=np.int64)
