"""Where the battles of training.evaluate begin: the setup, the book, or starts of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluated import FIRST, GREEDY

import agents
from thud_env import Position, ThudError, read_record
from training.arena.battles import play_battles, play_pairs
from training.arena.evaluation import evaluate
from training.arena.openings import Openings, read_openings
from training.evaluate import main


@pytest.mark.parametrize(
    "players",
    [
        ["--dwarfs", FIRST, "--trolls", FIRST],
        ["--match", FIRST, FIRST],
        ["--match", "random", FIRST],
    ],
)
def test_battles_begin_from_the_book(players: list[str], capsys) -> None:
    words = [*players, "--games", "6", "--max-turns", "20", "--json"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert json.loads(out)["games"] == 6
    assert json.loads(out)["openings"] == read_openings("classic").digest
    assert main([*words, "--openings"]) == 0
    assert capsys.readouterr().out == out
    assert main([*words, "--no-openings"]) == 0
    assert json.loads(capsys.readouterr().out)["openings"] is None


def test_a_battle_played_again_counts_once(capsys) -> None:
    words = ["--dwarfs", FIRST, "--trolls", FIRST, "--max-turns", "20", "--no-openings"]
    assert main([*words, "--games", "20", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "only 1 of 20 battles is distinct: repeats are not counted" in err
    report = json.loads(out)
    assert report["games"] == 1
    assert report["mean_margin_95"] == [-32, 32]
    low, high = report["dwarfs"]["win_rate_95"]
    assert high - low > 0.75


def test_more_games_than_the_book_has_starts(capsys) -> None:
    words = ["--dwarfs", FIRST, "--trolls", FIRST, "--max-turns", "9", "--games", "501"]
    assert main([*words, "--openings"]) == 2
    assert "the book of classic has 500 starts, not 501" in capsys.readouterr().err
    assert main([*words, "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["openings"] == read_openings("classic").digest
    assert "of 501 battles are distinct: repeats are not counted" in err
    assert 20 < json.loads(out)["games"] <= 500


@pytest.mark.parametrize(
    ("max_turns", "said"),
    [("3", "start 1 of the book: turns"), ("4", "over by these limits: turn")],
)
def test_a_start_that_is_over_by_the_limits_is_an_error(max_turns: str, said: str, capsys) -> None:
    assert main([*GREEDY, "--openings", "--games", "2", "--max-turns", max_turns]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("games", [1, 3])
def test_where_the_limits_end_a_start_none_is_taken_from_the_book(games: int) -> None:
    """However many battles there are: its first start would do."""
    found = evaluate((Rows(), Rows()), games, "classic", max_turns=5)
    assert found.openings is None
    assert found.notes[0].startswith("from the setup alone: start 2 of the book is over")


HANDICAP = "dd1dd/d5d/d7d/d9d/d11d/d13d/d13d/6TRT6/d5TTT5d/d13d/d11d/d9d/d7d/d5d/dd1dd"


@pytest.fixture
def starts(tmp_path: Path) -> Path:
    path = tmp_path / "starts.txt"
    path.write_text(f"# five trolls\n{HANDICAP} d - 0 0\n{HANDICAP} t - 0 7\n")
    return path


def test_battles_begin_at_starts_of_ones_own_again_and_again(
    starts: Path, tmp_path: Path, capsys
) -> None:
    words = [*GREEDY, "--starts", str(starts), "--max-turns", "9"]
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["games"] == 2
    assert main([*words, "--games", "5", "--records", str(tmp_path / "records")]) == 0
    began = [read_record(path).start for path in sorted((tmp_path / "records").iterdir())]
    assert [start.turn_number for start in began] == [0, 7, 0, 7, 0]
    assert {start.text.split()[0] for start in began} == {HANDICAP}


def test_blank_lines_and_comments_are_no_starts(starts: Path, capsys) -> None:
    words = [*GREEDY, "--games", "2", "--starts", str(starts)]
    assert main(words) == 0
    report = capsys.readouterr().out
    starts.write_text(f"# mine\n\n{starts.read_text()}\n \n")
    assert main(words) == 0
    assert capsys.readouterr().out == report


def test_a_book_is_a_file_of_starts(tmp_path: Path, capsys) -> None:
    path = tmp_path / "book.txt"
    path.write_text(f"thud-openings 1 rules=classic seed=1 count=1\n{HANDICAP} d - 0 0\n")
    assert main([*GREEDY, "--starts", str(path), "--max-turns", "9", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["games"] == 1


@pytest.mark.parametrize(
    ("state", "limits"),
    [
        ("t - 0 900", ("--max-turns", "1000")),
        ("t - 200 200", ("--max-quiet-turns", "300")),
        ("t - 21 21 19,0", ("--agreement",)),
        ("t offer 21 21", ("--agreement",)),
    ],
)
def test_starts_of_ones_own_are_read_by_the_limits_that_are_given(
    state: str, limits: tuple[str, ...], starts: Path, capsys
) -> None:
    starts.write_text(f"5/7/9/11/4ddd6/15/6T8/7R7/15/15/13/11/9/7/5 {state}\n")
    assert main([*GREEDY, "--starts", str(starts)]) == 2
    assert "starts.txt, line 1: " in capsys.readouterr().err
    assert main([*GREEDY, "--starts", str(starts), *limits, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["games"] == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "starts.txt has no start: a position text a line would be right"),
        ("# one\nx\n", "starts.txt, line 2: position 'x' has 1 fields"),
        (f"{HANDICAP} d - 200 200\n", "starts.txt, line 1: this battle is over"),
        ("thud-openings 1 rules=koom-valley seed=1 count=1\n", "is a book of koom-valley, not of"),
    ],
)
def test_what_is_no_file_of_starts_is_refused(text: str, said: str, starts: Path, capsys) -> None:
    starts.write_text(text)
    assert main([*GREEDY, "--starts", str(starts)]) == 2
    assert said in capsys.readouterr().err


def test_the_book_or_starts_of_ones_own(starts: Path, capsys) -> None:
    for word in ("--openings", "--no-openings"):
        assert main([*GREEDY, "--starts", str(starts), word]) == 2
        assert f"{word} or --starts: either, not both" in capsys.readouterr().err
    assert main([*GREEDY, "--starts", str(starts.parent / "none.txt")]) == 2
    assert "none.txt cannot be read" in capsys.readouterr().err


def test_a_program_may_give_positions() -> None:
    positions = [Position.from_text(f"{HANDICAP} d - 0 {turns}", max_turns=9) for turns in (0, 7)]
    player = agents.make("greedy")
    played = play_battles(player, player, 2, starts=positions)
    assert played.starts.tolist() == [position.row.tolist() for position in positions]
    assert played.turns.tolist() == [9, 2]


@pytest.mark.parametrize(
    ("starts", "said"),
    [
        ([], "0 positions for 2 battles"),
        (3, "starts 3: position text"),
        (Position.start().row, "starts int16 of shape"),
        (np.stack([Position.start().row] * 3), "3 positions for 2 battles"),
    ],
)
def test_wrong_starts_of_a_program_are_named(starts: Any, said: str) -> None:
    player = agents.make("greedy")
    with pytest.raises((ThudError, TypeError), match=f"^{said}"):
        play_battles(player, player, 2, starts=starts)


def test_an_agreement_that_is_not_wanted_is_none() -> None:
    player = agents.make("greedy")
    start = Position.start(agreement=True)
    for starts in ([start], start.row[None]):
        played = play_battles(player, player, 1, starts=starts, agreement=False, max_turns=2)
        assert played.starts.tolist() == [Position.start(max_turns=2).row.tolist()]


@pytest.mark.parametrize("kind", ["text", "position", "rows"])
def test_limits_that_are_given_replace_those_of_starts(kind: str) -> None:
    start = Position.from_text(f"{HANDICAP} d - 0 5", max_quiet_turns=50)
    given: dict[str, Any] = {"text": start.text, "position": [start], "rows": start.row[None]}
    starts = given[kind]
    player = agents.make("greedy")
    pairs = play_pairs(player, player, 1, starts=starts, max_turns=9)
    own = 200 if kind == "text" else 50  # a text has none of its own
    wanted = Position.from_text(start.text, max_turns=9, max_quiet_turns=own)
    for played in (pairs.first, pairs.second):
        assert played.turns.tolist() == [4]
        assert played.starts.tolist() == [wanted.row.tolist()]
    for limits, said in (({"max_turns": 5}, r"over: .*turn limit"), ({"max_turns": 4}, "0 .. 4")):
        with pytest.raises(ValueError, match=said):
            play_battles(player, player, 1, starts=starts, **limits)


class Rows:
    """A player with nothing but ``act_rows``."""

    def act_rows(self, rows):
        return np.array([Position(row).legal_actions()[0] for row in rows])


def test_what_answers_for_rows_can_be_evaluated() -> None:
    found = evaluate((Rows(), Rows()), 2, "classic", openings=False, max_turns=4)
    assert found.played.turns.tolist() == [4]


@pytest.mark.parametrize("turned", [False, True])
def test_one_player_that_draws_is_enough_to_count_all(turned: bool) -> None:
    players = [agents.make("greedy", 1), agents.make("policy:pretrained/classic,temperature=0")]
    assert [player.stochastic for player in players] == [True, False]
    ordered = (players[1], players[0]) if turned else (players[0], players[1])
    found = evaluate(ordered, 40, "classic", openings=False, max_turns=1)
    assert any("distinct: all are counted" in note for note in found.notes)
    assert len(found.played.margins) == 40


@pytest.mark.parametrize(
    ("match", "starts", "said"),
    [
        (True, 1, "40 game pairs from 1 start: the intervals are of this start alone"),
        (False, 3, "40 battles from 3 starts: the intervals are of these starts alone"),
        (False, None, "40 battles from 1 start: the intervals are of this start alone"),
    ],
)
def test_starts_that_repeat_are_noted(match: bool, starts: int | None, said: str) -> None:
    players = (agents.make("random", 1), agents.make("random", 2))
    openings = starts is not None and Openings.of(list(read_openings("classic").starts[:starts]))
    found = evaluate(players, 40, "classic", match=match, openings=openings, max_turns=30)
    assert found.notes == [said]


def test_starts_that_do_not_repeat_are_not_noted() -> None:
    players = (agents.make("random", 1), agents.make("random", 2))
    assert evaluate(players, 40, "classic", max_turns=30).notes == []


def test_a_ruleset_without_a_book_begins_at_the_setup_and_says_so() -> None:
    players = (agents.make("greedy"), agents.make("random"))
    found = evaluate(players, 3, "classic:name=bookless,trolls=H7", max_turns=1)
    assert found.openings is None
    assert any("from the setup alone: there is no book of openings" in one for one in found.notes)
