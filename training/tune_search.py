"""Tune options of a searching player, one at a time, against several opponents.

::

    python -m training.tune_search classic mcts:sims=100 c=0.4,1.5 fpu=0.2 temperature=15,60
    python -m training.tune_search koom-valley alphabeta:depth=2 quiescence=2,6

Each value is a *candidate*: the base with this one option changed. Candidates and base play the
same opponents from the same starts of the book, in both seats. A candidate's gain is its margins
less the base's, start by start. After every round of starts, a candidate is dropped if the interval
of its gain is below 0. After ``--pairs`` starts from the front of the book, the best one left plays
again from the back, which had no part in its selection. It is recommended only if its interval
there is above 0.

All battles are kept in ``runs/tune-RULES-PLAYER.jsonl``. After a stop the same command goes on from
there. The result is ``configs/search/tuning-RULES-PLAYER.json``. Candidates are not compared at
equal time: the result also gives the ratio of CPU times.
"""

from __future__ import annotations

import argparse
import dataclasses
import fcntl
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import agents
from agents.durable import flush_folder, make_folder, naming, replace_flushed, write_all
from agents.search.pattern_files import FOLDER
from thud_env.command import Command, bounded
from thud_env.rulesets import get_ruleset
from training.arena.battles import play_pairs
from training.arena.intervals import Interval, decimals, mean_interval
from training.arena.openings import Openings, read_openings
from training.runs.starts import checkout_commit

OPPONENTS = ("alphabeta:depth=1", "alphabeta:depth=2", "greedy2")
LIMITS = {"max_quiet_turns": 60, "max_turns": 300}
"""The limits of the battles: what comes later is waiting."""
SEARCH, CONFIRM = "search", "confirm"
_Key = tuple[str, int, str, str]


@dataclasses.dataclass(frozen=True)
class Plan:
    """The settings of a tuning. All battles in a file have the same plan, except ``pairs``."""

    rules: str
    base: str
    candidates: tuple[str, ...]
    opponents: tuple[str, ...]
    pairs: int
    """Starts for each opponent, in the search and in the confirmation."""
    batch: int
    """Starts of a round."""


@dataclasses.dataclass(frozen=True)
class Round:
    """The battles of one player against one opponent from some starts."""

    phase: str
    number: int
    player: str
    opponent: str
    as_dwarfs: list[int]
    """Margins from the player's view."""
    as_trolls: list[int]
    seconds: float
    """CPU seconds of both players."""

    @property
    def key(self) -> _Key:
        """What battles they are; with more ``--pairs`` there may be more of the last round."""
        return self.phase, self.number, self.player, self.opponent


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    command = Command("training.tune_search", __doc__)
    add = command.add_argument
    add("rules", metavar="RULES", help="the ruleset")
    add("base", metavar="SPEC", help="the player as it is")
    add("options", nargs="+", metavar="OPTION=VALUE,...", help="values to try instead")
    add(
        "--opponents",
        nargs="+",
        default=list(OPPONENTS),
        metavar="SPEC",
        help=f"the opponents ({' '.join(OPPONENTS)})",
    )
    add("--pairs", type=bounded(int, 2), default=40, metavar="N", help="starts each (40)")
    add("--batch", type=bounded(int, 2), default=10, metavar="N", help="starts of a round (10)")
    add("--out", type=Path, metavar="FILE", help="the result (configs/search/tuning-...)")
    add("--games", type=Path, metavar="FILE", help="the battles (runs/tune-...)")
    return command.run(_tune, words)


def _tune(arguments: argparse.Namespace) -> None:
    rules = get_ruleset(arguments.rules).name
    plan = Plan(
        rules,
        arguments.base,
        tuple(candidates(arguments.base, arguments.options)),
        tuple(arguments.opponents),
        arguments.pairs,
        arguments.batch,
    )
    book = read_openings(rules)
    for spec in (plan.base, *plan.candidates, *plan.opponents):
        agents.make(spec).act(book.starts[0])  # compile first: times are of play
    name = f"{rules}-{plan.base.partition(':')[0]}"
    games = arguments.games or Path("runs") / f"tune-{name}.jsonl"
    out = arguments.out or FOLDER / f"tuning-{name}.json"
    with Tuning(plan, games, book) as tuning:
        result = tuning.run()
    replace_flushed(out, f"{json.dumps(result, indent=1)}\n".encode())
    print(f"recommended: {', '.join(result['recommended']) or 'the base'}; all of it: {out}")


def candidates(base: str, options: list[str]) -> list[str]:
    """The specs of the base with one option changed.

    Raises:
        ValueError: naming an option that has no values.
    """
    specs = []
    for option in options:
        name, _, values = option.partition("=")
        if not values:
            raise ValueError(f"{option}: {name}=VALUE,VALUE would be right")
        joint = "," if ":" in base else ":"
        specs += [f"{base}{joint}{name}={value}" for value in values.split(",")]
    return specs


class Tuning:
    """A tournament of candidates, which can be stopped and continued. A context manager; one
    process at a time may write a file.

    Args:
        plan: its settings.
        path: the file of the battles played so far.
        book: the starts: the search takes the first ones, the confirmation the last.

    Raises:
        ValueError: if the file holds battles of another plan or is in use, or the book is too
            short.
    """

    def __init__(self, plan: Plan, path: Path, book: Openings) -> None:
        self._plan = plan
        self._path = path
        self._rows = book.rows(len(book.starts), **LIMITS)
        if 2 * plan.pairs > len(self._rows):
            raise ValueError(f"--pairs {plan.pairs}: {len(self._rows) // 2} at most would be right")
        make_folder(path.parent)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            self._lock()
            self._rounds = self._read()
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> Tuning:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

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
        return {
            "plan": dataclasses.asdict(self._plan),
            "limits": LIMITS,
            "commit": checkout_commit(),
            SEARCH: {spec: self._figures(SEARCH, spec) for spec in self._plan.candidates},
            CONFIRM: {spec: self._figures(CONFIRM, spec) for spec in chosen},
            "recommended": [spec for spec in chosen if self.gain(CONFIRM, spec).low > 0],
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
        kept = (r for r in self._rounds.values() if (r.phase, r.player) == (phase, player))
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
            self._keep(
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

    def _keep(self, played: Round) -> None:
        self._rounds[played.key] = played
        self._write(dataclasses.asdict(played))

    def _write(self, entry: dict[str, Any]) -> None:
        write_all(self._file, self._path, f"{json.dumps(entry)}\n".encode())
        with naming(self._path):
            os.fsync(self._file)

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"{self._path} is being written by another tuning: --games FILE names another"
            ) from None

    def _read(self) -> dict[_Key, Round]:
        plan = {**dataclasses.asdict(self._plan), "pairs": None}
        header = json.dumps(plan) + "\n"
        text = self._path.read_text(encoding="utf-8")
        if header.startswith(text):  # new, or stopped at its header
            os.ftruncate(self._file, 0)
            self._write(plan)
            flush_folder(self._path.parent)
            return {}
        first, *lines = text.splitlines(keepends=True)
        if first != header:
            raise ValueError(
                f"{self._path} was begun with other options: --games FILE names another"
            )
        whole = [line for line in lines if line.endswith("\n")]
        if whole != lines:  # a stop may cut a line
            os.ftruncate(self._file, len("".join((first, *whole)).encode()))
        rounds = [Round(**json.loads(line)) for line in whole]
        return {one.key: one for one in rounds}  # of the same battles, the last ones count


if __name__ == "__main__":
    sys.exit(main())
