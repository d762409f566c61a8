"""Measures where a training step's time goes."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping

import torch

ENVIRONMENT, FORWARD, LEARN = PARTS = ("environment", "forward", "learn")
"""Stepping the battles, listing legal decisions and expanding planes, or making a whole lesson of a
distillation; running the networks to play and drawing from them; everything else of learning."""


def _when_the_gpu_is_done() -> float:
    torch.cuda.synchronize()
    return time.perf_counter()


def _mark() -> torch.cuda.Event:
    """A mark in the queue of this thread's GPU work, which is timed when the GPU comes to it."""
    mark = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
    mark.record()
    return mark


class Clock:
    """Adds up the time that threads spend on the parts of a step: processor time, which other
    processes on the machine do not lengthen. With a GPU it is the time that the GPU takes from what
    a part begins with to its end, pauses included; nothing waits for it until the sums are asked
    for.

    Args:
        device: where the networks are, ``"cpu"`` or ``"cuda"``.
    """

    def __init__(self, device: str = "cpu") -> None:
        self._on_gpu = device == "cuda"
        self.unit = "second" if self._on_gpu else "cpu_second"
        """What ``now`` counts: seconds by the clock on the wall, or of processor."""
        self.now: Callable[[], float] = _when_the_gpu_is_done if self._on_gpu else time.process_time
        """The same time of all threads together, in seconds; it waits for a GPU."""
        self._lock = threading.Lock()
        self._seconds = dict.fromkeys(PARTS, 0.0)
        self._marks: list[tuple[str, torch.cuda.Event, torch.cuda.Event]] = []

    @contextlib.contextmanager
    def on(self, part: str) -> Iterator[None]:
        """Count what happens within, in this thread, to a part."""
        if self._on_gpu:
            first = _mark()
            try:
                yield
            finally:
                self._marks.append((part, first, _mark()))
            return
        started = time.thread_time()
        try:
            yield
        finally:
            self.add({part: time.thread_time() - started})

    def add(self, seconds: Mapping[str, float]) -> None:
        """Count what another clock has taken."""
        with self._lock:
            for part, spent in seconds.items():
                self._seconds[part] += spent

    def speed(self, decisions: int, seconds: float) -> dict[str, float]:
        """The metrics of an update's speed.

        Args:
            decisions: how many there were.
            seconds: how long they took, by the clock on the wall.

        Returns:
            decisions a second, and each part's share of the time since the last ``take``.
        """
        shares = {f"speed/{part}": share for part, share in self.shares().items()}
        return {"speed/decisions_per_second": decisions / seconds, **shares}

    def shares(self) -> dict[str, float]:
        """Each part's share of what ``take`` takes."""
        taken = self.take()
        return {part: spent / sum(taken.values()) for part, spent in taken.items()}

    def take(self) -> dict[str, float]:
        """The seconds by part since the last time."""
        if self._marks:
            torch.cuda.synchronize()
            marks, self._marks = self._marks, []
            for part, first, last in marks:
                self.add({part: first.elapsed_time(last) / 1000})
        with self._lock:
            taken, self._seconds = self._seconds, dict.fromkeys(PARTS, 0.0)
        return taken
