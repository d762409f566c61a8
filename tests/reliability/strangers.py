"""Files of somebody else: no code of theirs runs, and nothing outside their folder is touched."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import sys
from pathlib import Path
from random import Random
from unittest import mock

import yaml

from reliability.reach import standing_on
from reliability.row import Fault, Row
from reliability.runs import CONFIG, trained
from thud_env.errors import ThudError
from training.config import TrainConfig
from training.config_file import load_config
from training.errors import ConfigError, RunError
from training.ladder.fields import read_field
from training.train import main as train_main

_PROMISE = "Somebody else's files run no code, and reach nothing outside their folder"
_MODULE = "import pathlib; pathlib.Path(__file__).with_name('ran').touch()\n"


def check_specs(size: int, random: Random, folder: Path) -> int:
    """``python:`` in a configuration, a run or a field."""
    sys.path.insert(0, str(folder))
    try:
        for number in range(size):
            module = f"theirs{random.randrange(10**9)}"
            (folder / f"{module}.py").write_text(_MODULE)
            spec = f"python:{module}:Agent"
            path = folder / str(number)
            path.mkdir()
            kind = number % 4
            tree = dataclasses.asdict(CONFIG)
            if kind == 0:
                tree["anchors"] = ["random", spec]
            elif kind == 1:
                tree["opponents"]["players"] = [spec]
            if kind < 2:
                (path / "config.yaml").write_text(yaml.safe_dump({**tree, "name": str(number)}))
                said = io.StringIO()
                with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
                    train_main([str(path)])
                    with contextlib.suppress(ConfigError):
                        load_config(path / "config.yaml", TrainConfig)
            else:
                agents = [spec, "random"] if kind == 2 else [{"spec": spec, "games": 2}, "random"]
                (path / "field.yaml").write_text(yaml.safe_dump({"agents": agents, "games": 2}))
                with contextlib.suppress(ThudError):
                    read_field(path / "field.yaml")
            assert not (folder / "ran").exists(), f"the code of {spec} ran"
    finally:
        sys.path.remove(str(folder))
    return size


_PLACES = ("checkpoints", "pool", "pool/trolls", "metrics.jsonl", "run.json", "lock", "tensorboard")


def check_links(size: int, random: Random, folder: Path) -> int:
    """A run in which a file or a folder is a link to another place."""
    for number in range(size):
        run, _ = trained(folder / str(number))
        # Something to set aside, and something to sweep.
        (run / "checkpoints" / "latest" / "state.json").write_text("{")
        (run / "pool" / "trolls" / ".left.7.tmp").touch()
        elsewhere = folder / f"elsewhere{number}"
        place = run / _PLACES[number % len(_PLACES)]
        place.rename(elsewhere)
        place.symlink_to(elsewhere)
        before = _contents(elsewhere)
        with contextlib.suppress(RunError, OSError):
            trained(folder / str(number), resume=True)
        assert _contents(elsewhere) == before, f"{place} was followed"
    return size


def _contents(path: Path) -> object:
    if path.is_file():
        return path.read_bytes()
    return {one: one.read_bytes() if one.is_file() else b"" for one in sorted(path.rglob("*"))}


ROWS = [
    Row(
        "agents that a file names",
        _PROMISE,
        "files",
        check_specs,
        40,
        400,
        {
            "python: is not refused": Fault(
                lambda: mock.patch("training.config_file.is_own", lambda _spec: False), "ran"
            )
        },
        proves=standing_on("training.train", "training.ladder.fields"),
    ),
    Row(
        "links in a run",
        _PROMISE,
        "runs",
        check_links,
        len(_PLACES),
        50,
        {
            "links are not looked for": Fault(
                lambda: mock.patch("training.runs.folder.check_links", lambda _path: None),
                "was followed",
            )
        },
        proves=standing_on("training.train"),
    ),
]
