"""One row: a promise, what checks it, and faults that the check must notice."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import hashlib
import inspect
import os
import tempfile
import traceback
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

Check = Callable[[int, Random, Path], int]
"""Checks so many cases, drawn from a generator, in an empty folder; returns how many it checked.
Raises whatever comes of a broken promise, an ``AssertionError`` at best."""

Plant = Callable[[], contextlib.AbstractContextManager[Any]]
"""Plants a fault, for as long as the context lasts."""

TESTS = Path(__file__).resolve().parents[1]
PACKAGES = ("thud_env", "agents", "training")
THE_ENVIRONMENTS = ("thud_env",)
THE_GAME = tuple(
    f"thud_env/{path.name}"
    for path in sorted((TESTS.parent / "thud_env").iterdir())
    if path.name not in ("envs", "bench.py") and (path.suffix == ".py" or path.is_dir())
)
"""What environments stand on, and what knows nothing of them (``tests/test_imports.py``)."""


@dataclasses.dataclass(frozen=True)
class Fault:
    """A mistake, and the failure of the row that it must cause."""

    plant: Plant
    noticed_by: str
    """Words of the error's message, or of the line of the tests that raised it."""
    error: type[Exception] = AssertionError


@dataclasses.dataclass(frozen=True)
class Row:
    """A promise and its proof."""

    name: str
    promise: str
    unit: str
    """What is counted."""
    check: Check
    ci: int
    """How many are checked in CI."""
    full: int
    """How many in the full run."""
    faults: dict[str, Fault]
    """What is planted, one after the other."""
    with_fault: int | None = None
    """How many are checked with a fault; None for as many as in CI."""
    chunk: int | None = None
    """How many the full run checks with one seed; None for as many as in CI."""
    needs: str = ""
    """Files that another target of the Makefile writes; without them the row is left out."""
    proves: tuple[str, ...] = PACKAGES
    """The packages and modules that the promise is about. Once they change, it begins anew."""

    def sources(self) -> str:
        """A hash of the sources of what the row proves, and of the check with those beside it that
        it imports; what they say in words, comments and docstrings, is left out.
        """
        paths = checked_by(Path(inspect.getfile(self.check)))
        for name in self.proves:
            path = TESTS.parent / name
            paths += sorted(path.rglob("*.py")) if path.is_dir() else [path]
        return hashlib.sha256("\n".join(map(statements, paths)).encode()).hexdigest()[:16]


def checked_by(path: Path) -> list[Path]:
    """A check's source, and those beside this one that it imports; all need this one and ``reach``,
    which check nothing.
    """
    found = [path]
    for one in found:  # which grows
        found += [other for other in _imported_beside(one) if other not in found]
    return found


def _imported_beside(path: Path) -> list[Path]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            package, _, module = (node.module or "").partition(".")
            if package == "reliability":
                names |= {module} if module else {alias.name for alias in node.names}
    return [Path(__file__).with_name(f"{name}.py") for name in sorted(names - {"row", "reach"})]


@cache
def statements(path: Path) -> str:
    """The statements of a source, without comments and docstrings, however they are laid out."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [one for one in node.body if not _is_words(one)]
    return ast.dump(tree)


def _is_words(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


class NotProvenError(AssertionError):
    """A row that asserts nothing, or whose fault went unnoticed."""


def prove(row: Row, seed: int = 1) -> dict[str, Any]:
    """Check a row at the size of CI; then plant each of its faults, and check again.

    Args:
        row: the row.
        seed: of what is drawn.

    Returns:
        What docs/reliability.json says of it.

    Raises:
        NotProvenError: if less was checked than asked for, or a fault went unnoticed, or something
            other than what it must cause went wrong.
        Exception: what the check raised, if the promise is broken.
    """
    if not row.faults:
        raise NotProvenError(f"{row.name} plants no fault")
    proven = _checked(row, row.ci, seed)
    noticed = {}
    for name in row.faults:
        with row.faults[name].plant():
            noticed[name] = _noticed(row, name, seed)
    return {
        **{"promise": row.promise, "unit": row.unit, "faults": noticed},
        **{"first_seed": seed, "last_seed": seed},
        **proven,
    }


def prove_more(row: Row, proven: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Go on with a proof, a seed at a time, until it is of full size.

    Args:
        row: the row.
        proven: what :func:`prove`, or this, returned.

    Yields:
        The same with the next seed.

    Raises:
        Exception: as :func:`prove`.
    """
    while proven["checked"] < row.full:
        seed = proven["last_seed"] + 1
        more = _checked(row, row.chunk or row.ci, seed)
        sums = {name: round(proven[name] + more[name], 1) for name in more}
        proven = {**proven, **sums, "last_seed": seed}
        yield proven


def _checked(row: Row, size: int, seed: int) -> dict[str, Any]:
    started = processor_time()
    checked = _check(row, size, seed)
    if checked < size:
        raise NotProvenError(f"{row.name}: {checked} {row.unit} were checked, not {size}")
    return {"checked": checked, "cpu_seconds": round(processor_time() - started, 1)}


def processor_time() -> float:
    """Seconds, of this process and of all that it or they started, ended or not."""
    return sum(map(_seconds, _with_descendants(os.getpid())))


def _with_descendants(process: int) -> list[int]:
    listed = Path(f"/proc/{process}/task").glob("*/children")
    children = [int(word) for path in listed for word in path.read_text().split()]
    return [process, *(one for child in children for one in _with_descendants(child))]


def _seconds(process: int) -> float:
    """Of a process and of those that it waited for, by Linux's count; see ``man 5 proc``."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return 0
    return sum(map(int, stat[11:15])) / os.sysconf("SC_CLK_TCK")


def _check(row: Row, size: int, seed: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        return row.check(size, Random(seed), Path(folder))


def _noticed(row: Row, name: str, seed: int) -> str:
    """What noticed the fault that is planted: the kind of the error, and its words."""
    fault = row.faults[name]
    try:
        _check(row, row.with_fault or row.ci, seed)
    except Exception as error:
        kind, said = type(error).__name__, [str(error), _raised_by(error)]
        if type(error) is fault.error and any(fault.noticed_by in words for words in said):
            return f"{kind}: {fault.noticed_by}"
        raise NotProvenError(
            f"{row.name}: {name} must cause {fault.error.__name__}, {fault.noticed_by!r}; "
            f"there was {kind}: {' | '.join(said)[:300]}"
        ) from error
    raise NotProvenError(f"{row.name}: nothing notices {name}")


def _raised_by(error: Exception) -> str:
    """The line of the tests that raised an error, or that called what raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.line for frame in frames if Path(frame.filename).is_relative_to(TESTS)]
    return lines[-1] or ""
