"""What is installed, and how it starts where things are not as usual."""

from __future__ import annotations

import ast
import dataclasses
import itertools
import os
import resource
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import yaml
from small_run import SMALL_RUN
from test_compile import CALL, SOURCES

import thud_env.jit.compile
from reliability.row import PACKAGES, Fault, Row
from reliability.tree import ROOT
from thud_env.command import BROKEN_PIPE

# -- the compile cache ---------------------------------------------------------------------

NOWHERE = {
    "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator",
    "NUMBA_CACHE_DIR": "/dev/null/x",
}
TRUSTING = {"cache.py": ("== data[-_HASH_BYTES:]", "!= b''")}
"""An edit of the cache's source, after which it runs what it finds."""
_edits: dict[str, tuple[str, str]] = {}


def _house(folder: Path) -> None:
    """A package of a few compiled functions, with the compiler of ours."""
    for name, text in SOURCES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(line.removeprefix("        ") for line in text.splitlines()))
    (folder / "thud_env" / "jit").mkdir(exist_ok=True)
    for name in ("alone.py", "cache.py", "compile.py"):
        source = Path(thud_env.jit.compile.__file__).with_name(name)
        edited = source.read_text().replace(*_edits.get(name, ("", "")))
        (folder / "thud_env" / "jit" / name).write_text(edited)


def _started(folder: Path, **how: Any) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment = {**kept, "PYTHONDONTWRITEBYTECODE": "1", **how.pop("env", {})}
    return subprocess.Popen(
        [sys.executable, "-c", CALL],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **how,
    )


def _right(process: subprocess.Popen[str], wanted: str = "20 -20") -> None:
    out, error = process.communicate()
    assert process.returncode == 0, error
    assert " ".join(out.split()[:2]) == wanted, f"{out.split()[:2]} instead of {wanted}"


def _no_place(folder: Path, random: Random) -> None:
    _right(_started(folder, env=NOWHERE))


def _full_disk(folder: Path, random: Random) -> None:
    limit = resource.RLIMIT_FSIZE
    _right(_started(folder, preexec_fn=lambda: resource.setrlimit(limit, (0, 0))))


def _two_at_once(folder: Path, random: Random) -> None:
    for process in [_started(folder) for _ in range(2)]:
        _right(process)
    _right(_started(folder))


def _killed(folder: Path, random: Random) -> None:
    process = _started(folder)
    try:
        process.wait(timeout=random.uniform(0.3, 4))
    except subprocess.TimeoutExpired:
        process.kill()
    process.communicate()
    _right(_started(folder))


def _damaged(folder: Path, random: Random) -> None:
    _right(_started(folder))
    for path in folder.rglob("*.nb[ic]"):
        path.write_bytes(path.read_bytes()[: random.randrange(path.stat().st_size)])
    _right(_started(folder))


def _old_code(folder: Path, random: Random) -> None:
    """The index of new code, and code of old sources under its name."""
    _right(_started(folder))
    old = {path: path.read_bytes() for path in folder.rglob("*.nbc")}
    (folder / "thud_env" / "deep" / "table.py").write_text("VALUE = 2\n")
    _right(_started(folder), "30 -30")
    for path, data in old.items():
        path.write_bytes(data)
    _right(_started(folder), "30 -30")


_CACHES = (_old_code, _no_place, _full_disk, _two_at_once, _killed, _damaged)


def check_caches(size: int, random: Random, folder: Path) -> int:
    """Each way in turn."""
    for number in range(size):
        _house(folder / str(number))
        _CACHES[number % len(_CACHES)](folder / str(number), random)
    return size


# -- starts --------------------------------------------------------------------------------

_prelude: dict[str, str] = {"code": ""}
_PLAY = "agents.play --dwarfs random --trolls random --seed 1 --rules koom-valley"
_TRAIN = "training.train small.yaml total_decisions=256 anchor_games=0"
_COMMANDS = ("thud_env.perft --depth 1", _PLAY, _TRAIN)
_ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}


@dataclasses.dataclass(frozen=True)
class _Start:
    """How a command is started, and what must come of it."""

    options: tuple[str, ...] = ()
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    shell: str = "{}"
    """What a shell does with the command."""
    codes: tuple[int, ...] = (0,)
    lines: int = 0
    """On standard error."""
    is_shown: bool = True
    """Whether the output is as ever."""


_STARTS = {
    "-O": _Start(("-O",)),
    "-W error": _Start(("-W", "error")),
    "LC_ALL=C": _Start(environment=_ASCII),
    "LC_ALL=tr_TR.UTF-8": _Start(environment={"LC_ALL": "tr_TR.UTF-8"}),
    "no HOME": _Start(environment={"HOME": "/nonexistent"}),
    "COLUMNS=1": _Start(environment={"COLUMNS": "1"}),
    "stdin closed": _Start(shell="{} <&-"),
    "stdout closed": _Start(shell="{} >&-", is_shown=False),
    "stderr closed": _Start(shell="{} 2>&-"),
    "a full disk": _Start(shell="{} >/dev/full", codes=(1,), lines=1, is_shown=False),
    "a cut pipe": _Start(
        shell="set -o pipefail; {} | true", codes=(0, BROKEN_PIPE), is_shown=False
    ),
}


def check_starts(size: int, random: Random, folder: Path) -> int:
    """Each command started in each way: its output as ever, and no lines but where one is due."""
    pairs = list(itertools.product(_COMMANDS, _STARTS))
    if size < len(pairs):  # each way once
        pairs = [(_COMMANDS[n % len(_COMMANDS)], name) for n, name in enumerate(_STARTS)]
    wanted = {command: _start(command, _Start(), folder).stdout for command, _ in pairs}
    for command, name in pairs:
        how = _STARTS[name]
        done = _start(command, how, folder)
        where = f"{name}: {command}: {done.returncode}: {done.stderr}"
        assert done.returncode in how.codes, where
        assert done.stderr.count("\n") == how.lines, where
        if how.is_shown and command != _TRAIN:  # which shows times
            assert done.stdout == wanted[command], f"{where}: {done.stdout}"
    return len(pairs)


def _start(command: str, how: _Start, folder: Path) -> subprocess.CompletedProcess[str]:
    module, *words = command.split()
    (folder / "small.yaml").write_text(yaml.safe_dump(dataclasses.asdict(SMALL_RUN)))
    program = (
        f"{_prelude['code']}import runpy, sys; sys.argv = {['', *words]!r}; "
        f"runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
    )
    environment = ["env", *(f"{name}={value}" for name, value in how.environment.items())]
    python = shlex.join([*environment, sys.executable, *how.options, "-c", program])
    return subprocess.run(
        ["bash", "-c", how.shell.format(python)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


# -- sources -------------------------------------------------------------------------------

_FORBIDDEN_CALLS = {"eval", "exec", "__import__"}
_FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}


def _sources() -> list[str]:
    return [
        path.read_text(encoding="utf-8")
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
    ]


def check_sources(size: int, random: Random, folder: Path) -> int:
    """No source runs text as code, or reads what may run code."""
    sources = _sources()
    for text in sources:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in _FORBIDDEN_CALLS, ast.unparse(node)
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.load":
                assert "weights_only=True" in ast.unparse(node), ast.unparse(node)
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                assert name.split(".")[0] not in _FORBIDDEN_MODULES, name
    return len(sources)


# -- the wheel -----------------------------------------------------------------------------

_packages = {"packages": 'packages = ["thud_env"]'}


def check_wheel(size: int, random: Random, folder: Path) -> int:
    """It holds thud_env as it is in the checkout, and nothing else."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    for name in listed:
        if (ROOT / name).is_file():
            (folder / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / "tree" / name)
    project = folder / "tree" / "pyproject.toml"
    project.write_text(
        project.read_text().replace('packages = ["thud_env"]', _packages["packages"])
    )
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=folder / "tree",
        check=True,
        capture_output=True,
    )
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
        assert packed == {name for name in listed if name.startswith("thud_env/")}
        for name in packed:
            assert wheel.read(name) == (ROOT / name).read_bytes(), name
    return len(packed)


_INSTALLED = "It starts anywhere"

ROWS = [
    Row(
        "the compile cache",
        _INSTALLED,
        "caches",
        check_caches,
        6,
        200,
        {"old code is run": Fault(lambda: mock.patch.dict(_edits, TRUSTING), "instead of 30 -30")},
        with_fault=1,
    ),
    Row(
        "every command, however it is started",
        _INSTALLED,
        "starts",
        check_starts,
        len(_STARTS),
        len(_STARTS) * len(_COMMANDS),
        {
            "something warns": Fault(
                lambda: mock.patch.dict(
                    _prelude, {"code": "import warnings; warnings.warn('beware'); "}
                ),
                "UserWarning: beware",
            )
        },
        chunk=len(_STARTS) * len(_COMMANDS),
    ),
    Row(
        "no pickle, eval, exec",
        "What is installed runs no text as code",
        "sources",
        check_sources,
        100,
        100,
        {
            "pickle.loads": Fault(
                lambda: mock.patch(
                    f"{__name__}._sources", lambda: ["import pickle\npickle.loads(b'')"]
                ),
                "pickle",
            ),
            "eval": Fault(
                lambda: mock.patch(f"{__name__}._sources", lambda: ["eval('1')"]), "eval('1')"
            ),
        },
    ),
    Row(
        "the wheel",
        "The wheel holds what it should",
        "files",
        check_wheel,
        30,
        30,
        {
            "agents is packed too": Fault(
                lambda: mock.patch.dict(
                    _packages, {"packages": 'packages = ["thud_env", "agents"]'}
                ),
                'name.startswith("thud_env/")',
            )
        },
    ),
]
