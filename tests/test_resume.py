"""A run that is stopped anywhere and resumed equals the unbroken run, byte for byte."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from numpy.typing import NDArray
from rich.console import Console
from small_run import SMALL_RUN

from agents.leaf_judge import LeafJudge
from agents.networks.checkpoint import save_policy
from agents.networks.network import Network
from agents.networks.symmetric import SymmetricConfig
from thud_env.position import SIDES
from training.config import ExploitConfig, OpponentConfig, PPOConfig, RunError, TrainConfig
from training.distill.alphabeta_teacher import AlphaBetaTeacher
from training.distill.config import DistillConfig, LessonConfig, TeacherConfig
from training.distill.lessons import Lessons
from training.exploit import exploiting_trainer
from training.options import Options
from training.process.precision import Precision
from training.process.state import State, StateError, load_state, save_state
from training.process.stopping import STOPPING
from training.runs.folder import RunFolder
from training.runs.loop import Stopped
from training.train import main, train
from training.trainer import Trainer, self_play_trainer

ROOT = Path(__file__).parents[1]
TINY = dataclasses.replace(SMALL_RUN, name="tiny", max_turns=30, opponents=OpponentConfig())
UPDATES = 6


def quietly(runs: Path, config: TrainConfig = TINY, **named: Any) -> tuple[Path, str]:
    """Train; returns the run's folder and the output."""
    console = Console(file=io.StringIO(), force_terminal=False, width=200)
    folder = train(config, console, runs, Options(**named))
    return folder.path, console.file.getvalue()  # type: ignore[attr-defined]


def lines(folder: Path) -> list[dict[str, float]]:
    """The metrics without times."""
    read = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if not k.startswith("speed/")} for line in read]


def last_checkpoint(folder: Path) -> dict[str, bytes]:
    """Every file of the newest checkpoint."""
    newest = (folder / "checkpoints" / "latest").resolve()
    files = sorted(path for path in newest.rglob("*") if path.is_file())
    assert [path.name for path in files].count("model.safetensors") == 2
    return {str(path.relative_to(newest)): path.read_bytes() for path in files}


def bests(folder: Path) -> list[str]:
    links = [folder / "checkpoints" / "best" / role for role in SIDES]
    return [str(link.readlink()) for link in links]


def assert_same(one: Path, other: Path) -> None:
    assert lines(one) == lines(other)
    assert last_checkpoint(one) == last_checkpoint(other)
    assert bests(one) == bests(other)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    before = torch.get_num_threads()
    folder, _ = quietly(tmp_path_factory.mktemp("unbroken"))
    assert len(lines(folder)) == UPDATES
    yield folder
    torch.set_num_threads(before)


class PowerCut(BaseException):
    """A stop at which no code can clean up."""


def stopping(monkeypatch: pytest.MonkeyPatch, at: int, how: Any) -> None:
    """Let ``how`` happen in the update of that number, counted from 1 and over all starts."""
    update, seen = Trainer.update, []

    def counted(trainer: Trainer) -> dict[str, float]:
        seen.append(1)
        if len(seen) == at:
            how()
        return update(trainer)

    monkeypatch.setattr(Trainer, "update", counted)


@pytest.mark.parametrize("at", [1, 2, 3, 4, 6])
def test_a_run_cut_off_anywhere_ends_as_the_unbroken_one(
    at: int, unbroken: Path, tmp_path: Path, monkeypatch
) -> None:
    def cut() -> None:
        raise PowerCut

    stopping(monkeypatch, at, cut)
    with pytest.raises(PowerCut):
        quietly(tmp_path)
    folder, shown = quietly(tmp_path, resume=True)
    assert f"going on from {256 * 2 * ((at - 1) // 2):,} decisions" in shown
    assert_same(folder, unbroken)


@pytest.mark.parametrize("number", STOPPING)
def test_a_signal_stops_after_the_update_and_loses_nothing(
    number: signal.Signals, unbroken: Path, tmp_path: Path, monkeypatch
) -> None:
    # A shell, or nohup, lets what it runs in the background ignore some of these.
    at_first = signal.signal(number, signal.SIG_DFL)
    try:
        handlers = [signal.getsignal(one) for one in STOPPING]
        stopping(monkeypatch, 3, lambda: os.kill(os.getpid(), number))
        with pytest.raises(Stopped, match=number.name) as stopped:
            quietly(tmp_path)
        assert [signal.getsignal(one) for one in STOPPING] == handlers
    finally:
        signal.signal(number, at_first)
    assert len(lines(stopped.value.folder.path)) == 3
    folder, shown = quietly(tmp_path, resume=True)
    assert "going on from 768 decisions" in shown
    assert_same(folder, unbroken)


def test_a_second_signal_stops_at_once(tmp_path: Path, monkeypatch) -> None:
    def twice() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        while signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            time.sleep(0.001)  # two signals that are both pending are one
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)

    stopping(monkeypatch, 2, twice)
    # A shell lets what it runs in the background ignore this signal.
    at_first = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            quietly(tmp_path)
    finally:
        signal.signal(signal.SIGINT, at_first)
    assert len(lines(tmp_path / "tiny")) == 1


def test_chunks_of_time_go_on_from_one_another(unbroken: Path, tmp_path: Path) -> None:
    """The shortest: each is over before its first update, or after it."""
    reasons: list[str] = []
    while len(reasons) < 50:
        try:
            folder, _ = quietly(tmp_path, resume=True, minutes=0.002)
        except Stopped as stopped:
            reasons.append(stopped.reason)
            continue
        break
    assert 0 < len(reasons) < 50
    assert set(reasons) == {"time"}
    assert_same(folder, unbroken)


def test_frozen_opponents_go_on_too(tmp_path: Path, monkeypatch) -> None:
    """The opponents, the scores against them, and the players' generators and plans."""
    config = dataclasses.replace(
        TINY,
        max_turns=12,
        anchors=("greedy", "alphabeta:depth=1"),
        opponents=OpponentConfig(
            frozen=0.5,
            scripted=0.25,
            players=("random", "alphabeta:depth=1", "mcts:sims=4"),
            snapshots=4,
            redraw_every=1,
            pace=0.0,
        ),
    )
    unbroken, _ = quietly(tmp_path / "unbroken", config)

    def cut() -> None:
        raise PowerCut

    with monkeypatch.context() as patch:
        stopping(patch, 4, cut)
        with pytest.raises(PowerCut):
            quietly(tmp_path, config)
    folder, _ = quietly(tmp_path, config, resume=True)
    assert_same(folder, unbroken)
    state = json.loads((folder / "checkpoints" / "latest" / "state.json").read_text())
    names = state["values"]["trainer"]["play"]["opponents"]["names"]
    assert any(name.isdigit() for name in names)
    assert "dwarfs/margin_against_opponents" in lines(folder)[-1]


def test_every_option_of_the_learner_goes_on_too(tmp_path: Path, monkeypatch) -> None:
    """Starts from the book, frames, values tested, half the precision, attack planes."""
    config = dataclasses.replace(
        TINY,
        starts="book",
        value_battles=2,
        symmetric_frames=True,
        precision="bfloat16",
        network=dataclasses.replace(TINY.network, attack_planes=True),
    )
    unbroken, _ = quietly(tmp_path / "unbroken", config)
    with monkeypatch.context() as patch:
        stopping(patch, 4, lambda: os.kill(os.getpid(), signal.SIGTERM))
        with pytest.raises(Stopped):
            quietly(tmp_path, config)
    folder, _ = quietly(tmp_path, config, resume=True)
    assert_same(folder, unbroken)
    assert "dwarfs/value_correlation" in lines(folder)[-1]


@pytest.mark.slow
def test_a_killed_process_goes_on(unbroken: Path, tmp_path: Path) -> None:
    config = tmp_path / "tiny.yaml"
    config.write_text(yaml.safe_dump(dataclasses.asdict(TINY)))
    command = [sys.executable, "-m", "training.train", str(config)]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    metrics = tmp_path / "runs" / "tiny" / "metrics.jsonl"
    while process.poll() is None:
        if metrics.exists() and metrics.read_text().count("\n") >= 3:
            break
        time.sleep(0.01)
    process.kill()
    process.wait()
    folder, _ = quietly(tmp_path / "runs", resume=True)
    assert_same(folder, unbroken)


def some_play(command: str, player: str) -> tuple[Any, Callable[[], Any]]:
    """What a run's players play in, beside its networks, and one update's play."""
    if command == "distill":
        lessons = LessonConfig(scripted=0.4, players=(player,))
        config = DistillConfig(num_games=4, rollout_decisions=8, lessons=lessons)
        networks = (Network(TINY.network), Network(TINY.network))
        play = Lessons(config, networks, Precision(bfloat16=False), config.streams.play)
        teacher = AlphaBetaTeacher(TeacherConfig(depth=1), "classic")
        return play, lambda: play.give(teacher, with_student=False)
    short: dict[str, Any] = {"num_games": 4, "max_turns": 2, "network": TINY.network}
    if command == "exploit":
        trainer = exploiting_trainer(ExploitConfig(**short, agent=player))
    else:
        met = OpponentConfig(scripted=1.0, players=(player,))
        trainer = self_play_trainer(TrainConfig(**short, opponents=met))
    return trainer.play, lambda: trainer.play.collect(8)


@pytest.mark.parametrize("command", ["train", "exploit", "distill"])
def test_a_search_evaluates_the_same_positions_together_after_a_resume(
    command: str, tmp_path: Path, monkeypatch
) -> None:
    """In other company their last bits may differ: what it remembers must not decide."""
    asked: list[bytes] = []
    ask = LeafJudge._ask

    def noted(judge: LeafJudge, rows: NDArray[np.int16]) -> Any:
        asked.append(rows.tobytes())
        return ask(judge, rows)

    monkeypatch.setattr(LeafJudge, "_ask", noted)
    for role in SIDES:
        network = Network(TINY.network)
        save_policy(
            tmp_path / role, network, role=role, rules="classic", decisions=0, agreement=False
        )
    player = f"policy+mcts:{tmp_path},sims=6,lookahead=0"
    (unbroken, play_on), (resumed, play_again) = (some_play(command, player) for _ in range(2))
    play_on()
    resumed.restore(unbroken.state())
    found = []
    for play in (play_on, play_again):
        asked.clear()
        play()
        found.append(sorted(asked))
    assert found[0]
    assert found[0] == found[1]


# -- what is refused, what is mended -------------------------------------------------------


def test_a_run_does_not_go_on_with_another_configuration(unbroken: Path) -> None:
    before = (unbroken / "metrics.jsonl").read_bytes()
    other = dataclasses.replace(TINY, seed=2, ppo=PPOConfig(minibatch_size=64, clip_coef=0.3))
    with pytest.raises(RunError) as error:
        quietly(unbroken.parent, other, resume=True)
    assert str(error.value) == (
        f"{unbroken} cannot go on otherwise than it began: "
        "seed was 1, not 2, ppo.clip_coef was 0.2, not 0.3"
    )
    symmetric = SymmetricConfig(channels=8, blocks=1, key_size=8)
    with pytest.raises(RunError, match=r"network\.kind was 'residual', not 'symmetric', network"):
        # While the first error is still held, as a notebook does.
        quietly(unbroken.parent, dataclasses.replace(TINY, network=symmetric), resume=True)
    assert (unbroken / "metrics.jsonl").read_bytes() == before


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
    assert said.endswith("is not a policy: it has no manifest.json\n")


def test_half_a_line_of_metrics_is_written_again(half_done: Path, unbroken: Path) -> None:
    with (half_done / "metrics.jsonl").open("a") as file:
        file.write('{"decisions": 1536, "battles/ma')
    folder, _ = quietly(half_done.parent, resume=True)
    assert_same(folder, unbroken)


def test_resuming_a_run_that_is_through_changes_nothing(unbroken: Path) -> None:
    before = last_checkpoint(unbroken), lines(unbroken)
    folder, _ = quietly(unbroken.parent, resume=True)
    assert (last_checkpoint(folder), lines(folder)) == before


def test_every_start_is_noted_with_versions_and_commit(half_done: Path) -> None:
    quietly(half_done.parent, resume=True)
    starts = json.loads((half_done / "run.json").read_text())
    assert [start["decisions"] for start in starts] == [0, 1280]
    assert starts[0]["seed"] == 1
    assert starts[0]["versions"]["torch"] == torch.__version__
    assert "commit" in starts[0]


# -- the best checkpoints ------------------------------------------------------------------


def test_the_best_of_each_role_is_kept_and_pointed_to(unbroken: Path) -> None:
    measured = {
        role: {
            line["decisions"]: line[f"{role}/margin_against_random"]
            + line[f"{role}/margin_against_greedy"]
            for line in lines(unbroken)
            if f"{role}/margin_against_random" in line
        }
        for role in SIDES
    }
    for role in SIDES:
        assert list(measured[role]) == [512, 1024, 1536]
        best = max(measured[role], key=measured[role].__getitem__)
        link = unbroken / "checkpoints" / "best" / role
        assert link.resolve().parent.name == f"{best:012d}"
        assert (link / "model.safetensors").exists()


def test_rotation_spares_the_best(tmp_path: Path) -> None:
    from training.runs.anchors import Best

    folder = RunFolder.begin(tmp_path / "tiny", dataclasses.replace(TINY, keep_checkpoints=1))
    trainer = self_play_trainer(TINY)
    best = {"dwarfs": Best(1.0, 1), "trolls": Best(2.0, 2)}
    for decisions in (1, 2, 3, 4):
        folder.checkpoint(
            decisions, trainer.roles.networks, [State()], best if decisions > 1 else {}
        )
        if decisions == 1:
            best["dwarfs"] = Best(1.0, 1)
    trainer.roles.close()
    folder.close()
    kept = {path.name for path in folder.checkpoints.path.iterdir()}
    assert kept == {"000000000001", "000000000002", "000000000004", "latest", "best"}


# -- states on disk ------------------------------------------------------------------------


def test_a_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    inner = State({"a": torch.arange(3)}, {"big": 2**120, "list": [1, None]})
    state = State.of_parts({"x": inner, "xy": State({"b": torch.zeros(2, 2)})})
    save_state(tmp_path, state)
    read = load_state(tmp_path)
    assert read.part("x").values == inner.values
    assert torch.equal(read.part("x").tensors["a"], inner.tensors["a"])
    assert list(read.part("xy").tensors) == ["b"]
    with pytest.raises(StateError, match="no part 'z'"):
        read.part("z")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", "is not a thud-training-state"),
        ('{"format": "thud-training-state", "format_version": 9}', "version 9: 3 would be right"),
        ("{", "is not JSON"),
    ],
)
def test_a_file_that_is_not_a_state_is_refused(content: str, said: str, tmp_path: Path) -> None:
    save_state(tmp_path, State())
    (tmp_path / "state.json").write_text(content)
    with pytest.raises(StateError, match=said):
        load_state(tmp_path)


# -- the command line ----------------------------------------------------------------------


def test_a_folder_without_a_run_is_refused(tmp_path: Path, capsys) -> None:
    assert main([str(tmp_path)]) == 2
    assert "is a folder without a run" in capsys.readouterr().err


def test_a_runs_folder_can_be_named_to_go_on(half_done: Path, unbroken: Path, capsys) -> None:
    assert main([str(half_done)]) == 0
    assert_same(half_done, unbroken)
