"""Trying options of a search: fair, resumable, and careful with what it recommends."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from training.arena import openings
from training.arena.field import Field, Game
from training.arena.games import Result
from training.arena.intervals import ENOUGH_PAIRS
from training.ladder import tournament as ladder
from training.ladder.store import FILE
from training.tune_search.__main__ import RESULT, candidates, main
from training.tune_search.tournament import CONFIRM, SEARCH

WORDS = ["classic", "mcts:sims=10", "c=1,2", "fpu=0.5", "--opponents", "greedy", "random"]


@pytest.fixture
def worth(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """What each spec's margins are on average, with a spread of 5, instead of battles."""
    worth: dict[str, float] = {}

    def play(field: Field, games: list[Game], workers: int) -> Generator[Result]:
        for game in games:
            mean = worth.get(game.dwarfs, 0.0) - worth.get(game.trolls, 0.0)
            drawn = np.random.default_rng(field.seeds(game)).normal(mean, 5)
            margin = int(np.clip(round(drawn), -32, 32))
            yield Result(*game, margin, "quiet_limit", "", (1, 1), (1.0, 1.0), (None, None))

    monkeypatch.setattr(ladder, "try_players", lambda *_: None)
    monkeypatch.setattr(ladder, "play_games", play)
    return worth


def tune(folder: Path, *more: str) -> dict[str, Any]:
    assert main([*WORDS, "--out", str(folder), *more]) == 0
    result: dict[str, Any] = json.loads((folder / RESULT).read_text(encoding="utf-8"))
    return result


def test_a_ruleset_of_your_own_is_tuned(
    tmp_path: Path, worth: dict[str, float], monkeypatch, capsys
) -> None:
    mine = "classic:name=mine,max_turns=40"
    monkeypatch.setattr(openings, "FOLDER", tmp_path)
    assert openings.main(["--rules", mine, "--count", "4"]) == 0
    (tmp_path / "openings-mine.txt").write_text(capsys.readouterr().out, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main([mine, "mcts:sims=10", "c=1", "--pairs", "2"]) == 0
    result = json.loads(Path("runs/tune-search/mine-mcts/result.json").read_text(encoding="utf-8"))
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
    words = ("--pairs", "4", "--batch", "2", "--workers", "1")
    whole = tune(tmp_path, *words)
    games = tmp_path / FILE
    lines = games.read_text(encoding="utf-8").splitlines(keepends=True)
    games.write_text("".join(lines[:-3]) + lines[-3][:20], encoding="utf-8")
    again = tune(tmp_path, *words)
    for phase in (SEARCH, CONFIRM):
        for spec, figures in whole[phase].items():
            assert {**figures, "time": 0} == {**again[phase][spec], "time": 0}
    assert again["recommended"] == whole["recommended"]
    assert len(games.read_text(encoding="utf-8").splitlines()) == len(lines)


def test_the_search_and_the_confirmation_share_no_start(
    tmp_path: Path, worth: dict[str, float]
) -> None:
    worth["mcts:sims=10,c=2"] = 20
    tune(tmp_path, "--pairs", "6", "--batch", "4")
    played: dict[str, set[int]] = {}
    for line in (tmp_path / FILE).read_text(encoding="utf-8").splitlines()[1:]:
        entry = json.loads(line)
        for player in (entry["dwarfs"], entry["trolls"]):
            played.setdefault(player, set()).add(entry["start"])
    first, last = set(range(6)), set(range(494, 500))
    assert played["mcts:sims=10"] == played["mcts:sims=10,c=2"] == first | last
    assert played["mcts:sims=10,c=1"] <= first


def test_more_pairs_and_other_options_go_on_with_the_same_games(
    tmp_path: Path, worth: dict[str, float]
) -> None:
    worth["mcts:sims=10,c=2"] = 20
    for pairs in (3, 6, 5, 3):
        result = tune(tmp_path, "--pairs", str(pairs), "--batch", "2")
        figures = (result[phase]["mcts:sims=10,c=2"]["pairs"] for phase in (SEARCH, CONFIRM))
        assert list(figures) == [2 * pairs] * 2  # against two opponents
    before = (tmp_path / FILE).read_bytes()
    assert main([*WORDS[:2], "c=1,2,3", *WORDS[3:], "--out", str(tmp_path), "--pairs", "3"]) == 0
    kept = (tmp_path / FILE).read_bytes()
    assert kept.startswith(before)
    assert kept.count(b"c=3") > 12


def test_no_game_is_played_twice_where_the_base_is_an_opponent(
    tmp_path: Path, worth: dict[str, float]
) -> None:
    words = ["classic", "mcts:sims=10", "c=1", "--opponents", "mcts:sims=10", "greedy"]
    assert main([*words, "--out", str(tmp_path), "--pairs", "3"]) == 0
    entries = [json.loads(line) for line in (tmp_path / FILE).read_text().splitlines()[1:]]
    games = [(one["dwarfs"], one["trolls"], one["start"]) for one in entries]
    assert len(games) == len(set(games))
    assert ("mcts:sims=10", "mcts:sims=10", 0) in games


def test_the_gain_is_over_the_base_start_by_start(tmp_path: Path, worth: dict[str, float]) -> None:
    result = tune(tmp_path, "--pairs", "4")
    entries = [json.loads(line) for line in (tmp_path / FILE).read_text().splitlines()]
    margins = {
        (one["dwarfs"], one["trolls"], one["start"]): one["margin"]
        for one in entries
        if "start" in one
    }
    spec, base = "mcts:sims=10,c=1", "mcts:sims=10"
    gains = [
        [
            margins[spec, other, start] - margins[base, other, start],
            margins[other, base, start] - margins[other, spec, start],
        ]
        for other in ("greedy", "random")
        for start in range(4)
    ]
    as_dwarfs, as_trolls = np.mean(gains, axis=0)
    figures = result[SEARCH][spec]
    for name, value in (
        ("gain", as_dwarfs + as_trolls),
        ("as_dwarfs", as_dwarfs),
        ("as_trolls", as_trolls),
    ):
        assert float(figures[name].split()[0]) == pytest.approx(value, abs=0.051), name
    assert figures["time"] == 1


def test_the_time_is_that_of_the_candidates_own_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = {"mcts:sims=10": 1.0, "mcts:sims=10,c=1": 2.0, "greedy": 100.0}
    # Slower players' battles are longer here, so that only the time a turn is as expected.
    moves = {"mcts:sims=10": 4, "mcts:sims=10,c=1": 6, "greedy": 5}

    def play(field: Field, games: list[Game], workers: int) -> Generator[Result]:
        for game in games:
            seats = game.dwarfs, game.trolls
            turns = moves[seats[0]], moves[seats[1]]
            spent = seconds[seats[0]] * turns[0], seconds[seats[1]] * turns[1]
            yield Result(*game, 0, "quiet_limit", "", turns, spent, (None, None))

    monkeypatch.setattr(ladder, "try_players", lambda *_: None)
    monkeypatch.setattr(ladder, "play_games", play)
    words = ["classic", "mcts:sims=10", "c=1", "--opponents", "greedy", "mcts:sims=10"]
    assert main([*words, "--pairs", "2", "--out", str(tmp_path)]) == 0
    result = json.loads((tmp_path / RESULT).read_text(encoding="utf-8"))
    assert result[SEARCH]["mcts:sims=10,c=1"]["time"] == 2


def test_what_is_worse_is_dropped_and_what_is_better_recommended(
    tmp_path: Path, worth: dict[str, float]
) -> None:
    worth |= {"mcts:sims=10,c=1": -20, "mcts:sims=10,c=2": 6}
    result = tune(tmp_path)
    assert result[SEARCH]["mcts:sims=10,c=1"]["pairs"] == 2 * ENOUGH_PAIRS  # two opponents
    assert result[SEARCH]["mcts:sims=10,c=2"]["pairs"] == 80
    assert list(result[CONFIRM]) == result["recommended"] == ["mcts:sims=10,c=2"]


def test_nothing_is_dropped_by_few_starts(tmp_path: Path, worth: dict[str, float]) -> None:
    worth |= {"mcts:sims=10,c=1": -20}
    result = tune(tmp_path, "--pairs", "24", "--batch", "2")
    assert result[SEARCH]["mcts:sims=10,c=1"]["pairs"] == 2 * ENOUGH_PAIRS
    few = tune(tmp_path / "few", "--pairs", "6", "--batch", "2")
    assert few[SEARCH]["mcts:sims=10,c=1"]["pairs"] == 2 * 6


def test_nothing_is_recommended_by_few_pairs(tmp_path: Path, worth: dict[str, float]) -> None:
    worth["mcts:sims=10,c=2"] = 20
    result = tune(tmp_path, "--pairs", "4", "--batch", "2")
    assert list(result[CONFIRM]) == ["mcts:sims=10,c=2"]
    assert result["recommended"] == []


def test_the_best_of_many_that_are_alike_is_not_recommended(
    tmp_path: Path, worth: dict[str, float]
) -> None:
    worth["mcts:sims=10,c=2"] = 0.5  # so that it is the best by chance, or nearly so
    result = tune(tmp_path)
    assert len(result[CONFIRM]) == 1
    assert result["recommended"] == []


def test_games_of_other_options_are_left_alone(
    tmp_path: Path, worth: dict[str, float], capsys: pytest.CaptureFixture[str]
) -> None:
    tune(tmp_path)
    before = (tmp_path / FILE).read_bytes()
    assert main(["classic", "mcts:sims=10", "c=3", "--out", str(tmp_path)]) == 2
    shown = capsys.readouterr().err
    assert "holds games of mcts:sims=10,c=1, mcts:sims=10,c=2, mcts:sims=10,fpu=0.5, " in shown
    assert "--out DIR names another folder" in shown
    assert (tmp_path / FILE).read_bytes() == before


def test_a_result_of_something_else_is_left_alone(tmp_path: Path, capsys) -> None:
    (tmp_path / RESULT).write_text("mine")
    assert main([*WORDS, "--out", str(tmp_path)]) == 2
    assert "result.json is not of these games: --out DIR" in capsys.readouterr().err
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_more_pairs_than_half_the_book_are_refused_before_any_play(tmp_path: Path, capsys) -> None:
    folder = tmp_path / "new"
    assert main([*WORDS, "--out", str(folder), "--pairs", "251"]) == 2
    assert capsys.readouterr().err == "tune_search: --pairs 251: 250 at most would be right\n"
    assert not folder.exists()


def test_a_candidate_changes_an_option_that_the_base_names() -> None:
    assert candidates("alphabeta:depth=2,quiescence=2", ["depth=3,4", "nodes=9"]) == [
        "alphabeta:quiescence=2,depth=3",
        "alphabeta:quiescence=2,depth=4",
        "alphabeta:depth=2,quiescence=2,nodes=9",
    ]
    assert candidates("mcts", ["sims=5"]) == ["mcts:sims=5"]


def test_what_the_confirmation_does_not_show_is_not_recommended(
    tmp_path: Path, worth: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(field: Field, games: list[Game], workers: int) -> Generator[Result]:
        for game in games:  # the candidate is better from the starts of the search alone
            mine = [spec == "mcts:sims=10,c=2" for spec in (game.dwarfs, game.trolls)]
            gain = 6 if game.start < 40 else -1
            drawn = np.random.default_rng(field.seeds(game))
            margin = int(drawn.normal(gain * (mine[0] - mine[1]), 2))
            yield Result(*game, margin, "quiet_limit", "", (1, 1), (1.0, 1.0), (None, None))

    monkeypatch.setattr(ladder, "play_games", play)
    result = tune(tmp_path)
    assert list(result[CONFIRM]) == ["mcts:sims=10,c=2"]
    assert result["recommended"] == []
