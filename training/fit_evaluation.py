"""Fit the evaluation by patterns to self-play by search.

::

    python -m training.fit_evaluation classic
    python -m training.fit_evaluation koom-valley --generations 5 --threads 2
    python -m training.fit_evaluation classic-any --start configs/search/patterns-classic.npz

Each generation plays battles by alpha-beta from the starts of the book, with the tables of the
generation before it, and fits new tables to all positions so far (training/fitting). The first
generation plays with the tables of ``--start``; without any by features or, where the stone moves,
with a guess. A tenth of the battles is held out, and the error on them printed. At the end the
newest tables play a match against those that ``alphabeta`` plays with now. If they win it by more
than its interval, they are written to the file of the ruleset in ``configs/search``, with a report
of how they were made in a JSON file beside it.

Everything is kept in ``runs/fit-RULES``. After a stop the same command goes on from there.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import agents
from agents.alphabeta import Searcher, SearchOptions
from agents.durable import make_folder, replace_flushed, sweep
from agents.search.evaluation import POINT
from agents.search.pattern_files import (
    classes_of,
    published_tables,
    read_values,
    tables_path,
    tables_with,
    write_tables,
)
from agents.search.weights import published_weights
from agents.search.workspace import MAX_DEPTH
from thud_env.command import Command, bounded
from thud_env.jit.rng import seed_generators
from thud_env.rulesets import get_ruleset
from training.arena.battles import play_pairs
from training.arena.openings import read_openings
from training.arena.summary import interval_of, summarise_pairs
from training.fitting.positions import Positions, SearchPlay
from training.fitting.regression import class_numbers, fit, predict, prior_values
from training.runs.lock import RunLock
from training.runs.starts import checkout_commit

SHARD = 5000
"""Positions in a file."""
FIRST_DEPTH = 2
"""The most turns that the first generation looks ahead: by features a third takes long."""
HELD_OUT = 10
"""One battle of this many is held out."""
MATCH_NODES = 6_000
"""Decisions that both players of a match may try for a turn: by some tables a search of the same
depth tries twice as many.
"""
NODES_WITHOUT_LINES = 9_000
"""Decisions that a search by tables without lines may try: it takes no longer for them."""
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


_NUMBERS: tuple[tuple[str, float, float, str], ...] = (
    ("generations", 1, 100, "how often to play and fit"),
    ("positions", 1, 10**8, "positions of a generation"),
    ("depth", 1, MAX_DEPTH, "turns that self-play looks ahead, once there are tables"),
    ("trace", 0, 1, "lambda of the returns"),
    ("ridge", 1, 10**6, "how firmly values are held near the prior"),
    ("seed", 0, 2**31, "seeds self-play"),
)
"""The plan's numbers: name, least and most, meaning."""


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    command = Command("training.fit_evaluation", __doc__)
    command.add_argument("rules", metavar="RULES", help="the ruleset")
    for name, least, most, meaning in _NUMBERS:
        default = getattr(Plan, name)
        command.add_argument(
            f"--{name}",
            type=bounded(type(default), least, most),
            default=default,
            metavar="N",
            help=f"{meaning} ({default:g})",
        )
    command.add_argument(
        "--start",
        type=Path,
        metavar="FILE",
        help="tables that the first generation plays with, and that values are held near",
    )
    command.add_argument(
        "--threads",
        type=bounded(int, 1),
        default=1,
        metavar="N",
        help="battles played at a time (1)",
    )
    command.add_argument(
        "--pairs",
        type=bounded(int, 2),
        default=50,
        metavar="N",
        help="game pairs of the match at the end (50)",
    )
    command.add_argument(
        "--folder", type=Path, metavar="DIR", help="where everything is kept (runs/fit-RULES)"
    )
    command.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="the file to write if the match is won (configs/search/...)",
    )
    return command.run(_fit_evaluation, words)


def _fit_evaluation(arguments: argparse.Namespace) -> None:
    rules = get_ruleset(arguments.rules).name
    most = len(read_openings(rules).starts)
    if arguments.pairs > most:  # the same pair again would only narrow the interval
        raise ValueError(f"--pairs {arguments.pairs}: {most} at most would be right")
    plan = Plan(
        rules,
        **{name: getattr(arguments, name) for name, *_ in _NUMBERS},
        start="" if arguments.start is None else _digest(arguments.start),
    )
    folder: Path = arguments.folder or Path("runs") / f"fit-{rules}"
    make_folder(folder)
    with RunLock(folder):
        sweep(folder)
        _play_and_fit(folder, plan, arguments)


def _play_and_fit(folder: Path, plan: Plan, arguments: argparse.Namespace) -> None:
    rules = plan.rules
    _claim(folder, plan)
    if not _generation(folder, 0).exists():
        _write_beginning(_generation(folder, 0), rules, arguments.start)
    fits = []
    for generation in range(1, plan.generations + 1):
        tables = _generation(folder, generation)
        if not tables.exists():
            _play(folder, plan, generation, arguments.threads)
            _fit(folder, plan, generation)
        fits.append(json.loads(tables.with_suffix(".json").read_text(encoding="utf-8")))
        print("generation {generation}: {positions} positions, {words}".format(**fits[-1]))
    newest = _generation(folder, plan.generations)
    out: Path = arguments.out or tables_path(rules)
    report_path = folder / "report.json"
    if _is_written(out, newest, report_path, fits):
        # A stop may have come before the report; in another match they would meet themselves.
        _write_out(out, newest, report_path.read_bytes())
        return
    match = _match(newest, rules, arguments.pairs)
    report = {
        "plan": dataclasses.asdict(plan),
        "commit": checkout_commit(),
        "fits": fits,
        "match": match,
    }
    words = f"{json.dumps(report, indent=1)}\n".encode()
    replace_flushed(report_path, words)
    if not match["won"]:
        print(f"{out} stays as it is: the match is not won by more than its interval")
        return
    _write_out(out, newest, words)


def _is_written(out: Path, newest: Path, report_path: Path, fits: list[Any]) -> bool:
    """Whether the tables have won the match that is reported, and were written."""
    if not (report_path.exists() and out.exists() and out.read_bytes() == newest.read_bytes()):
        return False
    report = json.loads(report_path.read_text(encoding="utf-8"))
    return bool(report["match"]["won"]) and report["fits"] == fits


def _write_out(out: Path, newest: Path, report: bytes) -> None:
    """Write the tables and how they were made."""
    replace_flushed(out, newest.read_bytes())
    replace_flushed(out.with_suffix(".json"), report)
    print(f"{out} is written")


def _digest(path: Path) -> str:
    read_values(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _claim(folder: Path, plan: Plan) -> None:
    """Write the plan into a new folder, or compare it with that of an old one; only the number of
    generations may differ.

    Raises:
        ValueError: if they differ otherwise.
    """
    path = folder / "plan.json"
    wanted = {**dataclasses.asdict(plan), "generations": None}
    if path.exists() and json.loads(path.read_text(encoding="utf-8")) != wanted:
        raise ValueError(f"{folder} was begun with other options: another --folder would be right")
    replace_flushed(path, json.dumps(wanted).encode())


def _generation(folder: Path, number: int) -> Path:
    return folder / f"generation-{number}.npz"


def _write_beginning(path: Path, rules: str, start: Path | None) -> None:
    """Write generation 0: the tables to start from or, without any, the prior.

    Raises:
        ValueError: if the tables do not fit the ruleset's setup.
    """
    if start is None:
        _write(path, rules, np.stack([prior_values(*_kind(rules))] * 2, axis=1))
        return
    of, values, constant = read_values(start)
    classes = classes_of(rules)
    if len(values) not in (classes.count, classes.without_lines):
        raise ValueError(f"{start} has tables of {of}, which do not fit {rules}")
    write_tables(path, rules, values, constant)


def _prior(folder: Path) -> np.ndarray:
    """[count + 2, 2] the values of generation 0, in points."""
    rules, values, constant = read_values(_generation(folder, 0))
    prior = np.zeros((classes_of(rules).count + 2, 2))
    prior[: len(values)], prior[-1] = values, constant
    return prior / POINT


def _shards(folder: Path, plan: Plan, generation: int) -> list[Path]:
    count = -(-plan.positions // SHARD)
    return [folder / f"positions-{generation}-{number}.npz" for number in range(count)]


def _play(folder: Path, plan: Plan, generation: int, threads: int) -> None:
    """Play a generation's battles, except those that are in the folder already."""
    shards = list(enumerate(_shards(folder, plan, generation)))
    learnt = generation > 1 or plan.start != ""
    if learnt or get_ruleset(plan.rules).stone_moves:
        tables = tables_with(str(_generation(folder, generation - 1)))
    else:
        tables = _no_tables

    def play(number: int, path: Path) -> None:
        if path.exists():
            return
        rng = np.random.default_rng([plan.seed, generation, number])
        searcher = Searcher(
            published_weights(), seed_generators(1, int(rng.integers(2**31))), tables
        )
        depth = plan.depth if learnt else min(plan.depth, FIRST_DEPTH)
        options = SearchOptions(depth=depth, learned=True, reductions=1)
        starts = [start.row for start in read_openings(plan.rules).starts]
        SearchPlay(searcher, options, starts, plan.trace, rng).play(SHARD, plan.rules).save(path)
        print(f"generation {generation}: played {number + 1} of {len(shards)}", flush=True)

    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(lambda shard: play(*shard), shards):
            pass


def _no_tables(rules: str) -> None:
    """No tables: search by features."""


def _kind(rules: str) -> tuple[Any, Any]:
    return get_ruleset(rules), classes_of(rules)


def _write(path: Path, rules: str, values: np.ndarray) -> None:
    """Write values, [count + 2, 2] in points, as tables."""
    rounded = np.clip(np.rint(values * POINT), -LARGEST, LARGEST)
    write_tables(path, rules, rounded[:-2].astype(np.int16), rounded[-1].astype(np.int64))


def _fit(folder: Path, plan: Plan, generation: int) -> None:
    """Fit a generation's tables to all positions so far."""
    parts = [
        Positions.load(path)
        for earlier in range(1, generation + 1)
        for path in _shards(folder, plan, earlier)
    ]
    positions = Positions.joined(parts)
    numbers = class_numbers(positions, classes_of(plan.rules))
    prior = _prior(folder)
    held_out = positions.battles % HELD_OUT == 0
    values = np.zeros_like(prior)
    worth = positions.worth.astype(np.float64)
    squares = np.zeros(2)
    for side in range(2):
        mine = positions.sides == side
        trial = fit(numbers[mine & ~held_out], worth[mine & ~held_out], prior[:, side], plan.ridge)
        errors = predict(numbers[mine & held_out], trial) - worth[mine & held_out]
        squares += float(errors @ errors), len(errors)
        values[:, side] = fit(numbers[mine], worth[mine], prior[:, side], plan.ridge)
    error = float(np.sqrt(squares[0] / squares[1]))
    spread = float(worth[held_out].std())
    path = _generation(folder, generation)
    report = {
        "generation": generation,
        "positions": len(worth),
        "held_out_error": round(error, 4),
        "held_out_spread": round(spread, 4),
        "words": f"held-out error {error:.3f} points, of a spread of {spread:.3f}",
    }
    replace_flushed(path.with_suffix(".json"), json.dumps(report).encode())
    _write(path, plan.rules, values)  # last: with its tables, a generation is through


def _match(newest: Path, rules: str, pairs: int) -> dict[str, Any]:
    """Play game pairs of the new tables against the features and, if there are any, the tables that
    ``alphabeta`` plays with. ``won`` says whether the last match is won by more than its interval.
    """
    plain = f"alphabeta:nodes={MATCH_NODES}"
    opponents = {"features": f"{plain},evaluation=features"}
    before = published_tables(rules)
    if before is not None:
        nodes = MATCH_NODES if len(before.lines) else NODES_WITHOUT_LINES
        opponents["tables before"] = f"alphabeta:nodes={nodes}"
    book = read_openings(rules).starts
    starts = np.stack([start.row for start in reversed(book[-pairs:])])
    report: dict[str, Any] = {"nodes": MATCH_NODES, "pairs": pairs}
    for name, spec in opponents.items():
        players = agents.make(f"{plain},weights={newest}", 1), agents.make(spec, 2)
        result = summarise_pairs(play_pairs(*players, pairs, rules, starts=starts))
        report[name] = {
            meaning: interval_of(result, key).text(2)
            for meaning, key in (
                ("both seats", "mean_total"),
                ("as dwarfs", "mean_as_dwarfs"),
                ("as trolls", "mean_as_trolls"),
            )
        }
        print(f"{pairs} pairs, {plain} against the {name}, {spec}: {report[name]}")
    report["won"] = result["mean_total_95"][0] > 0
    return report


if __name__ == "__main__":
    sys.exit(main())
