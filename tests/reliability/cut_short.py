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
    for _ in range(9):  # what measures may hold a lock just now: a moment later it does not
        if frame is not None and "/coverage/" in frame.f_code.co_filename:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.01)
            return
        frame = frame and frame.f_back
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
