"""Fit the evaluation by patterns to self-play by search.

::

    python -m training.fit_evaluation classic
    python -m training.fit_evaluation koom-valley --generations 5 --threads 2
    python -m training.fit_evaluation classic-any --start configs/search/patterns-classic.npz

Each generation plays battles by alpha-beta from starts of the book, with the tables of the
generation before it, and fits new tables to all positions so far. The first
generation plays with the tables of ``--start``; without any by features or, where the stone moves,
with a guess. A tenth of the battles is held out, and the error on them printed. At the end the
newest tables play a match against those that ``alphabeta`` plays with now, from starts of the book
that no generation began at. If they win it by more
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
from pathlib import Path
from typing import Any

from agents.durable import make_folder, replace_flushed, sweep
from agents.search.pattern_files import TablesError, read_values, tables_path
from agents.search.workspace import MAX_DEPTH
from agents.strict_json import parse_json
from thud_env.command import Command, bounded
from thud_env.errors import ThudError
from thud_env.rulesets import RULESETS, get_ruleset
from training.commands.lock import FolderLock
from training.commands.versions import checkout_commit
from training.fit_evaluation.generations import Generations, Plan
from training.fit_evaluation.match import MATCH_STARTS, play_match
from training.fit_evaluation.positions import damaged
from training.pages import check_writable

_NUMBERS: tuple[tuple[str, float, float, str], ...] = (
    ("generations", 1, 100, "how often to play and fit"),
    ("positions", 1, 10**8, "positions of a generation"),
    ("depth", 1, MAX_DEPTH, "turns that three battles of ten look ahead, others one less"),
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
        type=bounded(int, 2, MATCH_STARTS),
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
    if rules not in RULESETS:
        raise ThudError(f"{rules}: there are tables of {', '.join(RULESETS)} only")
    plan = Plan(
        rules,
        **{name: getattr(arguments, name) for name, *_ in _NUMBERS},
        start="" if arguments.start is None else _digest(arguments.start),
    )
    folder: Path = arguments.folder or Path("runs") / f"fit-{rules}"
    out: Path = arguments.out or tables_path(rules)
    if out.suffix != ".npz":  # the report is beside it, by the same name
        raise ThudError(f"--out {out}: NAME.npz would be right")
    check_writable(out, _beside(out))
    _check_ours(out)
    make_folder(folder)
    make_folder(out.parent)
    with FolderLock(folder, "take another --folder"):
        sweep(folder)
        _play_and_fit(folder, plan, out, arguments)


def _play_and_fit(folder: Path, plan: Plan, out: Path, arguments: argparse.Namespace) -> None:
    generations = Generations(folder, plan, arguments.start)
    numbers = range(1, plan.generations + 1)
    fits = [generations.make(number, arguments.threads) for number in numbers]
    newest = generations.tables(plan.generations)
    report_path = folder / "report.json"
    if _is_written(out, newest, report_path, fits):
        # A stop may have come before the report; in another match they would meet themselves.
        _write_out(out, newest, report_path.read_bytes())
        return
    match = play_match(newest, plan.rules, arguments.pairs)
    report = {
        "plan": dataclasses.asdict(plan),
        "commit": checkout_commit(),
        "fits": fits,
        "match": match,
    }
    words = f"{json.dumps(report, indent=1)}\n".encode()
    replace_flushed(report_path, words)
    if not match["won"]:
        kept = "stays as it is" if out.exists() else "is not written"
        lost = "the match is not won by more than its interval"
        print(f"{out} {kept}: {lost}; the newest tables are in {newest}")
        return
    _write_out(out, newest, words)


def _is_written(out: Path, newest: Path, report_path: Path, fits: list[Any]) -> bool:
    """Whether the tables have won the match that is reported, and were written."""
    if not (report_path.exists() and out.exists() and out.read_bytes() == newest.read_bytes()):
        return False
    try:
        report = parse_json(report_path.read_bytes())
        return bool(report["match"]["won"]) and report["fits"] == fits
    except (KeyError, TypeError, ValueError):
        raise damaged(report_path) from None


def _beside(out: Path) -> Path:
    """The file of the report on published tables."""
    return out.with_suffix(".json")


def _check_ours(out: Path) -> None:
    """Refuse to write over a file that is none of tables, or a report of something else."""
    beside = _beside(out)
    if out.exists():
        try:
            read_values(out)
        except TablesError:
            raise ThudError(f"{out} holds no readable tables, and is left as it is") from None
    if beside.exists() and not _is_report(beside):
        raise ThudError(f"{beside} is no report on tables, and is left as it is")


def _is_report(path: Path) -> bool:
    try:
        report = parse_json(path.read_bytes())
    except ValueError:
        return False
    return isinstance(report, dict) and {"plan", "fits", "match"} <= report.keys()


def _write_out(out: Path, newest: Path, report: bytes) -> None:
    """Write the tables and how they were made."""
    replace_flushed(out, newest.read_bytes())
    replace_flushed(_beside(out), report)
    print(f"{out} is written")


def _digest(path: Path) -> str:
    read_values(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


if __name__ == "__main__":
    sys.exit(main())
