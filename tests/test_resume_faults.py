"""A run that is resumed: what is refused, and what is mended."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import signal
from importlib.metadata import version
from pathlib import Path

import pytest
from resumed_run import (
    TINY,
    assert_same,
    last_checkpoint,
    lines,
    quietly,
    stopping,
    unbroken_run,
)

from agents.networks.symmetric import SymmetricConfig
from training.config import OpponentConfig, PPOConfig, TrainConfig
from training.config_file import load_config
from training.errors import RunError
from training.process.state import State
from training.runs.folder import RunFolder
from training.runs.loop import Stopped
from training.train import main
from training.trainer import self_play_trainer


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unbroken_run(tmp_path_factory.mktemp("unbroken"))


def test_a_run_does_not_go_on_with_another_configuration(unbroken: Path) -> None:
    before = (unbroken / "metrics.jsonl").read_bytes()
    other = dataclasses.replace(TINY, seed=2, ppo=PPOConfig(minibatch_size=64, clip_coef=0.3))
    with pytest.raises(RunError) as error:
        quietly(unbroken.parent, other, resume=True)
    assert str(error.value) == (
        f"{unbroken} cannot go on otherwise than it began: "
        "seed was 1, not 2, ppo.clip_coef was 0.2, not 0.3; a new run with its weights: "
        f"{unbroken}/config.yaml name=NEW start_from={unbroken} KEY=VALUE"
    )
    played = r"tiny: total_decisions: 1,536 have been played: 1,281 or more would be right$"
    with pytest.raises(RunError, match=played):
        quietly(unbroken.parent, dataclasses.replace(TINY, total_decisions=256), resume=True)
    symmetric = SymmetricConfig(channels=8, blocks=1, key_size=8)
    with pytest.raises(RunError, match=r"network\.kind was 'residual', .* not True$"):
        # While the first error is still held, as a notebook does.
        quietly(unbroken.parent, dataclasses.replace(TINY, network=symmetric), resume=True)
    assert (unbroken / "metrics.jsonl").read_bytes() == before


def test_a_run_that_has_ended_may_be_made_longer(tmp_path: Path) -> None:
    """It goes on from its end, the same each time, to where a longer one ends."""
    ended, _ = quietly(tmp_path / "one")
    before = lines(ended)
    shutil.copytree(ended, tmp_path / "other" / "tiny", symlinks=True)
    longer = dataclasses.replace(TINY, total_decisions=2000)
    _, shown = quietly(tmp_path / "one", longer, resume=True)
    assert "total_decisions was 1,500, and is 2,000 now" in shown
    assert lines(ended)[: len(before)] == before
    assert len(lines(ended)) == len(before) + 2
    assert load_config(ended / "config.yaml", TrainConfig).total_decisions == 2000
    with pytest.MonkeyPatch.context() as patch:
        stopping(patch, 1, lambda: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(Stopped):
            quietly(tmp_path / "other", longer, resume=True)
    _, shown = quietly(tmp_path / "other", longer, resume=True)
    assert "total_decisions was" not in shown
    assert_same(tmp_path / "other" / "tiny", ended)


def test_a_longer_plan_is_kept_only_by_a_run_that_goes_on(tmp_path: Path) -> None:
    """A slip of the finger is undone by another number, and one that fails leaves nothing."""
    run, _ = quietly(tmp_path)
    stored = (run / "config.yaml").read_bytes()
    for total in (10**12, 1600, TINY.total_decisions):
        slip = dataclasses.replace(TINY, total_decisions=total)
        with contextlib.suppress(Stopped):
            quietly(tmp_path, slip, resume=True, minutes=0)
        assert load_config(run / "config.yaml", TrainConfig).total_decisions == total
    assert (run / "config.yaml").read_bytes() == stored
    for state in run.glob("checkpoints/0*/state.json"):
        state.write_text("{}")
    longer = dataclasses.replace(TINY, total_decisions=4096)
    with pytest.raises(RunError, match="from none of its checkpoints"):
        quietly(tmp_path, longer, resume=True)
    assert (run / "config.yaml").read_bytes() == stored


def test_a_damaged_snapshot_costs_the_updates_since_it_was_taken(tmp_path: Path) -> None:
    met = OpponentConfig(frozen=0.5, snapshots=3, redraw_every=1)
    config = dataclasses.replace(TINY, opponents=met)
    run, _ = quietly(tmp_path, config)
    last = max((run / "pool" / "trolls").iterdir())
    wanted, weights = last_checkpoint(run), last / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    _, shown = quietly(tmp_path, config, resume=True)
    assert f"{weights} is damaged" in shown
    assert "going on from 1,024 decisions" in shown
    assert weights.read_bytes() == whole
    assert last_checkpoint(run) == wanted


@pytest.fixture(scope="module")
def stopped_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = tmp_path_factory.mktemp("stopped")
    with pytest.MonkeyPatch.context() as patch:
        stopping(patch, 5, lambda: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(Stopped):
            quietly(runs)
    return runs / "tiny"


@pytest.fixture
def half_done(stopped_run: Path, tmp_path: Path) -> Path:
    """A run that was stopped after five updates, with checkpoints after 2, 4 and 5; a test may
    spoil it.
    """
    return Path(shutil.copytree(stopped_run, tmp_path / "tiny", symlinks=True))


@pytest.mark.parametrize("name", ["state.safetensors", "state.json"])
@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_damaged_checkpoint_is_set_aside_for_the_one_before(
    name: str, damage: str, half_done: Path, unbroken: Path
) -> None:
    path = half_done / "checkpoints" / "000000001280" / name
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-5])
    else:
        path.unlink()
    folder, shown = quietly(half_done.parent, resume=True)
    assert name in shown
    assert "000000001280.damaged.1" in shown
    assert "going on from 1,024 decisions" in shown
    assert (folder / "checkpoints" / "000000001280.damaged.1").is_dir()
    assert_same(folder, unbroken)


@pytest.mark.parametrize("kind", ["json", "safetensors"])
def test_a_checkpoint_without_the_state_of_a_process_is_set_aside(
    kind: str, tmp_path: Path
) -> None:
    trainer = self_play_trainer(TINY)
    states = [State.of_parts({"ranks": State(values={"size": 2})}), State()]
    with RunFolder.begin(tmp_path / "tiny", TINY) as folder:
        for decisions in (256, 512):
            folder.checkpoint(decisions, trainer.roles.networks, states, {})
    trainer.roles.close()
    checkpoints = folder.checkpoints
    (checkpoints.latest / f"state-1.{kind}").unlink()
    decisions, (notice,) = checkpoints.restore(lambda state: None)
    assert decisions == 256
    assert f"state-1.{kind} cannot be read" in notice
    assert notice.endswith(
        "the checkpoint is now " + str(checkpoints.path / "000000000512.damaged.1")
    )
    assert checkpoints.state_of(1) is not None


def test_a_process_by_itself_does_not_go_on_with_what_actors_played() -> None:
    trainer = self_play_trainer(TINY)
    trainer.roles.close()
    by_actors = State.of_parts({name: State() for name in ("0", "1", "orders")})
    with pytest.raises(RunError, match=r"was trained by 2 actors: --actors 2 would be right$"):
        trainer.play.restore(by_actors)


def test_a_run_without_a_whole_checkpoint_is_refused(half_done: Path) -> None:
    for path in half_done.glob("checkpoints/0*/state.json"):
        path.write_text("{")
    before = {path: path.read_bytes() for path in half_done.rglob("*") if path.is_file()}
    with pytest.raises(RunError, match="can go on from none of its checkpoints"):
        quietly(half_done.parent, resume=True)
    after = {path: path.read_bytes() for path in half_done.rglob("*") if path.is_file()}
    assert after == before


def test_a_snapshot_that_was_removed_is_missed_in_one_line(tmp_path: Path, capsys) -> None:
    frozen = dataclasses.replace(TINY, opponents=OpponentConfig(frozen=0.5, redraw_every=1))
    folder, _ = quietly(tmp_path, frozen)
    shutil.rmtree(folder / "pool")
    shutil.rmtree((folder / "checkpoints" / "latest").resolve())
    assert main([str(folder)]) == 2
    said = capsys.readouterr().err
    assert "/pool/" in said
    assert said.endswith("is not a policy: there is no such folder\n")


def test_half_a_line_of_metrics_is_written_again(half_done: Path, unbroken: Path) -> None:
    with (half_done / "metrics.jsonl").open("a") as file:
        file.write('{"decisions": 1536, "battles/ma')
    folder, _ = quietly(half_done.parent, resume=True)
    assert_same(folder, unbroken)


def test_every_start_is_noted_with_versions_and_commit(half_done: Path) -> None:
    quietly(half_done.parent, resume=True)
    starts = json.loads((half_done / "run.json").read_text())
    assert [start["decisions"] for start in starts] == [0, 1280]
    assert starts[0]["seed"] == 1
    assert starts[0]["versions"]["torch"] == version("torch")
    assert "commit" in starts[0]


def test_a_folder_without_a_run_is_refused(tmp_path: Path, capsys) -> None:
    assert main([str(tmp_path)]) == 2
    assert "is a folder without a run" in capsys.readouterr().err


def test_a_runs_folder_can_be_named_to_go_on(half_done: Path, unbroken: Path, capsys) -> None:
    assert main([str(half_done)]) == 0
    assert "going on from " in capsys.readouterr().out
    assert not half_done.with_name(f"{half_done.name}.1").exists()
    assert_same(half_done, unbroken)
