"""The battles of training.evaluate, kept as records."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest
from evaluated import GREEDY

from agents.durable import temporary_path
from thud_env import Record, read_record, write_record
from training.arena import records
from training.arena.openings import read_openings
from training.evaluate import main


@pytest.mark.parametrize("match", [False, True])
def test_battles_are_kept_as_records(match: bool, tmp_path: Path, capsys) -> None:
    players = ["--match", "greedy", "random"] if match else list(GREEDY)
    folder = tmp_path / "new" / "battles"
    words = ["--games", "5", "--max-turns", "30", "--seed", "3", "--json", "--openings"]
    assert main([*players, *words, "--records", str(folder)]) == 0
    report = json.loads(capsys.readouterr().out)
    paths = sorted(folder.iterdir())
    count = 10 if match else 5
    width = len(str(count))
    assert [path.name for path in paths] == [f"{n:0{width}}.thud" for n in range(1, count + 1)]
    assert sorted(folder.parent.iterdir()) == [folder]
    battles = [read_record(path) for path in paths]
    starts = read_openings("classic").starts
    each = 2 if match else 1
    for number, record in enumerate(battles):
        swapped = match and number % 2 == 1
        names = ("random", "greedy") if swapped else ("greedy", "random")
        assert (record.tags["Dwarfs"], record.tags["Trolls"]) == names
        assert record.tags["Seed"] == "3"
        assert record.tags.get("Pair") == (str(number // 2 + 1) if match else None)
        assert record.tags["MaxTurns"] == "30"
        assert record.start.text == starts[number // each].text
        assert record.final.outcome is not None
    margins = [int(record.tags["Result"]) for record in battles]
    found = report["first_battles"] if match else report
    assert found["mean_margin"] == sum(margins[::each]) / 5


@pytest.mark.parametrize("held", ["a file", "a folder with a file"])
def test_records_are_not_written_over_anything(held: str, tmp_path: Path, capsys) -> None:
    folder = tmp_path / "battles"
    if held == "a file":
        folder.write_text("mine")
    else:
        folder.mkdir()
        (folder / "1.thud").write_text("mine")
    assert main([*GREEDY, "--games", "1", "--records", str(folder)]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == (
        "",
        f"evaluate: {folder} exists and is not an empty folder: name another one\n",
    )


def test_a_folder_that_cannot_be_made_is_refused_before_a_battle(tmp_path: Path, capsys) -> None:
    (tmp_path / "file").write_text("mine")
    folder = tmp_path / "file" / "battles"
    assert main([*GREEDY, "--games", "1", "--records", str(folder)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith(f"cannot be written: {tmp_path / 'file'} is no folder\n")


def test_what_a_killed_process_of_the_same_number_left_is_not_in_the_way(tmp_path: Path) -> None:
    folder = tmp_path / "battles"
    left = temporary_path(folder)
    left.mkdir()
    (left / "1.thud").write_text("a part")
    assert main([*GREEDY, "--games", "1", "--max-turns", "9", "--records", str(folder)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["battles"]


def test_figures_are_printed_even_if_a_note_cannot_be() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "training.evaluate", *GREEDY, "--games", "2"],
            stdout=subprocess.PIPE,
            stderr=full,
            text=True,
            check=False,
        )
    assert done.returncode == 0
    assert "\n2 battles of classic" in done.stdout


def test_records_are_all_written_or_none(tmp_path: Path, monkeypatch, capsys) -> None:
    written = []

    def full(path: Path, record: Record) -> None:
        if written:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        written.append(path)
        write_record(path, record)

    monkeypatch.setattr(records, "write_record", full)
    folder = tmp_path / "battles"
    folder.mkdir()
    words = [*GREEDY, "--games", "2", "--max-turns", "9", "--records", str(folder)]
    assert main(words) == 1
    out, err = capsys.readouterr()
    assert out.startswith("limits: max_turns=9 (not 800)\nstarts: the opening book's")
    assert "\n2 battles of classic" in out
    assert "No space left on device" in err
    assert [*tmp_path.iterdir(), *folder.iterdir()] == [folder]
    monkeypatch.undo()
    assert main(words) == 0
    assert len(list(folder.iterdir())) == 2
