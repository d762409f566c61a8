"""Small training runs, and whether two of them ended alike."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from small_run import SMALL_RUN
from test_resume import last_checkpoint, lines

import training.train
from training.config import RunConfig
from training.distill import __main__ as distillation
from training.distill.config import DistillConfig, LessonConfig, StudentConfig, TeacherConfig
from training.options import Options
from training.runs.loop import Stopped

CONFIG = dataclasses.replace(SMALL_RUN, total_decisions=768, checkpoint_every=1, anchor_games=0)
"""Three updates, each with a checkpoint, and frozen opponents."""
UPDATES = 3

DISTILLED = DistillConfig(
    name=CONFIG.name,
    total_decisions=UPDATES * 32,
    num_games=8,
    rollout_decisions=4,
    checkpoint_every=1,
    evaluation_games=0,
    max_turns=12,
    precision="float32",
    network=dataclasses.replace(CONFIG.network, attack_planes=True),
    teacher=TeacherConfig(depth=1, quiescence=1),
    lessons=LessonConfig(scripted=0.3),
    student=StudentConfig(minibatch_size=8, passes=2.0),
)
"""The same of a distillation."""


def trained(runs: Path, config: RunConfig = CONFIG, **options: Any) -> tuple[Path, str]:
    """Train or distil, or go on; the run's folder, and what was shown."""
    console = Console(file=io.StringIO(), force_terminal=False, width=300)
    try:
        if isinstance(config, DistillConfig):
            distillation.distil(config, console, runs, Options(**options))
        else:
            training.train.train(config, console, runs, Options(**options))
    except Stopped:  # by whoever ends the proof, which must not pass for a fault that was noticed
        raise KeyboardInterrupt from None
    return runs / config.name, console.file.getvalue()  # type: ignore[attr-defined]


def command_of(config: RunConfig) -> Callable[[list[str]], int]:
    """The command line that makes a run of it."""
    return distillation.main if isinstance(config, DistillConfig) else training.train.main


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
