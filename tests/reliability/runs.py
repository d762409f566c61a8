"""Small training runs, and whether two of them ended alike."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path
from typing import Any

from rich.console import Console
from small_run import SMALL_RUN
from test_resume import last_checkpoint, lines

from training.config import TrainConfig
from training.options import Options
from training.runs.loop import Stopped
from training.train import train

CONFIG = dataclasses.replace(SMALL_RUN, total_decisions=768, checkpoint_every=1, anchor_games=0)
"""Three updates, each with a checkpoint, and frozen opponents."""
UPDATES = 3


def trained(runs: Path, config: TrainConfig = CONFIG, **options: Any) -> tuple[Path, str]:
    """Train, or go on; the run's folder, and what was shown."""
    console = Console(file=io.StringIO(), force_terminal=False, width=300)
    try:
        folder = train(config, console, runs, Options(**options))
    except Stopped:  # by whoever ends the proof, which must not pass for a fault that was noticed
        raise KeyboardInterrupt from None
    return folder.path, console.file.getvalue()  # type: ignore[attr-defined]


def outcome(run: Path) -> tuple[object, object]:
    """All that a run ends with, but for times."""
    return lines(run), last_checkpoint(run)


def gone_on_from(shown: str) -> int:
    """The decisions after which a run went on, 0 if it began anew."""
    after = shown.partition("going on from ")[2].split()
    return int(after[0].replace(",", "")) if after else 0


def assert_ends_as(run: Path, wanted: tuple[object, object]) -> None:
    """Byte for byte, times apart."""
    found = outcome(run)
    assert found[0] == wanted[0], "the metrics differ"
    assert found[1] == wanted[1], "the last checkpoint differs"
