"""The benchmark: a signature of play, and figures for every path."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from thud_env import bench

ROOT = Path(__file__).parents[1]


def run_bench(*arguments: str, cwd: Path = ROOT) -> str:
    # No bytecode: it would be written beside the sources of a copy for no use.
    done = subprocess.run(
        [sys.executable, "-m", "thud_env.bench", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_the_signature_is_stable_in_and_between_processes() -> None:
    signature = bench.signature()
    assert re.fullmatch(r"[0-9a-f]{16}", signature)
    assert bench.signature() == signature
    assert run_bench("--signature") == f"{signature}\n"


@pytest.mark.slow
def test_the_signature_changes_with_a_rule(tmp_path: Path) -> None:
    """One line of one rule, in a copy: a lone troll then surrounds the Rock with another."""
    shutil.copytree(
        ROOT / "thud_env", tmp_path / "thud_env", ignore=shutil.ignore_patterns("__pycache__")
    )
    rule = "TROLLS_TO_SURROUND = 3\n"
    (source,) = [path for path in (tmp_path / "thud_env").rglob("*.py") if rule in path.read_text()]
    source.write_text(source.read_text().replace(rule, "TROLLS_TO_SURROUND = 2\n"))
    assert run_bench("--signature", cwd=tmp_path) != f"{bench.signature()}\n"


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every path, but a few decisions of each."""
    monkeypatch.setattr(bench, "REPEATS", 1)
    monkeypatch.setattr(bench, "signature", lambda: "0123456789abcdef")
    monkeypatch.setattr(bench, "SIZES", (2, 3))
    monkeypatch.setattr(bench, "SIZE", 4)
    monkeypatch.setattr(bench, "MIXED", 4)
    monkeypatch.setattr(bench, "STAGES", 5)
    monkeypatch.setattr(bench, "DECISIONS", 8)
    for name, size in (
        ("_aec_loop", {"decisions": 10}),
        ("_seats_loop", {"steps": 1}),
        ("_playouts", {"num_games": 1}),
    ):
        monkeypatch.setattr(bench, name, partial(getattr(bench, name), **size))


@pytest.mark.usefixtures("tiny")
def test_json_reports_every_path(capsys) -> None:
    assert bench.main(["--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["signature"] == bench.signature()
    assert report["cores"] >= 1
    ways = [(result["path"], result["includes"]) for result in report["results"]]
    assert len(set(ways)) == len(ways)
    assert {"aec", "batch, 1 thread", "playouts, 1 thread"} <= {path for path, _ in ways}
    assert any("planes" in includes and "masks" in includes for _, includes in ways)
    assert all(result["decisions_per_second"] > 0 for result in report["results"])


@pytest.mark.usefixtures("tiny")
def test_the_text_reports_the_same(capsys) -> None:
    assert bench.main([]) == 0
    heading, *lines, last = capsys.readouterr().out.splitlines()
    assert "decisions per second" in heading
    assert len(lines) == len(bench.measure())
    assert all(int(line.split()[0].replace(",", "")) > 0 for line in lines)
    assert last == f"signature {bench.signature()}"
