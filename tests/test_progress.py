"""How far a command is that plays battles."""

import io

import pytest
from rich.console import Console

from agents import make
from training import evaluate
from training.arena.battles import play_battles, play_pairs
from training.commands import progress
from training.commands.progress import PLAIN_EVERY_S, Progress


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    """A clock that the test sets."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_plain_lines_come_now_and_then_and_say_how_long_it_takes(clock: list[float]) -> None:
    shown = io.StringIO()
    with Progress(Console(file=shown), "evaluate", "battles", 40) as counted:
        for step in range(1, 11):
            clock[0] = step * PLAIN_EVERY_S / 2
            counted.advance(2 if step > 2 else 0)
        counted.advance(24)
    assert shown.getvalue().splitlines() == [
        "0 of 40 battles",
        "4 of 40 battles, 2.2 min left",
        "8 of 40 battles, 2.0 min left",
        "12 of 40 battles, 1.8 min left",
        "16 of 40 battles, 1.5 min left",
        "40 of 40 battles, 0.0 min left",
    ]


def test_how_long_it_takes_is_by_the_pace_since_the_first_line(clock: list[float]) -> None:
    shown = io.StringIO()
    with Progress(Console(file=shown), "evaluate", "battles", 40) as counted:
        for clock[0] in (60.0, 120.0):
            counted.advance(10)
    assert shown.getvalue().splitlines() == ["10 of 40 battles", "20 of 40 battles, 2.0 min left"]


def test_what_is_done_at_once_prints_no_line(clock: list[float]) -> None:
    shown = io.StringIO()
    with Progress(Console(file=shown), "evaluate", "battles", 2) as counted:
        counted.advance()
        counted.advance()
    assert shown.getvalue() == ""


def test_a_terminal_shows_a_bar(clock: list[float]) -> None:
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=100)
    with Progress(console, "evaluate", "battles", 8) as counted:
        counted.advance(3)
    assert "3/8" in shown.getvalue()
    assert "battles" in shown.getvalue()


@pytest.mark.parametrize(("play", "battles"), [(play_battles, 5), (play_pairs, 10)])
def test_every_battle_is_counted_when_it_ends(play, battles: int) -> None:
    ended: list[int] = []
    play(make("random", 0), make("random", 1), 5, max_turns=40, watch=ended.append)
    assert sum(ended) == battles
    assert 0 in ended, "it is told in between"


def test_evaluate_counts_all_its_battles_on_the_standard_error(
    clock: list[float], monkeypatch, capsys
) -> None:
    def advance(self: Progress, more: int = 1) -> None:
        clock[0] += PLAIN_EVERY_S
        counted(self, more)

    counted = Progress.advance
    monkeypatch.setattr(Progress, "advance", advance)
    words = ["--match", "random", "random", "greedy", "--games", "2", "--max-turns", "20"]
    assert evaluate.main(words) == 0
    shown = capsys.readouterr()
    assert "8 of 8 battles, 0.0 min left\n" in shown.err
    assert "of 8 battles" not in shown.out
