"""What is in use is refused, by name; what a process that was killed left behind is not."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import time
from multiprocessing.synchronize import Event
from pathlib import Path
from random import Random
from unittest import mock

from ladders import short_field

from reliability.reach import standing_on
from reliability.row import Fault, Row
from reliability.runs import trained
from training.arena.field import FieldError
from training.commands.lock import FolderLock
from training.errors import RunError
from training.fit_evaluation import __main__ as fit_evaluation
from training.ladder.store import Store


def _ladder(folder: Path) -> contextlib.AbstractContextManager[object]:
    return Store(folder, short_field())


def _run(folder: Path) -> contextlib.AbstractContextManager[object]:
    folder.mkdir(parents=True, exist_ok=True)
    return FolderLock(folder)


def _hold(kind: str, folder: Path, held: Event) -> None:
    with _KINDS[kind][0](folder):
        held.set()
        time.sleep(600)


def _second_ladder(folder: Path) -> str:
    try:
        with _ladder(folder):
            return ""
    except FieldError as error:
        return str(error)


def _second_fit(folder: Path) -> str:
    said = io.StringIO()
    with mock.patch.object(fit_evaluation, "_play_and_fit"), contextlib.redirect_stderr(said):
        fit_evaluation.main(["classic", "--folder", str(folder)])
    return said.getvalue()


def _second_run(folder: Path) -> str:
    try:
        trained(folder.parent, resume=True)
    except RunError as error:
        return str(error)
    return ""


_KINDS = {
    "ladder": (_ladder, _second_ladder),
    "fit": (_run, _second_fit),
    "run": (_run, _second_run),
}
"""What holds a folder, and what a second start says."""


def check(size: int, random: Random, folder: Path) -> int:
    """One process holds a folder; another is refused, until the first is killed."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["reliability.locks"])
    for number in range(size):
        kind = list(_KINDS)[number % len(_KINDS)]
        _, second = _KINDS[kind]
        inside = folder / str(number) / "small"  # the run's name
        if kind == "run":
            trained(inside.parent)
        held = context.Event()
        process = context.Process(target=_hold, args=(kind, inside, held))
        process.start()
        assert held.wait(120)
        try:
            said = second(inside)
            assert str(inside) in said, f"{kind}: a second start was not refused: {said}"
            if kind != "ladder":
                assert f"process {process.pid}" in said, said
        finally:
            process.kill()
            process.join()
        said = second(inside)
        assert said == "", f"{kind}: what was left is in the way: {said}"
    return size


ROWS = [
    Row(
        "a second ladder, fit or run beside one that is then killed",
        "What is in use is refused, by name",
        "second starts",
        check,
        3,
        60,
        {
            "no lock": Fault(
                lambda: mock.patch("fcntl.flock", lambda *_: None), "a second start was not refused"
            ),
        },
        proves=standing_on(
            "training.train", "training.ladder.__main__", "training.fit_evaluation.__main__"
        ),
    )
]
