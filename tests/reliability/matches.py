"""Ladders, tables of balance, tunings and fits that are killed or stopped at any moment."""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from unittest import mock

from ladders import untimed

import training.balance.__main__
import training.ladder.__main__
from reliability.reach import standing_on
from reliability.row import Fault, Row
from reliability.stops import STOPPED
from training.fit_evaluation import __main__ as fit_evaluation
from training.fit_evaluation import generations, match
from training.ladder.store import read_games
from training.process.stopping import STOPPING
from training.tune_search import __main__ as tune_search
from training.tune_search import tournament

_HOW = (signal.SIGKILL, *STOPPING)
_FIELD = "agents: [random, greedy]\ngames: 8\nmax_turns: 20\n"
_SHARD = 60
"""Positions in a file of a fit."""


def _ladder(folder: Path) -> tuple[list[str], Callable[[], object]]:
    words = ["--field", str(_field(folder)), "--workers", "1", "--out", str(folder)]
    return words, lambda: untimed(read_games(folder).results)


def _balance(folder: Path) -> tuple[list[str], Callable[[], object]]:
    words, _ = _ladder(folder)
    results = folder / "classic"
    return [*words, "--rules", "classic"], lambda: untimed(read_games(results).results)


def _field(folder: Path) -> Path:
    path = folder / "field.yaml"
    path.write_text(_FIELD)
    return path


def _tuning(folder: Path) -> tuple[list[str], Callable[[], object]]:
    words = ["classic", "mcts:sims=2", "c=1,2", "--opponents", "random", "--pairs", "2"]
    words += ["--batch", "2", "--out", str(folder), "--workers", "1"]
    return words, lambda: _untimed(json.loads((folder / "result.json").read_bytes()))


def _untimed(result: object) -> object:
    if isinstance(result, dict):
        return {key: _untimed(value) for key, value in result.items() if key != "time"}
    return result


def _fit(folder: Path) -> tuple[list[str], Callable[[], object]]:
    words = ["classic", "--generations", "1", "--positions", str(3 * _SHARD), "--depth", "1"]
    words += ["--pairs", "2", "--folder", str(folder), "--out", str(folder / "out.npz")]
    names = ("generation-1.npz", "generation-1.json", "report.json", "out.npz", "out.json")
    files = [folder / name for name in names]
    return words, lambda: [path.read_bytes() if path.exists() else None for path in files]


_COMMANDS = {
    "ladder": (training.ladder.__main__.main, _ladder, "games.jsonl"),
    "balance": (training.balance.__main__.main, _balance, "classic/games.jsonl"),
    "tuning": (tune_search.main, _tuning, "games.jsonl"),
    "fit": (fit_evaluation.main, _fit, "positions-1-*.npz"),
}
"""By name: the command, its words and what it ends with, and where it keeps what it has done."""


def _run(name: str, folder: Path) -> object:
    """Run a command to its end; what it ended with."""
    folder.mkdir(exist_ok=True)
    main, of, _ = _COMMANDS[name]
    words, outcome = of(folder)
    with (
        mock.patch.object(generations, "SHARD", _SHARD),
        mock.patch.multiple(match, MATCH_NODES=20, NODES_WITHOUT_LINES=20),
        mock.patch.object(fit_evaluation, "checkout_commit", lambda: "any"),  # others may commit
        mock.patch.object(tournament, "checkout_commit", lambda: "any"),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        code = main(words)
    if code == 130:
        raise KeyboardInterrupt
    assert code == 0, f"{name} ended with {code}"
    return outcome()


def _alone(name: str, folder: Path) -> None:
    os.setpgid(0, 0)
    for one in STOPPING:  # what starts the proof may ignore them
        signal.signal(one, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        try:
            _run(name, folder)
        finally:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's own end may be interrupted, too


def check(size: int, random: Random, folder: Path) -> int:
    """Each command in turn is ended after a random time, in a random way; the same command then
    goes on to the same end.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["reliability.warm"])
    wanted, took = {}, {}
    for name in _COMMANDS:
        _run(name, folder / f"{name}-first")  # compiles, or reads what was compiled
        started = time.monotonic()
        wanted[name] = _run(name, folder / name)
        took[name] = time.monotonic() - started
    done, number = 0, 0
    while done < size:
        name = list(_COMMANDS)[done % len(_COMMANDS)]
        _, _, kept = _COMMANDS[name]
        inside = folder / f"{name}{number}"
        process = context.Process(target=_alone, args=(name, inside))
        process.start()
        least = random.random() * _bytes(folder / name, kept)
        while process.is_alive() and _bytes(inside, kept) < least:
            time.sleep(0.001)
        process.join(random.random() * took[name] / 8)
        ended = process.is_alive()
        how = random.choice(_HOW)
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, how)
        process.join()
        assert process.exitcode in (0, -how), f"the {name} ended with {process.exitcode}"
        assert _run(name, inside) == wanted[name], f"the {name} differs"
        done += ended
        number += 1
    return done


def _bytes(folder: Path, kept: str) -> int:
    return sum(path.stat().st_size for path in folder.glob(kept))


def _seeds_of_the_process(field: object, game: object) -> tuple[int, int]:
    return os.getpid(), os.getpid() + 1


ROWS = [
    Row(
        "kill -9, Ctrl-C, SIGTERM, SIGHUP of a ladder, a balance, a tuning and a fit",
        STOPPED,
        "stops",
        check,
        4,
        200,
        {
            "the seeds of a game are of the process that plays it": Fault(
                lambda: mock.patch("training.arena.field.Field.seeds", _seeds_of_the_process),
                "differs",
            )
        },
        with_fault=2,
        proves=standing_on(
            "training.ladder.__main__",
            "training.balance.__main__",
            "training.tune_search.__main__",
            "training.fit_evaluation.__main__",
        ),
    )
]
