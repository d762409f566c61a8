"""The options of the training command."""

import importlib.util

import pytest

from training.config import ConfigError
from training.options import DEFAULTS, Options, read_options
from training.train import main


def test_options_may_stand_anywhere_among_the_other_words() -> None:
    words = ["--resume", "a.yaml", "--minutes", "2.5", "seed=3", "--actors", "4"]
    assert read_options(words) == (
        Options(resume=True, minutes=2.5, actors=4),
        ["a.yaml", "seed=3"],
    )
    assert read_options([*words, "--cluster", "auto"])[0].cluster == "auto"
    assert read_options(["a.yaml"]) == (DEFAULTS, ["a.yaml"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--resum"], "unknown option --resum: there are --resume, --minutes, --actors, --cluster"),
        (["-h"], "unknown option -h: there are --resume, --minutes, --actors, --cluster"),
        (["--minutes", "soon"], "--minutes: a number of minutes would be right"),
        (["--minutes"], "--minutes: a number of minutes would be right"),
        (["--minutes", "0"], "--minutes: 0 must be more than 0"),
        (["--minutes", "nan"], "--minutes: nan must be more than 0"),
        (["--actors", "2.5"], "--actors: a number of processes would be right"),
        (["--actors", "-1"], "--actors: -1 must be more than 0"),
        (["--cluster"], "--cluster: HOST:PORT, or auto, would be right"),
        (["--cluster", "auto"], "--cluster: it needs --actors N, how many processes of it"),
    ],
)
def test_bad_options_are_named(words: list[str], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_options(["a.yaml", *words])
    assert str(refused.value).startswith(said)


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="Ray is installed")
def test_actors_without_ray_are_one_line(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yaml").write_text("num_games: 4")
    assert main(["a.yaml", "--actors", "2"]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", 'train: --actors: they need Ray: pip install ".[cluster]"\n')
    assert not (tmp_path / "runs").exists()
