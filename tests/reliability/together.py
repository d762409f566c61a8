"""Processes that train together and are killed: two ranks over gloo, and actors of Ray."""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random
from unittest import mock

import torch
import yaml
from test_ranks import free_port

from reliability.reach import standing_on
from reliability.row import Fault, Row
from reliability.runs import CONFIG, UPDATES, assert_ends_as, gone_on_from, outcome, trained
from reliability.stops import FORGETS, STOPPED
from reliability.tree import ROOT, edited, root

RANKS = 2
_forgets = {"on": False}
"""The fault, which the processes must be told of."""


def check_ranks(size: int, random: Random, folder: Path) -> int:
    """One rank is killed after a random time, the other a little later."""
    _wait_for(_start(folder / "whole"), folder / "whole")
    wanted = outcome(folder / "whole" / "small")
    done, number, gone_on = 0, 0, 0
    while done < size or not gone_on:  # one that begins anew forgets nothing
        runs = folder / str(number)
        ranks = _start(runs)
        one, other = random.sample(ranks, RANKS)
        least = 0 if gone_on or done + 1 < size else 1
        _wait_until_some_updates(runs, random, one.is_alive, least)
        killed = one.is_alive()
        one.kill()
        other.join(random.random())
        other.kill()
        for rank in ranks:
            rank.join()
        done += killed
        if killed and random.random() < 0.3:  # once more, before it is through
            continue
        _wait_for(_start(runs), runs)
        shown = (runs / "shown").read_text()
        _assert_nothing_lost(shown)
        assert_ends_as(runs / "small", wanted)
        number += 1
        gone_on += 0 < gone_on_from(shown) < CONFIG.total_decisions
    return done


def _start(runs: Path) -> list[BaseProcess]:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["reliability.together", "reliability.warm"])
    runs.mkdir(exist_ok=True)
    port = free_port()
    ranks = [
        context.Process(target=_train, args=(runs, rank, port, _forgets["on"]))
        for rank in range(RANKS)
    ]
    for rank in ranks:
        rank.start()
    return ranks


def _train(runs: Path, rank: int, port: int, forgets: bool) -> None:
    with _errors(runs, rank).open("wb") as errors:  # the one that is not killed says so
        os.dup2(errors.fileno(), sys.stderr.fileno())
    torch.set_num_threads(1)
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(RANKS)}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    with FORGETS.plant() if forgets else contextlib.nullcontext():
        _, shown = trained(runs, resume=True)
    if rank == 0:
        (runs / "shown").write_text(shown)
    torch.distributed.destroy_process_group()


def _errors(runs: Path, rank: int) -> Path:
    return runs / f"errors-{rank}.txt"


def _wait_for(ranks: list[BaseProcess], runs: Path) -> None:
    for number, rank in enumerate(ranks):
        rank.join()
        assert rank.exitcode == 0, f"rank {number}: {_errors(runs, number).read_text()}"


def _wait_until_some_updates(
    runs: Path, random: Random, is_alive: Callable[[], bool], least: int
) -> None:
    """After fewer updates than there are, and ``least`` or more, and up to half a second."""
    metrics, lines = runs / "small" / "metrics.jsonl", random.randrange(least, UPDATES)
    while is_alive() and not (metrics.exists() and metrics.read_bytes().count(b"\n") >= lines):
        time.sleep(0.001)
    time.sleep(random.random() / 2)


def _assert_nothing_lost(shown: str) -> None:
    assert "are lost" not in shown, shown
    assert "damaged" not in shown, shown


# -- actors --------------------------------------------------------------------------------

RAY = ".venv-rllib/bin/ray"
"""What ``make rllib`` installs; Ray has a virtual environment of its own."""
NO_RAY = "Ray did not start"


def check_actors(size: int, random: Random, folder: Path) -> int:
    """The learner of two actors is killed after a random time."""
    _learn_to_the_end(folder / "whole")
    wanted = outcome(folder / "whole" / "runs" / "small")
    number, gone_on = 0, 0
    while number < size or not gone_on:
        inside = folder / str(number)
        learner = _learner(inside)
        least = 0 if gone_on or number + 1 < size else 1
        _wait_until_some_updates(
            inside / "runs", random, lambda one=learner: one.poll() is None, least
        )
        with contextlib.suppress(ProcessLookupError):
            os.killpg(learner.pid, signal.SIGKILL)
        learner.communicate()
        said = _learn_to_the_end(inside)
        _assert_nothing_lost(said)
        assert_ends_as(inside / "runs" / "small", wanted)
        number += 1
        gone_on += 0 < gone_on_from(said) < CONFIG.total_decisions
    return number


def _learn_to_the_end(folder: Path) -> str:
    """What the learner said. Ray may need longer to start, beside other work, than it allows."""
    for _ in range(5):
        learner = _learner(folder)
        said, _ = learner.communicate()
        if NO_RAY not in said:
            break
    assert learner.returncode == 0, said
    return said


def _learner(folder: Path) -> subprocess.Popen[str]:
    folder.mkdir(exist_ok=True)
    (folder / "small.yaml").write_text(yaml.safe_dump(dataclasses.asdict(CONFIG)))
    python = ROOT / RAY.replace("ray", "python")
    return subprocess.Popen(
        [python, "-m", "training.train", "small.yaml", "--resume", "--actors", "2"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(root())},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def _mixes_up_the_actors() -> contextlib.AbstractContextManager[Path]:
    return edited(
        "training/selfplay/actors.py",
        "[state.part(str(number)) for number in range(len(self.handles))]",
        '[state.part("0") for _ in self.handles]',
    )


ROWS = [
    Row(
        "kill -9 of one of two ranks",
        STOPPED,
        "kills",
        check_ranks,
        2,
        200,
        {
            "what is drawn next is not restored": dataclasses.replace(
                FORGETS, plant=lambda: mock.patch.dict(_forgets, {"on": True})
            )
        },
        proves=standing_on("training.train"),
    ),
    Row(
        "kill -9 of a learner with two actors of Ray",
        STOPPED,
        "kills",
        check_actors,
        1,
        50,
        {
            "each actor goes on with the first one's battles": Fault(
                _mixes_up_the_actors, "the metrics differ"
            )
        },
        needs=RAY,
        proves=standing_on("training.train"),
    ),
]
