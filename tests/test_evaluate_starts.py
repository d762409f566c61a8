"""Where the battles of training.evaluate begin: the setup, or the book of openings."""

from __future__ import annotations

import json

import pytest
import torch
from evaluated import FIRST, GREEDY

from training.evaluate import main

torch.set_num_threads(1)


@pytest.mark.parametrize("players", [["--dwarfs", FIRST, "--trolls", FIRST], ["--match"]])
def test_players_without_chance_begin_from_the_book(players: list[str], capsys) -> None:
    words = [*players, *([FIRST, FIRST] if players == ["--match"] else [])]
    words += ["--games", "6", "--max-turns", "20", "--json"]
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["games"] == 6
    assert "neither player plays by chance: from the starts of the opening book" in err
    assert main([*words, "--openings"]) == 0
    again, err = capsys.readouterr()
    assert again == out
    assert "neither player" not in err


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
    assert main(words) == 0
    assert "from the setup alone: the book of classic has 500" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("max_turns", "said"),
    [("3", "start 1 of the book: turns"), ("4", "over by these limits: turn")],
)
def test_a_start_that_is_over_by_the_limits_is_an_error(max_turns: str, said: str, capsys) -> None:
    assert main([*GREEDY, "--openings", "--games", "2", "--max-turns", max_turns]) == 2
    assert said in capsys.readouterr().err
