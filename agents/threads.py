"""Threads of torch."""

from __future__ import annotations

import os
import sys


def use_one_thread() -> None:
    """Let torch use one thread in this process: with more, rounding differs, and so might a turn;
    and beside another busy process its threads wait for each other at every small batch.
    """
    os.environ["OMP_NUM_THREADS"] = "1"
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
