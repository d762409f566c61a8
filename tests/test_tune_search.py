"""Trying options of a search: fair, resumable, and careful with what it recommends."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from thud_env import Position
from training.arena import openings
from training.tune_search import rounds, tournament
from training.tune_search.__main__ import candidates, main
from training.tune_search.tournament import CONFIRM, SEARCH


class Named(str):
    """Stands for a player."""

    def act_rows(self, rows: np.ndarray) -> list[int]:
        return [int(Position(row).legal_actions()[0]) for row in rows]


@pytest.fixture
def worth(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """What each spec's margins are on average, with a spread of 5, instead of battles."""
    worth: dict[str, float] = {}
    rng = np.random.default_rng(0)

    def play(player: str, opponent: str, count: int, rules: str, starts: Any) -> Any:
        first, second = rng.normal(worth.get(player, 0.0), 5, (2, count)).round().astype(int)
        return SimpleNamespace(
            first=SimpleNamespace(margins=first), second=SimpleNamespace(margins=-second)
        )

    monkeypatch.setattr(tournament.agents, "make", lambda spec, seed=0: Named(spec))
    monkeypatch.setattr(tournament, "play_pairs", play)
    return worth


def tune(folder: Path, *more: str) -> dict[str, Any]:
    out = folder / "out.json"
    words = ["classic", "mcts:sims=10", "c=1,2", "fpu=0.5", "--opponents", "greedy", "random"]
    files = ["--games", str(folder / "games.jsonl"), "--out", str(out)]
    assert main([*words, *files, *more]) == 0
    result: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return result


def test_a_full_disk_is_said_with_the_file_and_it_goes_on_from_there(
    tmp_path: Path, worth: dict[str, float], monkeypatch, capsys
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    words = ["classic", "mcts:sims=10", "c=1", "--opponents", "random"]
    files = ["--games", str(tmp_path / "games.jsonl"), "--out", str(tmp_path / "out.json")]
    for call in ("write", "fsync"):
        with monkeypatch.context() as patch:
            patch.setattr(os, call, full)
            assert main([*words, *files]) == 1
        lines = capsys.readouterr().err.splitlines()
        (said,) = [line for line in lines if "thud_env: compiling" not in line]
        assert "games.jsonl" in said
    assert main([*words, *files]) == 0


def test_a_result_without_room_is_refused_before_any_play(tmp_path: Path, capsys) -> None:
    (tmp_path / "file").touch()
    words = ["classic", "mcts:sims=10", "c=1", "--games", str(tmp_path / "games.jsonl")]
    assert main([*words, "--out", str(tmp_path / "file" / "out.json")]) == 2
    assert "file is no folder" in capsys.readouterr().err
    assert not (tmp_path / "games.jsonl").exists()


def test_the_folder_of_the_result_is_made(tmp_path: Path, worth: dict[str, float]) -> None:
    out = tmp_path / "new" / "out.json"
    words = ["classic", "mcts:sims=10", "c=1", "--pairs", "2", "--opponents", "greedy"]
    assert main([*words, "--games", str(tmp_path / "others.jsonl"), "--out", str(out)]) == 0
    assert json.loads(out.read_text())["plan"]["pairs"] == 2


def test_a_ruleset_of_your_own_is_tuned(
    tmp_path: Path, worth: dict[str, float], monkeypatch, capsys
) -> None:
    mine = "classic:name=mine,max_turns=40"
    monkeypatch.setattr(openings, "FOLDER", tmp_path)
    assert openings.main(["--rules", mine, "--count", "4"]) == 0
    (tmp_path / "openings-mine.txt").write_text(capsys.readouterr().out, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main([mine, "mcts:sims=10", "c=1", "--pairs", "2"]) == 0
    result = json.loads(Path("runs/tune-mine-mcts.json").read_text(encoding="utf-8"))
    assert result["plan"]["rules"] == mine


def test_every_candidate_changes_one_option() -> None:
    assert candidates("mcts", ["c=1,2"]) == ["mcts:c=1", "mcts:c=2"]
    assert candidates("mcts:sims=10", ["c=1", "fpu=0"]) == [
        "mcts:sims=10,c=1",
        "mcts:sims=10,fpu=0",
    ]
    with pytest.raises(ValueError, match="c=VALUE,VALUE would be right"):
        candidates("mcts", ["c"])


def test_a_real_tournament_goes_on_where_it_stopped(tmp_path: Path) -> None:
    whole = tune(tmp_path, "--pairs", "4", "--batch", "2")
    games = tmp_path / "games.jsonl"
    lines = games.read_text(encoding="utf-8").splitlines(keepends=True)
    games.write_text("".join(lines[:-3]) + lines[-3][:20], encoding="utf-8")
    again = tune(tmp_path, "--pairs", "4", "--batch", "2")
    for phase in (SEARCH, CONFIRM):
        for spec, figures in whole[phase].items():
            assert {**figures, "time": 0} == {**again[phase][spec], "time": 0}
    assert again["recommended"] == whole["recommended"]
    assert len(games.read_text(encoding="utf-8").splitlines()) == len(lines)


def test_battles_kept_from_other_code_are_noted_once(
    tmp_path: Path, worth: dict[str, float], monkeypatch, capsys
) -> None:
    words = ("--pairs", "4", "--batch", "2")
    tune(tmp_path, *words)
    assert "note:" not in capsys.readouterr().out
    monkeypatch.setattr(rounds, "code_of_play", lambda: "changed")
    whole = tune(tmp_path, *words)
    assert "note: thud_env, agents or configs/search have changed" in capsys.readouterr().out
    assert tune(tmp_path, *words) == whole
    assert "note:" not in capsys.readouterr().out


def test_battles_kept_without_a_word_of_their_code_are_noted(
    tmp_path: Path, worth: dict[str, float], capsys
) -> None:
    tune(tmp_path)
    games = tmp_path / "games.jsonl"
    plan, _, *lines = games.read_text(encoding="utf-8").splitlines(keepends=True)
    games.write_text("".join((plan, *lines)), encoding="utf-8")
    capsys.readouterr()
    tune(tmp_path)
    assert capsys.readouterr().out.count("note:") == 1


def test_a_part_of_a_round_is_played_again_in_whole_when_more_is_asked(
    tmp_path: Path, worth: dict[str, float]
) -> None:
    worth["mcts:sims=10,c=2"] = 20
    for pairs in (3, 6, 5, 3):
        result = tune(tmp_path, "--pairs", str(pairs), "--batch", "2")
        figures = (result[phase]["mcts:sims=10,c=2"]["pairs"] for phase in (SEARCH, CONFIRM))
        assert list(figures) == [2 * pairs] * 2  # against two opponents


def test_what_is_worse_is_dropped_and_what_is_better_recommended(
    tmp_path: Path, worth: dict[str, float]
) -> None:
    worth |= {"mcts:sims=10,c=1": -20, "mcts:sims=10,c=2": 6}
    result = tune(tmp_path)
    assert result[SEARCH]["mcts:sims=10,c=1"]["pairs"] == 20  # a round against two opponents
    assert result[SEARCH]["mcts:sims=10,c=2"]["pairs"] == 80
    assert list(result[CONFIRM]) == result["recommended"] == ["mcts:sims=10,c=2"]


def test_nothing_is_recommended_by_few_pairs(tmp_path: Path, worth: dict[str, float]) -> None:
    worth["mcts:sims=10,c=2"] = 20
    result = tune(tmp_path, "--pairs", "4", "--batch", "2")
    assert list(result[CONFIRM]) == ["mcts:sims=10,c=2"]
    assert result["recommended"] == []


def test_the_best_of_many_that_are_alike_is_not_recommended(
    tmp_path: Path, worth: dict[str, float]
) -> None:
    result = tune(tmp_path)
    assert len(result[CONFIRM]) == 1
    assert result["recommended"] == []


def test_battles_of_another_plan_are_left_alone(
    tmp_path: Path, worth: dict[str, float], capsys: pytest.CaptureFixture[str]
) -> None:
    tune(tmp_path)
    games = tmp_path / "games.jsonl"
    before = games.read_bytes()
    words = ["classic", "mcts:sims=10", "c=3", "--games", str(games), "--out", str(tmp_path / "o")]
    assert main(words) == 2
    shown = capsys.readouterr().err
    assert "was begun with other options, candidates was ['mcts:sims=10,c=1', " in shown
    assert "opponents was ['greedy', 'random'], not ['alphabeta:depth=1', " in shown
    assert games.read_bytes() == before


def test_another_file_is_no_tuning(tmp_path: Path, worth: dict[str, float], capsys) -> None:
    games = tmp_path / "diary"
    words = ["classic", "mcts:sims=10", "c=3", "--games", str(games), "--out", str(tmp_path / "o")]
    for text in ("Dear diary", "Dear diary\n", "{}\n"):
        games.write_text(text, encoding="utf-8")
        assert main(words) == 2
        assert f"{games} is not of a tuning: --games FILE" in capsys.readouterr().err
        assert games.read_text(encoding="utf-8") == text


def test_more_pairs_than_half_the_book_are_refused_before_any_play(tmp_path: Path, capsys) -> None:
    games = tmp_path / "games.jsonl"
    words = ["classic", "mcts:sims=10", "c=3", "--games", str(games), "--out", str(tmp_path / "o")]
    assert main([*words, "--pairs", "251"]) == 2
    assert capsys.readouterr().err == "tune_search: --pairs 251: 250 at most would be right\n"
    assert not games.exists()


def test_a_file_that_another_tuning_writes_is_refused(
    tmp_path: Path, worth: dict[str, float], capsys: pytest.CaptureFixture[str]
) -> None:
    games = tmp_path / "games.jsonl"
    words = ["classic", "mcts:sims=10", "c=3", "--games", str(games), "--out", str(tmp_path / "o")]
    with games.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert main(words) == 2
        assert "games.jsonl is being written by another tuning" in capsys.readouterr().err
        assert games.read_bytes() == b""
    assert main(words) == 0


def test_a_candidate_changes_an_option_that_the_base_names() -> None:
    assert candidates("alphabeta:depth=2,quiescence=2", ["depth=3,4", "nodes=9"]) == [
        "alphabeta:quiescence=2,depth=3",
        "alphabeta:quiescence=2,depth=4",
        "alphabeta:depth=2,quiescence=2,nodes=9",
    ]
    assert candidates("mcts", ["sims=5"]) == ["mcts:sims=5"]


def test_a_result_is_never_written_over_the_battles(tmp_path: Path, capsys) -> None:
    games = tmp_path / "games.json"
    assert main(["classic", "mcts:sims=10", "c=3", "--games", str(games)]) == 2
    assert "the battles cannot be where the result is" in capsys.readouterr().err
    assert not games.exists()


GOOD = '{"phase": "search", "number": 0, "player": "a", "opponent": "b", '


@pytest.mark.parametrize("line", [b"5", b'{"phase": "sea', b"\0" * 50, b"\xff", b"[" * 9999])
def test_a_last_line_that_a_crash_left_is_dropped_with_a_note(
    line: bytes, tmp_path: Path, worth: dict[str, float], capsys: pytest.CaptureFixture[str]
) -> None:
    result = tune(tmp_path)
    games = tmp_path / "games.jsonl"
    before = games.read_bytes()
    games.write_bytes(before + line + b"\n")
    assert tune(tmp_path) == result
    assert "note: the last line was damaged, and is dropped" in capsys.readouterr().out
    assert games.read_bytes() == before


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"5", "a JSON object would be right"),
        (b"\xff", "can't decode byte 0xff"),
        (b"[" * 9999, "nested too deeply"),
        (b'{"phase": "search"}', "missing 6 required"),
        (b'{"phase": "search", "spec": "a"}', "unexpected keyword argument 'spec'"),
        (f'{GOOD} "as_dwarfs": 1, "as_trolls": [1], "seconds": 1}}'.encode(), "as_dwarfs cannot"),
        (f'{GOOD} "as_dwarfs": [1], "as_trolls": [], "seconds": 1}}'.encode(), "as_trolls cannot"),
        (f'{GOOD} "as_dwarfs": [1], "as_trolls": [1, 2], "seconds": 1}}'.encode(), "lengths"),
        (f'{GOOD} "as_dwarfs": [1], "as_trolls": [1], "seconds": NaN}}'.encode(), "seconds cannot"),
    ],
)
def test_damage_before_the_last_line_is_refused_by_its_number_and_kept(
    line: bytes, said: str, tmp_path: Path, worth: dict[str, float], capsys
) -> None:
    tune(tmp_path)
    games = tmp_path / "games.jsonl"
    lines = games.read_bytes().splitlines()
    lines[2] = line
    games.write_bytes(b"\n".join([*lines, b""]))
    before = games.read_bytes()
    words = ["classic", "mcts:sims=10", "c=1,2", "fpu=0.5", "--opponents", "greedy", "random"]
    assert main([*words, "--games", str(games), "--out", str(tmp_path / "out.json")]) == 2
    (shown,) = capsys.readouterr().err.splitlines()
    assert f"{games}, line 3 is damaged: " in shown
    assert said in shown
    assert games.read_bytes() == before


def test_a_path_spelt_otherwise_is_the_same_file(tmp_path: Path, capsys) -> None:
    (tmp_path / "here").mkdir()
    games, out = tmp_path / "games.jsonl", tmp_path / "here" / ".." / "games.jsonl"
    command = ["classic", "mcts:sims=10", "c=3", "--games", str(games), "--out", str(out)]
    assert main(command) == 2
    assert "the battles cannot be where the result is" in capsys.readouterr().err


def test_battles_of_another_book_are_left_alone(
    tmp_path: Path,
    worth: dict[str, float],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tune(tmp_path)
    other = openings.Openings.of(openings.read_openings("classic").starts[::-1])
    monkeypatch.setattr("training.tune_search.__main__.read_openings", lambda rules: other)
    with pytest.raises(AssertionError):
        tune(tmp_path)
    assert "was begun with other options, book was " in capsys.readouterr().err
