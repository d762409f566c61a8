"""What others have written runs no code and is refused in one line (SECURITY.md)."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from pathlib import Path
from random import Random

import pytest
import yaml
from ladders import made_up
from small_run import SMALL_RUN

import agents
from agents.strict_json import parse_json
from agents.strict_yaml import YamlError, parse_yaml
from thud_env import Record, ThudError
from training.arena.field import FieldError
from training.config import TrainConfig
from training.config_file import load_config
from training.errors import ConfigError
from training.ladder.__main__ import main as ladder_main
from training.ladder.entries import Header
from training.ladder.fields import make_field, read_field
from training.ladder.report import write_report
from training.ladder.store import FILE, read_games
from training.train import main as train_main

MODULE = """
import pathlib
pathlib.Path(__file__).with_name("ran").write_text("")
from agents.simple import RandomAgent as Agent
"""


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch) -> Path:
    """A stranger's folder, with a module beside its other files."""
    (tmp_path / "theirs.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


# -- code that a file names ----------------------------------------------------------------


@pytest.mark.parametrize("key", ["anchors", "opponents"])
def test_a_configuration_that_names_code_is_refused(key: str, theirs: Path, capsys) -> None:
    spec = ["python:theirs:Agent"]
    tree = dataclasses.asdict(SMALL_RUN)
    tree |= {"anchors": spec} if key == "anchors" else {"opponents": {"players": spec}}
    path = theirs / "small.yaml"
    path.write_text(yaml.safe_dump(tree))
    assert train_main([str(path)]) == 2
    said = capsys.readouterr().err
    assert f"{path} names python:theirs:Agent, whose code would run: give --allow-python" in said
    assert not (theirs / "ran").exists()


def test_a_strangers_run_that_names_code_is_not_gone_on_with(theirs: Path, capsys) -> None:
    run = theirs / "runs" / "small"
    run.mkdir(parents=True)
    config = dataclasses.replace(SMALL_RUN, anchors=("python:theirs:Agent",))
    (run / "config.yaml").write_text(yaml.safe_dump(dataclasses.asdict(config)))
    assert train_main([str(run)]) == 2
    assert "whose code would run" in capsys.readouterr().err
    assert not (theirs / "ran").exists()


def test_code_that_the_user_names_or_allows_is_let_in(theirs: Path) -> None:
    path = theirs / "small.yaml"
    path.write_text("anchors: ['python:theirs:Agent']")
    allowed = load_config(path, TrainConfig, allow_python=True)
    assert allowed.anchors == ("python:theirs:Agent",)
    path.write_text("name: small")
    named = load_config(path, TrainConfig, ["opponents.players=['python:theirs:Agent']"])
    assert named.opponents.players == ("python:theirs:Agent",)
    named = load_config(path, TrainConfig, ["opponents={players: ['python:theirs:Agent']}"])
    assert named.opponents.players == ("python:theirs:Agent",)


@pytest.mark.parametrize(
    "override",
    [
        "opponents.players=['python:theirs:Other']",
        "opponents.players=['python:theirs:Agent']",
        "opponents.players=['python:theirs:Agents']",
        "name=python:theirs:Agent",
    ],
)
def test_code_that_the_user_names_elsewhere_does_not_let_a_files_in(
    override: str, theirs: Path
) -> None:
    path = theirs / "small.yaml"
    path.write_text("anchors: ['python:theirs:Agent']")
    with pytest.raises(ConfigError, match=r"^anchors: .* names python:theirs:Agent, whose code"):
        load_config(path, TrainConfig, [override])


def test_a_field_that_names_code_is_refused_unless_allowed(theirs: Path, capsys) -> None:
    path = theirs / "field.yaml"
    path.write_text("agents: [random, {spec: 'python:theirs:Agent', games: 2}]\ngames: 2\n")
    assert ladder_main(["--field", str(path)]) == 2
    assert "field.yaml names python:theirs:Agent, whose code would run" in capsys.readouterr().err
    assert not (theirs / "ran").exists()
    read_field(path, allow_python=True)
    assert (theirs / "ran").exists()


# -- YAML ----------------------------------------------------------------------------------

BOMB = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join(f'*{a}' for _ in range(9))}]\n"
    for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seed: 2026-13-01", "this is no timestamp"),
        ("seed: !!int x", "this is no int"),
        ("seed: !!int ''", "this is no int"),
        ("seed: !!bool x", "this is no bool"),
        ("seed: !!timestamp x", "this is no timestamp"),
        ("seed: " + "9" * 5000, "this is no int"),
        ("[" * 50_000, "nested too deeply"),
        ("[" * 51 + "]" * 51, "nested too deeply"),
        (BOMB, "*a stands for something else"),
        ("a: &a [1]\nb: *a", "*a stands for something else"),
        ("!!python/object/apply:os.system [true]", "could not determine a constructor"),
        ("? [a]\n: b", "unhashable"),
        ("a: \x00", "not allowed"),
    ],
)
def test_yaml_of_any_kind_is_refused_in_a_short_line(text: str, said: str) -> None:
    with pytest.raises(YamlError) as error:
        parse_yaml(text)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) <= 500


def test_yaml_that_is_nested_less_deeply_is_read() -> None:
    assert str(parse_yaml("[" * 50 + "]" * 50)) == "[" * 50 + "]" * 50


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "Expecting value"), (b"\xff", "can't decode"), ("[" * 100_000, "nested too deeply")],
)
def test_damaged_json_is_a_value_error(text: str | bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_json(text)


@pytest.mark.parametrize("key", ["seed", "num_games", "network.blocks"])
def test_numbers_of_any_length_are_refused(key: str, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("name: a")
    with pytest.raises(ConfigError, match=rf"{key}: 12345678901234567890123456 must be at most"):
        load_config(path, TrainConfig, [f"{key}=12345678901234567890123456"])


# -- ladders -------------------------------------------------------------------------------


def a_ladder(folder: Path) -> Path:
    field = make_field(["random", "greedy"], games=4)
    header = Header("classic", 1, field.openings.digest, dict(field.agents), "0" * 16)
    lines = [dataclasses.asdict(header)]
    lines += [dataclasses.asdict(made_up(*game, margin=3)) for game in field.games()]
    folder.mkdir(exist_ok=True)
    path = folder / FILE
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_damaged_games_are_read_or_refused_in_a_line(tmp_path: Path) -> None:
    path, random = a_ladder(tmp_path), Random(1)
    games = read_games(tmp_path)
    assert len(games.results) == 8
    sound = path.read_bytes()
    refused = 0
    for _ in range(1000):
        data = bytearray(sound)
        for _ in range(random.choice((1, 1, 3))):
            at = random.randrange(len(data))
            data[at : at + random.choice((1, 1, 8))] = random.choice(
                (bytes([data[at] ^ 1 << random.randrange(8)]), b"", b"[" * 9, b"null", b"-9999")
            )
        path.write_bytes(data)
        try:
            games = read_games(tmp_path)
        except FieldError as error:
            refused += str(error).startswith(f"{path}, line ") or "no header" in str(error)
            continue
        assert all(abs(result.margin) <= 32 for result in games.results)
        with contextlib.suppress(FieldError):  # not all games are there
            write_report(tmp_path)
    assert refused > 500


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *[("margin", value) for value in (9999, 0.5, True, None)],
        *[("moves", value) for value in ([1], [-1, 2], 7)],
        *[("seconds", value) for value in ([0, float("nan")], [0, "a"])],
        ("dwarfs", "\x1b[2J"),
        ("ending", "ongoing"),
        ("start", -1),
        ("turns", 5),
        ("nodes", [0, 2**70]),
        ("unheard", 1),
    ],
)
def test_a_game_that_cannot_be_is_refused(key: str, value: object, tmp_path: Path) -> None:
    path = a_ladder(tmp_path)
    lines = path.read_text().splitlines()
    lines[2] = json.dumps({**json.loads(lines[2]), key: value})
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(FieldError, match="line 3 is damaged") as error:
        read_games(tmp_path)
    assert str(error.value).isprintable()


def test_names_that_would_upset_a_terminal_are_refused(tmp_path: Path) -> None:
    path = a_ladder(tmp_path)
    path.write_text(path.read_text().replace('"greedy"', '"gr\\u001b[2Jdy"'))
    with pytest.raises(FieldError, match="line 1 is damaged"):
        read_games(tmp_path)


# -- the rest ------------------------------------------------------------------------------


def test_a_long_tag_takes_no_more_than_its_length(tmp_path: Path) -> None:
    import tracemalloc

    setup = "dF1,TG7,RH8"
    text = f'[Event "{"x" * 1_000_000}\\"{"y" * 1_000_000}"]\n{setup}\n'
    tracemalloc.start()
    try:
        record = Record.from_text(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(record.tags["Event"]) == 2_000_001
    assert peak < 20 * len(text)


@pytest.mark.parametrize(
    "spec",
    ["alphabeta:evaluation=features,weights=a\0b", "alphabeta:weights=a\0b", "policy:a\0b"],
)
def test_a_path_that_cannot_be_one_is_refused_in_a_line(spec: str) -> None:
    with pytest.raises(ThudError, match=r"cannot be read|is not a policy"):
        agents.make(spec)
