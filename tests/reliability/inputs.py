"""Inputs of any kind are read or refused by name, and nothing else."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import yaml
from test_check import TRIES
from test_fuzz import LIMITS, attempt, battles, check_position, check_reads, damaged

import agents
from agents.networks.checkpoint import save_policy
from agents.networks.config import NetworkConfig
from agents.networks.network import Network
from agents.registry import AGENTS
from reliability.reach import CONFIGURATIONS, standing_on
from reliability.row import THE_ENVIRONMENTS, THE_GAME, Fault, Row
from reliability.tree import PLAIN, ROOT, edited, run
from thud_env import Position, Record, RecordError
from thud_env.errors import ThudError
from thud_env.outcome import SIDES
from thud_env.record.text import decode_record
from thud_env.rulesets import RULESETS
from training.config import TrainConfig
from training.config_file import load_config
from training.errors import ConfigError
from training.ladder.fields import read_field

_PROMISE = "Any input is read or refused by name"


def _corpus(random: Random) -> tuple[list[bytes], list[tuple[Position, Any]]]:
    found = list(battles(random))
    records = [record.text.encode() for record, _ in found]
    return records, [(one, record.rules) for record, many in found for one in many]


def check_records(size: int, random: Random, folder: Path) -> int:
    """Records of battles, and what becomes of them."""
    texts, _ = _corpus(random)
    for _ in range(size):
        data = damaged(random.choice(texts), texts, random)
        found = attempt(lambda data: Record.from_text(decode_record(data)), data)
        if isinstance(found, Record):
            check_reads(found)
        else:
            assert type(found) is RecordError and found.line, data
    return size


def check_positions(size: int, random: Random, folder: Path) -> int:
    """Texts of positions, and turns."""
    records, positions = _corpus(random)
    texts = [position.text.encode() for position, _ in positions]
    turns = [line for text in records for line in text.splitlines() if b"-" in line[:4]]
    for number in range(size):
        position, rules = random.choice(positions)
        if number % 2:
            data = damaged(random.choice(turns), turns, random)
            found = attempt(position.play, data.decode(errors="replace"))
        else:
            text = damaged(position.text.encode(), texts, random).decode(errors="surrogateescape")
            found = attempt(
                lambda text, rules: Position.from_text(text, rules, **LIMITS), text, rules
            )
            if isinstance(found, Position):
                assert found.text.split()[:5] == text.split()[:5], text
        if isinstance(found, Position):
            check_position(found)
    return size


def check_configs(size: int, random: Random, folder: Path) -> int:
    """Configurations and overrides, refused in one line that is not long."""
    root = Path(__file__).parents[2]
    texts = [path.read_bytes() for path in sorted((root / "configs").glob("*.yaml"))]
    texts += [b"a: &a [1]\nb: *a\n", b"? [1]: 2\n", b"seed: !!int 2026-13-01\n", b"[" * 100]
    path = folder / "config.yaml"
    for number in range(size):
        if number % 2:
            text = random.choice(texts)
            whole = random.random() < 0.1  # the others a few lines, which are read sooner
            path.write_bytes(damaged(text if whole else _lines(text, random), texts, random))
            _in_a_line(lambda: load_config(path, TrainConfig), ConfigError)
        else:
            path.write_bytes(b"name: one\n")
            override = f"{random.choice(_KEYS)}={random.choice(_VALUES)}"
            text = damaged(override.encode(), [b"=", b"ppo."], random)
            words = [text.decode(errors="surrogateescape")]
            _in_a_line(lambda words=words: load_config(path, TrainConfig, words), ConfigError)
    return size


def _lines(text: bytes, random: Random) -> bytes:
    """Some lines of a text that follow each other."""
    lines = text.splitlines(keepends=True)
    start = random.randrange(len(lines))
    return b"".join(lines[start : start + random.randint(1, 8)])


def check_fields(size: int, random: Random, folder: Path) -> int:
    """Fields of ladders: read, or refused by name."""
    texts = [path.read_bytes() for path in sorted((ROOT / "configs" / "ladder").glob("*.yaml"))]
    others = [*texts, b"  - spec: greedy\n    games: 2\n", b"  - python:os:system\n", b"[" * 100]
    path = folder / "field.yaml"
    for rules in RULESETS:  # found before those of the checkout, and read sooner
        _save_pair(folder / "pretrained" / rules, rules)
    with contextlib.chdir(folder):
        for _ in range(size):
            path.write_bytes(damaged(random.choice(texts), others, random))
            _in_a_line(lambda: read_field(path), ThudError)
    return size


def _save_pair(folder: Path, rules: str) -> None:
    """Save a pair of tiny policies."""
    network = Network(NetworkConfig(channels=2, blocks=0, key_size=2))
    for role in SIDES:
        save_policy(folder / role, network, role=role, rules=rules, decisions=1)


_KEYS = [*(field.name for field in dataclasses.fields(TrainConfig)), "ppo.gamma", "network.blocks"]
_VALUES = ["", "0", "-1", "1e999", "nan", "null", "[]", "{a: [1]}", "true", "classic", "9" * 5000]


def check_rows(size: int, random: Random, folder: Path) -> int:
    """State rows: in processes of their own, which damaged ones could end."""
    first = random.randrange(10**9)
    assert run("-c", TRIES, str(first), str(size), **_plain) == "done\n"
    return size


_plain: dict[str, str] = {}


def check_specs(size: int, random: Random, folder: Path) -> int:
    """Specs of agents."""
    texts = [f"{name}:depth=1,sims=4,temperature=0.5,PATH".encode() for name in AGENTS]
    texts += [b"alphabeta:depth=2,quiescence=1", b"mcts:sims=10", b"policy:pair"]
    _save_pair(folder / "pair", "classic")
    with contextlib.chdir(folder):
        _make_of_specs(texts, size, random)
    return size


def _make_of_specs(texts: list[bytes], size: int, random: Random) -> None:
    for _ in range(size):
        spec = damaged(random.choice(texts), texts, random).decode(errors="replace")
        if spec.startswith("python:"):
            continue
        _in_a_line(lambda spec=spec: agents.make(spec), ThudError)


def _in_a_line(read: Callable[[], object], error: type[Exception]) -> None:
    try:
        read()
    except error as refusal:
        assert re.search(r"\w", str(refusal)), "nothing is said"
    except Exception as raw:
        raise AssertionError(f"a raw {type(raw).__name__}: {raw}") from raw


@contextlib.contextmanager
def _board_is_not_looked_at() -> Iterator[None]:
    wrong = edited(
        "thud_env/rules/check.py",
        "def _wrong_on_board(row, most_dwarfs, most_trolls):",
        "def _wrong_on_board(row, most_dwarfs, most_trolls):\n    return -1",
    )
    with wrong, mock.patch.dict(_plain, PLAIN):
        yield


class _Raw(Exception):  # noqa: N818 (stands for any that is of no kind of ours)
    pass


def _raw(*_arguments: object, **_named: object) -> None:
    raise _Raw("a raw error")


ROWS = [
    Row(
        "records",
        _PROMISE,
        "fuzzed inputs",
        check_records,
        20_000,
        10_000_000,
        {
            "tags raise raw": Fault(
                lambda: mock.patch("thud_env.record.text.RecordText._add_tag", _raw),
                "a raw error",
                _Raw,
            )
        },
        proves=THE_GAME,
    ),
    Row(
        "positions and turns",
        _PROMISE,
        "fuzzed inputs",
        check_positions,
        20_000,
        10_000_000,
        {
            "a text is not the one of its position": Fault(
                lambda: mock.patch.object(Position, "text", property(lambda _position: "nothing")),
                "'nothing' has 1 fields",
                ThudError,
            )
        },
        proves=THE_GAME,
    ),
    Row(
        "configurations and overrides",
        _PROMISE,
        "fuzzed inputs",
        check_configs,
        2_000,
        10_000_000,
        {
            "PyYAML's own errors are let through": Fault(
                lambda: mock.patch("agents.strict_yaml._Loader", yaml.SafeLoader),
                "a raw ValueError",
            )
        },
        proves=CONFIGURATIONS,
    ),
    Row(
        "fields of ladders",
        _PROMISE,
        "fuzzed inputs",
        check_fields,
        1_000,
        1_000_000,
        {
            "entries raise raw": Fault(
                lambda: mock.patch("training.ladder.fields._entry", _raw), "a raw _Raw: a raw error"
            )
        },
        proves=standing_on("training.ladder.fields"),
    ),
    Row(
        "specs of agents",
        _PROMISE,
        "fuzzed inputs",
        check_specs,
        20_000,
        10_000_000,
        {
            "options raise raw": Fault(
                lambda: mock.patch("agents.registry._options", _raw), "a raw _Raw: a raw error"
            )
        },
        proves=standing_on("agents.registry"),
    ),
    Row(
        "state rows",
        _PROMISE,
        "fuzzed inputs",
        check_rows,
        2_000,
        1_000_000,
        {"the board is not looked at": Fault(_board_is_not_looked_at, "IndexError")},
        with_fault=20,
        chunk=20_000,
        proves=THE_ENVIRONMENTS,
    ),
]
