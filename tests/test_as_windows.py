"""What Windows lacks and refuses, simulated by ``as_windows/sitecustomize.py``."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest
from evaluated import GREEDY
from resumed_run import TINY, last_checkpoint, lines, quietly

from agents.durable import make_folder
from thud_env.outcome import SIDES
from training.evaluate import main as evaluate

HERE = Path(__file__).parent
SHORT, LONGER = (dataclasses.replace(TINY, total_decisions=size) for size in (512, 1024))
IMPORT_ALL = """
import importlib, pkgutil
import agents, thud_env, training
for package in (thud_env, agents, training):
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if "integrations" in found.name or found.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(found.name)
        except ModuleNotFoundError as missing:
            assert missing.name in ("ray", "cuda"), missing
"""
TRAIN = """
from pathlib import Path
from resumed_run import quietly
from test_as_windows import LONGER, SHORT
for config, resume in ((SHORT, False), (SHORT, False), (LONGER, True)):
    print(quietly(Path(), config, resume=resume)[1])
"""
LOCK_TWICE = """
from pathlib import Path
from training.commands.lock import FolderLock
with FolderLock(Path()):
    FolderLock(Path())
"""


def python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python as on Windows."""
    places = [HERE / "as_windows", HERE, HERE.parent]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))}
    folder.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**environment, "PYTHONIOENCODING": "cp1252"},
        capture_output=True,
        text=True,
        encoding="cp1252",
    )


def test_all_of_it_is_imported(tmp_path: Path) -> None:
    done = python(tmp_path, "-c", IMPORT_ALL)
    assert done.returncode == 0, done.stderr


def test_battles_are_played_and_kept_as_here(tmp_path: Path) -> None:
    battles = [*GREEDY, "--games", "2", "--seed", "1", "--records"]
    done = python(tmp_path, "-m", "training.evaluate", *battles, "there")
    assert done.returncode == 0, done.stderr
    assert evaluate([*battles, str(tmp_path / "here")]) == 0
    for name in ("1.thud", "2.thud"):
        record = (tmp_path / "there" / name).read_bytes()
        assert record.count(b"\n") > 10
        assert record == (tmp_path / "here" / name).read_bytes()


def test_a_picture_is_written_and_named_as_the_console_can(tmp_path: Path) -> None:
    record = str(HERE / "data" / "records" / "classic.thud")
    done = python(tmp_path, "-m", "agents.replay", record, "-o", "\u0142.svg")
    assert (done.returncode, done.stdout[:10]) == (0, "\\u0142.svg"), done.stderr
    assert b"\r" not in (tmp_path / "\u0142.svg").read_bytes()


@pytest.mark.slow
def test_a_ladder_is_played_by_several_processes_and_gone_on_with(tmp_path: Path) -> None:
    for games, workers in (("2", "1"), ("4", "2")):
        ladder = ("random", "greedy", "--games", games, "--max-turns", "30", "--out", "ladder")
        done = python(tmp_path, "-m", "training.ladder", *ladder, "--workers", workers)
        assert done.returncode == 0, done.stderr
    assert b"\r" not in (tmp_path / "ladder" / "games.jsonl").read_bytes()


@pytest.mark.slow
def test_a_run_is_moved_aside_trained_anew_and_gone_on_with_as_here(tmp_path: Path) -> None:
    done = python(tmp_path / "there", "-c", TRAIN)
    assert done.returncode == 0, done.stderr
    assert "an earlier run of that name is now tiny.1" in done.stdout
    assert "going on from 512 decisions" in done.stdout
    for config in (SHORT, LONGER):
        quietly(tmp_path / "here", config, resume=True)
    here, there = (tmp_path / folder / TINY.name for folder in ("here", "there"))
    assert last_checkpoint(there) == last_checkpoint(here)
    assert lines(there) == lines(here)
    assert b"\r" not in (there / "metrics.jsonl").read_bytes()
    assert not any(path.is_symlink() for path in there.rglob("*"))
    for role in SIDES:
        best = Path("checkpoints", "best", role, "manifest.json")
        assert (there / best).read_bytes() == (here / best).read_bytes()
    quietly(there.parent, LONGER, resume=True)
    assert (there / "checkpoints" / "latest").is_symlink(), "it goes on here with links"


def test_one_process_holds_a_folder(tmp_path: Path) -> None:
    done = python(tmp_path, "-c", LOCK_TWICE)
    assert "RunError: . is in use by process " in done.stderr


def test_a_drive_that_is_not_there_is_named(monkeypatch) -> None:
    root = Path("/")
    monkeypatch.setattr(Path, "is_dir", lambda path: False)

    def no_such_drive(path: Path, exist_ok: bool) -> None:
        raise FileNotFoundError(2, "No such file or directory", str(path))

    monkeypatch.setattr(Path, "mkdir", no_such_drive)
    with pytest.raises(FileNotFoundError, match="'/'"):
        make_folder(root / "runs")


@pytest.mark.skipif(not (HERE.parent / ".git").exists(), reason="not a checkout of git")
def test_git_leaves_line_ends_as_they_are() -> None:
    ask = ["git", "check-attr", "text", "--", "README.md", "tests/data/records/windows.thud"]
    said = subprocess.run(ask, cwd=HERE.parent, capture_output=True, text=True, check=True)
    assert said.stdout.count("text: unset") == 2
