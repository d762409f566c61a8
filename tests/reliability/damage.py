"""Damaged files: refused with the file and the reason, or what they say is as it was."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import torch
from ladders import made_up

from agents.networks.checkpoint import CheckpointError, load_policy, save_policy
from agents.networks.config import NetworkConfig
from agents.networks.network import Network
from reliability.reach import standing_on
from reliability.row import Fault, Row
from reliability.runs import trained
from training.arena.field import FieldError
from training.errors import RunError
from training.ladder.entries import Header
from training.ladder.fields import make_field
from training.ladder.store import FILE, read_games
from training.process.state import State, StateError, load_state, save_state

_PROMISE = "Damaged files are refused, with the file and the reason"


def injured(data: bytes, random: Random) -> bytes:
    """Cut short, or with a bit or some bytes changed."""
    kind, at = random.randrange(4), random.randrange(len(data))
    if kind == 0:
        return data[:at]
    changed = bytearray(data)
    if kind == 1:
        changed[at : at + random.randrange(1, 9)] = random.randbytes(random.randrange(9))
    else:
        changed[at] ^= 1 << random.randrange(8)
    return bytes(changed)


def _each_file(
    size: int, random: Random, folder: Path, load: Callable[[], Any], error: type[Exception]
) -> int:
    """Injure one file of a folder at a time, and compare what is loaded."""
    sound = load()
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for _ in range(size):
        path = random.choice(files)
        data = path.read_bytes()
        path.write_bytes(injured(data, random))
        try:
            found = load()
        except error as refusal:
            assert str(folder) in str(refusal), f"the file is not named: {refusal}"
        else:
            assert found == sound, f"{path.name} was damaged, and read as something else"
        path.write_bytes(data)
    return size


def _plain(tensors: dict[str, torch.Tensor]) -> dict[str, Any]:
    return {name: tensor.tolist() for name, tensor in tensors.items()}


def check_policies(size: int, random: Random, folder: Path) -> int:
    """Weights and manifest."""
    torch.manual_seed(1)
    network = Network(NetworkConfig(channels=2, blocks=1, key_size=2))
    save_policy(folder / "p", network, role="dwarfs", rules="classic", decisions=7)

    def load() -> object:
        found = load_policy(folder / "p")
        weights = _plain(found.network.state_dict())
        return found.role, found.rules, found.decisions, found.network.config, weights

    return _each_file(size, random, folder / "p", load, CheckpointError)


def check_states(size: int, random: Random, folder: Path) -> int:
    """All that a run goes on from."""
    tensors = {"rows": torch.arange(40, dtype=torch.int16), "mean": torch.rand(9)}
    values = {"draws": {"state": 2**100 + 3}, "names": ["random", "000000000256"], "lead": 0.25}
    save_state(folder, State(tensors, values))

    def load() -> object:
        found = load_state(folder)
        return _plain(found.tensors), found.values

    return _each_file(size, random, folder, load, StateError)


def check_games(size: int, random: Random, folder: Path) -> int:
    """A ladder's games: read with values that there can be, or refused with file and line."""
    field = make_field(["random", "greedy"], games=4)
    header = Header("classic", 1, field.openings.digest, dict(field.agents), "0" * 16)
    entries = [header, *(made_up(*game, margin=3) for game in field.games())]
    path = folder / FILE
    sound = "".join(json.dumps(dataclasses.asdict(one)) + "\n" for one in entries).encode()
    for _ in range(size):
        path.write_bytes(injured(sound, random))
        try:
            games = read_games(folder)
        except FieldError as refusal:
            assert str(path) in str(refusal)
            continue
        for game in games.results:
            assert type(game.margin) is int and abs(game.margin) <= 32
            assert {game.dwarfs, game.trolls} <= {*field.agents, *games.header.agents}
            assert game.turns.isprintable()
    return size


_VALUES = (None, -1, 2**70, 1e308, 0.5, True, "x", [], {})


def check_values(size: int, random: Random, folder: Path) -> int:
    """One value of a state is another, under a hash that is right: the checkpoint is set aside, or
    the run refused by name, or it goes on to its end.
    """
    run, _ = trained(folder / "whole")
    checkpoints = run / "checkpoints"
    *_, before, last = sorted(path.name for path in checkpoints.iterdir() if path.name.isdigit())
    shutil.rmtree(checkpoints / last)  # so that something is left to be done
    (checkpoints / "latest").unlink()
    (checkpoints / "latest").symlink_to(before)
    sound = load_state(checkpoints / before)
    for number in range(size):
        runs = folder / str(number)
        shutil.copytree(folder / "whole", runs, symlinks=True)
        values = copy.deepcopy(sound.values)
        *way, name = random.choice(list(_ways(values)))
        part: Any = values
        for one in way:
            part = part[one]
        part[name] = random.choice(_VALUES)
        save_state(runs / "small" / "checkpoints" / before, State(sound.tensors, values))
        try:
            trained(runs, resume=True)
        except RunError:
            pass
        except Exception as raw:
            raise AssertionError(f"a raw {type(raw).__name__}: {way}, {name}: {raw}") from raw
        shutil.rmtree(runs)
    return size


def _ways(tree: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The keys to every value in a tree of mappings and lists."""
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in pairs:
        yield (*way, key)
        if isinstance(value, (dict, list)):
            yield from _ways(value, (*way, key))


def _restored_unseen(checkpoint: Path, restore: Callable[[State], None]) -> None:
    restore(load_state(checkpoint))


@contextlib.contextmanager
def _no_hash(module: str):  # type: ignore[no-untyped-def]
    class Same:
        def __init__(self, *_data: bytes) -> None:
            pass

        def update(self, _data: bytes) -> None:
            pass

        def hexdigest(self) -> str:
            return "0" * 64

    with mock.patch(f"{module}.hashlib.sha256", Same):
        yield


ROWS = [
    Row(
        "damaged policies",
        _PROMISE,
        "damaged files",
        check_policies,
        500,
        10_000,
        {
            "no hash": Fault(
                lambda: _no_hash("agents.networks.checkpoint"), "was damaged, and read as something"
            )
        },
        proves=standing_on("agents.networks.checkpoint"),
    ),
    Row(
        "damaged training states",
        _PROMISE,
        "damaged files",
        check_states,
        500,
        10_000,
        {
            "no hash": Fault(
                lambda: _no_hash("training.process.state"), "was damaged, and read as something"
            )
        },
        proves=standing_on("training.process.state"),
    ),
    Row(
        "values of a training state that are others, under a right hash",
        _PROMISE,
        "states",
        check_values,
        20,
        2_000,
        {
            "what cannot be restored is not set aside": Fault(
                lambda: mock.patch("training.runs.checkpoints._restore_from", _restored_unseen),
                "a raw ",
            )
        },
        proves=standing_on("training.train"),
    ),
    Row(
        "damaged games of a ladder",
        _PROMISE,
        "damaged files",
        check_games,
        500,
        10_000,
        {
            "values are not checked": Fault(
                lambda: mock.patch(
                    "training.ladder.entries._checked", lambda _name, value, _right: value
                ),
                "<= {*field.agents, *games.header.agents}",
            )
        },
        proves=standing_on("training.ladder.store"),
    ),
]
