"""The page of proofs shows the results, and a row cannot pass by asserting nothing."""

from __future__ import annotations

import contextlib
import dataclasses
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from reliability import distillation, mutants
from reliability.every import ROWS
from reliability.reach import standing_on
from reliability.report import PAGE, page, read_results
from reliability.row import (
    PACKAGES,
    Fault,
    NotProvenError,
    Row,
    checked_by,
    processor_time,
    prove,
    prove_more,
    statements,
)


def test_the_page_is_made_of_the_results() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(read_results(), ROWS)


def test_every_result_is_of_a_row_and_says_what_it_was_made_with() -> None:
    rows = {row.name: row for row in ROWS}
    assert len(rows) == len(ROWS)
    for name, result in read_results().items():
        row = rows[name]
        assert result["checked"] >= row.ci
        assert set(result["faults"]) == set(row.faults)
        assert all(result["faults"].values())
        for key in ("machine", "commit", "first_seed", "last_seed", "date", "python"):
            assert result[key], f"{name} does not say its {key}"


def test_mutants_that_are_no_mistakes_are_of_lines_that_there_are() -> None:
    sources = "".join((mutants.ROOT / path).read_text("utf-8") for path in mutants.SOURCES)
    lines = {line.strip() for line in sources.splitlines()}
    assert {before for before, _ in mutants.EXPLAINED} <= lines


@pytest.mark.parametrize(
    ("name", "size"), [("command lines", 300), ("configurations and overrides", 3000)]
)
def test_rows_that_name_what_they_prove_name_all_that_is_run(
    name: str, size: int, tmp_path: Path
) -> None:
    (row,) = [row for row in ROWS if row.name == name]
    row.check(10, Random(1), tmp_path)  # what runs once, as it is imported, aside
    ran: set[str] = set()
    sys.setprofile(lambda frame, _event, _argument: ran.add(frame.f_code.co_filename))
    try:
        row.check(size, Random(1), tmp_path)
    finally:
        sys.setprofile(None)
    root = Path(__file__).parents[1]
    sources = [str(path.relative_to(root)) for path in map(Path, ran) if root in path.parents]
    ours = {source for source in sources if source.startswith(PACKAGES)}
    assert "thud_env/arguments.py" in ours
    assert ours <= set(row.proves)


_LIES = {"on": False}


@contextlib.contextmanager
def _fault():
    _LIES["on"] = True
    try:
        yield
    finally:
        _LIES["on"] = False


def _checked(size, random, folder) -> int:
    assert not _LIES["on"], "it lies"
    return size


SOUND = Row("sound", "a promise", "cases", _checked, 3, 5, {"a lie": Fault(_fault, "it lies")})


def test_a_sound_row_is_proven() -> None:
    result = prove(SOUND)
    assert (result["checked"], result["faults"]) == (3, {"a lie": "AssertionError: it lies"})
    (more,) = prove_more(SOUND, result)
    assert (more["checked"], more["first_seed"], more["last_seed"]) == (6, 1, 2)
    assert list(prove_more(SOUND, more)) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"check": lambda *_: 0}, "0 cases were checked, not 3"),
        ({"check": lambda size, *_: size}, "nothing notices a lie"),
        ({"faults": {}}, "plants no fault"),
        ({"faults": {"a lie": Fault(_fault, "it errs")}}, "must cause AssertionError, 'it errs'"),
        ({"faults": {"a lie": Fault(_fault, "it lies", KeyError)}}, "must cause KeyError"),
    ],
)
def test_a_row_that_asserts_nothing_is_not_proven(change, said: str) -> None:
    with pytest.raises(NotProvenError, match=said):
        prove(dataclasses.replace(SOUND, **change))


def test_a_line_that_asserts_without_words_is_known_by_itself() -> None:
    fault = Fault(_fault, "not _LIES")
    assert prove(dataclasses.replace(SOUND, faults={"a lie": fault}))["faults"]


def test_a_row_begins_anew_with_other_statements_but_not_with_other_words(tmp_path: Path) -> None:
    texts = ['"""Adds."""\ndef add(a):\n    return a + 1\n']
    texts += ["def add(a):\n    'Adds one.'\n\n    return (a + 1)  # not two\n"]
    texts += ["def add(a):\n    return a + 2\n"]
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.py").write_text(text)
    one, worded, other = (statements(tmp_path / f"{number}.py") for number in range(3))
    assert one == worded != other


def test_a_row_is_about_what_a_module_stands_on() -> None:
    found = set(standing_on("agents.agent"))  # which imports Position from thud_env
    assert {"agents/agent.py", "thud_env/position.py", "thud_env/rules/moves.py"} <= found
    assert "thud_env/envs/aec.py" not in found
    # By a name in a registry, in a function, and not at all.
    assert "agents/simple.py" in standing_on("agents.registry")
    found = set(standing_on("training.train"))
    assert "training/selfplay/actors.py" in found
    assert not {"training/tune_search/__main__.py", "agents/web/app.py"} & found


def test_a_row_is_also_about_the_checks_that_its_check_is_made_of() -> None:
    path = Path(distillation.__file__)
    beside = {one.name for one in checked_by(path)}
    assert {"distillation.py", "stops.py", "power.py", "disk.py", "runs.py"} <= beside
    assert not {"row.py", "reach.py"} & beside


def test_a_broken_promise_is_raised() -> None:
    with _fault(), pytest.raises(AssertionError):
        prove(SOUND)


def test_processor_time_is_also_that_of_processes_that_another_waits_for() -> None:
    """As a fork server does."""
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]]); input()"
    work = "import time\nwhile time.process_time() < 0.3: pass"
    before = processor_time()
    with subprocess.Popen([sys.executable, "-c", script, work], stdin=subprocess.PIPE):
        until = time.monotonic() + 60
        while processor_time() - before < 0.3:
            assert time.monotonic() < until
            time.sleep(0.05)
