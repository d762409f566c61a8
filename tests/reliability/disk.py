"""A disk that is full or fails: at every place where a run writes, once, or from there on.

Every call that changes the disk is an injection point, known by what it does and by the line of the
project that asks for it. A run meets one error at one of them. It must end with an ``OSError`` that
names a file, or go on without what failed. A disk that stays full ends the command with one line.
However a run ended, it goes on to the same end.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import io
import os
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import yaml

import training
from reliability.reach import standing_on
from reliability.row import Fault, Row
from reliability.runs import (
    CONFIG,
    assert_ends_as,
    command_of,
    gone_on_from,
    outcome,
    trained,
)
from training.config import RunConfig

HOUSE = Path(training.__file__).parents[1]
ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS)
CHANGING = ("fsync", "rename", "replace", "mkdir", "symlink", "write", "ftruncate")

_PATHS = {"os.rename": 2, "os.replace": 2, "os.symlink": 2}
RUNS = "runs"

Site = tuple[str, str]
"""What is done, and where the project asks for it."""
Outcome = tuple[object, object]


def _site(what: str) -> Site | None:
    """Where we are, or None if it is not the project that writes."""
    for frame in reversed(traceback.extract_stack()[:-2]):
        path = Path(frame.filename)
        inside = path.is_relative_to(HOUSE) and path.relative_to(HOUSE).parts[0]
        if inside in ("agents", "training"):
            return what, f"{path.relative_to(HOUSE)}:{frame.lineno}"
    return None


@contextlib.contextmanager
def _watched(on_call: Callable[[Site, list[str]], None]) -> Iterator[None]:
    """``on_call`` is called before every call that would change the disk, with the place and the
    paths that the call has: an error of the system then names them.
    """

    def wrapped(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def instead(*arguments: Any, **named: Any) -> Any:
            mode = named.get("mode", arguments[1] if len(arguments) > 1 else "r")
            if name != "io.open" or any(letter in str(mode) for letter in "wax+"):
                site = _site(name)
                if site is not None:
                    paths = [one for one in arguments if isinstance(one, (str, os.PathLike))]
                    on_call(site, [*map(os.fspath, paths[: _PATHS.get(name, 1)])])
            return call(*arguments, **named)

        return instead

    originals = {f"os.{name}": getattr(os, name) for name in CHANGING}
    with contextlib.ExitStack() as stack:
        for name, call in {"io.open": io.open, **originals}.items():
            stack.enter_context(mock.patch(name, wrapped(name, call)))
        yield


def _error(code: int, paths: list[str]) -> OSError:
    """As the system's."""
    one, other = [*paths, None, None][:2]
    return OSError(code, os.strerror(code), one, None, other)


def check_once(size: int, random: Random, folder: Path, config: RunConfig = CONFIG) -> int:
    """Each place in turn, and if more are asked for, again."""
    for number, (site, at, wanted) in enumerate(_places(size, random, folder, config)):
        _fail_once(folder / str(number), config, site, at, random, wanted)
    return size


def check_from_then_on(size: int, random: Random, folder: Path, config: RunConfig = CONFIG) -> int:
    """The same, with a disk that stays as it is until the command has ended."""
    for number, (site, at, wanted) in enumerate(_places(size, random, folder, config)):
        _fail_from_then_on(folder / str(number), config, site, at, random, wanted)
    return size


def _places(
    size: int, random: Random, folder: Path, config: RunConfig
) -> Iterator[tuple[Site, int, Outcome]]:
    """Where to fail, at which of the calls there, and what the whole run ends with."""
    seen: dict[Site, int] = {}

    def note(site: Site, _paths: list[str]) -> None:
        seen[site] = seen.get(site, 0) + 1

    trained(folder / "first", config)  # compiles, or reads what was compiled: that happens once
    with _watched(note):
        run, _ = trained(folder / "whole", config)
    wanted = outcome(run)
    sites = list(seen)
    random.shuffle(sites)
    for number in range(size):
        site = sites[number % len(sites)]
        yield site, random.randint(1, seen[site]), wanted


def _fail_once(
    runs: Path, config: RunConfig, site: Site, at: int, random: Random, wanted: Outcome
) -> None:
    left = [at]

    def fail(here: Site, paths: list[str]) -> None:
        if here == site:
            left[0] -= 1
            if left[0] == 0:
                code = random.choice(ERRORS)
                raise _error(code, paths)

    with _watched(fail):
        try:
            trained(runs, config)
        except OSError as error:
            assert error.filename is not None, f"{site}: which file failed is not said: {error}"
    assert left[0] <= 0, f"{site} was not reached"
    _assert_goes_on(runs, config, site, wanted)


def _fail_from_then_on(
    house: Path, config: RunConfig, site: Site, at: int, random: Random, wanted: Outcome
) -> None:
    left, code = [at], random.choice(ERRORS)

    def fail(here: Site, paths: list[str]) -> None:
        left[0] -= here == site
        if left[0] <= 0:
            raise _error(code, paths)

    house.mkdir()
    (house / "small.yaml").write_text(yaml.safe_dump(dataclasses.asdict(config)))
    said = io.StringIO()
    with (
        contextlib.chdir(house),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(said),
        _watched(fail),
    ):
        ended_with = command_of(config)(["small.yaml"])
    assert left[0] <= 0, f"{site} was not reached"
    if ended_with == 0:  # with nothing left to write but who had used the folder
        assert_ends_as(house / RUNS / "small", wanted)
        return
    where = f"{site}: {ended_with}: {said.getvalue()}"
    assert ended_with == 1, where
    assert said.getvalue().endswith(f"{os.strerror(code)}\n"), where
    assert said.getvalue().count("\n") == 1, where
    assert RUNS in said.getvalue(), f"which file failed is not said: {where}"
    _assert_goes_on(house / RUNS, config, site, wanted)


def _assert_goes_on(runs: Path, config: RunConfig, site: Site, wanted: Outcome) -> None:
    """The run goes on from its last checkpoint, of which nothing is lost, to the same end."""
    latest = runs / "small" / "checkpoints" / "latest"
    before = latest.readlink().name if latest.is_symlink() else ""
    run, shown = trained(runs, config, resume=True)
    assert "damaged" not in shown, f"{site}: {shown}"
    assert "are lost" not in shown, f"{site}: {shown}"
    # At least: where only the link failed, a newer checkpoint is there.
    assert gone_on_from(shown) >= int(before or 0), f"{site}: {shown}"
    assert_ends_as(run, wanted)


PROMISE = "A full or failing disk is said in one line, and loses nothing before it"
NOT_SAID = Fault(
    lambda: mock.patch("agents.durable.naming", lambda _path: contextlib.nullcontext()),
    "which file failed is not said",
)

ROWS = [
    Row(
        "disk full or failing, at a place where a run writes",
        PROMISE,
        "injected errors",
        check_once,
        24,
        2_000,
        {"which file failed is not said": NOT_SAID},
        proves=standing_on("training.train"),
    ),
    Row(
        "disk full or failing from such a place on, until the command has ended",
        PROMISE,
        "disks",
        check_from_then_on,
        12,
        2_000,
        {"which file failed is not said": NOT_SAID},
        proves=standing_on("training.train"),
    ),
]
