"""A tiny run that is stopped where a test wants, and whether two runs are alike."""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from small_run import SMALL_RUN

from thud_env.outcome import SIDES
from training.config import OpponentConfig, TrainConfig
from training.options import Options
from training.train import train
from training.trainer import Trainer

TINY = dataclasses.replace(SMALL_RUN, name="tiny", max_turns=30, opponents=OpponentConfig())
UPDATES = 6


def quietly(runs: Path, config: TrainConfig = TINY, **named: Any) -> tuple[Path, str]:
    """Train; returns the run's folder and the output."""
    console = Console(file=io.StringIO(), force_terminal=False, width=200)
    folder = train(config, console, runs, Options(**named))
    return folder.path, console.file.getvalue()  # type: ignore[attr-defined]


def lines(folder: Path) -> list[dict[str, float]]:
    """The metrics without times."""
    read = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if not k.startswith("speed/")} for line in read]


def last_checkpoint(folder: Path) -> dict[str, bytes]:
    """Every file of the newest checkpoint."""
    newest = (folder / "checkpoints" / "latest").resolve()
    files = sorted(path for path in newest.rglob("*") if path.is_file())
    assert [path.name for path in files].count("model.safetensors") == 2
    return {str(path.relative_to(newest)): path.read_bytes() for path in files}


def bests(folder: Path) -> list[str]:
    links = [folder / "checkpoints" / "best" / role for role in SIDES]
    return [str(link.readlink()) for link in links]


def assert_same(one: Path, other: Path) -> None:
    assert lines(one) == lines(other)
    assert last_checkpoint(one) == last_checkpoint(other)
    assert bests(one) == bests(other)


def unbroken_run(runs: Path) -> Path:
    """The body of a fixture: a run that was never stopped."""
    folder, _ = quietly(runs)
    assert len(lines(folder)) == UPDATES
    return folder


class PowerCut(BaseException):
    """A stop at which no code can clean up."""


def power_cut() -> None:
    raise PowerCut


def stopping(monkeypatch: pytest.MonkeyPatch, at: int, how: Any) -> None:
    """Let ``how`` happen in the update of that number, counted from 1 and over all starts."""
    update, seen = Trainer.update, []

    def counted(trainer: Trainer) -> dict[str, float]:
        seen.append(1)
        if len(seen) == at:
            how()
        return update(trainer)

    monkeypatch.setattr(Trainer, "update", counted)
