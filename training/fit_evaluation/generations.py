"""The generations of tables, each fitted to the battles that the one before it played.

All of it is in one folder, a file at a time: what is there is not made again.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np

from agents.durable import replace_flushed
from agents.search.deepening import Searcher, SearchOptions
from agents.search.evaluation import POINT
from agents.search.evaluator import Evaluator
from agents.search.pattern_files import classes_of, read_values, tables_with, write_tables
from agents.search.weights import published_weights
from agents.strict_json import parse_json
from thud_env.errors import ThudError
from thud_env.jit.rng import seed_generators
from thud_env.rulesets import get_ruleset
from training.arena.identity import CHANGED, code_of_play
from training.arena.openings import read_openings
from training.commands.at_once import Watch, at_once
from training.commands.changes import changes
from training.fit_evaluation.match import MATCH_STARTS
from training.fit_evaluation.positions import Positions, SearchPlay, damaged
from training.fit_evaluation.regression import class_numbers, fit, predict, prior_values

SHARD = 5000
"""Positions in a file."""
FIRST_DEPTH = 2
"""The most turns that the first generation looks ahead: by features a third takes long."""
HELD_OUT = 10
"""One battle of this many is held out."""
LARGEST = 32_000
"""The largest absolute value, in hundredths of a point: values are kept in 16 bits."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """How tables are fitted."""

    rules: str
    generations: int = 3
    positions: int = 150_000
    depth: int = 3
    trace: float = 0.8
    ridge: float = 50.0
    seed: int = 1
    start: str = ""
    """The digest of the tables to start from; empty without any."""


class Generations:
    """The generations of a plan, in a folder that no other process writes in.

    Args:
        folder: where they are kept; it exists.
        plan: how tables are fitted; only the number of generations may differ from the plan that
            the folder was begun with.
        start: tables that the first generation plays with, and that values are held near.

    Raises:
        ThudError: if the folder was begun with another plan, or the tables do not fit the
            ruleset's setup.
    """

    def __init__(self, folder: Path, plan: Plan, start: Path | None) -> None:
        self._folder = folder
        self._plan = plan
        if start is not None:
            _check_fits(start, plan.rules)
        self._claim()
        self._note_code()
        if not self.tables(0).exists():
            self._begin(start)

    def tables(self, number: int) -> Path:
        """The file of a generation's tables; 0 is what the first one plays with."""
        return self._folder / f"generation-{number}.npz"

    def make(self, number: int, threads: int) -> dict[str, Any]:
        """Play and fit a generation, unless it is there.

        Args:
            number: of the generation, from 1.
            threads: battles played at a time.

        Returns:
            the report of its fit.
        """
        tables = self.tables(number)
        path = tables.with_suffix(".json")
        if not (tables.exists() and path.exists()):
            for earlier in range(1, number + 1):  # it is fitted to all of them
                self._play(earlier, threads)
            self._fit(number)
        try:
            report: dict[str, Any] = parse_json(path.read_bytes())
            print("generation {generation}: {positions} positions, {words}".format(**report))
        except (KeyError, TypeError, ValueError):
            raise damaged(path) from None
        return report

    def _claim(self) -> None:
        path = self._folder / "plan.json"
        wanted = {**dataclasses.asdict(self._plan), "generations": None}
        begun = _read_plan(path) if path.exists() else wanted
        if begun != wanted:
            changed = ", ".join(changes(begun, wanted)) or "by another version"
            raise ThudError(
                f"{self._folder} was begun with other options, {changed}: "
                "another --folder would be right"
            )
        replace_flushed(path, json.dumps(wanted).encode())

    def _note_code(self) -> None:
        """Say it if the folder was begun with other code, whose battles are kept."""
        path, now = self._folder / "code", code_of_play()
        if path.exists() and path.read_bytes() != now.encode():
            print(f"note: {CHANGED} since the battles that are kept were played", flush=True)
        replace_flushed(path, now.encode())

    def _begin(self, start: Path | None) -> None:
        """Write generation 0: the tables to start from or, without any, the prior."""
        rules = get_ruleset(self._plan.rules)
        classes = classes_of(rules.name)
        if start is None:
            self._write(0, np.stack([prior_values(rules, classes)] * 2, axis=1))
            return
        _, values, constant = read_values(start)
        write_tables(self.tables(0), rules.name, values, constant)

    def _prior(self) -> np.ndarray:
        """[count + 2, 2] the values of generation 0, in points."""
        rules, values, constant = read_values(self.tables(0))
        prior = np.zeros((classes_of(rules).count + 2, 2))
        prior[: len(values)], prior[-1] = values, constant
        return prior / POINT

    def _shards(self, number: int) -> list[Path]:
        count = -(-self._plan.positions // SHARD)
        return [self._folder / f"positions-{number}-{shard}.npz" for shard in range(count)]

    def _play(self, generation: int, threads: int) -> None:
        """Play a generation's battles, except those that are in the folder already."""
        plan = self._plan
        shards = list(enumerate(self._shards(generation)))
        learnt = generation > 1 or plan.start != ""
        if learnt or get_ruleset(plan.rules).stone_moves:
            tables = tables_with(str(self.tables(generation - 1)))
        else:
            tables = _none
        evaluator = Evaluator(published_weights(), tables)

        def play(shard: tuple[int, Path], watch: Watch) -> None:
            number, path = shard
            if path.exists():
                return
            rng = np.random.default_rng([plan.seed, generation, number])
            searcher = Searcher(seed_generators(1, int(rng.integers(2**31))))
            depth = plan.depth if learnt else min(plan.depth, FIRST_DEPTH)
            options = SearchOptions(evaluator, depth=depth, reductions=1)
            starts = [start.row for start in read_openings(plan.rules).starts[:-MATCH_STARTS]]
            battles = SearchPlay(searcher, options, starts, plan.trace, rng)
            least = min(SHARD, plan.positions - number * SHARD)
            battles.play(least, plan.rules, watch).save(path)
            print(f"generation {generation}: played {number + 1} of {len(shards)}", flush=True)

        at_once(play, shards, threads)

    def _fit(self, generation: int) -> None:
        """Fit a generation's tables to all positions so far."""
        plan = self._plan
        parts = [
            Positions.load(path)
            for earlier in range(1, generation + 1)
            for path in self._shards(earlier)
        ]
        positions = Positions.joined(parts)
        numbers = class_numbers(positions, classes_of(plan.rules))
        prior = self._prior()
        held_out = positions.battles % HELD_OUT == 0
        values = np.zeros_like(prior)
        worth = positions.worth.astype(np.float64)
        squares = np.zeros(2)
        for side in range(2):
            mine = positions.sides == side
            trial = fit(
                numbers[mine & ~held_out], worth[mine & ~held_out], prior[:, side], plan.ridge
            )
            errors = predict(numbers[mine & held_out], trial) - worth[mine & held_out]
            squares += float(errors @ errors), len(errors)
            values[:, side] = fit(numbers[mine], worth[mine], prior[:, side], plan.ridge)
        error = float(np.sqrt(squares[0] / squares[1]))
        spread = float(worth[held_out].std())
        path = self.tables(generation)
        report = {
            "generation": generation,
            "positions": len(worth),
            "held_out_error": round(error, 4),
            "held_out_spread": round(spread, 4),
            "words": f"held-out error {error:.3f} points, of a spread of {spread:.3f}",
        }
        replace_flushed(path.with_suffix(".json"), json.dumps(report).encode())
        self._write(generation, values)  # last: with its tables, a generation is through

    def _write(self, number: int, values: np.ndarray) -> None:
        """Write values, [count + 2, 2] in points, as tables."""
        rounded = np.clip(np.rint(values * POINT), -LARGEST, LARGEST)
        pieces, constant = rounded[:-2].astype(np.int16), rounded[-1].astype(np.int64)
        write_tables(self.tables(number), self._plan.rules, pieces, constant)


def _none(rules: str) -> None:
    """No tables: by features, within the bounds of play that is fitted."""


def _check_fits(start: Path, rules: str) -> None:
    """Refuse tables of another board."""
    of, values, _ = read_values(start)
    classes = classes_of(get_ruleset(rules).name)
    if len(values) not in (classes.count, classes.without_lines):
        raise ThudError(f"{start} has tables of {of}, which do not fit {rules}")


def _read_plan(path: Path) -> dict[str, Any]:
    """The plan that a folder was begun with.

    Raises:
        ThudError: if the file is damaged.
    """
    try:
        plan = parse_json(path.read_bytes())
    except ValueError:
        plan = None
    if not isinstance(plan, dict):
        raise ThudError(f"{path} is damaged: another --folder would be right")
    return plan
