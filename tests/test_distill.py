"""Distilling a search: a run that is stopped and goes on, and its command line."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from reliability.power import Disk
from rich.console import Console
from safetensors.numpy import load_file
from small_distillation import TINY, TREE
from test_docs import table

from thud_env.outcome import SIDES
from training.distill.__main__ import distil, main
from training.distill.config import DistillConfig, TeacherConfig
from training.distill.distillation import Distillation
from training.errors import ConfigError
from training.options import Options

ROOT = Path(__file__).parents[1]


def quietly(runs: Path, config: DistillConfig = TINY, **named: object) -> Path:
    console = Console(file=io.StringIO(), force_terminal=False, width=200)
    return distil(config, console, runs, Options(**named))  # type: ignore[arg-type]


@pytest.mark.parametrize("teacher", [TINY.teacher, TREE])
def test_a_run_that_breaks_off_and_goes_on_equals_the_unbroken_one(
    teacher: TeacherConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = dataclasses.replace(TINY, teacher=teacher)
    whole = quietly(tmp_path / "whole", config)
    update = Distillation.update

    def breaks_off(distillation: Distillation) -> dict[str, float]:
        metrics = update(distillation)
        if distillation.updates == 3:  # its lesson is written, its checkpoint is not
            raise ConnectionError
        return metrics

    with monkeypatch.context() as patch:
        patch.setattr(Distillation, "update", breaks_off)
        with pytest.raises(ConnectionError):
            quietly(tmp_path / "broken", config)
    broken = quietly(tmp_path / "broken", config, resume=True)
    last = f"{96:012d}"
    for name in ("state.json", "state.safetensors", "dwarfs/model.safetensors"):
        one, other = (run / "checkpoints" / last / name for run in (whole, broken))
        assert one.read_bytes() == other.read_bytes(), name
    lines = [
        [
            {key: value for key, value in json.loads(line).items() if "speed/" not in key}
            for line in (run / "metrics.jsonl").read_text().splitlines()
        ]
        for run in (whole, broken)
    ]
    assert lines[0] == lines[1]
    assert len(lines[0]) == 4


def test_lessons_are_on_the_disk_before_a_checkpoint_that_needs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, image = tmp_path / "runs", tmp_path / "image"
    runs.mkdir()
    disk, fsync = Disk(runs), os.fsync

    def seen(file: int) -> None:
        fsync(file)
        disk.flushed(file)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", seen)
        quietly(runs)
    disk.image(image)  # what a power cut leaves
    disk.close()
    quietly(image, resume=True)
    assert not list(image.glob("tiny/checkpoints/*.damaged*"))
    assert (image / "tiny" / "lessons" / "000000000096.json").exists()


@pytest.mark.parametrize("fault", ["damaged", "missing"])
def test_a_run_goes_on_from_before_a_lesson_that_is_damaged_or_missing(
    fault: str, tmp_path: Path
) -> None:
    whole = quietly(tmp_path)
    weights = [weights_of(whole, role) for role in SIDES]
    if fault == "damaged":
        (whole / "lessons" / "000000000096.json").write_text("{}")  # the last that is read
    else:
        (whole / "lessons" / "000000000048.json").unlink()
    quietly(tmp_path, resume=True)
    assert [weights_of(whole, role) for role in SIDES] == weights
    aside = [path.name for path in (whole / "checkpoints").glob("*.damaged*")]
    assert len(aside) == (1 if fault == "damaged" else 3)


def test_the_tensors_of_a_lesson_are_those_of_the_page(tmp_path: Path) -> None:
    _, *rows = table("lesson tensors")
    lessons = sorted((quietly(tmp_path) / "lessons").glob("*.safetensors"))
    assert [int(path.stem) for path in lessons] == [24, 48, 72, 96]
    for path in lessons:
        tensors = load_file(path)
        sizes = {"N": len(tensors["rows"]), "K": int(tensors["counts"].sum()), "432": 432}
        assert sizes["N"] == 24
        found = {name: (one.shape, str(one.dtype)) for name, one in tensors.items()}
        assert found == {
            name: (tuple(sizes[size] for size in shape.strip("[]").split(", ")), dtype)
            for name, (shape, dtype) in ((row[0], row[1].rsplit(" ", 1)) for row in rows)
        }


def test_a_lesson_names_its_ruleset_so_that_another_process_reads_its_rows(tmp_path: Path) -> None:
    mine = "classic:name=taught,max_turns=77"
    from_setup = dataclasses.replace(TINY.lessons, book=0.0)
    config = dataclasses.replace(TINY, rules=mine, total_decisions=24, lessons=from_setup)
    path = quietly(tmp_path, config) / "lessons" / "000000000024.safetensors"
    code = (
        "import sys, safetensors, thud_env; file = safetensors.safe_open(sys.argv[1], 'numpy')\n"
        "thud_env.get_ruleset(file.metadata()['rules'])\n"
        "print(thud_env.Position(file.get_tensor('rows')[0]).rules.spec)"
    )
    shown = subprocess.run([sys.executable, "-c", code, path], check=True, capture_output=True)
    assert shown.stdout.decode().strip() == mine


def weights_of(run: Path, role: str) -> bytes:
    return (run / "checkpoints" / "latest" / role / "model.safetensors").read_bytes()


def test_a_misspelt_key_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("teacher: {dept: 2}\n")
    assert main([str(path)]) == 2
    assert "did you mean teacher.depth" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("anchors=[greedi]", "anchors: unknown agent 'greedi': did you mean 'greedy'?"),
        ("lessons.players=[greedi]", "lessons.players: unknown agent 'greedi': did you mean"),
        ("teacher.simulations=1", "teacher.simulations is 1: the first only lists decisions"),
        ("lessons.student=0.8", "lessons.student and scripted are 1.1 together: 1 is all"),
        ("start_from=nowhere", "start_from: there is no folder nowhere: a run's"),
        (
            "rules='classic:name=six'",
            "lessons.book: there is no book of openings of classic:name=six",
        ),
    ],
)
def test_a_run_that_could_not_go_far_is_one_line_and_writes_nothing(
    override: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    config = ROOT / "configs" / "distill" / "classic.yaml"
    assert main([str(config), override]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"distill: {said}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([str(ROOT / "configs" / "distill" / "classic.yaml"), "device=cuda"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "there is no GPU" in line
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_no_spec_can_name_is_refused_before_anything_is_learnt(
    tmp_path: Path,
) -> None:
    config = dataclasses.replace(TINY, evaluation_games=2)
    with pytest.raises(ConfigError, match="no spec can name a path with a comma"):
        distil(config, Console(quiet=True), tmp_path / "a,b")


def test_battles_that_may_end_by_agreement_are_refused(tmp_path: Path) -> None:
    for make in (DistillConfig.check, lambda config: Distillation(config, tmp_path)):
        with pytest.raises(ConfigError, match=r"^agreement: teachers label no offers"):
            make(dataclasses.replace(TINY, agreement=True))


def test_lessons_shorter_than_a_step_are_learnt_from(tmp_path: Path) -> None:
    student = dataclasses.replace(TINY.student, minibatch_size=32, passes=1.0)
    run = quietly(tmp_path, dataclasses.replace(TINY, student=student))
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    for role in SIDES:
        steps = [f"{role}/value_loss" in line for line in lines]
        assert any(steps)
        assert not steps[0]  # a first lesson of some twelve states is not 32
