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


class Clock:
    """Adds up the time that threads spend on the parts of a step: processor time, which other
    processes on the machine do not lengthen; with a GPU, the time until that is done too.

    Args:
        device: where the networks are, ``"cpu"`` or ``"cuda"``.
    """

    def __init__(self, device: str = "cpu") -> None:
        on_gpu = device == "cuda"
        self.unit = "second" if on_gpu else "cpu_second"
        """What ``now`` counts: seconds by the clock on the wall, or of processor."""
        self._now = _when_the_gpu_is_done if on_gpu else time.thread_time
        self.now: Callable[[], float] = _when_the_gpu_is_done if on_gpu else time.process_time
        """The same time of all threads together, in seconds."""
        self._lock = threading.Lock()
        self._seconds = dict.fromkeys(PARTS, 0.0)

    @contextlib.contextmanager
    def on(self, part: str) -> Iterator[None]:
        """Count what happens within, in this thread, to a part."""
        started = self._now()
        try:
            yield
        finally:
            spent = self._now() - started
            with self._lock:
                self._seconds[part] += spent

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
        with self._lock:
            taken, self._seconds = self._seconds, dict.fromkeys(PARTS, 0.0)
        return taken
