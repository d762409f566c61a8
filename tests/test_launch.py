"""The command of a run: what it takes, and what it refuses."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
import torch
from flat_network import FlatNetwork
from rich.console import Console

import agents
from agents.networks.config import NetworkConfig
from agents.networks.kinds import NETWORKS
from training.arena.identity import hash_of_network
from training.checks import check_players, check_run
from training.config import Config, ExploitConfig, OpponentConfig, TrainConfig
from training.distill.config import DistillConfig, LessonConfig
from training.errors import ConfigError
from training.options import Options
from training.process.ranks import Ranks
from training.runs.folder import RunFolder
from training.runs.loop import Stopped
from training.train import main

ROOT = Path(__file__).parents[1]
CLASSIC = "{kind: symmetric, blocks: 9, attack_planes: true, threat_planes: true}"


@pytest.mark.parametrize("words", [["--help"], ["configs/smoke.yaml", "-h"]])
def test_help_lists_the_options_and_the_keys(words: list[str], capsys) -> None:
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "CONFIG [KEY=VALUE ...]\n" in shown
    for option in dataclasses.fields(Options):
        assert f"\n  --{option.name} " in shown
    assert "\n  ppo.update_epochs=2             Passes over each rollout.\n" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "train: the following arguments are required: CONFIG"),
        (["--resume"], "train: the following arguments are required: CONFIG"),
        ([str(ROOT / "configs")], f"or a file such as {ROOT / 'configs' / 'smoke.yaml'},"),
        (
            [str(ROOT / "docs")],
            "a folder without a run: the folder of a run, or a file such as conf",
        ),
        (
            ["configs/nope.yaml"],
            "configs/nope.yaml: there is no such file or folder: the folder of a run, or a file",
        ),
        (["{}", "lerning_rate=1"], "unknown key lerning_rate"),
        (["{}", "ppo.lerning_rate=1"], "did you mean ppo.learning_rate?"),
        (["{}", "rules=clasic"], "unknown ruleset 'clasic': did you mean 'classic'?"),
        (["{}", "max_turns=0"], "max_turns must be in 1 .. 32767, not 0"),
        (["{}", "seed=[1"], "override 'seed=[1'"),
        (["{}", "network.kind=deep"], "network.kind: no kind of network is called 'deep'"),
        (["{}", "device=gpu"], "device: 'gpu' is not one of auto, cpu, cuda"),
        (["{}", "name=../elsewhere"], "name: '../elsewhere'"),
        (["{}", "--minutes", "soon"], "--minutes: 'soon': a number, 0 or more, would be right"),
        (["{}", "--actors", "7"], "num_games: 7 processes cannot share 128"),
        (
            ["{}", "opponents.frozen=0.1", "--actors", "16"],
            "opponents.frozen: 0.1 of the 8 battles of a process is less than one",
        ),
        (["{}", "opponents.frozen=0.001"], "opponents.frozen: 0.001 of the 128 battles"),
        (["{}", "anchors=[greedi]"], "anchors: unknown agent 'greedi': did you mean 'greedy'?"),
        (
            ["{}", "opponents.players=['alphabeta:depth=9,time=1']"],
            "opponents.players: with a time limit alphabeta:depth=9,time=1 depends on the machine",
        ),
        (
            ["{}", "anchors=[champion]"],
            "anchors: with a time limit champion depends on the machine",
        ),
        (["{}", "value_battles=501"], "value_battles: the book has 500 starts"),
        (["{}", "starts=book", "max_turns=6"], "starts: start 3 of the book is over by these"),
        (["{}", "start_from=nowhere"], "start_from: there is no folder nowhere: a run's"),
        (
            ["{}", "start_from=pretrained/classic", "network.channels=5"],
            "classic/dwarfs is another: network.kind=symmetric network.channels=96 "
            "network.blocks=8 network.key_size=32 network.pool_layer=true "
            "network.attack_planes=true network.threat_planes=true network.symmetries=8 would be",
        ),
        (
            ["{}", "start_from=pretrained/classic", f"network={CLASSIC}", "network.channels=8"],
            "start_from: the network of X/dwarfs is another: network.channels=96 would be right",
        ),
        (
            ["{}", "rules=koom-valley", "start_from=pretrained/classic"],
            "start_from: the network of X/dwarfs, trained for classic, cannot learn koom-valley "
            "(symmetries=8: koom-valley has 2): a policy for koom-valley would be right",
        ),
        (
            ["{}", "rules=classic-all", "start_from=pretrained/classic", "network.blocks=9"],
            "start_from: the network of X/dwarfs is another: network.kind=symmetric "
            "network.channels=96 network.blocks=8",
        ),
    ],
)
def test_a_bad_configuration_is_one_line_and_writes_nothing(
    words: list[str], said: str, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    config = ROOT / "configs" / "smoke.yaml"
    assert main([word.replace("{}", str(config)) for word in words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said.replace("X/", f"{ROOT}/agents/pretrained/classic/") in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "word",
    [
        "start_from=runs/smoke",
        "anchors=['policy:runs/smoke/checkpoints/latest']",
        "anchors=['alphabeta:depth=1,weights=runs/smoke/tables.npz']",
    ],
)
def test_a_run_that_would_move_aside_what_it_needs_is_refused(
    word: str, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    kept = tmp_path / "runs" / "smoke" / "checkpoints" / "latest"
    shutil.copytree(ROOT / "agents" / "pretrained" / "classic", kept)
    tables = ROOT / "configs" / "search" / "patterns-classic.npz"
    shutil.copy(tables, tmp_path / "runs" / "smoke" / "tables.npz")
    network = "network={kind: symmetric, channels: 96, blocks: 4, attack_planes: true}"
    assert main([str(ROOT / "configs" / "smoke.yaml"), word, network]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "this run would move runs/smoke" in line
    assert kept.is_dir()
    assert list((tmp_path / "runs").iterdir()) == [tmp_path / "runs" / "smoke"]


@pytest.mark.parametrize(
    ("checkpoints", "said"),
    [
        ([], "stopped; no checkpoint was written yet\n"),
        (["000000000001"], "stopped; the checkpoints written so far are kept\n"),
    ],
)
def test_a_stop_at_once_says_whether_there_is_a_checkpoint(
    checkpoints: list[str], said: str, tmp_path: Path, monkeypatch, capsys
) -> None:
    def work(config: Config, console: Console, runs: Path, options: Options) -> None:
        (runs / config.name / "checkpoints").mkdir(parents=True)
        for name in checkpoints:
            (runs / config.name / "checkpoints" / name).mkdir()
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    words = [str(ROOT / "configs" / "smoke.yaml")]
    monkeypatch.setattr("training.train.train", work)
    assert main(words) == 130
    assert capsys.readouterr().err == said


class Drawing(agents.Agent):
    """Draws, and has no state to go on from."""

    stochastic = True

    def __init__(self, seed: int = 0) -> None:
        pass

    def act_rows(self, rows):
        raise NotImplementedError


class Resumable(Drawing):
    """Has one."""

    def get_state(self):
        return {"drawn": 0}


NAMING = [
    ("agent", lambda spec: ExploitConfig(agent=spec)),
    ("opponents.players", lambda spec: TrainConfig(opponents=OpponentConfig(players=(spec,)))),
    ("lessons.players", lambda spec: DistillConfig(lessons=LessonConfig(players=(spec,)))),
]
"""Configurations that name an opponent, by the key that does."""


def naming_an_anchor(spec: str) -> TrainConfig:
    return TrainConfig(anchors=(spec,))


@pytest.mark.parametrize(("key", "config_of"), NAMING)
def test_an_opponent_that_draws_must_say_where_it_is(key: str, config_of) -> None:
    said = f"{key}: python:{__name__}:Drawing draws, and does not say where it is, so a run"
    with pytest.raises(ConfigError, match=f"^{said}.*get_state and set_state would be right$"):
        check_players(config_of(f"python:{__name__}:Drawing"))
    check_players(config_of(f"python:{__name__}:Resumable"))


@pytest.mark.parametrize(("key", "config_of"), [*NAMING, ("anchors", naming_an_anchor)])
def test_a_policy_of_another_game_is_refused(key: str, config_of) -> None:
    config = config_of("policy:pretrained/koom-valley")
    with pytest.raises(ConfigError, match=f"^{key}: .* was trained for koom-valley, not classic"):
        check_players(config)
    check_players(dataclasses.replace(config, rules="koom-valley"))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (TrainConfig(name="../elsewhere"), "^name: '../elsewhere' must be letters"),
        (TrainConfig(rules="clasic"), "^unknown ruleset 'clasic'"),
        (TrainConfig(shaping=1.0), "^shaping: classic pays captures already"),
    ],
)
def test_a_configuration_made_in_python_is_checked_as_a_file_is(
    config: TrainConfig, said: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=said):
        check_run(config, tmp_path, Options())


def test_an_anchor_that_draws_needs_no_state() -> None:
    check_players(naming_an_anchor(f"python:{__name__}:Drawing"))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_refused(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([str(ROOT / "configs" / "smoke.yaml"), "device=cuda"]) == 2
    assert "there is no GPU" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_module_runs_as_a_command(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "training.train", "nope.yaml"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "train: nope.yaml: there is no such file or folder: the folder of a run, or a file such as "
        "configs/smoke.yaml, would be right\n"
    )


def stopped(
    folder: RunFolder, *options: str, reason: str = "time", ranks: Ranks | None = None
) -> int:
    def stop(*_: object) -> None:
        raise Stopped(folder, reason, ranks or Ranks())

    words = [str(ROOT / "configs" / "smoke.yaml"), *options]
    with mock.patch("training.train.train", stop):
        return main(words)


@pytest.mark.parametrize(
    ("words", "ranks", "said"),
    [
        ([], Ranks(), "python -m training.train runs/x\n"),
        (["--actors", "2"], Ranks(), "python -m training.train runs/x --actors 2\n"),
        (
            ["--actors", "2", "--cluster", "a:1"],
            Ranks(),
            "python -m training.train runs/x --actors 2 --cluster a:1\n",
        ),
        ([], Ranks(0, 2), "torchrun ... -m training.train runs/x\n"),
        ([], Ranks(1, 2), ""),
    ],
)
def test_a_run_that_is_stopped_says_once_how_it_goes_on_as_it_began(
    words: list[str], ranks: Ranks, said: str, capsys
) -> None:
    folder = RunFolder(Path("runs/x"), TrainConfig(), None, resumed=False)
    assert stopped(folder, *words, ranks=ranks) == 0
    assert capsys.readouterr().err == (said and f"the time is up; to go on: {said}")


@pytest.mark.parametrize(
    ("reason", "code", "said"),
    [
        ("time", 0, "the time is up; to go on: "),
        ("SIGINT", 130, "stopped by SIGINT; to go on: "),
        ("SIGTERM", 143, "stopped by SIGTERM; to go on: "),
    ],
)
def test_a_run_that_is_stopped_ends_as_its_signal_says(
    reason: str, code: int, said: str, capsys
) -> None:
    folder = RunFolder(Path("runs/x"), TrainConfig(), None, resumed=False)
    assert stopped(folder, reason=reason) == code
    assert capsys.readouterr().err.startswith(said)


def test_the_folder_of_a_run_that_is_stopped_can_be_pasted(capsys) -> None:
    folder = RunFolder(Path("my runs/x"), TrainConfig(), None, resumed=False)
    stopped(folder)
    assert capsys.readouterr().err.endswith("python -m training.train 'my runs/x'\n")


def test_a_run_with_a_player_of_ones_own_says_what_lets_it_go_on(capsys) -> None:
    config = TrainConfig(anchors=("random", "python:mine:Mine"))
    folder = RunFolder(Path("runs/x"), config, None, resumed=False)
    stopped(folder, "--actors", "2")
    assert capsys.readouterr().err.endswith(" runs/x --actors 2 --allow-python\n")


def test_a_run_with_a_network_of_ones_own_says_what_it_needs_to_go_on(monkeypatch, capsys) -> None:
    typed_in = type("Typed", (FlatNetwork,), {"__module__": "no_such_module"})
    monkeypatch.setitem(NETWORKS, "flat", typed_in)
    assert hash_of_network("flat") == {}
    config = TrainConfig(network=NetworkConfig(kind="flat"))
    stopped(RunFolder(Path("runs/x"), config, None, resumed=False))
    said = "to go on, where NETWORKS has 'flat': python -m training.train runs/x\n"
    assert capsys.readouterr().err.endswith(said)
