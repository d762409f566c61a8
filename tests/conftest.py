"""What all tests share."""

import os
import signal


def pytest_configure() -> None:
    """Prepare this process before a test is imported, and with it those that tests start."""
    # Shells make jobs in the background ignore Ctrl-C, and some of what is started ends at it only.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Beside another busy process more threads of torch wait for each other, and round otherwise.
    os.environ["OMP_NUM_THREADS"] = "1"
