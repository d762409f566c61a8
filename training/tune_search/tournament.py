"""A tournament of candidates: who plays whom, who is dropped, and who is recommended."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thud_env.rulesets import get_ruleset
from training.arena.field import Game
from training.arena.games import Cells, Result, into_cells, paired_margins
from training.arena.intervals import (
    ENOUGH_PAIRS,
    Interval,
    decimals,
    difference_bounds,
    mean_interval,
)
from training.commands.versions import checkout_commit

LIMITS = {"max_quiet_turns": 60, "max_turns": 300}
"""The limits of the battles: what comes later is waiting."""
SEARCH, CONFIRM = "search", "confirm"
_SEATS = ("as_dwarfs", "as_trolls")


@dataclasses.dataclass(frozen=True)
class Plan:
    """The settings of a tuning."""

    rules: str
    base: str
    candidates: tuple[str, ...]
    opponents: tuple[str, ...]
    pairs: int
    """Starts for each opponent, in the search and in the confirmation."""
    batch: int
    """Starts of a round."""
    book: str
    """The digest of the book that the starts are from."""

    @property
    def players(self) -> tuple[str, ...]:
        """All of them, each once."""
        return tuple(dict.fromkeys((self.base, *self.candidates, *self.opponents)))


class Tuning:
    """A tournament of candidates.

    Args:
        plan: its settings.
        starts: the number of starts in the book: the search takes the first ones, the confirmation
            the last.
        play: plays those of these games that have not been played, and returns all that have.
    """

    def __init__(self, plan: Plan, starts: int, play: Callable[[list[Game]], list[Result]]) -> None:
        self._plan = plan
        self._play_missing = play
        self._starts = {
            SEARCH: range(plan.pairs),
            CONFIRM: range(starts - 1, starts - 1 - plan.pairs, -1),
        }
        self._cells: Cells = {}
        ruleset = get_ruleset(plan.rules)
        self._gain_bounds = difference_bounds(ruleset.margins)
        self._places = decimals(ruleset.largest_margin)

    def run(self) -> dict[str, Any]:
        """Play the tournament, and return the result, for programs."""
        plan = self._plan
        left, played = list(plan.candidates), dict.fromkeys(plan.candidates, 0)
        counts = [min(first + plan.batch, plan.pairs) for first in range(0, plan.pairs, plan.batch)]
        for number, count in enumerate(counts, start=1):
            self._play(SEARCH, count, (plan.base, *left))
            for spec in left:
                played[spec] = count
                words = self.gain(SEARCH, spec, count).text(self._places)
                print(f"round {number}: {spec} {words}", flush=True)
            if count >= ENOUGH_PAIRS:
                left = [spec for spec in left if self.gain(SEARCH, spec, count).high >= 0]
            if not left:
                break
        best = max(left, key=lambda spec: self.gain(SEARCH, spec).value, default="")
        chosen = [best] if best and self.gain(SEARCH, best).value > 0 else []
        if chosen:
            self._play(CONFIRM, plan.pairs, (plan.base, *chosen))
        for spec in chosen:
            print(f"again: {spec} {self.gain(CONFIRM, spec).text(self._places)}", flush=True)
        enough = plan.pairs >= ENOUGH_PAIRS
        return {
            "plan": dataclasses.asdict(plan),
            "limits": LIMITS,
            "commit": checkout_commit(),
            SEARCH: {spec: self._figures(SEARCH, spec, count) for spec, count in played.items()},
            CONFIRM: {spec: self._figures(CONFIRM, spec, plan.pairs) for spec in chosen},
            "recommended": [spec for spec in chosen if enough and self.gain(CONFIRM, spec).low > 0],
        }

    def gain(
        self, phase: str, spec: str, count: int | None = None, seats: Sequence[str] = _SEATS
    ) -> Interval:
        """A candidate's gain over the base in a game pair, start by start.

        Args:
            phase: the phase of the tournament.
            spec: the candidate.
            count: how many of the phase's starts count; None: all.
            seats: ``as_dwarfs`` or ``as_trolls`` for one of the two battles only.
        """
        # Starts are independent: the battles of one against all opponents count as one value.
        gains = np.mean(
            [
                self._margins(phase, spec, opponent, count)
                - self._margins(phase, self._plan.base, opponent, count)
                for opponent in self._plan.opponents
            ],
            axis=0,
        )
        chosen = [_SEATS.index(seat) for seat in seats]
        least, most = self._gain_bounds
        return mean_interval(gains[chosen].sum(axis=0), (len(seats) * least, len(seats) * most))

    def _margins(
        self, phase: str, spec: str, opponent: str, count: int | None
    ) -> NDArray[np.float64]:
        """The margins of a player, as dwarfs and as trolls, [2, count]."""
        starts, as_dwarfs, as_trolls = paired_margins(self._cells, spec, opponent)
        counted = np.isin(starts, self._starts[phase][:count])
        return np.stack((as_dwarfs[counted], as_trolls[counted]))

    def _figures(self, phase: str, spec: str, count: int) -> dict[str, Any]:
        seconds, before = (
            self._seconds_a_turn(phase, player, count) for player in (spec, self._plan.base)
        )
        return {
            "pairs": count * len(self._plan.opponents),
            "gain": self.gain(phase, spec, count).text(self._places),
            **{seat: self.gain(phase, spec, count, (seat,)).text(self._places) for seat in _SEATS},
            "time": round(seconds / max(before, 1e-6), 2),
        }

    def _seconds_a_turn(self, phase: str, player: str, count: int) -> float:
        """The CPU time of a player's own turns: its opponents' would hide how slow it is."""
        seconds, turns = 0.0, 0
        for game in self._games(phase, count, (player,)):
            result = self._cells[game.dwarfs, game.trolls][game.start]
            for side, spec in enumerate((game.dwarfs, game.trolls)):
                if spec == player:
                    seconds += result.seconds[side]
                    turns += result.moves[side]
        return seconds / max(turns, 1)

    def _play(self, phase: str, count: int, players: Sequence[str]) -> None:
        """Play players against all opponents from the first starts of a phase."""
        self._cells = into_cells(self._play_missing(self._games(phase, count, players)))

    def _games(self, phase: str, count: int, players: Sequence[str]) -> list[Game]:
        """The games, each once: a player may be an opponent, too."""
        games = (
            Game(*seats, start)
            for start in self._starts[phase][:count]
            for player in players
            for opponent in self._plan.opponents
            for seats in ((player, opponent), (opponent, player))
        )
        return list(dict.fromkeys(games))
