"""The command lines: arguments, help, errors in one line, Ctrl-C."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from numba import config

from thud_env import ThudError
from thud_env.command import BROKEN_PIPE, Command, bounded, counted, say, whole_number

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__")
    for package in ("thud_env", "agents", "training")
    for path in (ROOT / package).rglob("*.py")
    if "\n    sys.exit(main())\n" in path.read_text(encoding="utf-8")
)
"""Every module that is a command."""


def main_of(module: str):
    package = importlib.util.find_spec(module).submodule_search_locations is not None
    found = pytest.importorskip(
        f"{module}.__main__" if package else module,
        reason="a library that it trains with has a virtual environment of its own",
    )
    return found.main


def test_the_commands_are_found() -> None:
    assert {"agents.play", "thud_env.perft", "training.ladder", "training.train"} <= set(MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_help_shows_how_to_call_it(module: str, capsys) -> None:
    assert main_of(module)(["--help"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith(f"usage: python -m {module} [-h]")
    assert f"\n    python -m {module}" in out  # an example, from the module's docstring
    assert "::" not in out
    assert "``" not in out


@pytest.mark.parametrize("module", MODULES)
def test_a_misspelt_option_is_one_line_that_names_the_nearest(module: str, capsys) -> None:
    assert main_of(module)(["--hlep=3"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    name = module.rpartition(".")[2]
    assert err.startswith(f"{name}: unknown option --hlep: did you mean --help? there are --help")


@pytest.mark.parametrize("module", MODULES)
def test_ctrl_c_is_one_line_and_exit_code_130(module: str, monkeypatch, capsys) -> None:
    def interrupted(*_: object) -> argparse.Namespace:
        raise KeyboardInterrupt

    monkeypatch.setattr(Command, "parse_known_intermixed_args", interrupted)
    assert main_of(module)([]) == 130
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("stopped")


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
def test_ctrl_c_is_heard_while_compiled_code_runs() -> None:
    command = [sys.executable, "-m", "thud_env.perft", "--depth", "9"]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        while process.stdout.readline().split()[0] != "3":
            pass
        os.kill(process.pid, signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "stopped"


# -- arguments -----------------------------------------------------------------------------


def run(*words: str) -> argparse.Namespace | int:
    """The arguments that a small command reads, or its exit code."""
    command = Command("package.small", "What it does.")
    command.add_argument("first")
    command.add_argument("rest", nargs="*")
    command.add_argument("--games", type=bounded(int, 1, 10), default=3)
    command.add_argument("--minutes", type=bounded(float, 0))
    command.add_rules()
    read: list[argparse.Namespace] = []
    return command.run(read.append, list(words)) or read[0]


def test_options_may_stand_anywhere_and_take_an_equals_sign() -> None:
    arguments = run("a", "--minutes=1", "b", "--games", "1e1", "c")
    assert vars(arguments) == {
        "first": "a",
        "rest": ["b", "c"],
        "games": 10,
        "minutes": 1.0,
        "rules": "classic",
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "small: the following arguments are required: first"),
        (
            ["a", "--minuets=1"],
            "small: unknown option --minuets: did you mean --minutes? there are",
        ),
        (["a", "--minute=1"], "small: unknown option --minute: did you mean --minutes?"),
        (["a", "--minu=1"], "small: unknown option --minu: did you mean --minutes?"),
        (["a", "--es=1"], "small: unknown option --es: there are --help"),
        (["a", "-x"], "small: unexpected argument '-x': the options are --help, --games, "),
        (["a", "--games", "0"], "small: --games: '0': a whole number in 1 .. 10 would be right"),
        (["a", "--games", "2.5"], "small: --games: '2.5': a whole number in 1 .. 10 would be"),
        (["a", "--games"], "small: --games: expected one argument"),
        (["a", "--minutes", "nan"], "small: --minutes: 'nan': a number, 0 or more, would be right"),
        (["a", "--minutes", "soon"], "small: --minutes: 'soon': a number, 0 or more, would be"),
        (["a", "--rules", "clasic"], "small: --rules: unknown ruleset 'clasic': did you mean"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(words: list[str], said: str, capsys) -> None:
    assert run(*words) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(said)


def test_a_users_mistake_is_one_line_and_a_bug_is_raised(capsys) -> None:
    def work(_: argparse.Namespace) -> None:
        raise kind("two\nlines")

    command = Command("package.small", "")
    kind: type[Exception] = ThudError
    assert command.run(work, []) == 2
    assert capsys.readouterr().err == "small: two lines\n"
    kind = ValueError  # as NumPy's and Python's own
    with pytest.raises(ValueError, match="two"):
        command.run(work, [])


def test_a_file_that_is_missing_is_named_without_the_systems_number(tmp_path: Path, capsys) -> None:
    path = tmp_path / "nope.thud"
    command = Command("package.small", "")
    assert command.run(lambda _: len(path.read_bytes()), []) == 2
    assert capsys.readouterr().err == f"small: {path}: No such file or directory\n"


@pytest.mark.parametrize("text", ["2000000", "2_000_000", "2e6", "2.0e6", "2000000.0"])
def test_a_whole_number_has_several_spellings(text: str) -> None:
    assert whole_number(text) == 2_000_000


@pytest.mark.parametrize("text", ["2.5", "1e-3", "inf", "nan", "many", ""])
def test_other_words_are_not_whole_numbers(text: str) -> None:
    with pytest.raises(ValueError, match=r"whole number|convert"):
        whole_number(text)


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (OSError(28, "No space left on device", "a/b"), 1, "small: a/b: No space left on device\n"),
        (
            OSError(28, "No space left on device", "a", None, "b"),
            1,
            "small: b: No space left on device\n",
        ),
        (PermissionError(13, "Permission denied", "a"), 2, "small: a: Permission denied\n"),
        (IsADirectoryError(21, "Is a directory", "a"), 2, "small: a: Is a directory\n"),
        (NotADirectoryError(20, "Not a directory", "a"), 2, "small: a: Not a directory\n"),
        (OSError(36, "File name too long", "a"), 2, "small: a: File name too long\n"),
        (OSError(30, "Read-only file system", "a"), 1, "small: a: Read-only file system\n"),
        (ChildProcessError("a worker was killed"), 1, "small: a worker was killed\n"),
        (MemoryError("Unable to allocate"), 1, "small: not enough memory. Unable to allocate\n"),
        (
            RuntimeError("CUDA out of memory. Tried to allocate 20 GiB"),
            1,
            "small: not enough memory. CUDA out of memory. Tried to allocate 20 GiB\n",
        ),
        (ThudError("a\x1b[2Jb\n\nc"), 2, "small: a\\x1b[2Jb c\n"),
    ],
)
def test_an_error_is_one_line_that_any_terminal_can_print(error, code, said, capsys):
    def work(_arguments: object) -> None:
        raise error

    command = Command("package.small", "What it does.")
    assert command.run(work, []) == code
    assert capsys.readouterr().err == said


def test_any_other_runtime_error_is_a_bug() -> None:
    def work(_arguments: object) -> None:
        raise RuntimeError("the size of tensor a must match")

    with pytest.raises(RuntimeError, match="the size of tensor a"):
        Command("package.small", "What it does.").run(work, [])


def test_a_line_is_short_whatever_it_quotes(capsys) -> None:
    assert say("x" * 10**6, 2) == 2
    assert len(capsys.readouterr().err) < 3000


@pytest.fixture(scope="module")
def battle() -> list[str]:
    """A command that plays a battle, and need not compile anything."""
    words = ["--dwarfs", "random", "--trolls", "random", "--seed", "1", "--rules", "koom-valley"]
    command = [sys.executable, "-m", "agents.play", *words]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    return command


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_stream_that_is_closed_is_not_missed(closed: int, battle: list[str]) -> None:
    done = subprocess.run(
        battle,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: os.close(closed),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert ("win" in done.stdout) == (closed != 1)


def test_a_reader_that_has_gone_away_ends_a_command_without_a_line() -> None:
    command = [sys.executable, "-m", "thud_env.perft", "--depth", "1"]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)  # it may have to compile
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        command, cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (BROKEN_PIPE, "")


@pytest.mark.parametrize(
    ("work", "words", "stream", "said"),
    [
        ("print('x')", [], "stdout", "small: standard output: No space left on device\n"),
        ("print('x' * 10**6)", [], "stdout", "small: standard output: No space left on device\n"),
        ("print('x')", ["--help"], "stdout", "small: standard output: No space left on device\n"),
        ("print('x', file=sys.stderr)", [], "stderr", ""),
    ],
)
def test_a_full_standard_stream_is_a_disk_that_fails(
    work: str, words: list[str], stream: str, said: str
) -> None:
    program = (
        "import sys; from thud_env.command import Command; "
        "command = Command('package.small', 'What it does. ' * 9999); "
        f"sys.exit(command.run(lambda _: {work}, {words}))"
    )
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": ""},
            text=True,
            check=False,
            **{"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, stream: full},
        )
    assert (done.returncode, done.stderr or "") == (1, said)


def test_one_of_a_thing_is_not_many() -> None:
    assert (counted(1, "game pair"), counted(2000, "start")) == ("1 game pair", "2,000 starts")
