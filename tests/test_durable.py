"""Files on a disk: whole, under their names, and none replaced that was not to be."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents import durable
from agents.durable import new_file, replace_flushed


def test_a_file_that_was_made_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "policy.onnx"

    def write_beside_another() -> None:
        with new_file(target) as unfinished:
            unfinished.write_text("ours")
            target.write_text("theirs")

    with pytest.raises(FileExistsError):
        write_beside_another()
    assert target.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [target]


def test_a_replaced_file_has_its_name_on_the_disk(tmp_path: Path, monkeypatch) -> None:
    path, seen = tmp_path / "notes.json", []
    monkeypatch.setattr(
        durable.system, "flush_folder", lambda folder: seen.append((folder, path.read_text()))
    )
    replace_flushed(path, b"new")
    assert seen == [(tmp_path, "new")]
