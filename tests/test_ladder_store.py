"""Results on disk: appended, read back, continued, and refused if they are of another ladder."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import shutil
from pathlib import Path

import pytest
from ladders import made_up_results, short_field, short_openings, store_results
from reliability.power import Disk

from agents.networks.folders import PRETRAINED
from training.arena import identity
from training.arena.field import FieldError
from training.arena.openings import MOST_STARTS
from training.ladder import store as store_module
from training.ladder.store import FILE, Store, header_of, read_games

FIELD = short_field({"a": 4, "b": 4})
RESULTS = made_up_results(["a", "b"], 2, lambda dwarfs, trolls, start: start - (dwarfs < trolls))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "ladder"
    store_results(folder, FIELD, RESULTS)
    return folder


def test_what_is_added_is_read_back(folder: Path) -> None:
    games = read_games(folder)
    assert games.results == RESULTS
    assert games.header == header_of(FIELD)
    assert games.codes == 1
    assert not games.whole.dropped


def test_a_ladder_that_has_ended_outlasts_a_power_cut(tmp_path: Path, monkeypatch) -> None:
    root = tmp_path / "runs"
    root.mkdir()
    disk, fsync = Disk(root), os.fsync

    def flush(file: int) -> None:
        fsync(file)
        disk.flushed(file)

    monkeypatch.setattr(os, "fsync", flush)
    store_results(root / "ladder", FIELD, RESULTS)
    disk.image(tmp_path / "left")
    disk.close()
    assert read_games(tmp_path / "left" / "ladder").results == RESULTS


def test_every_line_is_json_and_the_first_is_the_header(folder: Path) -> None:
    lines = [json.loads(line) for line in (folder / FILE).read_text().splitlines()]
    assert lines[0]["agents"] == {"a": 4, "b": 4}
    assert lines[1]["turns"] == RESULTS[0].turns
    assert len(lines) == 1 + len(RESULTS)


def test_a_store_goes_on_with_what_it_holds(folder: Path) -> None:
    before = (folder / FILE).read_bytes()
    with Store(folder, FIELD) as store:
        assert store.results == RESULTS
        assert store.notes == []
    assert (folder / FILE).read_bytes() == before


@pytest.mark.parametrize("cut", [1, 2, 40])
def test_a_last_line_cut_short_is_dropped_with_a_note(folder: Path, cut: int) -> None:
    path = folder / FILE
    path.write_bytes(path.read_bytes()[:-cut])
    assert read_games(folder).whole.dropped
    with Store(folder, FIELD) as store:
        assert store.results == RESULTS[:-1]
        assert "dropped" in store.notes[0]
        store.add(RESULTS[-1])
    assert read_games(folder).results == RESULTS


def test_a_last_line_of_nothing_is_dropped_too(folder: Path) -> None:
    # A crash of the whole machine can leave a line's length on the disk without its content.
    path = folder / FILE
    path.write_bytes(path.read_bytes() + b"\0" * 50 + b"\n")
    with Store(folder, FIELD) as store:
        assert store.results == RESULTS
        assert len(store.notes) == 1
    assert not read_games(folder).whole.dropped


def test_reading_changes_nothing(folder: Path) -> None:
    path = folder / FILE
    path.write_bytes(path.read_bytes()[:-3])
    before = path.read_bytes()
    read_games(folder)
    assert path.read_bytes() == before


def test_a_stop_while_the_header_is_written_is_a_new_start(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b'{"rules":"cla')
    store_results(tmp_path, FIELD, RESULTS[:1])
    assert read_games(tmp_path).results == RESULTS[:1]


@pytest.mark.parametrize("damage", ["not JSON", '{"dwarfs": "a"}', "[1]", '{"ladder": 2}'])
def test_damage_before_the_last_line_is_refused_by_its_number(folder: Path, damage: str) -> None:
    lines = (folder / FILE).read_text().splitlines()
    lines[2] = damage
    (folder / FILE).write_text("\n".join(lines) + "\n")
    with pytest.raises(FieldError, match="line 3 is damaged"):
        read_games(folder)
    with pytest.raises(FieldError, match="line 3 is damaged"):
        Store(folder, FIELD)


def test_a_start_that_no_book_has_is_refused(folder: Path) -> None:
    lines = (folder / FILE).read_text().splitlines()
    for start, is_refused in ((MOST_STARTS - 1, False), (MOST_STARTS, True)):
        lines[2] = json.dumps({**json.loads(lines[2]), "start": start})
        (folder / FILE).write_text("\n".join(lines) + "\n")
        if is_refused:
            with pytest.raises(FieldError, match="line 3 is damaged: start cannot be"):
                read_games(folder)
        else:
            assert read_games(folder).results[1].start == start


def test_a_file_without_a_header_is_not_a_ladder(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(json.dumps(dataclasses.asdict(RESULTS[0])) + "\n")
    with pytest.raises(FieldError, match="no header"):
        read_games(tmp_path)


def test_a_folder_without_games_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FieldError, match="cannot be read"):
        read_games(tmp_path)


@pytest.mark.parametrize(
    ("other", "complaint"),
    [
        (
            {"agents": {"a": 4, "c": 4}},
            "games of b, which this field leaves out, and a field may",
        ),
        ({"agents": {"a": 4, "b": 2}}, "with games=4 of b, not 2, and a field may only grow"),
        ({"rules": "classic-any"}, "ruleset classic, not"),
        ({"openings": short_openings(39)}, "opening book"),
        ({"seed": 2}, "seed 1, not 2"),
        ({"limits": {"max_turns": 31}}, r"limits max_turns=30, not max_turns=31"),
        ({"limits": {}}, r"limits max_turns=30, not none"),
    ],
)
def test_results_of_another_ladder_are_refused_and_kept(folder, other, complaint) -> None:
    before = (folder / FILE).read_bytes()
    with pytest.raises(FieldError, match=rf"{complaint}.*: --out DIR names another folder$"):
        Store(folder, dataclasses.replace(FIELD, **other))
    assert (folder / FILE).read_bytes() == before


def test_a_field_may_grow(folder: Path) -> None:
    grown = short_field({"a": 4, "b": 8, "c": 2})
    with Store(folder, grown) as store:
        assert store.results == RESULTS
    assert read_games(folder).header.agents == {"a": 4, "b": 8, "c": 2}


def test_changed_code_is_noted_and_counted(folder: Path, monkeypatch) -> None:
    monkeypatch.setattr(store_module, "code_of_play", lambda: "changed")
    with Store(folder, FIELD) as store:
        assert "have changed" in store.notes[0]
    assert read_games(folder).codes == 2


def test_a_field_may_leave_out_who_has_not_played_yet(folder: Path) -> None:
    with Store(folder, short_field({"a": 4, "b": 4, "c": 4})) as store:
        assert store.notes == []
    with Store(folder, FIELD) as store:
        assert len(store.results) == len(RESULTS)
    assert list(read_games(folder).header.agents) == ["a", "b"]


def test_a_change_of_a_users_agent_is_noted_and_counted(tmp_path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    source = tmp_path / "own_in_ladder.py"
    source.write_text(
        "from agents.simple import GreedyAgent\n\nclass Own(GreedyAgent):\n    pass\n"
    )
    spec, folder = "python:own_in_ladder:Own", tmp_path / "ladder"
    with Store(folder, FIELD) as store:
        store.add(RESULTS[0])
    grown = short_field({"a": 4, "b": 4, spec: 4})
    with Store(folder, grown) as store:
        assert store.notes == []
    assert read_games(folder).codes == 1
    source.write_text(source.read_text() + "# other\n")
    with Store(folder, grown) as store:
        assert store.notes == [
            f"{spec} has changed since the games that are kept were played: --out DIR plays anew"
        ]
    games = read_games(folder)
    assert (games.codes, games.changed) == (1, [spec])


@pytest.mark.parametrize("name", ["patterns-classic.npz", "weights.yaml"])
def test_the_code_of_play_has_the_published_tables(tmp_path: Path, monkeypatch, name: str) -> None:
    tables = tmp_path / "search"
    shutil.copytree(identity.FOLDER, tables)
    monkeypatch.setattr(identity, "FOLDER", tables)
    monkeypatch.setattr(identity, "_ROOT", tmp_path)
    before = identity.code_of_play()
    (tables / name).write_bytes((tables / name).read_bytes() + b" ")
    assert identity.code_of_play() != before


@pytest.mark.parametrize("kind", ["policy", "policy+mcts"])
def test_a_change_of_a_policy_is_noted_and_counted(tmp_path: Path, kind: str) -> None:
    run, folder = tmp_path / "run", tmp_path / "ladder"
    policy = run / "checkpoints" / "latest" / "dwarfs"
    shutil.copytree(PRETRAINED / "classic" / "dwarfs", policy)
    spec = f"{kind}:{run},temperature=0.5"
    field = short_field({"a": 4, "b": 4, spec: 4})
    with Store(folder, field) as store:
        store.add(RESULTS[0])
    with Store(folder, field) as store:
        assert store.notes == []
    manifest = policy / "manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b'"sha256": "', b'"sha256": "0'))
    with Store(folder, field) as store:
        assert store.notes == [
            f"{spec} has changed since the games that are kept were played: --out DIR plays anew"
        ]
    games = read_games(folder)
    assert (games.codes, games.changed) == (1, [spec])


def test_files_are_those_that_a_spec_names(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)  # no folder here is named champion or pretrained
    champion, named, weights = "policy:champion", "policy:pretrained/classic", "mcts:weights=w.npz"
    Path("w.npz").write_bytes(b"1")
    found = identity.own_files([champion, named, weights, "greedy", "mcts:sims=9"], "classic")
    assert set(found) == {champion, named, weights}
    assert found[champion] == found[named]
    Path("w.npz").write_bytes(b"2")
    assert identity.own_files([weights], "classic") != {weights: found[weights]}
    assert identity.own_files([champion], "koom-valley") != {champion: found[champion]}


@pytest.mark.parametrize("text", ["", "[]", "[" * 100_000])
def test_a_damaged_manifest_is_a_file_of_its_policy_all_the_same(text: str, tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    manifest.write_text(text)
    assert identity.files_of(f"policy:{tmp_path}", "classic") == [manifest]


def test_two_ladders_do_not_write_one_folder(folder: Path) -> None:
    with Store(folder, FIELD), pytest.raises(FieldError, match="by another process: --out DIR"):
        Store(folder, FIELD)
    with Store(folder, FIELD) as store:
        assert store.results == RESULTS


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FieldError, match="cannot be written"):
        Store(tmp_path / "file" / "inside", FIELD)


def test_a_line_is_written_whole_however_little_the_system_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    with monkeypatch.context() as patch, Store(tmp_path, FIELD) as store:
        patch.setattr(os, "write", lambda file, data: write(file, data[:7]))
        store.add(RESULTS[0])
    with Store(tmp_path, FIELD) as store:
        assert store.results == RESULTS[:1]


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_full_disk_is_said_with_the_file(call: str, folder: Path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def add() -> None:
        with Store(folder, FIELD) as store:
            monkeypatch.setattr(os, call, full)
            store.add(RESULTS[0])

    with pytest.raises(OSError, match=FILE):
        add()
    monkeypatch.undo()
    with Store(folder, FIELD) as store:
        assert store.results == RESULTS
