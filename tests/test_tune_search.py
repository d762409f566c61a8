"""Tuning the evaluation: what the command takes, and what it leaves as it was."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agents.search.weights import WEIGHTS_FILE, load_weights
from training import tune_search
from training.tune_search import main

SMALL = ["--games", "3", "--duels", "1", "--rounds", "1"]


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    return Path(shutil.copy(WEIGHTS_FILE, tmp_path / "weights.yaml"))


def test_a_round_leaves_weights_that_play(weights: Path, capsys) -> None:
    assert main([*SMALL, "--weights", str(weights)]) == 0
    assert capsys.readouterr().out.startswith("round 1: ")
    assert load_weights(weights).shape == load_weights().shape
    assert [path.name for path in weights.parent.iterdir()] == ["weights.yaml"]


def test_help_tells_every_default_and_the_file_that_is_improved(capsys) -> None:
    assert main(["--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "the file to improve (configs/search/weights.yaml, which" in shown
    for name, default, *_, meaning in tune_search._NUMBERS:
        assert f"--{name} N {meaning} ({default:g})" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--blend", "7"], "--blend: '7': a number in 0 .. 1 would be right"),
        (["--blend", "nan"], "--blend: 'nan': a number in 0 .. 1 would be right"),
        (["--blunders", "-0.1"], "--blunders: '-0.1': a number in 0 .. 1 would be right"),
        (["--opening", "3"], "--opening: '3': a whole number in 4 .. 299 would be right"),
        (["--games", "0"], "--games: '0': a whole number, 1 or more, would be right"),
        (["--depth", "99"], "--depth: '99': a whole number in 1 .. 24 would be right"),
        (["--seed", "-1"], "--seed: '-1': a whole number, 0 or more, would be right"),
        (["--weights", "no/such.yaml"], "no/such.yaml cannot be read"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    words: list[str], said: str, weights, capsys
) -> None:
    before = weights.read_bytes()
    assert main([*SMALL, "--weights", str(weights), *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err
    assert weights.read_bytes() == before


def test_battles_that_end_in_their_openings_teach_nothing(weights: Path, monkeypatch) -> None:
    monkeypatch.setattr(tune_search, "MAX_TURNS", 4)
    with pytest.raises(ValueError, match="no battle outlasted its opening"):
        tune_search.self_play(
            tune_search.agents.make("random"), "classic", 2,
            opening=4, blunders=0, horizon=1, seed=0,
        )  # fmt: skip


def test_ctrl_c_is_one_line_and_leaves_the_weights(weights: Path, monkeypatch, capsys) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tune_search, "duel", interrupted)
    before = weights.read_bytes()
    assert main([*SMALL, "--weights", str(weights)]) == 130
    assert capsys.readouterr().err == "stopped\n"
    assert weights.read_bytes() == before
    assert [path.name for path in weights.parent.iterdir()] == ["weights.yaml"]
