"""A run that is stopped anywhere and resumed equals the unbroken run, byte for byte."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray
from resumed_run import (
    TINY,
    PowerCut,
    assert_same,
    last_checkpoint,
    lines,
    power_cut,
    quietly,
    stopping,
    unbroken_run,
)

from agents.leaf_judge import LeafJudge
from agents.networks.checkpoint import save_policy
from agents.networks.network import Network
from thud_env.outcome import SIDES
from training.config import ExploitConfig, OpponentConfig, TrainConfig
from training.distill.alphabeta_teacher import AlphaBetaTeacher
from training.distill.config import DistillConfig, LessonConfig, TeacherConfig
from training.distill.lessons import Lessons
from training.process.precision import Precision
from training.process.stopping import STOPPING
from training.runs.loop import Stopped
from training.trainer import self_play_trainer

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unbroken_run(tmp_path_factory.mktemp("unbroken"))


@pytest.mark.parametrize("at", [1, 2, 3, 4, 6])
def test_a_run_cut_off_anywhere_ends_as_the_unbroken_one(
    at: int, unbroken: Path, tmp_path: Path, monkeypatch
) -> None:
    stopping(monkeypatch, at, power_cut)
    with pytest.raises(PowerCut):
        quietly(tmp_path)
    folder, shown = quietly(tmp_path, resume=True)
    assert f"going on from {256 * 2 * ((at - 1) // 2):,} decisions" in shown
    assert_same(folder, unbroken)


def test_a_signal_stops_after_the_update_and_loses_nothing(
    unbroken: Path, tmp_path: Path, monkeypatch
) -> None:
    """One of each kind in turn, after an update each."""
    for number in STOPPING:
        # A shell, or nohup, lets what it runs in the background ignore some of these.
        at_first = signal.signal(number, signal.SIG_DFL)
        try:
            handlers = [signal.getsignal(one) for one in STOPPING]
            with monkeypatch.context() as patch:
                stopping(patch, 1, lambda number=number: os.kill(os.getpid(), number))
                with pytest.raises(Stopped, match=number.name):
                    quietly(tmp_path, resume=True)
            assert [signal.getsignal(one) for one in STOPPING] == handlers
        finally:
            signal.signal(number, at_first)
    assert len(lines(tmp_path / "tiny")) == len(STOPPING) == 3
    folder, shown = quietly(tmp_path, resume=True)
    assert "going on from 768 decisions" in shown
    assert_same(folder, unbroken)


def test_a_signal_during_the_last_update_stops_what_would_follow(
    unbroken: Path, tmp_path: Path, monkeypatch, capfd
) -> None:
    last = len(lines(unbroken))
    at_first = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        stopping(monkeypatch, last, lambda: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(Stopped, match="SIGINT"):
            quietly(tmp_path)
    finally:
        signal.signal(signal.SIGINT, at_first)
    assert "stopping after this update" in capfd.readouterr().err
    assert_same(tmp_path / "tiny", unbroken)


def test_a_signal_loses_nothing_where_what_it_says_cannot_be_written(
    tmp_path: Path, monkeypatch
) -> None:
    before = os.write

    def write(file: int, data: bytes) -> int:
        if file == 2:
            raise BrokenPipeError
        return before(file, data)

    at_first = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        stopping(monkeypatch, 1, lambda: os.kill(os.getpid(), signal.SIGINT))
        monkeypatch.setattr(os, "write", write)
        with pytest.raises(Stopped, match="SIGINT"):
            quietly(tmp_path)
    finally:
        signal.signal(signal.SIGINT, at_first)
    assert last_checkpoint(tmp_path / "tiny")


def test_a_second_signal_stops_at_once(tmp_path: Path, monkeypatch) -> None:
    def twice() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(5000):  # two signals that are both pending are one
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                break
            time.sleep(0.001)
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


def test_everything_that_may_be_asked_for_goes_on_too(tmp_path: Path, monkeypatch) -> None:
    """The opponents, the scores against them, and the players' generators and plans; starts from
    the book, frames, values tested, half the precision, attack planes.
    """
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
        starts="book",
        value_battles=2,
        symmetric_frames=True,
        precision="bfloat16",
        network=dataclasses.replace(TINY.network, attack_planes=True),
    )
    unbroken, _ = quietly(tmp_path / "unbroken", config)
    with monkeypatch.context() as patch:
        stopping(patch, 6, power_cut)  # when opponents have scores
        with pytest.raises(PowerCut):
            quietly(tmp_path, config)
    folder, _ = quietly(tmp_path, config, resume=True)
    assert_same(folder, unbroken)
    state = json.loads((folder / "checkpoints" / "latest" / "state.json").read_text())
    names = state["values"]["trainer"]["play"]["opponents"]["names"]
    assert any(name.isdigit() for name in names)
    assert {"dwarfs/margin_against_opponents", "dwarfs/value_correlation"} < lines(folder)[
        -1
    ].keys()


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
        trainer = self_play_trainer(ExploitConfig(**short, agent=player))
    else:
        met = OpponentConfig(scripted=1.0, players=(player,))
        trainer = self_play_trainer(TrainConfig(**short, opponents=met))
    return trainer.play, lambda: trainer.play.collect(8)


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
    assert process.wait() == -signal.SIGKILL, "the run came to its end before"
    folder, _ = quietly(tmp_path / "runs", resume=True)
    assert_same(folder, unbroken)


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


def test_resuming_a_run_that_is_through_changes_nothing(unbroken: Path) -> None:
    before = last_checkpoint(unbroken), lines(unbroken)
    folder, shown = quietly(unbroken.parent, resume=True)
    assert "decisions, which are all: a larger total_decisions= would add some" in shown
    assert (last_checkpoint(folder), lines(folder)) == before
