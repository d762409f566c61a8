"""What all tests share."""

import os
import signal

import pytest


def pytest_configure() -> None:
    """Prepare this process before a test is imported, and with it those that tests start."""
    # Shells make jobs in the background ignore Ctrl-C, and some of what is started ends at it only.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Beside another busy process more threads of torch wait for each other, and round otherwise.
    os.environ["OMP_NUM_THREADS"] = "1"


@pytest.fixture
def no_display(monkeypatch):
    """Windows that need no display, and do not keep the environments' pace."""
    from thud_env import MatchEnv, ThudEnv

    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    for kind in (ThudEnv, MatchEnv):
        monkeypatch.setitem(kind.metadata, "render_fps", 10_000)
