"""The options of the training command."""

import importlib.util

import pytest

from thud_env.command import Command
from training.options import DEFAULTS, Options, add_options, given_options
from training.train import main


def options_of(*words: str) -> Options:
    read: list[Options] = []
    command = Command("training.train", "")
    add_options(command)
    command.run(lambda arguments: read.append(given_options(arguments)), list(words))
    return read[0]


def test_every_option_is_read() -> None:
    assert options_of() == DEFAULTS
    words = ["--resume", "--minutes=2.5", "--actors", "4"]
    assert options_of(*words) == Options(resume=True, minutes=2.5, actors=4)
    assert options_of(*words, "--cluster", "auto").cluster == "auto"


def test_the_help_of_what_a_run_can_be_told_is_no_sentence(capsys) -> None:
    assert main(["--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert " --resume go on with the run of that name, if there is one --minutes N stop" in shown
    assert "instead of this process --cluster ADDRESS HOST:PORT of the cluster's head" in shown
    assert "one of this machine alone is started keys of a configuration" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--resum"], "unknown option --resum: did you mean --resume? there are --help, --allow"),
        (
            ["--ppo.epochs=2"],
            "unknown option --ppo.epochs: a key is given as ppo.epochs=VALUE; there are --help",
        ),
        (
            ["--total-decisions", "9"],
            "unknown option --total-decisions: a key is given as total_decisions=VALUE; there are",
        ),
        (["--9"], "unknown option --9: there are --help, --allow"),
        (["--minutes", "soon"], "--minutes: 'soon': a number, 0 or more, would be right"),
        (["--minutes", "-1"], "--minutes: '-1': a number, 0 or more, would be right"),
        (["--actors", "2.5"], "--actors: '2.5': a whole number, 1 or more, would be right"),
        (["--actors", "0"], "--actors: '0': a whole number, 1 or more, would be right"),
        (["--cluster"], "--cluster: expected one argument"),
        (["--cluster", "auto"], "--cluster: it needs --actors N, how many processes of it"),
    ],
)
def test_bad_options_are_one_line(words: list[str], said: str, capsys) -> None:
    assert main(["configs/smoke.yaml", *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"train: {said}")


@pytest.mark.parametrize("folders", [[], ["ray"]])
def test_actors_without_ray_are_one_line(folders, tmp_path, monkeypatch, capsys) -> None:
    for name in folders:  # Ray leaves one in /tmp
        (tmp_path / name).mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    if (spec := importlib.util.find_spec("ray")) is not None and spec.origin is not None:
        pytest.skip("Ray is installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yaml").write_text("num_games: 4")
    assert main(["a.yaml", "--actors", "2"]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", 'train: --actors: they need Ray: pip install ".[cluster]"\n')
    assert not (tmp_path / "runs").exists()
