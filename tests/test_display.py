"""What a terminal shows of a run."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from thud_env.outcome import SIDES
from training.commands.console import CommandConsole
from training.commands.progress import Progress
from training.learner.ppo import MEASURED
from training.process.clock import PARTS
from training.runs.display import Display
from training.runs.foresight import METRIC

SHOWN = {
    "speed/decisions_per_second": 0.25,
    **{f"speed/{part}": 0.25 for part in PARTS},
    **{f"{role}/{name}": 0.25 for role in SIDES for name in (*MEASURED, "explained_variance")},
    **{f"battles/{name}": 0.25 for name in ("margin", "turns", "hurls", "shoves")},
}


def test_a_line_says_what_a_distillation_loses() -> None:
    console = Console(file=io.StringIO(), force_terminal=False, width=200)
    with Display(console, "tiny", 1000, ["greedy"]) as display:
        display.update(1000, {**SHOWN, "dwarfs/regret": 0.17, "trolls/regret": 0.12})
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "dwarfs regret 0.17, trolls regret 0.12" in shown


@pytest.mark.parametrize("terminal", [False, True])
def test_zero_has_no_minus(terminal: bool) -> None:
    names = ("battles/margin", "dwarfs/margin_against_greedy", "trolls/explained_variance")
    console = Console(file=io.StringIO(), force_terminal=terminal, width=200)
    with Display(console, "tiny", 1000, ["greedy"]) as display:
        display.update(1000, {**SHOWN, **dict.fromkeys(names, -0.0001), f"trolls/{METRIC}": -0.0})
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "+0.0" in shown
    assert "-0.0" not in shown


def test_a_live_display_in_a_terminal() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with Display(console, "tiny", 1000, ["greedy"]) as display:
        display.update(400, {**SHOWN, "dwarfs/margin_against_greedy": -12.34})
        display.update(500, SHOWN)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "500/1000" in shown
    for label in ("entropy, share of uniform", "effective moves", "approximate KL"):
        assert label in shown
    assert "hurls, shoves a battle" in shown
    assert "time in environment, forward, learn" in shown
    last = shown[shown.rindex("margin against greedy") :]
    assert "-12.34" in last, "what was measured at a checkpoint stays shown"


@pytest.mark.parametrize("terminal", [False, True])
def test_each_role_is_shown_by_its_own_figures(terminal: bool) -> None:
    own = {"dwarfs/margin_against_greedy": 12.3, "trolls/margin_against_greedy": -4.5}
    console = Console(file=io.StringIO(), force_terminal=terminal, width=200)
    with Display(console, "tiny", 1000, ["greedy"]) as display:
        display.update(1000, {**SHOWN, **own})
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    if terminal:
        assert re.search(r"margin against greedy +\+12\.30 +-4\.50", shown)
    else:
        assert "dwarfs against greedy +12.3, trolls against greedy -4.5" in shown


@pytest.mark.parametrize("words", ["policy:runs/[x]", "a [/] path", "python:fire:Agent {0} [red]"])
def test_words_of_the_user_are_shown_as_they_are(words: str, monkeypatch, capsys) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    console = CommandConsole()
    with Display(console, words, 1000, [words]) as display:
        display.update(400, {**SHOWN, f"dwarfs/margin_against_{words}": -12.34})
    shown = capsys.readouterr().out
    assert f"margin against {words}" in shown
    assert shown.count(words) >= 2
    with Progress(console, words, "games", 8):
        pass
    assert words in capsys.readouterr().out
    console.print(f"learning to beat {words}")
    assert capsys.readouterr().out == f"learning to beat {words}\n"
