"""``make reliability``."""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor

from reliability.every import ROWS
from reliability.rounds import prove_for, prove_once
from reliability.tree import ROOT
from thud_env.command import say
from training.commands.lock import FolderLock
from training.errors import RunError


def main() -> int:
    """Prove the rows; returns the exit code, 1 if one is broken."""
    parser = argparse.ArgumentParser(prog="make reliability")
    parser.add_argument("words", nargs="*", help="only rows with one of these in their names")
    parser.add_argument("--ci", action="store_true", help="the size of CI; writes nothing")
    parser.add_argument("--minutes", type=float, default=5, help="for each row beyond that size")
    parser.add_argument("--jobs", type=int, default=2, help="rows at once, each in a process")
    arguments = parser.parse_args()
    chosen = [
        row for row in ROWS if not arguments.words or any(w in row.name for w in arguments.words)
    ]
    left_out = [row for row in chosen if row.needs and not any(ROOT.glob(row.needs))]
    for row in left_out:
        print(f"left out  {row.name}: no {row.needs}", flush=True)
    rows = [row for row in chosen if row not in left_out]
    context = multiprocessing.get_context("spawn")
    with contextlib.ExitStack() as stack:
        if not arguments.ci:  # two at once would write the same results
            folder = ROOT / "build" / "reliability"
            folder.mkdir(parents=True, exist_ok=True)
            try:
                stack.enter_context(FolderLock(folder, "run it in another checkout"))
            except RunError as error:
                return say(f"make reliability: {error}", 2)
        pool = stack.enter_context(ProcessPoolExecutor(arguments.jobs, mp_context=context))
        if arguments.ci:
            return prove_once(rows, pool)
        return prove_for(60 * arguments.minutes, rows, pool)


if __name__ == "__main__":
    sys.exit(main())
