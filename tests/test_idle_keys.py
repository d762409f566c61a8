"""Keys that were given and have no effect are named when a run starts."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path

import pytest
from rich.console import Console
from small_run import SMALL_RUN

from training.checks import idle_keys
from training.config import ExploitConfig, OpponentConfig, RunConfig, TrainConfig
from training.config_file import load_config
from training.distill.config import DistillConfig, LessonConfig, TeacherConfig
from training.train import train

CONFIGS = Path(__file__).parents[1] / "configs"
TINY = dataclasses.replace(SMALL_RUN, name="tiny", total_decisions=256, anchor_games=0)


def shown_by(folder: Path, config: TrainConfig) -> str:
    console = Console(file=io.StringIO(), width=200)
    train(config, console, folder)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_a_run_says_which_of_its_keys_have_no_effect(tmp_path: Path) -> None:
    assert "no effect" not in shown_by(tmp_path, TINY)
    opponents = OpponentConfig(players=("greedy2",), snapshots=3)
    shown = shown_by(tmp_path, dataclasses.replace(TINY, opponents=opponents, offer_after=5))
    for said in (
        "opponents.players has no effect without opponents.scripted or opponents.frozen",
        "opponents.snapshots has no effect without opponents.frozen",
        "offer_after has no effect without agreement",
    ):
        assert said in shown
    assert "offer_after=5" not in shown


@pytest.mark.parametrize(
    ("config", "off"),
    [
        (TrainConfig(opponents=OpponentConfig(frozen=0.5, snapshots=3)), []),
        (TrainConfig(opponents=OpponentConfig(scripted=0.5, players=("greedy2",))), []),
        (TrainConfig(opponents=OpponentConfig(frozen=1.0, pace=0.1)), ["opponents.pace"]),
        (ExploitConfig(agent="greedy", anchors=("greedy2",), anchor_games=0), ["anchors"]),
        (DistillConfig(teacher=TeacherConfig(lookahead=2)), ["teacher.lookahead"]),
        (DistillConfig(teacher=TeacherConfig(simulations=8, depth=3)), ["teacher.depth"]),
        (DistillConfig(lessons=LessonConfig(players=("greedy2",))), ["lessons.players"]),
    ],
)
def test_a_key_is_idle_where_another_switches_it_off(config: RunConfig, off: list[str]) -> None:
    assert [line.split()[0] for line in idle_keys(config)] == off


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_no_run_of_the_checkout_has_keys_without_an_effect(path: Path) -> None:
    assert (
        idle_keys(load_config(path, ExploitConfig if path.stem == "exploit" else TrainConfig)) == []
    )


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("distill/*.yaml")), ids=lambda path: path.stem)
def test_no_distillation_of_the_checkout_has_keys_without_an_effect(path: Path) -> None:
    assert idle_keys(load_config(path, DistillConfig)) == []
