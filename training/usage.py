"""Configurations on command lines: how they are named."""

from __future__ import annotations

import argparse
from pathlib import Path

from thud_env.arguments import nearest
from thud_env.command import Command
from training.config import Config
from training.config_file import STORED, load_config, load_stored
from training.errors import ConfigError

_CHECKOUT = Path(__file__).resolve().parents[1]
SMOKE = Path("configs/smoke.yaml")
CONFIG_OR_RUN = (
    "a YAML file, whose run begins anew without --resume, or a run's folder, which goes on"
)
ALLOW_PYTHON = "let the file name agents python:MODULE:CLASS, and their code run"


def add_config(command: Command, meaning: str, default: Path | None = None) -> None:
    """Add ``CONFIG [KEY=VALUE ...]`` to a command line.

    Args:
        command: the command line.
        meaning: what CONFIG is.
        default: used if CONFIG is left out, where it may be.
    """
    where = f" ({default.parent.name}/{default.name})" if default else ""
    command.add_argument(
        "config", nargs="?" if default else None, metavar="CONFIG", help=f"{meaning}{where}"
    )
    command.add_keys("other values for keys of the configuration: total_decisions=50_000")
    command.add_argument("--allow-python", action="store_true", help=ALLOW_PYTHON)


def read_config(arguments: argparse.Namespace, default: Path, kind: type[Config]) -> Config:
    """The configuration of a command line on which CONFIG may be left out.

    Raises:
        ConfigError: naming the key and what would be right.
    """
    words = [*filter(None, [arguments.config]), *arguments.overrides]
    if not words or "=" in words[0]:
        return load_config(default, kind, words)
    path = _path_of_config(Path(words[0]), Path(default.parent.name, default.name))
    return load_config(path, kind, words[1:], allow_python=arguments.allow_python)


def _path_of_config(path: Path, example: Path) -> Path:
    """The file that a CONFIG means: that file, or the one in the folder of a run. In the checkout,
    the command takes ``example``.

    Raises:
        ConfigError: if it is a folder without a run, or misspelt.
    """
    if not path.exists():
        within = Path("configs", *path.parts[1:])  # for confgs/smoke.yaml, or runs/smoke.yaml
        written = (path, example.parent / path, Path("configs", path))
        for ours in (*written, *(Path(f"{one}.yaml") for one in written), within):
            if (_CHECKOUT / ours).is_file():
                there = ours if ours.is_file() else _CHECKOUT / ours
                raise ConfigError(f"{path}: there is no such file here: {there} would be right")
        right = f"the folder of a run, or a file such as {example}, would be right"
        raise ConfigError(f"{path}: there is no such file or folder: {instead_of(path) or right}")
    if not path.is_dir():
        return path
    if not (path / STORED).exists():
        ours, folder = _CHECKOUT / example, path.resolve()
        if ours.is_relative_to(folder):
            shown = path / ours.relative_to(folder)
        else:
            shown = min(path.glob("*.yaml"), default=example)
        raise ConfigError(
            f"{path} is a folder without a run: the folder of a run, or a file such as "
            f"{shown}, would be right"
        )
    return path / STORED


def instead_of(path: Path) -> str:
    """What a path that does not exist may stand for: a name beside it, if one is near, or else the
    newest runs there. Empty if there is nothing.
    """
    runs = sorted(path.parent.glob(f"*/{STORED}"), key=lambda one: one.stat().st_mtime)
    newest = ", ".join(str(one.parent) for one in runs[:-6:-1])
    return near_name(path) or (newest and f"the newest runs there: {newest}")


def near_name(path: Path) -> str:
    """A question for the name beside a path that does not exist, if one is near; else empty."""
    beside = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
    return nearest(path.name, beside).strip()


def read_run(
    arguments: argparse.Namespace, kind: type[Config], example: Path = SMOKE
) -> tuple[Config, Path, bool]:
    """The configuration of a command line on which CONFIG may be a run's folder; the folder of runs
    that it is in; and whether the run goes on.

    Args:
        arguments: those of ``add_config``.
        kind: of the configuration.
        example: a CONFIG of the checkout that is right, to be named where another is wrong.

    Raises:
        ConfigError: naming the key, or the folder, and what would be right.
    """
    path, file = Path(arguments.config), _path_of_config(Path(arguments.config), example)
    config = load_config(file, kind, arguments.overrides, allow_python=arguments.allow_python)
    if not path.is_dir():
        return config, Path("runs"), False
    stored = load_stored(path, kind).name
    if config.name != stored:
        raise ConfigError(f"name: {path} goes on as {stored}: leave out name={config.name}")
    if stored != path.resolve().name:
        right = path.resolve().with_name(stored)
        first = f"move {right}, another run, away; then " if right.exists() else ""
        raise ConfigError(f"{path}: the run in it is called {stored}: {first}rename the folder")
    return config, path.parent if path.name == config.name else path.resolve().parent, True
