"""What all tests share."""

import signal


def pytest_configure() -> None:
    """Heed Ctrl-C, which shells make jobs in the background ignore: what the tests start inherits
    that, and some of it ends at Ctrl-C only.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
