"""Work in several threads ends with its first error."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError

import pytest

from training.commands.at_once import Watch, at_once


def test_results_come_in_the_order_of_the_items() -> None:
    first_may_end = threading.Event()

    def work(item: int, watch: Watch) -> int:
        if item == 0:
            assert first_may_end.wait(10)
        else:
            first_may_end.set()
        return -item

    assert at_once(work, range(5), threads=2) == [0, -1, -2, -3, -4]


def test_the_first_error_is_raised_and_the_rest_given_up() -> None:
    begun, given_up = [], threading.Event()

    def work(item: int, watch: Watch) -> None:
        begun.append(item)
        if item == 1:
            raise OSError("the disk is full")
        for _ in range(1000):
            given_up.wait(0.01)
            try:
                watch()
            except CancelledError:
                given_up.set()
                raise

    with pytest.raises(OSError, match="the disk is full"):
        at_once(work, range(20), threads=2)
    assert given_up.is_set()
    assert len(begun) < 20
