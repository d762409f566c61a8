"""What each turn of a battle cost, in Python and by the command."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from test_analyse import EXACT, exact_margin
from test_negamax import minimax, small_positions

from agents.analysis import best_turns
from agents.asking import OwnAgentError
from agents.review import ReviewedTurn, main, review
from thud_env import RULESETS, Position, Record, ThudError, read_record, write_record

ROOT = Path(__file__).parents[1]
LOST = "docs/battles/classic-dwarfs-lose.thud"
QUICK = "alphabeta:depth=1"


def small_battle(rules: str, turns: int = 3) -> Record:
    """The worst turns of all, from a position of few pieces."""
    *_, start = small_positions(rules, 2, 16, 6000)
    here, played = start, []
    while here.outcome is None and len(played) < turns:
        played.append(best_turns(here, EXACT, 10_000)[-1].turn)
        here = here.play(played[-1])
    return Record(start, tuple(played))


@pytest.mark.parametrize("rules", RULESETS)
def test_a_turn_cost_what_the_best_is_better_by_minimax(rules: str) -> None:
    record = small_battle(rules)
    reviewed = list(review(record, EXACT))
    assert [one.number for one in reviewed] == [*range(1, len(record.turns) + 1)]
    for one, position, turn in zip(reviewed, record.positions(), record.turns, strict=False):
        assert (one.side, one.turn) == (position.to_move, turn)
        assert one.margin == pytest.approx(exact_margin(position.play(turn)), abs=1e-9)
        assert one.best_margin == pytest.approx(exact_margin(position.play(one.best)), abs=1e-9)
        # The player looks a turn ahead, and chooses by what that is worth at once.
        assert -minimax(position.play(one.best).row, 0) == minimax(position.row, 1)
        sign = 1 if one.side == "dwarfs" else -1
        assert one.cost == max(0, sign * (one.best_margin - one.margin))
    assert any(one.cost for one in reviewed)


@pytest.mark.parametrize(
    ("side", "margin", "best_margin", "cost"),
    [("dwarfs", 1, 3, 2), ("dwarfs", 3, 1, 0), ("trolls", 1, 3, 0), ("trolls", 3, 1, 2)],
)
def test_what_a_turn_cost_is_of_its_side_and_never_negative(
    side: str, margin: float, best_margin: float, cost: float
) -> None:
    assert ReviewedTurn(1, side, "a", margin, "b", best_margin).cost == cost


def test_the_best_turn_costs_nothing() -> None:
    start = small_battle("classic").start
    (found,) = review(Record(start, (start.turns()[0],)), QUICK)
    (again,) = review(Record(start, (found.best,)), QUICK)
    assert (again.best, again.margin, again.cost) == (found.best, again.best_margin, 0)


def test_the_last_turn_of_a_battle_has_the_margin_of_its_outcome() -> None:
    for name in ("agreed", "football"):
        record = read_record(ROOT / "tests" / "data" / "records" / f"{name}.thud")
        *_, last = review(record, QUICK)
        assert record.final.outcome is not None
        assert last.margin == record.final.outcome.margin


def test_a_battle_without_turns_has_nothing_to_review() -> None:
    assert list(review(Record(Position.start("koom-valley")), QUICK)) == []
    over = Position.start(max_turns=1).play("dF1-F2")
    assert list(review(Record(over), QUICK)) == []


def test_a_policy_can_review() -> None:
    start = Position.start("koom-valley-football")
    record = Record(start, (start.turns()[0],))
    (one,) = review(record, "policy:pretrained/koom-valley-football")
    assert one.best in start.turns()
    assert -1 <= one.margin <= 1


def test_who_cannot_review_is_refused() -> None:
    record = small_battle("classic")
    with pytest.raises(ThudError, match="'greedy' cannot say what a position is worth: a search"):
        list(review(record, "greedy"))
    with pytest.raises(ThudError, match="was trained for koom-valley, not classic"):
        list(review(record, "policy:pretrained/koom-valley"))
    with pytest.raises(OwnAgentError, match="Failing failed"):
        list(review(record, "python:test_analyse:Failing"))


# -- the command ---------------------------------------------------------------------------


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main([*words]) == 0
    return capsys.readouterr().out


def test_the_command_prints_a_line_for_each_turn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record, path = small_battle("classic", 6), tmp_path / "game.thud"
    write_record(path, record)
    *lines, dwarfs, trolls = printed(capsys, str(path), "--agent", QUICK).splitlines()
    reviewed = list(review(record, QUICK))
    for line, one in zip(lines, reviewed, strict=True):
        words = [str(one.number), one.side, one.turn, f"{one.margin:+z.2f}"]
        if one.cost >= 0.005:
            words += ["cost", f"{one.cost:.2f}:", one.best, f"{one.best_margin:+z.2f}"]
        assert line.split() == words
    for side, line in (("dwarfs", dwarfs), ("trolls", trolls)):
        costs = {one.number: one.cost for one in reviewed if one.side == side}
        worst = max(costs, key=costs.__getitem__)
        assert line == (
            f"{side}: {len(costs)} turns, a mean cost of {sum(costs.values()) / len(costs):.2f}; "
            f"turn {worst} cost most, {costs[worst]:.2f}"
        )


def test_the_page_shows_what_the_command_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    before, _, after = page.partition("<!-- printed by: agents.review -->\n```\n")
    command = re.findall(r"-m agents\.review (.*)", before)[-1]
    monkeypatch.chdir(ROOT)
    out = printed(capsys, *shlex.split(command))
    beginning, _, end = after.partition("```")[0].partition("...\n")
    assert out.startswith(beginning)
    assert out.endswith(end)
    assert end.count("\n") > 2


def test_the_command_prints_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record, path = small_battle("koom-valley"), tmp_path / "game.thud"
    write_record(path, record)
    told = json.loads(printed(capsys, str(path), "--agent", QUICK, "--json"))
    turns = told.pop("turns")
    assert told == {"rules": "koom-valley", "agent": QUICK}
    reviewed = list(review(record, QUICK))
    assert [one.pop("cost") for one in turns] == [one.cost for one in reviewed]
    assert [ReviewedTurn(**one) for one in turns] == reviewed


def test_a_record_without_turns_is_summed_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_record(tmp_path / "empty.thud", Record(Position.start("classic")))
    out = printed(capsys, str(tmp_path / "empty.thud"))
    assert out == "dwarfs: no turns\ntrolls: no turns\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no.thud"], "no.thud: No such file or directory"),
        ([LOST, "--agent", "random"], "agent 'random' cannot say what a position is worth: "),
        ([LOST, "--rules", "chess"], "unknown ruleset 'chess'"),
        ([], "the following arguments are required: record"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err
