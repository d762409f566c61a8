"""A run's folder: its lock, what is on the disk after a power cut, and strangers' files."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from random import Random
from typing import Any

import pytest
import resumed_run
import torch
import yaml
from flat_network import add_own_network
from rich.console import Console
from small_run import SMALL_RUN
from untrained import link_untrained

from agents import system
from agents.durable import make_folder, replace_flushed
from agents.networks.checkpoint import NotFiniteError
from agents.networks.config import NetworkConfig
from thud_env.outcome import SIDES
from training import launch
from training.arena.identity import own_files
from training.commands.lock import FILE, FolderLock
from training.config import TrainConfig
from training.config_file import load_config
from training.errors import ConfigError, RunError
from training.process.state import State, StateError, load_state, save_state
from training.process.stopping import asked_to_stop
from training.runs import checkpoints
from training.runs.alarms import Collapsed
from training.runs.folder import RunFolder
from training.runs.log import RunLog
from training.runs.metrics import keep_until
from training.train import main
from training.trainer import Trainer

TINY = dataclasses.replace(
    SMALL_RUN, name="tiny", total_decisions=512, checkpoint_every=1, anchor_games=0, seed=3
)


def test_a_failed_write_names_the_file_and_not_the_temporary_one(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "page.md"
    with pytest.raises(FileNotFoundError) as error:
        replace_flushed(path, b"text")
    assert error.value.filename == str(path)


def test_a_disk_that_fails_as_a_folder_is_made_is_said_of_that_folder(tmp_path, monkeypatch):
    def read_only(_: int) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "fsync", read_only)
    with pytest.raises(OSError, match="'runs'"):
        make_folder(Path("runs"))


def quietly(runs: Path, config=TINY, **options) -> str:
    return resumed_run.quietly(runs, config, **options)[1]


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory) -> Path:
    runs = tmp_path_factory.mktemp("runs")
    quietly(runs)
    return runs / TINY.name


@pytest.fixture
def run(whole_run: Path, tmp_path: Path) -> Path:
    """A run that is through, which a test may spoil."""
    return Path(shutil.copytree(whole_run, tmp_path / TINY.name, symlinks=True))


# -- one at a time -------------------------------------------------------------------------


def test_a_run_in_use_is_neither_moved_aside_nor_gone_on_with(tmp_path: Path) -> None:
    with RunFolder.begin(tmp_path / "tiny", TINY) as folder:
        for resume in (False, True):
            with pytest.raises(RunError, match=f"tiny is in use by process {os.getpid()} on "):
                quietly(tmp_path, resume=resume)
        assert {path.name for path in tmp_path.iterdir()} == {"tiny"}
        folder.log.add(256, {"a": 1.0})
    assert len((tmp_path / "tiny" / "metrics.jsonl").read_text().splitlines()) == 1


def test_a_run_says_which_limits_are_not_the_rulesets(tmp_path: Path) -> None:
    said = f"limits of the configuration, not of the ruleset: max_turns={TINY.max_turns} (not 800)"
    assert said in quietly(tmp_path)
    short = f"classic:name=short,max_turns={TINY.max_turns}"
    config = dataclasses.replace(TINY, rules=short, max_turns=None)
    assert "limits of the configuration" not in quietly(tmp_path, config)


def test_a_run_goes_on_by_its_name_alone(run: Path, capsys) -> None:
    assert main([str(run), "name=other"]) == 2
    said = f"train: name: {run} goes on as tiny: leave out name=other\n"
    assert capsys.readouterr().err == said
    moved = run.rename(run.with_name("elsewhere"))
    assert main([str(moved)]) == 2
    said = f"train: {moved}: the run in it is called tiny: rename the folder\n"
    assert capsys.readouterr().err == said
    run.mkdir()
    assert main([str(moved)]) == 2
    assert capsys.readouterr().err.endswith(
        f"called tiny: move {run.resolve()}, another run, away; then rename the folder\n"
    )


def test_a_run_that_is_through_lets_go_of_its_folder(run: Path, tmp_path: Path) -> None:
    assert "an earlier run of that name is now" in quietly(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"tiny", "tiny.1"}


@pytest.mark.parametrize("kind", ["file", "broken link"])
def test_what_has_the_name_of_a_run_and_is_no_folder_is_moved_aside(
    kind: str, tmp_path: Path
) -> None:
    path, aside = tmp_path / "tiny", tmp_path / "tiny.1"
    path.write_text("mine") if kind == "file" else path.symlink_to("nowhere")
    with RunFolder.begin(path, TINY) as folder:
        assert f"an earlier run of that name is now {aside}" in folder.notices
    assert (aside.read_text() == "mine") if kind == "file" else (str(aside.readlink()) == "nowhere")
    assert (path / "metrics.jsonl").read_text() == ""


@pytest.mark.parametrize(
    ("kept", "missing"), [("", "name"), ("ppo:", "ppo.learning_rate"), ("  minibatch_size", "ppo.")]
)
def test_a_run_whose_configuration_is_cut_is_refused(
    kept: str, missing: str, run: Path, capsys
) -> None:
    stored = run / "config.yaml"
    lines = stored.read_text().splitlines(keepends=True)
    last = next(n for n, line in enumerate(lines) if line.startswith(kept)) if kept else -1
    stored.write_text("".join(lines[: last + 1]))
    assert main([str(run), "total_decisions=100_000"]) == 2
    assert capsys.readouterr().err.startswith(f"train: {stored} has no {missing}")


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    ladder = tmp_path / "ladder"
    ladder.mkdir()
    (ladder / "games.jsonl").write_text("mine")
    with pytest.raises(RunError, match=f"^{ladder} holds something else, no run: another name= "):
        RunFolder.begin(ladder, TINY)
    with pytest.raises(RunError, match=f"^{ladder} is not a run to resume: "):
        RunFolder.resume(ladder, TINY)
    assert [path.name for path in tmp_path.rglob("*")] == ["ladder", "games.jsonl"]


def test_a_run_that_may_not_go_on_is_let_go(run: Path) -> None:
    with pytest.raises(RunError) as refused:
        RunFolder.resume(run, dataclasses.replace(TINY, seed=4))
    FolderLock(run).release()  # although the error is kept, and with it all that it came by
    assert "seed" in str(refused.value)


def test_the_table_at_the_end_is_made_before_the_folder_is_let_go(tmp_path, monkeypatch) -> None:
    seen = []

    def held(checkpoint: Path, *_arguments: object, **_named: object) -> list[object]:
        with pytest.raises(RunError):
            FolderLock(checkpoint.parents[1])
        seen.append(checkpoint)
        return []

    monkeypatch.setattr("training.launch.head_to_head", held)
    quietly(tmp_path, dataclasses.replace(TINY, evaluation_games=2))
    assert len(seen) == 1


def test_the_table_at_the_end_is_not_played_again_for_the_same_policies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    met: list[Path] = []
    play = launch.head_to_head

    def counted(checkpoint: Path, *arguments: Any, **named: Any) -> list[dict[str, Any]]:
        met.append(checkpoint)
        return play(checkpoint, *arguments, **named)

    monkeypatch.setattr("training.launch.head_to_head", counted)
    config = dataclasses.replace(TINY, evaluation_games=2)
    quietly(tmp_path, config)
    table = tmp_path / config.name / "head_to_head.json"
    before = table.read_bytes()
    quietly(tmp_path, config, resume=True)
    assert (len(met), table.read_bytes()) == (1, before)
    for count, damaged in ((2, before[:-9]), (3, b"[" * 100_000)):
        table.write_bytes(damaged)
        quietly(tmp_path, config, resume=True)
        assert (len(met), table.read_bytes()) == (count, before)
    longer = dataclasses.replace(config, total_decisions=2 * config.total_decisions)
    quietly(tmp_path, longer, resume=True)
    assert len(met) == 4
    assert met[0] != met[3]


def test_the_lock_of_a_killed_process_is_not_in_the_way(tmp_path: Path) -> None:
    """What it wrote into the file is still there."""
    hold = (
        "import sys, os, signal, pathlib; from training.commands.lock import FolderLock;"
        "lock = FolderLock(pathlib.Path(sys.argv[1])); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", hold, str(tmp_path)], check=False)
    assert (tmp_path / FILE).read_text().startswith("process ")
    with FolderLock(tmp_path):
        assert f"process {os.getpid()}" in (tmp_path / FILE).read_text()


def test_a_failing_disk_does_not_keep_a_lock(tmp_path: Path, monkeypatch) -> None:
    lock = FolderLock(tmp_path)

    def failing(_file: int, _length: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("training.commands.lock.os.ftruncate", failing)
        lock.release()
    FolderLock(tmp_path).release()


def test_a_lock_of_a_folder_that_was_moved_meanwhile_is_refused(tmp_path, monkeypatch) -> None:
    run = tmp_path / "run"
    run.mkdir()
    lock = system.lock

    def moved_first(file: int) -> None:
        run.rename(tmp_path / "run.1")
        lock(file)

    monkeypatch.setattr(system, "lock", moved_first)
    with pytest.raises(RunError, match="was moved just now"):
        FolderLock(run)


# -- power cuts ----------------------------------------------------------------------------


def test_all_that_a_checkpoint_needs_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch
) -> None:
    """Every file and folder that was written is flushed before a rename makes it count."""
    flushed: set[tuple[int, int]] = set()
    fsync, rename = os.fsync, Path.rename

    def noted(file: int) -> None:
        fsync(file)
        flushed.add(_identity(os.fstat(file)))

    def checked(source: Path, target: Path) -> Path:
        for path in (source, *source.rglob("*")):
            if not path.is_symlink() and path.name != FILE:
                assert _identity(path.stat()) in flushed, f"{path} was not flushed before {target}"
        if target.name.isdigit():
            for path in (tmp_path / "tiny" / "metrics.jsonl", tmp_path / "tiny"):
                assert _identity(path.stat()) in flushed
        renamed.append(target.name)
        return rename(source, target)

    renamed: list[str] = []
    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(Path, "rename", checked)
    quietly(tmp_path)
    assert {"tiny", "dwarfs", "trolls", "000000000256", "000000000512"} <= set(renamed)


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_ino, found.st_mtime_ns if found.st_mode & 0o100000 else 0


def test_damaged_lines_of_metrics_are_dropped_alone_and_gaps_are_named(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    lines = [json.dumps({"decisions": 256 * number}) for number in (1, 2, 3, 5, 6, 7)]
    lines[1] = lines[1][:-4] + "\0\0"
    path.write_text("\n".join(lines))
    assert keep_until(path, 1536, 256) == [
        f"{path}: the lines after 256 and up to 512 decisions are lost",
        f"{path}: the lines after 768 and up to 1,024 decisions are lost",
    ]
    kept = [json.loads(line)["decisions"] for line in path.read_text().splitlines()]
    assert kept == [256, 768, 1280, 1536]
    assert keep_until(path, 2048, 256)[-1].endswith(
        "after 1,536 and up to 2,048 decisions are lost"
    )
    path.write_text("".join(json.dumps({"decisions": n}) + "\n" for n in (256, 512, 256, 512, 768)))
    assert keep_until(path, 768, 256) == []
    kept = [json.loads(line)["decisions"] for line in path.read_text().splitlines()]
    assert kept == [256, 512, 768], "no line is there twice"
    path.unlink()
    assert keep_until(path, 0, 256) == []
    assert path.read_text() == ""


def test_going_on_says_which_metrics_are_lost(run: Path, tmp_path: Path) -> None:
    (run / "metrics.jsonl").write_text("")
    shown = quietly(tmp_path, resume=True)
    assert "the lines after 0 and up to 512 decisions are lost" in shown


def test_what_killed_processes_left_is_swept(run: Path, tmp_path: Path) -> None:
    left = [run / ".config.yaml.7.tmp", run / "checkpoints" / ".000000000512.7.tmp"]
    left += [run / "checkpoints" / ".latest.7.tmp", run / "checkpoints" / "best" / ".trolls.7.tmp"]
    left += [run / "pool" / role / ".000000000512.7.tmp" for role in SIDES]
    for folder in {path.parent for path in left[3:]}:
        folder.mkdir(parents=True, exist_ok=True)
    for link in left[2:]:
        link.symlink_to("000000000512")
    left[0].write_text("")
    left[1].mkdir()
    (left[1] / "half").write_text("")
    mine = run / ".notes.tmp"
    mine.write_text("the user's own")
    quietly(tmp_path, resume=True)
    assert [os.path.lexists(path) for path in (*left, mine)] == [False] * 6 + [True]


# -- states --------------------------------------------------------------------------------


def test_no_damage_to_a_state_goes_unseen(tmp_path: Path) -> None:
    tensors = {"a": torch.arange(3), "b": torch.tensor([1.5])}
    save_state(tmp_path, State(tensors, {"seed": 12345, "names": {"x": "random"}, "s": [0.25]}))
    sound, random = load_state(tmp_path), Random(1)
    for name in ("state.json", "state.safetensors"):
        path = tmp_path / name
        before = path.read_bytes()
        for _ in range(400):
            data = bytearray(before)
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
            path.write_bytes(data)
            with contextlib.suppress(StateError):
                assert load_state(tmp_path).values == sound.values
                assert name == "state.json"  # between words
        path.write_bytes(before)


@pytest.mark.parametrize("part", ["trainer", "anchors", "ranks"])
def test_a_state_that_does_not_fit_is_set_aside_as_a_damaged_one_is(
    part: str, run: Path, tmp_path: Path
) -> None:
    """It is whole, but of another program."""
    newest = run / "checkpoints" / "000000000512"
    state = load_state(newest)
    state.values[part] = {"unheard": {"of": 1}}
    for path in newest.glob("state.*"):
        path.unlink()
    save_state(newest, state)
    shown = quietly(tmp_path, resume=True)
    assert "000000000512.damaged.1" in shown
    assert "going on from 256 decisions" in shown


@pytest.mark.parametrize(
    ("way", "value", "said"),
    [
        (["counts", "updates"], None, "the counts of a run cannot be"),
        (["counts", "lead"], 1e308, "the counts of a run cannot be"),
        (["play", "opponents", "pools", 1, "scores", "000000000256"], -1, "scores of snapshots"),
        (["play", "opponents", "names", 7], "x", "the players of a run cannot be"),
        (["play", "opponents", "drawn", 0], "x", "the snapshots that were drawn cannot be"),
    ],
)
def test_values_that_no_run_can_have_are_set_aside(
    way: list[Any], value: object, said: str, run: Path, tmp_path: Path
) -> None:
    """Their hash is right: a state that another person has made."""
    newest = run / "checkpoints" / "000000000512"
    state = load_state(newest)
    part = state.values["trainer"]
    for name in way[:-1]:
        part = part[name]
    part[way[-1]] = value
    save_state(newest, state)
    shown = quietly(tmp_path, resume=True)
    assert said in shown
    assert "going on from 256 decisions" in shown


def test_a_checkpoint_with_a_damaged_policy_is_set_aside(run: Path, tmp_path: Path) -> None:
    path = run / "checkpoints" / "000000000512" / "trolls" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    shown = quietly(tmp_path, resume=True)
    assert "trolls/model.safetensors is damaged" in shown
    assert "going on from 256 decisions" in shown


# -- NaN and infinity ----------------------------------------------------------------------


@pytest.mark.parametrize("what", ["weights", "optimiser"])
def test_numbers_that_are_not_finite_are_not_saved_as_a_good_checkpoint(
    what: str, tmp_path: Path, monkeypatch
) -> None:
    """They come of the last gradient step of an update, whose metrics are still sound."""
    update = Trainer.update

    def broken(trainer: Trainer) -> dict[str, float]:
        metrics = update(trainer)
        if trainer.updates == 2:
            with torch.no_grad():
                if what == "weights":
                    trainer.roles.networks[1].stem.weight[0] = float("nan")
                else:
                    optimiser = trainer.learners[0]._optimiser
                    next(iter(optimiser.state.values()))["exp_avg"].fill_(float("inf"))
        return metrics

    monkeypatch.setattr(Trainer, "update", broken)
    with pytest.raises(Collapsed, match="infinite or NaN after 512 decisions; the last good") as it:
        quietly(tmp_path)
    checkpoints = tmp_path / "tiny" / "checkpoints"
    assert str(checkpoints / "latest") in str(it.value)
    assert (checkpoints / "latest").resolve().name == "000000000256"
    assert not (checkpoints / "000000000512").exists()


def test_a_state_that_is_not_finite_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(NotFiniteError, match="the state of the run: a has numbers"):
        save_state(tmp_path, State({"a": torch.tensor([float("nan")])}))


# -- strangers' runs -----------------------------------------------------------------------


@pytest.mark.parametrize("place", ["checkpoints", "pool", "checkpoints/latest", "metrics.jsonl"])
def test_a_link_out_of_a_run_is_not_followed(place: str, run: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (run / place).rename(elsewhere) if place != "checkpoints/latest" else (run / place).unlink()
    elsewhere.mkdir(exist_ok=True) if place == "checkpoints/latest" else None
    (run / place).symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    with pytest.raises(RunError, match=f"{place} leads to '{elsewhere}': a run has no link there"):
        quietly(tmp_path, resume=True)
    assert sorted(elsewhere.rglob("*")) == before


def test_a_path_that_is_not_a_file_is_not_opened(run: Path, tmp_path: Path) -> None:
    (run / "run.json").unlink()
    os.mkfifo(run / "run.json")
    with pytest.raises(RunError, match=r"run\.json is neither a file nor a folder"):
        quietly(tmp_path, resume=True)


def test_a_state_cannot_place_links_elsewhere(run: Path, tmp_path: Path) -> None:
    """The best checkpoints are linked to by names that a state gives."""
    newest = run / "checkpoints" / "000000000512"
    state = load_state(newest)
    state.values["anchors"] = {"../../../evil": {"score": 1.0, "decisions": 256}}
    for path in newest.glob("state.*"):
        path.unlink()
    save_state(newest, state)
    assert "the best checkpoints cannot be" in quietly(tmp_path, resume=True)
    assert not (tmp_path / "evil").is_symlink()


# -- what goes wrong on the way ------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "{", "{}", "5", "[" * 100_000, "\0" * 300])
def test_a_damaged_log_of_starts_is_kept_aside_and_begun_anew(
    text: str, run: Path, tmp_path: Path
) -> None:
    log = run / "run.json"
    log.write_text(text)
    assert f"{log} is damaged: it is now {log}.damaged.1" in quietly(tmp_path, resume=True)
    assert [start["decisions"] for start in json.loads(log.read_text())] == [512]


def test_a_player_that_has_changed_since_the_last_start_is_named(tmp_path: Path) -> None:
    link = tmp_path / "other"
    link_untrained(link, 1, "classic")
    spec = f"policy:{link}"
    config = dataclasses.replace(TINY, anchors=(spec, "random"), total_decisions=256)
    quietly(tmp_path, config)
    longer = dataclasses.replace(config, total_decisions=512)
    assert "has changed" not in quietly(tmp_path, longer, resume=True)
    link_untrained(link, 2, "classic")
    shown = quietly(tmp_path, longer, resume=True)
    assert f"{spec} has changed since this run was last begun or resumed" in shown
    assert "has changed" not in quietly(tmp_path, longer, resume=True)


def test_a_network_of_ones_own_that_has_changed_is_named(tmp_path: Path, monkeypatch) -> None:
    source = add_own_network(tmp_path, "own", monkeypatch)
    network = NetworkConfig(kind="own")
    config = dataclasses.replace(TINY, network=network, total_decisions=256)
    longer = dataclasses.replace(config, total_decisions=512)
    run = tmp_path / config.name
    quietly(tmp_path, config)
    (start,) = json.loads((run / "run.json").read_text())
    assert list(start["players"]) == ["network.kind=own"]
    played = f"policy:{run}"
    before = own_files([played], "classic")
    assert "has changed" not in quietly(tmp_path, longer, resume=True)
    after = own_files([played], "classic")
    with source.open("a") as file:
        file.write("# changed")
    shown = quietly(tmp_path, longer, resume=True)
    assert "network.kind=own has changed since this run was last begun or resumed" in shown
    assert len({before[played], after[played], own_files([played], "classic")[played]}) == 3


def test_a_run_goes_on_without_tensorboard(tmp_path: Path, monkeypatch) -> None:
    """Its folder was deleted, or its disk is full."""

    def gone(*_arguments: object) -> None:
        raise FileNotFoundError(2, "No such file or directory", "tensorboard/events")

    monkeypatch.setattr("torch.utils.tensorboard.SummaryWriter.add_scalar", gone)
    shown = quietly(tmp_path)
    assert shown.count("TensorBoard's files are not written any more") == 1
    assert len((tmp_path / "tiny" / "metrics.jsonl").read_text().splitlines()) == 2


def test_a_run_goes_on_after_its_tensorboard_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, deaths = checkpoints.Checkpoints.write, []

    def deletes(*arguments: Any, **named: Any) -> None:
        shutil.rmtree(tmp_path / "tiny" / "tensorboard", ignore_errors=True)
        write(*arguments, **named)

    monkeypatch.setattr(checkpoints.Checkpoints, "write", deletes)
    monkeypatch.setattr(threading, "excepthook", deaths.append)
    shown = quietly(tmp_path)
    assert shown.count("TensorBoard's files are not written any more: [Errno 2]") == 1
    assert not deaths


def test_a_failing_disk_ends_a_run_in_one_line_and_the_last_checkpoint_stands(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "tiny.yaml"
    path.write_text(yaml.safe_dump(dataclasses.asdict(TINY)))
    save = checkpoints.save_state

    def full_disk(folder: Path, *arguments: object) -> None:
        if folder.name.startswith(".000000000512."):
            raise OSError(28, "No space left on device", str(folder / "state.json"))
        save(folder, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "save_state", full_disk)
        assert main([str(path)]) == 1
    said = capsys.readouterr().err
    assert said.startswith("train: runs/tiny/checkpoints/.000000000512.")
    assert said.endswith("state.json: No space left on device\n")
    assert said.count("\n") == 1
    assert "going on from 256 decisions" in quietly(tmp_path / "runs", resume=True)


@pytest.mark.parametrize("name", ["a,b", "temperature=1"])
def test_a_path_that_no_spec_can_name_is_refused_before_training(
    name: str, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).mkdir()
    config = dataclasses.replace(TINY, evaluation_games=2)
    with pytest.raises(ConfigError, match="no spec can name a path with a comma, or that begins"):
        quietly(Path(name), config)
    assert list(Path(name).iterdir()) == []


def test_a_run_keeps_the_arithmetic_that_it_began_with(tmp_path: Path, monkeypatch) -> None:
    """Whatever the processor has where it goes on."""
    automatic = dataclasses.replace(TINY, precision="auto")
    has = "training.process.precision.torch.cpu._is_avx512_bf16_supported"
    also = "training.process.precision.torch.cpu._is_amx_tile_supported"
    for supported in (False, True):
        monkeypatch.setattr(has, lambda supported=supported: supported)
        monkeypatch.setattr(also, lambda: False)
        quietly(tmp_path, automatic, resume=True)
        assert load_config(tmp_path / "tiny" / "config.yaml", TrainConfig).precision == "float32"


@pytest.mark.parametrize("ignored", [False, True])
def test_a_closed_terminal_stops_a_run_unless_it_was_started_by_nohup(ignored: bool) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
    console = Console(file=io.StringIO())
    try:
        with asked_to_stop(console) as asked:
            os.kill(os.getpid(), signal.SIGHUP)
        assert asked == ([] if ignored else ["SIGHUP"])
        assert console.quiet is not ignored
    finally:
        signal.signal(signal.SIGHUP, before)


def test_tensorboard_keeps_the_update_after_which_a_run_goes_on(tmp_path: Path) -> None:
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    for went_on_from, updates in ((None, (512, 1024, 1536)), (1024, (1536,))):
        log = RunLog(tmp_path, went_on_from, [])
        for decisions in updates:
            log.add(decisions, {"battles/turns": float(went_on_from or 0)})
        log.close()
    events = reader.EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    shown = [(event.step, event.value) for event in events.Scalars("battles/turns")]
    assert shown == [(512, 0.0), (1024, 0.0), (1536, 1024.0)]
