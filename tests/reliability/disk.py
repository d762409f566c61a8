"""A disk that is full or fails: at every place where a run writes, once.

Every call that changes the disk is an injection point, known by what it does and by the line of the
project that asks for it. A run meets one error at one of them. It must end with an ``OSError`` that
names a file, or go on without what failed; and however it ended, it goes on to the same end.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import training
from reliability.row import Fault, Row
from reliability.runs import assert_ends_as, gone_on_from, outcome, trained

HOUSE = Path(training.__file__).parents[1]
ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS)
CHANGING = ("fsync", "rename", "replace", "mkdir", "symlink", "write", "ftruncate")

Site = tuple[str, str]
"""What is done, and where the project asks for it."""


def _site(what: str) -> Site | None:
    """Where we are, or None if it is not the project that writes."""
    for frame in reversed(traceback.extract_stack()[:-2]):
        path = Path(frame.filename)
        inside = path.is_relative_to(HOUSE) and path.relative_to(HOUSE).parts[0]
        if inside in ("agents", "training"):
            return what, f"{path.relative_to(HOUSE)}:{frame.lineno}"
    return None


@contextlib.contextmanager
def _watched(on_call: Callable[[Site, str | None], None]) -> Iterator[None]:
    """``on_call`` is called before every call that would change the disk, with the place and the
    path, if the call has one: an error of the system then names it.
    """

    def wrapped(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def instead(*arguments: Any, **named: Any) -> Any:
            mode = named.get("mode", arguments[1] if len(arguments) > 1 else "r")
            if name != "io.open" or any(letter in str(mode) for letter in "wax+"):
                site = _site(name)
                if site is not None:
                    named_path = isinstance(arguments[0], (str, os.PathLike))
                    on_call(site, os.fspath(arguments[0]) if named_path else None)
            return call(*arguments, **named)

        return instead

    originals = {f"os.{name}": getattr(os, name) for name in CHANGING}
    with contextlib.ExitStack() as stack:
        for name, call in {"io.open": io.open, **originals}.items():
            stack.enter_context(mock.patch(name, wrapped(name, call)))
        yield


def check(size: int, random: Random, folder: Path) -> int:
    """Each place in turn, and if more are asked for, again."""
    seen: dict[Site, int] = {}

    def note(site: Site, _path: str | None) -> None:
        seen[site] = seen.get(site, 0) + 1

    trained(folder / "first")  # compiles, or reads what was compiled: that happens once
    with _watched(note):
        run, _ = trained(folder / "whole")
    wanted = outcome(run)
    sites = list(seen)
    random.shuffle(sites)
    for number in range(size):
        site = sites[number % len(sites)]
        _fail_once(folder / str(number), site, random.randint(1, seen[site]), random, wanted)
    return size


def _fail_once(
    runs: Path, site: Site, at: int, random: Random, wanted: tuple[object, object]
) -> None:
    left = [at]

    def fail(here: Site, path: str | None) -> None:
        if here == site:
            left[0] -= 1
            if left[0] == 0:
                code = random.choice(ERRORS)
                raise OSError(code, os.strerror(code), path)

    with _watched(fail):
        try:
            trained(runs)
        except OSError as error:
            assert error.filename is not None, f"{site}: which file failed is not said: {error}"
    assert left[0] <= 0, f"{site} was not reached"
    latest = runs / "small" / "checkpoints" / "latest"
    before = latest.readlink().name if latest.is_symlink() else ""
    run, shown = trained(runs, resume=True)
    assert "damaged" not in shown, f"{site}: {shown}"
    assert "are lost" not in shown, f"{site}: {shown}"
    # At least: where only the link failed, a newer checkpoint is there.
    assert gone_on_from(shown) >= int(before or 0), f"{site}: {shown}"
    assert_ends_as(run, wanted)


ROWS = [
    Row(
        "disk full or failing, at a place where a run writes",
        "A full or failing disk is said in one line, and loses nothing before it",
        "injected errors",
        check,
        24,
        2_000,
        {
            "which file failed is not said": Fault(
                lambda: mock.patch("agents.durable.naming", lambda _path: contextlib.nullcontext()),
                "which file failed is not said",
            ),
        },
    )
]
