"""A pytest plugin for rules that run as plain Python: a test that takes too long is cut short.

``make coverage`` measures with it which lines run. Whether what they do is right, a test that was
cut short says where the rules are compiled.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from types import FrameType

import pytest

SECONDS = 1.0
"""Of processor time, for each test."""


def _too_long(_signal: int, frame: FrameType | None) -> None:
    files = []
    while frame is not None:
        files.append(frame.f_code.co_filename)
        frame = frame.f_back
    # What measures may hold a lock just now, and half an import breaks the next: a moment later.
    if any("/coverage/" in file for file in files[:9]) or "<frozen importlib._bootstrap>" in files:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.01)
        return
    pytest.skip(f"more than {SECONDS:g} s as plain Python")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Let a test run for so long."""
    signal.signal(signal.SIGVTALRM, _too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
