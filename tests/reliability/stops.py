"""Runs that are killed or stopped at any moment, and begun twice."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path
from random import Random
from unittest import mock

from reliability.reach import standing_on
from reliability.row import Fault, Row
from reliability.runs import CONFIG, UPDATES, assert_ends_as, gone_on_from, outcome, trained
from training.config import RunConfig
from training.errors import RunError
from training.process.stopping import STOPPING

STOPPED = "However a run ends, it goes on to the same end, byte for byte"


def _train(runs: str, config: RunConfig) -> None:
    os.setpgid(0, 0)
    trained(Path(runs), config, resume=True)


def check_kills(size: int, random: Random, folder: Path, config: RunConfig = CONFIG) -> int:
    """``kill -9`` after a random time; a run may be killed several times."""
    run, _ = trained(folder / "whole", config)
    wanted = outcome(run)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["reliability.warm"])
    done, number, gone_on = 0, 0, 0
    while done < size or not gone_on:  # one that begins anew forgets nothing
        runs = folder / str(number)
        process = context.Process(target=_train, args=(str(runs), config))
        process.start()
        metrics, lines = runs / "small" / "metrics.jsonl", random.randrange(UPDATES)
        while process.is_alive():
            if metrics.exists() and metrics.read_bytes().count(b"\n") >= lines:
                process.join(random.random() / 4)
                break
            time.sleep(0.001)
        killed = process.is_alive()
        process.kill()
        process.join()
        done += killed
        if killed and random.random() < 0.3:  # once more, before it is through
            continue
        run, shown = trained(runs, config, resume=True)
        assert "are lost" not in shown, shown
        assert "damaged" not in shown, shown
        assert_ends_as(run, wanted)
        number += 1
        gone_on += 0 < gone_on_from(shown) < config.total_decisions
    return done


def check_signals(size: int, random: Random, folder: Path, config: RunConfig = CONFIG) -> int:
    """Signals of every kind, at a random flush or update."""
    run, _ = trained(folder / "whole", config)
    wanted = outcome(run)
    for number in range(size):
        runs = folder / str(number)
        which = STOPPING[number % len(STOPPING)]
        after = random.randrange(1, 60)
        fsync, calls = os.fsync, []

        def seen(file: int, calls: list = calls, after: int = after, which: int = which) -> None:
            fsync(file)
            calls.append(file)
            if len(calls) == after:
                os.kill(os.getpid(), which)

        before = {one: signal.signal(one, lambda *_: None) for one in STOPPING}
        try:
            with mock.patch("os.fsync", seen), contextlib.suppress(KeyboardInterrupt):
                trained(runs, config)
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)
        run, _ = trained(runs, config, resume=True)
        assert_ends_as(run, wanted)
    return size


def check_second_starts(size: int, random: Random, folder: Path) -> int:
    """A second start, of either kind, while a run is under way."""
    refused = []

    def seen(file: int) -> None:
        fsync(file)
        if threading.current_thread() is threading.main_thread() and (runs / "small").exists():
            inside = runs / "small" / "config.yaml"
            before = inside.stat().st_ino
            try:
                trained(runs, resume=random.random() < 0.5)
            except RunError as error:
                assert f"in use by process {os.getpid()}" in str(error)
                refused.append(error)
            assert inside.stat().st_ino == before, "the run was moved aside under the first"

    fsync, number = os.fsync, 0
    while len(refused) < size:
        runs = folder / str(number)
        with mock.patch("os.fsync", _once_at(random.randrange(30), seen, fsync)):
            trained(runs)
        number += 1
        assert number < 3 * size + 3, "second starts are not refused"
    return len(refused)


def _once_at(at: int, hook, otherwise):  # type: ignore[no-untyped-def]
    calls = []

    def call(file: int) -> None:
        calls.append(file)
        (hook if len(calls) == at + 1 else otherwise)(file)

    return call


FORGETS = Fault(
    lambda: mock.patch("training.selfplay.battles.restore_generator", lambda *_: None),
    "the metrics differ",
)

ROWS = [
    Row(
        "kill -9 at a random moment",
        STOPPED,
        "kills",
        check_kills,
        10,
        200,
        {"what is drawn next is not restored": FORGETS},
        proves=standing_on("training.train"),
    ),
    Row(
        "Ctrl-C, SIGTERM, SIGHUP at a random moment",
        STOPPED,
        "signals",
        check_signals,
        6,
        200,
        {"what is drawn next is not restored": FORGETS},
        proves=standing_on("training.train"),
    ),
    Row(
        "a second start of a run in use",
        "What is in use is refused, by name",
        "second starts",
        check_second_starts,
        4,
        100,
        {
            "no lock": Fault(
                lambda: mock.patch("agents.system.lock", lambda *_: None),
                "was moved aside",
            )
        },
        proves=standing_on("training.train"),
    ),
]
