"""Records on disks: written whole or not at all."""

import os
from pathlib import Path

import pytest

from thud_env import Position, Record, RecordError, read_record, write_record


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_record(tmp_path / "none.thud")


def test_the_text_of_a_record_is_no_path():
    with pytest.raises(TypeError, match=r"Record\.from_text\(text\) reads"):
        read_record(Record(Position.start()).text)


def test_a_file_that_no_record_is_as_long_as_is_neither_read_nor_written(tmp_path, monkeypatch):
    path = tmp_path / "huge.thud"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(RecordError, match=r"huge\.thud: it is longer than 16777216 bytes"):
        read_record(path)
    record = Record(Position.start(), ("dF1-F5",), {"Event": "x" * 1000})
    monkeypatch.setattr("thud_env.record.files._MOST_BYTES", len(record.text) - 1)
    with pytest.raises(RecordError, match="longer than"):
        write_record(tmp_path / "new.thud", record)
    assert not (tmp_path / "new.thud").exists()
    monkeypatch.setattr("thud_env.record.files._MOST_BYTES", len(record.text))
    write_record(tmp_path / "new.thud", record)
    assert read_record(tmp_path / "new.thud") == record


def test_a_device_that_is_full_is_named():
    with pytest.raises(OSError, match="No space left") as caught:
        write_record("/dev/full", Record(Position.start()))
    assert caught.value.filename == "/dev/full"


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_failed_write_leaves_what_was_there(failing, tmp_path, monkeypatch):
    path = tmp_path / "battle.thud"
    before = Record(Position.start(), ("dF1-F5",))
    write_record(path, before)

    def fail(*_):
        raise OSError("no space left on device")

    if failing == "fsync":
        monkeypatch.setattr("thud_env.record.files.fsync", fail)
    else:
        monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no space left"):
        write_record(path, Record(Position.start("koom-valley")))
    assert read_record(path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["battle.thud"]


def test_the_old_file_stands_until_the_new_one_is_whole(tmp_path, monkeypatch):
    path = tmp_path / "battle.thud"
    write_record(path, Record(Position.start(), ("dF1-F5",)))
    new = Record(Position.start("koom-valley"))
    seen = []
    replace = Path.replace

    def look_then_replace(temporary, target):
        assert temporary.parent == tmp_path  # a rename over file systems is not atomic
        assert temporary.read_text() == new.text
        seen.append(read_record(path).turns)
        return replace(temporary, target)

    monkeypatch.setattr(Path, "replace", look_then_replace)
    write_record(path, new)
    assert seen == [("dF1-F5",)]
    assert read_record(path) == new


def test_writing_goes_through_a_link(tmp_path):
    target, link = tmp_path / "target.thud", tmp_path / "link.thud"
    record = Record(Position.start())
    write_record(target, record)
    link.symlink_to(target)
    changed = Record(Position.start(), ("dF1-F5",))
    write_record(link, changed)
    assert link.is_symlink()
    assert read_record(target) == changed


def test_nothing_is_written_where_there_is_no_folder(tmp_path):
    path = tmp_path / "none" / "battle.thud"
    with pytest.raises(FileNotFoundError) as caught:
        write_record(path, Record(Position.start()))
    assert caught.value.filename == str(path)
    assert [path.name for path in tmp_path.iterdir()] == []


def test_what_is_no_record_is_not_written(tmp_path):
    with pytest.raises(TypeError, match="Position cannot be written: a Record would be right"):
        write_record(tmp_path / "battle.thud", Position.start())
    assert list(tmp_path.iterdir()) == []


def test_a_file_keeps_its_permissions_and_a_pipe_is_written_to(tmp_path):
    record = Record(Position.start())
    private = tmp_path / "private.thud"
    private.touch(mode=0o600)
    write_record(private, record)
    assert private.stat().st_mode & 0o777 == 0o600
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_record(pipe, record)
    assert os.read(reader, 10_000) == record.text.encode()
    os.close(reader)
    assert pipe.is_fifo()


def test_links_that_lead_in_a_circle_are_an_error_of_the_system(tmp_path: Path) -> None:
    link = tmp_path / "battle.thud"
    link.symlink_to(link)
    with pytest.raises(OSError, match=r"battle\.thud"):
        write_record(link, Record(Position.start()))
    assert link.is_symlink()
