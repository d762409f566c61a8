"""Help that is made from the code it is about."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from agents.networks.config import CONFIG_CLASSES, NetworkConfig
from agents.networks.symmetric import SymmetricConfig
from training.config import OpponentConfig, PPOConfig, TrainConfig
from training.config_file import load_config
from training.distill.__main__ import main as distil
from training.keys_help import keys_help, meanings
from training.options import Options
from training.train import main


@pytest.mark.parametrize("kind", [TrainConfig, PPOConfig, OpponentConfig, NetworkConfig, Options])
def test_every_field_has_a_meaning(kind: type) -> None:
    assert list(meanings(kind)) == [field.name for field in dataclasses.fields(kind)]
    assert all(meanings(kind).values())


def test_only_the_configuration_is_said_to_be_missing(capsys) -> None:
    assert main([]) == 2
    assert capsys.readouterr().err == "train: the following arguments are required: CONFIG\n"


def test_a_misspelt_configuration_is_named_with_the_nearest(tmp_path: Path, capsys) -> None:
    (tmp_path / "smoke.yaml").write_text("name: smoke")
    assert main([str(tmp_path / "smoek.yaml")]) == 2
    meant = "did you mean 'smoke.yaml'?"
    said = f"train: {tmp_path}/smoek.yaml: there is no such file or folder: {meant}\n"
    assert capsys.readouterr().err == said
    assert main([str(tmp_path / "none" / "other.yaml")]) == 2
    assert "the folder of a run, or a file such as configs/sm" in capsys.readouterr().err


def test_a_run_that_is_not_there_is_named_with_those_that_are(tmp_path: Path, capsys) -> None:
    for number, name in enumerate(("first", "second", "third")):
        (tmp_path / name).mkdir()
        stored = tmp_path / name / "config.yaml"
        stored.write_text(f"name: {name}")
        os.utime(stored, (number, number))
    assert main([str(tmp_path / "nothere")]) == 2
    newest = ", ".join(f"{tmp_path}/{name}" for name in ("third", "second", "first"))
    there = f"the newest runs there: {newest}"
    said = f"train: {tmp_path}/nothere: there is no such file or folder: {there}\n"
    assert capsys.readouterr().err == said


def test_the_keys_shown_are_a_configuration_and_its_defaults(tmp_path: Path) -> None:
    _, *lines = keys_help(TrainConfig()).splitlines()
    entries = [line.strip().partition("  ")[::2] for line in lines if line[2] != " "]
    (tmp_path / "empty.yaml").write_text("name: other")
    assert "ppo.learning_rate=0.001" in [key for key, _ in entries]
    of_one_kind = [key for key, meaning in entries if "With kind=symmetric:" in meaning]
    common = [key for key, meaning in entries if "With kind=" not in meaning]
    assert load_config(tmp_path / "empty.yaml", TrainConfig, common) == TrainConfig()
    symmetric = load_config(
        tmp_path / "empty.yaml", TrainConfig, ["name=run", "network.kind=symmetric", *of_one_kind]
    )
    assert symmetric == TrainConfig(network=SymmetricConfig())


def test_the_help_lists_the_words_of_a_key_and_the_keys_of_every_kind_of_network() -> None:
    text = " ".join(keys_help(TrainConfig()).split())
    assert "One of setup, book." in text
    assert "network.symmetries=8 With kind=symmetric:" in text
    assert "network.key_size=16" in text
    assert "network.key_size=32 With kind=symmetric:" in text


@dataclasses.dataclass(frozen=True)
class WideConfig(NetworkConfig):
    """Sizes of a network of one's own."""

    hidden: int = 24
    wide: bool = True
    ...
    deep: bool = False
    """Whether it is deep."""


def test_the_help_lists_keys_of_ones_own_also_without_a_meaning(monkeypatch) -> None:
    monkeypatch.setitem(CONFIG_CLASSES, "wide", WideConfig)
    for kind, module in (("typed", "types"), ("moved", "no_such_module")):
        sizes = dataclasses.make_dataclass(
            "Sizes", [("size", int, 5)], bases=(NetworkConfig,), frozen=True
        )
        sizes.__module__ = module
        monkeypatch.setitem(CONFIG_CLASSES, kind, sizes)
    text = " ".join(keys_help(TrainConfig()).split())
    assert (
        "network.hidden=24 With kind=wide: network.wide=true With kind=wide: network.deep" in text
    )
    assert "network.deep=false With kind=wide: Whether it is deep." in text
    assert "network.size=5 With kind=typed: network.size=5 With kind=moved:" in text


def test_a_file_of_the_checkout_is_named_to_one_who_is_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    smoke = Path(__file__).parents[1] / "configs" / "smoke.yaml"
    known = ("configs/smoke.yaml", "confgs/smoke.yaml", "configs/smoke", "smoke.yaml", "smoke")
    for word in known:
        assert main([word]) == 2
        said = f"train: {word}: there is no such file here: {smoke} would be right\n"
        assert capsys.readouterr().err == said
    for word in ("distill/koom-valley", "confgs/distill/koom-valley.yaml"):
        assert main([word]) == 2
        assert "configs/distill/koom-valley.yaml would be right" in capsys.readouterr().err
    assert main(["configs/distil/koom-valley.yaml"]) == 2  # not the other one of that name
    assert "a file such as configs/smoke.yaml, would be right" in capsys.readouterr().err
    distilling = smoke.parent / "distill" / "classic.yaml"
    assert distil(["classic"]) == 2
    assert f"no such file here: {distilling} would be right" in capsys.readouterr().err
    assert distil(["mine.yaml"]) == 2
    assert "a file such as configs/distill/classic.yaml" in capsys.readouterr().err
    monkeypatch.chdir(smoke.parents[1])
    assert distil(["configs"]) == 2
    assert "a file such as configs/distill/classic.yaml" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
