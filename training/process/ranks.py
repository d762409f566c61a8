"""Several processes that train one pair of networks together, as ``torchrun`` starts them.

::

    torchrun --nproc-per-node 2 -m training.train configs/cpu.yaml

Every process plays its share of the battles and learns from them; gradients are summed over all
before each step, so that the networks stay the same everywhere. Minibatches, too, are shares of
one: the configuration means the same for any number of processes, but that the shares of battles
against opponents are rounded for each. All see the run's folder; the
first writes it. For several machines see the documentation of ``torchrun``.
"""

from __future__ import annotations

import atexit
import contextlib
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray

from training.errors import RunError
from training.process.state import State


@contextlib.contextmanager
def _all_there() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:  # gloo's has no kind of its own
        reason = str(error).partition("\n")[0]
        raise RunError(
            "another process of the run has ended or does not answer: if it does not say why, "
            f"start all again with --resume ({reason})"
        ) from error


def _leave() -> None:
    """Stop gloo's threads: Python's end while they work may abort the process."""
    if dist.is_initialized():
        dist.destroy_process_group()


class Ranks:
    """The processes of a run, numbered from 0; a run of one process by itself has one.

    What is summed here is summed by all processes in the same order, so each thread that sums
    has a channel of its own: see ``channel``. Whatever waits for the others raises a ``RunError``
    if one of them ends or does not answer.
    """

    def __init__(self, rank: int = 0, size: int = 1, group: dist.ProcessGroup | None = None):
        self.rank = rank
        self.size = size
        self._group = group

    @classmethod
    def from_environment(cls) -> Ranks:
        """Those of ``torchrun``, over gloo, or one.

        Raises:
            RunError: if the environment is not as ``torchrun`` leaves it.
        """
        size = os.environ.get("WORLD_SIZE", "1")
        if size == "1":
            return cls()
        try:
            if not dist.is_initialized():
                dist.init_process_group("gloo")
                atexit.register(_leave)
        except (ValueError, RuntimeError) as error:
            raise RunError(
                f"WORLD_SIZE={size} is in the environment, which is not as torchrun leaves it: "
                f"{error}"
            ) from error
        return cls(dist.get_rank(), dist.get_world_size())

    def channel(self) -> Ranks:
        """The same processes, for sums of one thread."""
        if self.size == 1:
            return self
        with _all_there():
            return Ranks(self.rank, self.size, dist.new_group(backend="gloo"))

    def add_up(self, values: torch.Tensor) -> torch.Tensor:
        """The sum over all processes, in place."""
        if self.size > 1:
            with _all_there():
                dist.all_reduce(values, group=self._group)
        return values

    def total(self, values: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum over all processes of a number, or of each number of an array."""
        array = np.atleast_1d(np.asarray(values, dtype=np.float64))
        return self.add_up(torch.from_numpy(array.copy())).numpy()

    def mine(self, seed: np.random.SeedSequence) -> np.random.SeedSequence:
        """The stream of a seed that is this process's own; the seed itself if it is alone."""
        return seed if self.size == 1 else seed.spawn(self.size)[self.rank]

    def gather(self, state: State) -> list[State]:
        """The states of all processes, on the first; nothing on the others."""
        if self.size == 1:
            return [state]
        states: list[Any] | None = [None] * self.size if self.rank == 0 else None
        with _all_there():
            dist.gather_object(state, states)
        return states or []

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.size > 1:
            with _all_there():
                dist.barrier(group=self._group)
