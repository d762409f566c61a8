"""A tournament of candidates: who plays whom, who is dropped, and who is recommended."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import agents
from thud_env.rulesets import get_ruleset
from training.arena.battles import play_pairs
from training.arena.intervals import ENOUGH_PAIRS, Interval, decimals, mean_interval
from training.arena.openings import Openings
from training.commands.versions import checkout_commit
from training.tune_search.rounds import Plan, Round, Rounds

LIMITS = {"max_quiet_turns": 60, "max_turns": 300}
"""The limits of the battles: what comes later is waiting."""
SEARCH, CONFIRM = "search", "confirm"


class Tuning:
    """A tournament of candidates, which can be stopped and continued.

    Args:
        plan: its settings.
        rounds: the battles played so far.
        book: the starts: the search takes the first ones, the confirmation the last.
    """

    def __init__(self, plan: Plan, rounds: Rounds, book: Openings) -> None:
        self._plan = plan
        self._rounds = rounds
        self._rows = book.rows(len(book.starts), **LIMITS)

    def run(self) -> dict[str, Any]:
        """Play the remaining battles, and return the result, for programs."""
        left = list(self._plan.candidates)
        places = decimals(get_ruleset(self._plan.rules).largest_margin)
        rounds = -(-self._plan.pairs // self._plan.batch)
        for number in range(rounds):
            for player in (self._plan.base, *left):
                self._play(SEARCH, number, player)
            for spec in left:
                words = self.gain(SEARCH, spec, number).text(places)
                print(f"round {number + 1}: {spec} {words}", flush=True)
            left = [spec for spec in left if self.gain(SEARCH, spec, number).high >= 0]
            if not left:
                break
        best = max(left, key=lambda spec: self.gain(SEARCH, spec).value, default="")
        chosen = [best] if best and self.gain(SEARCH, best).value > 0 else []
        for number in range(rounds if chosen else 0):
            for player in (self._plan.base, *chosen):
                self._play(CONFIRM, number, player)
        for spec in chosen:
            print(f"again: {spec} {self.gain(CONFIRM, spec).text(places)}", flush=True)
        enough = self._plan.pairs >= ENOUGH_PAIRS
        return {
            "plan": dataclasses.asdict(self._plan),
            "limits": LIMITS,
            "commit": checkout_commit(),
            SEARCH: {spec: self._figures(SEARCH, spec) for spec in self._plan.candidates},
            CONFIRM: {spec: self._figures(CONFIRM, spec) for spec in chosen},
            "recommended": [spec for spec in chosen if enough and self.gain(CONFIRM, spec).low > 0],
        }

    def gain(self, phase: str, spec: str, last: int | None = None, seat: str = "") -> Interval:
        """A candidate's gain over the base in a game pair, start by start.

        Args:
            phase: the phase of the tournament.
            spec: the candidate.
            last: the last round that counts; None: all.
            seat: ``as_dwarfs`` or ``as_trolls`` for one of the two battles only.
        """
        seats = (seat,) if seat else ("as_dwarfs", "as_trolls")
        base = {(r.number, r.opponent): r for r in self._of(phase, self._plan.base)}
        gains: dict[int, list[NDArray[np.int64]]] = {}
        for mine in self._of(phase, spec):
            if last is None or mine.number <= last:
                theirs = base[mine.number, mine.opponent]
                parts = [np.subtract(getattr(mine, s), getattr(theirs, s)) for s in seats]
                gains.setdefault(mine.number, []).append(np.sum(parts, axis=0))
        # Starts are independent: the battles of one against all opponents count as one value.
        values = np.concatenate([np.mean(of_start, axis=0) for of_start in gains.values()])
        largest = get_ruleset(self._plan.rules).largest_margin
        return mean_interval(values, 2 * len(seats) * largest)

    def _figures(self, phase: str, spec: str) -> dict[str, Any]:
        mine, base = self._of(phase, spec), self._of(phase, self._plan.base)
        same = {(r.number, r.opponent) for r in mine}
        seconds = sum(r.seconds for r in base if (r.number, r.opponent) in same)
        places = decimals(get_ruleset(self._plan.rules).largest_margin)
        return {
            "pairs": sum(len(r.as_dwarfs) for r in mine),
            "gain": self.gain(phase, spec).text(places),
            **{s: self.gain(phase, spec, seat=s).text(places) for s in ("as_dwarfs", "as_trolls")},
            "time": round(sum(r.seconds for r in mine) / max(seconds, 0.001), 2),
        }

    def _of(self, phase: str, player: str) -> list[Round]:
        """A player's rounds that the plan asks for: one of more pairs may have kept more."""
        kept = (r for r in self._rounds if (r.phase, r.player) == (phase, player))
        return [r for r in kept if r.number * self._plan.batch < self._plan.pairs]

    def _play(self, phase: str, number: int, player: str) -> None:
        """Play a round of a player against all opponents, except battles that are kept already."""
        first = number * self._plan.batch
        count = min(self._plan.batch, self._plan.pairs - first)
        rows = self._rows if phase == SEARCH else self._rows[::-1]
        starts = np.ascontiguousarray(rows[first : first + count])
        known = {
            r.opponent
            for r in self._of(phase, player)
            if r.number == number and len(r.as_dwarfs) == count
        }
        for opponent in self._plan.opponents:
            if opponent in known:
                continue
            started = time.process_time()
            both = agents.make(player, 2 * number), agents.make(opponent, 2 * number + 1)
            played = play_pairs(*both, count, self._plan.rules, starts=starts)
            self._rounds.add(
                Round(
                    phase,
                    number,
                    player,
                    opponent,
                    played.first.margins.tolist(),
                    (-played.second.margins).tolist(),
                    round(time.process_time() - started, 3),
                )
            )
