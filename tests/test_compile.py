"""The compile cache: stale after a change in any source, and used until then.

The tests run processes on a small package with a copy of ``thud_env/jit/compile.py``.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.caching import NullCache

import thud_env.jit.compile
from agents.registry import AGENTS

ROOT = Path(__file__).parents[1]
SOURCES = {
    "thud_env/__init__.py": "",
    "thud_env/inner.py": """
        from thud_env.jit.compile import inlined
        from thud_env.deep.table import (
            VALUE,
        )

        @inlined
        def inner(x):
            return x + VALUE
    """,
    "thud_env/outer.py": """
        from thud_env import inner
        from thud_env.jit.compile import compiled

        add = inner.inner

        @compiled
        def outer(x):
            return 10 * add(x)
    """,
    "thud_env/deep/table.py": "VALUE = 1\n",
    "thud_env/unused.py": "",
    "agents/__init__.py": "",
    "agents/player.py": """
        from thud_env.jit.compile import compiled
        from thud_env.outer import outer

        @compiled
        def player(x):
            return -outer(x)
    """,
}
CALL = """
from thud_env.outer import outer
from agents.player import player
functions = (outer, player)
print(*(f(1) for f in functions), *(sum(f.stats.cache_hits.values()) for f in functions))
"""


@pytest.fixture
def call(tmp_path: Path):
    """Calls both functions in a fresh process: their results, and which came from the cache."""
    for name, text in SOURCES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(line.removeprefix("        ") for line in text.splitlines()))
    (tmp_path / "thud_env" / "jit").mkdir(exist_ok=True)
    for name in ("alone.py", "cache.py", "compile.py"):
        source = Path(thud_env.jit.compile.__file__).with_name(name)
        (tmp_path / "thud_env" / "jit" / name).write_text(source.read_text())
    # Without bytecode: a second edit within a second might otherwise go unseen by Python.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("NUMBA_CACHE_DIR", None)

    def in_a_process(**how) -> tuple[list[int], list[bool]]:
        done = subprocess.run(
            [sys.executable, "-c", CALL],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            **{"env": environment, **how},
        )
        said.append(done.stderr)
        numbers = [int(word) for word in done.stdout.split()]
        return numbers[:2], [hits > 0 for hits in numbers[2:]]

    said: list[str] = []
    in_a_process.said = said
    in_a_process.environment = environment
    return in_a_process


@pytest.mark.slow
def test_the_cache_is_stale_after_any_change_and_only_then(call, tmp_path: Path) -> None:
    assert call() == ([20, -20], [False, False])
    assert call() == ([20, -20], [True, True]), "the second process should not compile"

    # What the cached functions call, in a file of its own: Numba alone would not notice.
    inner = tmp_path / "thud_env" / "inner.py"
    inner.write_text(inner.read_text().replace("x + VALUE", "x + VALUE + 1"))
    assert call() == ([30, -30], [False, False])

    # A constant that the inner function alone imports.
    (tmp_path / "thud_env" / "deep" / "table.py").write_text("VALUE = 2\n")
    assert call() == ([40, -40], [False, False])

    # What imports a function, not what it is made of; and what nothing imports.
    player = tmp_path / "agents" / "player.py"
    player.write_text(player.read_text().replace("-outer", "+outer"))
    assert call() == ([40, 40], [True, False])
    (tmp_path / "thud_env" / "unused.py").write_text("VALUE = 3\n")
    assert call() == ([40, 40], [True, True])


@pytest.mark.slow
def test_what_is_compiled_beside_edited_files_is_not_kept_as_theirs(call, tmp_path: Path) -> None:
    """A process that runs on while files are edited, and imports more of them then."""
    late = """
from pathlib import Path
from thud_env.outer import outer
Path("thud_env/deep/table.py").write_text("VALUE = 2")
from agents.player import player
print(outer(1), player(1))
"""
    done = subprocess.run(
        [sys.executable, "-c", late],
        cwd=tmp_path,
        env=call.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["20", "-20"], "it goes on with what it imported"
    assert call()[0] == [30, -30], "and leaves nothing of it to others"


def test_of_processes_that_start_at_once_one_compiles(call, tmp_path: Path) -> None:
    at_once = """
from pathlib import Path
import os, time
Path(f"ready-{os.getpid()}").touch()
while len(list(Path().glob("ready-*"))) < 3:
    time.sleep(0.001)
"""
    starts = [
        subprocess.Popen(
            [sys.executable, "-c", CALL.replace("functions =", f"{at_once}functions =")],
            cwd=tmp_path,
            env=call.environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    try:
        said = [start.communicate(timeout=120)[0].split() for start in starts]
    finally:
        for start in starts:
            start.kill()
    assert [numbers[:2] for numbers in said] == [["20", "-20"]] * 3
    hits = [[int(number) for number in numbers[2:]] for numbers in said]
    assert [sum(of_one) for of_one in zip(*hits, strict=True)] == [2, 2]


def test_where_there_are_no_locks_each_process_compiles_for_itself(call, tmp_path: Path) -> None:
    """As on Windows, which has no fcntl."""
    without = f"import sys; sys.modules['fcntl'] = None\n{CALL}"
    said = subprocess.run(
        [sys.executable, "-c", without],
        cwd=tmp_path,
        env=call.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.split()[:2] == ["20", "-20"]


@pytest.mark.parametrize("decorator", ["compiled", "inlined", "merged", "compiled_with_arrays"])
def test_compiled_functions_release_the_interpreter_lock(decorator: str) -> None:
    """Or threads would not share the work (``batch/cpu.py``)."""

    @getattr(thud_env.jit.compile, decorator)
    def nothing():
        return 0

    assert nothing.targetoptions["nogil"] is True


def test_what_is_merged_is_compiled_with_its_callers_only() -> None:
    @thud_env.jit.compile.merged
    def inner(x):
        return x + 1

    @thud_env.jit.compile.compiled
    def outer(x):
        return 2 * inner(x)

    assert outer(3) == 8
    assert inner.signatures == []
    assert not inner._cache._cache_file._load_index()


def test_compiling_that_takes_long_is_announced_once_a_module(call, tmp_path: Path) -> None:
    call()  # writes the package
    source = tmp_path / "thud_env" / "jit" / "compile.py"
    text = source.read_text()
    assert text.count("PATIENCE = 1.0\n") == 1

    def said(patience: float, cache: str, **places: str) -> str:
        source.write_text(text.replace("PATIENCE = 1.0\n", f"PATIENCE = {patience}\n"))
        return subprocess.run(
            [sys.executable, "-c", CALL],
            cwd=tmp_path,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / cache), **places},
            capture_output=True,
            text=True,
            check=True,
        ).stderr

    first = said(0.0, "one")
    assert re.findall(r"compiling ([\w.]+);", first) == ["thud_env.outer", "agents.player"]
    assert said(0.0, "one") == "", "the second start should not compile"
    assert said(1000.0, "other") == ""
    (tmp_path / "file").touch()
    nowhere = said(0.0, "file", NUMBA_CACHE_LOCATOR_CLASSES="UserProvidedCacheLocator")
    assert "every start compiles" in nowhere
    assert f"set NUMBA_CACHE_DIR to a folder other than {tmp_path / 'file'} that" in nowhere
    assert "compiling thud_env.outer\n" in nowhere
    assert "later" not in nowhere


@pytest.mark.slow
def test_a_second_start_of_agents_compiles_nothing() -> None:
    needed = {"alphabeta": ":depth=1", "policy": ":pretrained/classic", "champion": ":time=0.1"}
    needed["policy+mcts"] = f"{needed['policy']},sims=10"
    script = f"""
import sys
import thud_env.jit.compile
thud_env.jit.compile.PATIENCE = 0.0  # whatever is compiled is announced
import agents, thud_env
for spec in {[kind + needed.get(kind, "") for kind in AGENTS]}:
    agents.make(spec).turn(thud_env.Position.start("classic"))
    print("played", spec, file=sys.stderr)
"""
    starts = [
        subprocess.run(
            [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
        )
        for _ in range(2)
    ]
    said = starts[1].stderr.splitlines()
    assert [line.split()[0] for line in said] == ["played"] * len(AGENTS), said


def test_without_a_place_for_a_cache_it_compiles_and_says_so_once(call) -> None:
    """A package that only root may write, and no home: what an image of a cluster has."""
    places = {
        "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator",
        "NUMBA_CACHE_DIR": "/dev/null/nowhere",
    }
    assert call(env={**call.environment, **places}) == ([20, -20], [False, False])
    assert call.said[-1].count("compiled code cannot be kept, so every start compiles") == 1
    assert "no locator available" in call.said[-1]


def test_on_a_full_disk_it_compiles_and_says_so_once(call) -> None:
    def no_byte_more() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    assert call(preexec_fn=no_byte_more) == ([20, -20], [False, False])
    assert call.said[-1].count("compiled code cannot be kept") == 1
    assert call() == ([20, -20], [False, False])


@pytest.mark.parametrize(("kind", "damage"), [("nbi", "cut"), ("nbc", "cut"), ("nbc", "flipped")])
def test_a_damaged_cache_is_compiled_anew(call, tmp_path: Path, kind: str, damage: str) -> None:
    call()
    paths = sorted((tmp_path / "thud_env").rglob(f"*.{kind}"))
    assert paths
    for path in paths:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        half = data[: len(data) // 2]
        path.write_bytes({"cut": half, "flipped": data}[damage])
    assert call()[0] == [20, -20]
    assert call() == ([20, -20], [True, True])


def test_code_of_other_sources_is_not_run_though_the_index_names_it(call, tmp_path: Path) -> None:
    """Of two processes that compile at once, one may see the other's index before its code."""
    call()
    old = {path: path.read_bytes() for path in tmp_path.rglob("*.nbc")}
    (tmp_path / "thud_env" / "deep" / "table.py").write_text("VALUE = 2\n")
    assert call()[0] == [30, -30]
    for path, data in old.items():
        path.write_bytes(data)
    assert call()[0] == [30, -30]


ONCE = """
import numpy as np
from thud_env import Position
from thud_env.batch.states import legal_lists
from thud_env.rules import legal, moves, play
start = Position.start("classic")
start.play(start.turns()[0])
legal_lists(start.row[np.newaxis].copy())
for module in (legal, moves, play):
    for name, function in vars(module).items():
        if len(getattr(function, "signatures", [])) > 1:
            print(name, function.signatures)
"""


def test_the_rules_are_compiled_once_for_all_who_call_them() -> None:
    words = [sys.executable, "-c", ONCE]
    answer = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=True)
    assert answer.stdout == ""


@thud_env.jit.compile.compiled
def doubled(value):
    return 2 * value


@thud_env.jit.compile.compiled
def sum_of_three_widths(row, count):
    return doubled(row[0]) + doubled(count) + doubled(3)


def test_integers_of_all_widths_and_constants_share_one_compilation() -> None:
    for function in (doubled, sum_of_three_widths):
        function._cache = NullCache()  # what another run has kept would not be compiled
    assert sum_of_three_widths(np.array([1], np.int16), np.int32(2)) == 12
    assert len(doubled.signatures) == 1
