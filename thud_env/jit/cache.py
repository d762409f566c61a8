"""The cache of compiled functions on disk: a start with a damaged one, or none, compiles.

Numba's own cache trusts what it finds. Its index is written before the machine code, and code is
numbered, so that of two processes that compile at the same time one may find old code, or that of
another signature, under a new entry. Here code is written first, under a name of its own, and read
only if its hash says that it is whole and of these sources.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile

_HASH_BYTES = 32


class CheckedCacheFile(IndexDataCacheFile):
    """Numba's files of one function: an index, and the machine code of each signature."""

    def load(self, key: Any) -> Any:
        """Load what was saved; None if it is missing or damaged."""
        try:
            name = self._load_index()[key]
            data = Path(self._data_path(name)).read_bytes()
        except (KeyError, OSError):
            return None
        whole = self._hash(data[:-_HASH_BYTES]) == data[-_HASH_BYTES:]
        return self._load_data(name) if whole else None  # which stops before the hash

    def save(self, key: Any, data: Any) -> None:
        """Write the code, then the index."""
        index = self._load_index()
        number = int(hashlib.sha256(str(key).encode()).hexdigest()[:12], 16)
        index[key] = self._data_name(number)
        self._save_data(index[key], data)
        self._save_index(index)

    def _load_index(self) -> dict[Any, str]:
        try:
            return dict(super()._load_index())
        except Exception:  # a damaged index may raise anything; it is written anew
            return {}

    def _dump(self, obj: Any) -> bytes:
        data = super()._dump(obj)
        return bytes(data + self._hash(data))

    def _hash(self, data: bytes) -> bytes:
        return hashlib.sha256(self._source_stamp.encode() + data).digest()


def check(function_cache: Any, stamp: str) -> None:
    """Let a function's cache keep nothing but whole code of these sources, and fail at nothing.

    Args:
        function_cache: Numba's cache of the function.
        stamp: a hash of the sources.
    """
    files = function_cache._cache_file
    function_cache._cache_file = CheckedCacheFile(
        files._cache_path, function_cache._impl.filename_base, stamp
    )
    function_cache.save_overload = _may_fail(function_cache.save_overload)


def _may_fail(save: Callable[..., None]) -> Callable[..., None]:
    def save_if_possible(*arguments: Any) -> None:
        try:
            save(*arguments)
        except OSError as error:
            warn_once(str(error))

    return save_if_possible


@cache
def _not_kept() -> threading.Lock:
    """Held for ever once code of this process could not be kept."""
    return threading.Lock()


def is_kept() -> bool:
    """Whether compiled code could be kept so far."""
    return not _not_kept().locked()


def warn_once(reason: str) -> None:
    """Warn, once a process, that compiled code cannot be kept."""
    if _not_kept().acquire(blocking=False):
        refused = os.environ.get("NUMBA_CACHE_DIR")
        other = f" other than {refused}" if refused else ""
        print(
            f"thud_env: compiled code cannot be kept, so every start compiles: {reason}; "
            f"set NUMBA_CACHE_DIR to a folder{other} that can be written",
            file=sys.stderr,
        )
