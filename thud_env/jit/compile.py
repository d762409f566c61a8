"""Compiling with Numba: one decorator for every compiled function of the project."""

from __future__ import annotations

import hashlib
import re
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import types

from thud_env.jit.alone import compile_alone
from thud_env.jit.cache import check, is_kept, warn_once

PATIENCE = 1.0
"""Seconds of compiling before it is announced."""
_waiting: list[str] = []
"""Modules whose functions are being compiled, the one that asked first in front."""

_ROOT = Path(__file__).resolve().parents[2]
_OUR_PACKAGES = ("thud_env", "agents", "training")
_IMPORT = re.compile(r"^ *(?:from|import) +([\w.]+)(?: +import +(?:\(([^)]*)\)|([^\n]*)))?", re.M)


@cache
def _content(source: Path) -> bytes:
    """A source as it was when it was first asked for, which is when it is imported.

    A process may import more after files were edited. What it compiles then still calls what it
    imported before, and must not be kept as code of the edited files.
    """
    return source.read_bytes()


@cache
def _imported(source: Path) -> frozenset[Path]:
    """The sources of ours that one of them imports, read from its text."""
    found = set()
    for module, *members in _IMPORT.findall(_content(source).decode("utf-8")):
        if module.split(".")[0] in _OUR_PACKAGES:
            path = _ROOT.joinpath(*module.split("."))
            names = [path / name for name in re.findall(r"\w+", "".join(members))]
            found |= {path / "__init__.py", *(one.with_suffix(".py") for one in (path, *names))}
    return frozenset(path for path in found if path.is_file())


@cache
def source_hash(source: Path) -> str:
    """Hash of a module's source and of all that it imports from beside ``thud_env``, in turn."""
    seen: set[Path] = set()
    waiting = [source]
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen.add(path)
            waiting += _imported(path)
    digest = hashlib.sha256()
    for path in sorted(seen):
        digest.update(path.relative_to(_ROOT).as_posix().encode())
        digest.update(_content(path))
    return digest.hexdigest()


def _compile(
    function: Callable[..., Any],
    *,
    counts_references: bool = False,
    forceinline: bool = False,
    merges: bool = False,
) -> Any:
    # Options that are left out would be taken over from whichever caller compiles first.
    options: dict[str, Any] = {
        "cache": True,
        "nogil": True,
        "error_model": "numpy",
        "forceinline": forceinline,
        "inline": "always" if merges else "never",
        "_nrt": counts_references,
    }
    try:
        dispatcher: Any = numba.njit(**options)(function)
    except RuntimeError as error:  # neither the package's folder nor the home can be written
        warn_once(str(error))
        dispatcher = numba.njit(**{**options, "cache": False})(function)
    function_cache: Any = getattr(dispatcher, "_cache", None)
    keep_code(dispatcher, function)
    if function_cache is not None:  # None when compilation is disabled
        compiler = dispatcher._compiler
        compiler.compile = announced(compiler.compile, function.__module__)
        compiler.fold_argument_types = _widening(compiler.fold_argument_types)
    return dispatcher


def keep_code(dispatcher: Any, function: Callable[..., Any], *versions: str) -> None:
    """Let the cache on disk, if there is one, keep whole code of these sources only, which one
    process compiles at a time.

    Numba's cache notices a change to the file that a function stands in, but not to the files of
    the functions that it calls: an edit of the rules would leave every kernel built on them stale.
    Here all that the function's module imports is part of the stamp.

    Args:
        dispatcher: Numba's, of the function.
        function: what it compiles.
        versions: what else the code depends on.
    """
    function_cache: Any = getattr(dispatcher, "_cache", None)
    if hasattr(function_cache, "_cache_file"):
        sources = source_hash(Path(function.__code__.co_filename).resolve())
        check(function_cache, " ".join((sources, *versions)))
        files = function_cache._cache_file
        folder, name = Path(files._cache_path), files._index_name
        dispatcher.compile = compile_alone(dispatcher.compile, folder, name)


def _widening(fold: Callable[..., Any]) -> Callable[..., Any]:
    """How a function reads the types that a compiled caller hands it: every signed integer as
    int64.

    Numba compiles a function once for each combination of types that it is called with, and a
    constant is a type of its own: without this, a fifth of all that searches compile is compiled
    twice.
    """

    def fold_and_widen(*arguments: Any) -> tuple[Any, list[Any]]:
        signature, given = fold(*arguments)
        plain = [types.unliteral(one) for one in given]  # type: ignore[no-untyped-call]
        return signature, [types.int64 if one in types.signed_domain else one for one in plain]

    return fold_and_widen


@cache
def _announce(module: str) -> None:
    """Announce, once for each module in a process, that it is being compiled."""
    later = "; later starts find it compiled" if is_kept() else ""
    print(f"thud_env: compiling {module}{later}", file=sys.stderr)


def announced(compiler: Callable[..., Any], module: str) -> Callable[..., Any]:
    """The compiler, which is called only for what the cache does not have.

    It announces itself when it takes long, the functions that are compiled on the way included.
    """

    def compile_and_say_so(*arguments: Any, **options: Any) -> Any:
        timer = threading.Timer(PATIENCE, _announce, [module])
        timer.daemon = True
        if not _waiting:
            timer.start()
        _waiting.append(module)
        try:
            return compiler(*arguments, **options)
        finally:
            _waiting.pop()
            timer.cancel()

    return compile_and_say_so


def is_compiling() -> bool:
    """Whether a thread of this process is compiling a function of ours."""
    return bool(_waiting)


def compiled(function: Callable[..., Any]) -> Any:
    """``numba.njit`` with a cache on disk, without the global interpreter lock, for functions
    that make no arrays.

    Such a function needs no reference counts of the arrays it is handed, and counting them,
    two atomic operations a call, would take longer than most of the rules' functions.
    """
    return _compile(function)


def inlined(function: Callable[..., Any]) -> Any:
    """``compiled`` for the small functions of inner loops, which their callers take in whole."""
    return _compile(function, forceinline=True)


def merged(function: Callable[..., Any]) -> Any:
    """``compiled`` for a function with a caller or two that calls much: they take in its source,
    and it is not compiled by itself unless Python calls it.

    Numba optimises and keeps all that a compiled function calls once more for each function that
    calls it in turn: five functions between a tree and its search were five more searches.
    """
    return _compile(function, merges=True)


def compiled_with_arrays(function: Callable[..., Any]) -> Any:
    """The same for functions that make arrays or assign whole ones: the outer loops."""
    return _compile(function, counts_references=True)
