"""The table at the end of a run, whose pairings are played at once."""

from __future__ import annotations

import io
import re
from concurrent.futures import CancelledError
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from rich.console import Console

import agents
from thud_env.rulesets import RULESETS
from training.arena.battles import Battles, Watch
from training.arena.intervals import ENOUGH_PAIRS, Interval
from training.arena.summary import BattleFigures
from training.runs import head_to_head
from training.runs import head_to_head as table
from training.runs.head_to_head import caption, verdicts


def the_table() -> list[dict[str, Any]]:
    """Three pairings of players that draw, since no policy is needed."""
    return head_to_head.head_to_head(
        Path("unread"), "classic", 3, Console(file=io.StringIO()), max_turns=30
    )


@pytest.fixture
def random_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def met(policy: str) -> list[tuple[str, str]]:
        return [("random", "random"), ("random", "greedy"), ("greedy", "random")]

    monkeypatch.setattr(head_to_head, "pairings", met)
    monkeypatch.setattr(head_to_head, "verdicts", lambda results, policy: [])


@pytest.mark.usefixtures("random_alone")
def test_the_figures_are_the_same_in_any_number_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("training.commands.at_once.available_cores", lambda: 1)
    alone = the_table()
    monkeypatch.setattr("training.commands.at_once.available_cores", lambda: 3)
    assert the_table() == alone
    assert alone[0]["mean_margin"] != alone[1]["mean_margin"]


@pytest.mark.usefixtures("random_alone")
def test_a_narrow_terminal_leaves_no_figure_out() -> None:
    wide, narrow = (Console(file=io.StringIO(), width=width) for width in (200, 20))
    for console in (wide, narrow):
        head_to_head.head_to_head(Path("unread"), "classic", 4, console, max_turns=30)
    rows = [
        [line.rstrip() for line in console.file.getvalue().splitlines() if "%" in line]  # type: ignore[attr-defined]
        for console in (wide, narrow)
    ]
    assert len(rows[0]) == 4  # with the heading
    assert rows[0] == rows[1]


@pytest.mark.usefixtures("random_alone")
def test_the_table_shows_how_often_each_side_won_and_the_figures_by_which_limits() -> None:
    console = Console(file=io.StringIO(), width=200)
    results = head_to_head.head_to_head(Path("unread"), "classic", 4, console, max_turns=30)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert any(one["dwarfs"]["win_rate"] != one["trolls"]["win_rate"] for one in results)
    for one in results:
        assert one["limits"]["max_turns"] == 30
        cells = [one["dwarfs_agent"], one["trolls_agent"]]
        cells += [f"{one[side]['win_rate']:.0%}" for side in ("dwarfs", "trolls")]
        assert re.search(" +│ +".join(cells), shown), cells


@pytest.mark.usefixtures("random_alone")
def test_an_interrupt_ends_all_battles_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, playing, ended = count(), Event(), Event()

    def play(*arguments: Any, watch: Watch, **limits: Any) -> Battles:
        if next(numbers) == 0:
            assert playing.wait(30)
            raise KeyboardInterrupt
        playing.set()
        try:
            for _ in range(10_000):
                ended.wait(0.001)
                watch(0)
        except CancelledError:
            ended.set()
        raise CancelledError

    monkeypatch.setattr("training.commands.at_once.available_cores", lambda: 2)
    monkeypatch.setattr(head_to_head, "play_battles", play)
    with pytest.raises(KeyboardInterrupt):
        the_table()
    assert ended.is_set()


@pytest.mark.parametrize(("games", "said"), [(ENOUGH_PAIRS - 1, 0), (ENOUGH_PAIRS, 2)])
def test_few_battles_say_nothing_of_what_was_learnt(games: int, said: int) -> None:
    margins = {("random", "random"): 0, ("mine", "random"): 9, ("random", "mine"): -9}
    found = {
        pair: BattleFigures(games, 0, Interval(m, m, m), 9.0, sides={}, endings={})
        for pair, m in margins.items()
    }
    assert len(verdicts(found, "mine")) == said


def test_it_says_how_large_margins_of_the_ruleset_are() -> None:
    assert "-32 to +32;" in caption(RULESETS["classic"])
    six = RULESETS["classic"].replace(name="six", trolls="G7 H7 J7 G9 H9 J9")
    assert "-24 to +32;" in caption(six)
    assert caption(RULESETS["koom-valley"]).startswith("result: 1 if the dwarfs won")


def test_the_players_of_a_table_are_seeded_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = []
    make = agents.make
    monkeypatch.setattr(
        table.agents,
        "make",
        lambda spec, seed: seeds.append(seed) or make("random", seed),
    )
    console = Console(file=io.StringIO(), width=200)
    table.head_to_head("nowhere", "classic", 2, console, max_turns=2)  # type: ignore[arg-type]
    assert len(seeds) == 12
    assert len(set(seeds)) == 12


@pytest.mark.parametrize(
    ("dwarfs", "trolls", "said"),
    [
        ((2, 1.5, 2.5), (-2, -2.5, -1.5), ["do better than", "do better than"]),
        ((2, 1, 2.5), (-2, -2.5, -1), ["are not shown to"] * 2),
        ((-2, -2.5, -1.5), (2, 1.5, 2.5), ["are not shown to"] * 2),
        ((2, 1.5, 2.5), (2, 1.5, 2.5), ["do better than", "are not shown to"]),
        ((-2, -2.5, -1.5), (-2, -2.5, -1.5), ["are not shown to", "do better than"]),
    ],
)
def test_a_role_does_better_if_the_intervals_are_apart_its_way(dwarfs, trolls, said) -> None:
    margins = {
        ("random", "random"): (0, -1.0, 1.0),
        ("mine", "random"): dwarfs,
        ("random", "mine"): trolls,
    }
    found = {
        pair: BattleFigures(ENOUGH_PAIRS, 0, Interval(*m), 9.0, sides={}, endings={})
        for pair, m in margins.items()
    }
    lines = table.verdicts(found, "mine")
    assert [words in line for words, line in zip(said, lines, strict=True)] == [True, True]
