"""The ladder from the command line: played, stopped, continued, and refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

import numpy as np
import pytest
from ladders import made_up_results, store_results, untimed

import agents
from agents.asking import OwnAgentError
from thud_env import Position
from thud_env.rules.row import MAX_QUIET_TURNS, MAX_TURNS
from training.arena.field import FieldError
from training.arena.intervals import ENOUGH_PAIRS
from training.ladder.__main__ import main
from training.ladder.fields import read_field
from training.ladder.publish import PAGES
from training.ladder.report import REPORT
from training.ladder.store import FILE, read_games

ROOT = Path(__file__).parents[1]
FIELD = ["greedy", "alphabeta:depth=1"]


def ladder(folder: Path, *more: str, workers: str = "1") -> int:
    return main([*FIELD, "--games", "4", "--out", str(folder), "--workers", workers, *more])


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unbroken")
    assert ladder(folder) == 0
    return folder


def test_a_ladder_leaves_its_games_and_its_report(unbroken: Path) -> None:
    games = read_games(unbroken)
    assert len(games.results) == 8
    names = {"games.jsonl", "report.md", "report.json", "payoff.svg"}
    assert {path.name for path in unbroken.iterdir()} == names
    assert sum(count or 0 for result in games.results for count in result.nodes) > 0


def test_a_ladder_that_was_stopped_goes_on_to_the_same_games(
    unbroken: Path, tmp_path: Path, capsys
) -> None:
    lines = (unbroken / FILE).read_bytes().splitlines(keepends=True)
    (tmp_path / FILE).write_bytes(b"".join(lines[:5]) + lines[5][:100])
    assert ladder(tmp_path) == 0
    shown = capsys.readouterr().out
    assert "note: the last line was damaged" in shown
    assert "4 games to play, 4 are kept" in shown
    resumed, whole = (read_games(folder).results for folder in (tmp_path, unbroken))
    assert untimed(resumed) == untimed(whole)


def test_a_finished_ladder_plays_nothing_more(unbroken: Path, capsys) -> None:
    before = (unbroken / FILE).read_bytes()
    assert ladder(unbroken) == 0
    assert "to play" not in capsys.readouterr().out
    assert (unbroken / FILE).read_bytes() == before


def test_more_games_of_the_same_field_go_on_too(unbroken: Path, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes((unbroken / FILE).read_bytes())
    assert ladder(tmp_path, "--games", "6") == 0
    results = read_games(tmp_path).results
    assert len(results) == 12
    assert untimed(results[:8]) == untimed(read_games(unbroken).results)


@pytest.mark.parametrize("name", ["report.md", "report.json", "payoff.svg"])
def test_a_folder_with_a_file_of_the_users_is_left_alone(name, tmp_path: Path, capsys) -> None:
    (tmp_path / name).write_text("mine")
    assert ladder(tmp_path) == 2
    assert (
        f"{tmp_path / name} is not of these games: --out DIR names another"
        in capsys.readouterr().err
    )
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "mine")]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, capsys) -> None:
    (tmp_path / "file").write_text("mine")
    for out in ("file", "file/games"):
        assert ladder(tmp_path / out) == 2
        said = f"{tmp_path / out / FILE} cannot be written: {tmp_path / 'file'} is no folder"
        assert capsys.readouterr().err == f"ladder: {said}\n"
    assert (tmp_path / "file").read_text() == "mine"


def test_the_report_is_written_anew_from_the_games(unbroken: Path, capsys) -> None:
    report = (unbroken / "report.md").read_bytes()
    (unbroken / "report.md").unlink()
    assert main(["--report", str(unbroken)]) == 0
    assert (unbroken / "report.md").read_bytes() == report
    assert "## Game pairs" in capsys.readouterr().out


def test_a_report_is_published_with_its_picture(unbroken: Path, tmp_path: Path, capsys) -> None:
    page = tmp_path / "docs" / "strength.md"
    for _ in range(2):  # a page of its own is written anew
        assert main(["--report", str(unbroken), "--publish", str(page)]) == 0
    text = page.read_text()
    assert "](images/strength.svg)" in text
    assert (tmp_path / "docs/images/strength.svg").read_bytes() == (
        unbroken / "payoff.svg"
    ).read_bytes()
    report = (unbroken / "report.md").read_text().replace("(payoff.svg)", "(images/strength.svg)")
    assert report[report.index("## Game pairs") :] in text


def test_a_page_claims_no_more_than_was_played(unbroken: Path, tmp_path: Path, capsys) -> None:
    reference = tmp_path / "strength.md"
    reference.write_bytes((ROOT / "docs" / "strength.md").read_bytes())
    page = tmp_path / "page.md"
    assert main(["--report", str(unbroken), "--publish", str(page)]) == 0
    text = page.read_text()
    assert "make ladder" not in text
    assert "configs/ladder" not in text
    assert "By the rules of `classic`." in text
    assert main(["--report", str(unbroken), "--publish", str(reference)]) == 2
    assert reference.read_bytes() == (ROOT / "docs" / "strength.md").read_bytes()


@pytest.mark.parametrize("rules", PAGES)
def test_the_pages_of_make_ladder_begin_with_their_field(rules: str, tmp_path: Path) -> None:
    field = read_field(ROOT / "configs" / "ladder" / f"{rules}.yaml")
    store_results(tmp_path, field, made_up_results(list(field.agents), 2, lambda *_: 1))
    page = tmp_path / "docs" / PAGES[rules]
    assert main(["--report", str(tmp_path), "--publish", str(page)]) == 0
    published = (ROOT / "docs" / PAGES[rules]).read_text(encoding="utf-8")
    begun, _, _ = page.read_text(encoding="utf-8").partition(" games of ")
    assert published.startswith(begun.rpartition("\n")[0])


@pytest.mark.parametrize("name", ["diary.md", "images/diary.svg"])
def test_no_other_file_is_written_over(name: str, unbroken: Path, tmp_path: Path, capsys) -> None:
    other = tmp_path / name
    other.parent.mkdir(exist_ok=True)
    other.write_text("Dear diary")
    assert main(["--report", str(unbroken), "--publish", str(tmp_path / "diary.md")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{other} is not of a ladder of your own" in line
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [other]
    assert other.read_text() == "Dear diary"


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("diary.md", "is not of a ladder of your own"),
        ("folder", "folder is a folder: a file would be right"),
        ("diary.md/strength.md", "diary.md is no folder"),
        ("full/strength.md", "images is no folder"),
        ("drawn/strength.md", "images/strength.svg is a folder: a file would be right"),
    ],
)
def test_a_page_that_cannot_be_written_is_refused_before_any_play(
    page: str, said: str, tmp_path: Path, capsys
) -> None:
    (tmp_path / "diary.md").write_bytes(b"Dear \xff diary")
    (tmp_path / "folder").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "images").touch()
    (tmp_path / "drawn" / "images" / "strength.svg").mkdir(parents=True)
    assert ladder(tmp_path / "games", "--publish", str(tmp_path / page)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert not (tmp_path / "games").exists()


def test_a_finished_ladder_is_shown_again_without_trying_its_players(
    unbroken: Path, tmp_path: Path, monkeypatch, capsys
) -> None:
    shutil.copytree(unbroken, tmp_path / "games")
    monkeypatch.setattr("training.ladder.tournament.try_players", None)
    assert ladder(tmp_path / "games") == 0
    assert "## Game pairs" in capsys.readouterr().out


def is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_stop_keeps_what_was_played_and_leaves_no_process(tmp_path: Path) -> None:
    command = ["-m", "training.ladder", "random", "greedy", "--games", "1000", "--workers", "2"]
    process = subprocess.Popen(
        [sys.executable, *command, "--out", str(tmp_path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    path = tmp_path / FILE
    waited = time.monotonic() + 120
    while not path.exists() or path.read_bytes().count(b"\n") < 4:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < waited
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    # On a fresh machine the workers say before it that they compile.
    assert errors.splitlines()[-1] == "stopped; the same command goes on from here"
    waited = time.monotonic() + 20
    while is_alive(process.pid):
        assert time.monotonic() < waited
        time.sleep(0.05)
    assert 3 <= len(read_games(tmp_path).results) < 2000


# -- fields --------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", PAGES)
def test_the_published_fields_can_be_played(rules: str) -> None:
    field = read_field(ROOT / "configs" / "ladder" / f"{rules}.yaml")
    fixed = "evaluation=features,reductions=0"
    searching = {f"alphabeta:depth={depth}" for depth in (1, 2, 3)}
    old = {f"alphabeta:depth={depth},{fixed}" for depth in (1, 2)}
    assert {"random", "greedy", "greedy2", "mcts:sims=100"} | searching | old <= set(field.agents)
    assert all(games >= 2 * ENOUGH_PAIRS for games in field.agents.values())


def test_a_slow_agent_plays_fewer_games(tmp_path: Path) -> None:
    path = tmp_path / "field.yaml"
    path.write_text("games: 8\nagents:\n- random\n- {spec: greedy, games: 4}\n")
    assert read_field(path).agents == {"random": 8, "greedy": 4}
    assert read_field(path, games=2).agents == {"random": 2, "greedy": 2}
    assert read_field(path, rules="koom-valley", seed=None).rules == "koom-valley"


def test_a_field_may_have_limits(tmp_path: Path) -> None:
    path = tmp_path / "field.yaml"
    path.write_text("max_quiet_turns: 60\nagents: [random, greedy]\n")
    assert read_field(path).limits == {"max_quiet_turns": 60}
    field = read_field(path, max_quiet_turns=50, max_turns=300)
    assert field.limits == {"max_quiet_turns": 50, "max_turns": 300}
    row = field.beginning(next(field.games())).row
    assert (row[MAX_QUIET_TURNS], row[MAX_TURNS]) == (50, 300)


def test_the_limits_of_a_ladder_are_in_its_report(tmp_path: Path) -> None:
    words = ["random", "greedy", "--games", "2", "--max-turns", "20", "--out", str(tmp_path)]
    assert main([*words, "--workers", "1"]) == 0
    assert "Battles end after 20 turns." in (tmp_path / REPORT).read_text()
    assert "; 1 game pair (one start, both seats)" in (tmp_path / REPORT).read_text()
    assert {result.ending for result in read_games(tmp_path).results} == {"turn_limit"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("agents: [random", "not YAML"),
        ("games: 4", "names no agents: a list called agents would be right"),
        ("agents: random", "must be of type list"),
        ("agents: [random, greedy]\ngames: many", "must be of type int"),
        ("agents: [random, greedy]\ngames: 1", r"field\.yaml: games: 1: an even number"),
        ("agents: [random, greedy]\nruels: classic", "unknown key 'ruels'"),
        ("agents: [random, 7]", "a spec, or a mapping"),
        ("agents: [random, {spec: greedy}]", "a spec, or a mapping"),
        ("agents: [random, random]", "named twice"),
        ("agents: [random, greedy]\nseed: -1", "seed -1: 0 or more would be right"),
    ],
)
def test_a_file_that_is_not_a_field_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "field.yaml"
    path.write_text(text)
    with pytest.raises(FieldError, match=complaint):
        read_field(path)


# -- bad input -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["random", "greedi"], "did you mean 'greedy'"),
        (["random", "policy:none"], "not a policy"),
        (["random"], "two agents or more"),
        (["configs/mine.yaml"], "configs/mine.yaml is no agent: --field configs/mine.yaml would"),
        ([], "two agents or more"),
        (["random", "random"], "named twice"),
        (["random", "greedy", "--games", "0"], "--games 0"),
        (["random", "greedy", "--games", "3"], "even number"),
        (["random", "greedy", "--games", "1002"], "500 starts, enough for 1000"),
        (["random", "greedy", "--rules", "chess"], "unknown ruleset 'chess'"),
        (
            ["random", "policy:pretrained/classic", "--rules", "koom-valley"],
            "was trained for classic, not koom-valley",
        ),
        (["random", "greedy", "--workers", "0"], "--workers: '0': a whole number, 1 or more,"),
        (["random", "--field", "x.yaml"], "either on the command line or by --field"),
        (["--field", "none.yaml"], "no such file: configs/ladder/classic.yaml would be right"),
        (["--report", "none"], "cannot be read"),
        (["random", "--report", "none"], "--report DIR plays nothing: without SPEC it is right"),
        (["--games", "4", "--report", "none"], "plays nothing: without --games it is right"),
        (["random", "greedy", "--seed", "-1"], "seed -1: 0 or more would be right"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    words: list[str], complaint: str, tmp_path: Path, capsys, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    out, err = capsys.readouterr()
    (line,) = err.splitlines()
    assert out == ""
    assert line.startswith("ladder: ")
    assert complaint in line
    assert list(tmp_path.iterdir()) == []


def test_a_misspelt_field_is_named_with_the_nearest(tmp_path: Path, capsys) -> None:
    (tmp_path / "classic.yaml").touch()
    assert main(["--field", str(tmp_path / "clasic.yaml")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("clasic.yaml: there is no such file: did you mean 'classic.yaml'?")


def test_results_of_another_field_or_ruleset_are_refused(unbroken: Path, capsys) -> None:
    before = (unbroken / FILE).read_bytes()
    for words, complaint in (
        (["random", "greedy"], "which this field leaves out"),
        ([*FIELD, "--rules", "classic-any"], "ruleset classic, not classic-any"),
        ([*FIELD, "--seed", "2"], "seed 1, not 2"),
    ):
        assert main([*words, "--games", "4", "--out", str(unbroken)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert complaint in line
    assert (unbroken / FILE).read_bytes() == before


class Failing(agents.Agent):
    """Gives up after one decision."""

    def __init__(self, seed: int = 0) -> None:
        self.decided = 0

    def act_rows(self, rows):
        self.decided += 1
        if self.decided > 1:
            raise RuntimeError("out of ideas")
        return np.array([Position(row).legal_actions()[0] for row in rows])


def test_an_error_while_playing_keeps_the_games_before_it(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(agents.AGENTS, "failing", f"{__name__}:Failing")
    with pytest.raises(OwnAgentError) as caught:
        main(["random", "failing", "--games", "2", "--out", str(tmp_path), "--workers", "1"])
    assert "out of ideas" in "".join(traceback.format_exception(caught.value))
    assert len(read_games(tmp_path).results) == 1


def test_the_numbers_of_a_report_are_plain_json(unbroken: Path) -> None:
    json.loads((unbroken / "report.json").read_text(), parse_constant=pytest.fail)
