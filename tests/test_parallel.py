"""Loops over slices of a batch, on several threads."""

from __future__ import annotations

import multiprocessing
import sys
import time

import pytest

from thud_env.batch.cpu import SlicedLoop


def sizes(first: int, last: int) -> int:
    return last - first


def test_every_item_falls_in_one_slice() -> None:
    for num_items in (1, 2, 7, 100):
        for num_threads in (1, 2, 3):
            loop = SlicedLoop(num_items, num_threads)
            slices = loop(lambda first, last: range(first, last))
            assert [item for part in slices for item in part] == list(range(num_items))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_has_threads_of_its_own() -> None:
    """A fork copies the pool but not its threads, for which the child would wait forever."""
    loop = SlicedLoop(4, num_threads=2)
    assert loop(sizes) == [2, 2]
    child = multiprocessing.get_context("fork").Process(target=loop, args=(sizes,))
    child.start()
    child.join(timeout=30)
    child.kill()  # which means nothing to one that has ended
    child.join()
    assert child.exitcode == 0
    assert loop(sizes) == [2, 2]


def test_when_a_call_is_interrupted_no_thread_works_on() -> None:
    ended = []

    def work(first: int, last: int) -> None:
        if first == 0:
            raise KeyboardInterrupt
        time.sleep(0.2)
        ended.append(first)

    loop = SlicedLoop(2, num_threads=2)
    with pytest.raises(KeyboardInterrupt):
        loop(work)
    assert ended == [1]
    assert loop(lambda first, last: (first, last)) == [(0, 1), (1, 2)]
