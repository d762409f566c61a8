"""The best turns of a position, in Python and by the command."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from by_hand import place
from test_negamax import minimax, small_positions

from agents import analysis, findings, make
from agents.agent import Agent, Opinion
from agents.analyse import main
from agents.analysis import Analysis, RankedTurn, best_turns
from agents.answers import AnswerError
from agents.asking import OwnAgentError
from agents.findings import finding_of_judge
from agents.review import review
from agents.search.evaluation import WIN
from agents.web.lessons import LESSONS
from thud_env import RULESETS, Position, Record, Ruleset, ThudError
from thud_env.outcome import Side

ROOT = Path(__file__).parents[1]
EACH_RULESET = pytest.mark.parametrize("rules", RULESETS)
EXACT = "alphabeta:depth=1,quiescence=0,evaluation=features,reductions=0"
MID_TURN = "5/7/9/11/4ddd6/6T8/15/6TR7/15/15/13/11/9/7/5 t G6:any 0 0"
HURL = LESSONS[1].start
OFFERED = "5/1dd4/9/6T4/2dd9/3dd10/15/7R7/10dd3/2T7dd3/13/11/2ddd4/7/5 d offer 24 131"


def exact_margin(position: Position) -> float:
    """What the battle is worth to the dwarfs, by a search of a turn that leaves nothing out."""
    if position.outcome is not None:
        return position.outcome.margin
    value = minimax(position.row, 1)
    if position.rules.reward == "margin":
        worth = value / 100
    else:
        assert abs(value) <= WIN
        worth = value / (abs(value) + 1000)
    return worth if position.to_move == "dwarfs" else -worth


@EACH_RULESET
def test_every_turn_has_its_minimax_value_and_the_best_come_first(rules: str) -> None:
    sides = set()
    for position in small_positions(rules, 2, 16, 6000)[:6]:
        sides.add(position.to_move)
        found = best_turns(position, EXACT, 10_000)
        exact = {turn: exact_margin(position.play(turn)) for turn in position.turns()}
        assert {one.turn: one.margin for one in found} == pytest.approx(exact, abs=1e-9)
        sign = 1 if position.to_move == "dwarfs" else -1
        assert found == sorted(found, key=lambda one: (-sign * one.margin, one.turn))
        assert best_turns(position, EXACT, 2) == found[:2]
    assert sides == {"dwarfs", "trolls"}


@EACH_RULESET
@pytest.mark.parametrize("spec", ["alphabeta:depth=2", "mcts:sims=20"])
def test_a_turn_has_the_margin_and_line_of_an_analysis_after_it(rules: str, spec: str) -> None:
    *_, position = small_positions(rules, 2, 16, 6000)
    found = best_turns(position, spec, 3)
    assert len(found) == 3
    for one in found:
        after = position.play(one.turn)
        if after.outcome is None:
            whole = Analysis(spec, after)
            whole.run()
            assert whole.finding is not None
            assert (one.margin, one.line) == (whole.finding.margin, whole.finding.line)
        for turn in one.line:
            after = after.play(turn)


@pytest.mark.parametrize(
    ("position", "winning", "margin"),
    [
        (place("koom-valley", "G2", "A8 P8 P9", rock="H2"), ["RH2-G1", "RH2-H1"], 1),
        (place("koom-valley", "A6", "G8 J8 H5", "t"), ["TH5-H7"], -1),
        (place("classic-all", "G6", "H4", "t"), ["TH4-G5xG6", "TH4-H5xG6"], -4),
        (place("classic-any", "G5 G6 P8", "G8"), ["dG6-G8xG8"], 3),
    ],
)
def test_turns_that_win_at_once_come_first_in_the_order_of_their_texts(
    position: Position, winning: list[str], margin: int
) -> None:
    *first, other = best_turns(position, "alphabeta:depth=1", 1 + len(winning))
    assert first == [RankedTurn(turn, margin, ()) for turn in winning]
    assert other.margin != margin
    assert other.line


def test_turns_of_equal_worth_keep_their_order() -> None:
    start = Position.start(max_turns=1)
    best = best_turns(start, count=1000)
    assert best == [RankedTurn(turn, 0.0, ()) for turn in start.turns()]
    assert best_turns(start) == best[:5]


def test_in_the_middle_of_a_turn_the_ways_to_complete_it_are_ranked() -> None:
    position = Position.from_text(MID_TURN, "classic-any")
    best = best_turns(position, "alphabeta:depth=1", 100)
    assert sorted(one.turn for one in best) == position.turns()
    assert best[0] == RankedTurn("TG6xF5xG5xH5", -8.0, ())
    assert [one.margin for one in best] == sorted(one.margin for one in best)


def test_no_offer_is_ranked_and_the_answers_to_one_are() -> None:
    start = Position.start("classic", agreement=True, offer_after=1).play("dF1-F2")
    assert "offer" in start.turns()
    words = [one.turn for one in best_turns(start, "alphabeta:depth=1", 1000)]
    assert sorted([*words, "offer"]) == start.turns()
    offered = Position.from_text(OFFERED, agreement=True)
    found = {one.turn: one for one in best_turns(offered, "alphabeta:depth=1")}
    assert set(found) == {"accept", "decline"}
    assert found["accept"] == RankedTurn("accept", 5.0, ())
    going_on = Analysis("alphabeta:depth=1", offered.play("decline"))
    going_on.run()
    assert going_on.finding is not None
    assert found["decline"].margin == going_on.finding.margin


@pytest.mark.parametrize(("spec", "simulations"), [("mcts", 1000), ("mcts:sims=30", 30)])
def test_a_player_without_a_limit_in_its_spec_ends_at_its_own(spec: str, simulations: int) -> None:
    ends = Analysis(spec, HURL, own_limits=True)
    ends.run()
    assert ends.finding is not None
    assert ends.finding.visits == simulations


def test_lines_end_at_the_limits_of_the_player(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    for module in (analysis, findings):
        monkeypatch.setattr(module, "make", lambda spec: made.append(spec) or make(spec))
    best_turns(place("classic", "A6", "P8"), "alphabeta:quiescence=1", 1)
    assert made[:2] == ["alphabeta:quiescence=1"] * 2
    assert all("nodes" not in spec for spec in made)


def test_a_policy_ranks_turns_and_says_the_reply_that_it_finds_likeliest() -> None:
    position = place("classic", "G5 G6 P8", "G8 A8")
    best = best_turns(position, "policy:pretrained/classic", 3)
    policy: Any = make("policy:pretrained/classic")
    for one in best:
        after = position.play(one.turn)
        opinion = policy.judge(after)
        assert one.margin == pytest.approx(opinion.margin)
        (reply,) = one.line
        assert after.decisions(reply)[0] == opinion.probabilities.argmax()


class Failing(Agent):
    def act_rows(self, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        raise AssertionError

    def judge(self, position: Position) -> None:
        raise ValueError("own fault")


class Choosy(Failing):
    def check_plays(self, rules: Ruleset, side: Side) -> None:
        raise ValueError(f"no {side} in {rules.name}")


def test_a_player_is_asked_whether_it_plays_the_side_that_moves_next() -> None:
    with pytest.raises(ThudError, match=r"^no trolls in classic$"):
        best_turns(HURL, "python:test_analyse:Choosy")


def test_the_error_of_a_player_of_ones_own_is_not_taken_for_a_wrong_word() -> None:
    with pytest.raises(OwnAgentError, match="Failing failed"):
        best_turns(HURL, "python:test_analyse:Failing")


class Judging(Failing):
    """Thinks what it is told to think."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def judge(self, position: Position) -> Any:
        return self._answer(position)


def evenly(position: Position) -> Opinion:
    mask = position.action_mask()
    return Opinion(mask / mask.sum(), float(len(position.turns())))


def test_a_player_at_hand_ranks_and_reviews() -> None:
    player = Judging(evenly)
    best = best_turns(HURL, player, 2)
    following = [HURL.play(one.turn) for one in best]
    assert [one.margin for one in best] == [len(after.turns()) for after in following]
    for one, after in zip(best, following, strict=True):
        (reply,) = one.line
        assert after.decisions(reply)[0] == after.legal_actions()[0]
    (reviewed,) = review(Record(HURL, (best[0].turn,)), player)
    assert reviewed.margin == best[0].margin
    spec = "alphabeta:depth=1"
    of_spec, at_hand = (best_turns(HURL, one, 3) for one in (spec, make(spec)))
    assert [(one.turn, one.margin) for one in of_spec] == [(o.turn, o.margin) for o in at_hand]


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        (lambda even: (even, 0.0), "its judge returned a tuple: an Opinion"),
        (lambda even: Opinion(even, np.nan), "the margin of its judge is nan"),
        (lambda even: Opinion(even, "2:1"), "cannot be read: could not convert"),
        (lambda even: Opinion(even[:9], 0), r"have the shape \(9,\): \(6470,"),
        (lambda even: Opinion(even * 2, 0), "sum to 2, the least is 0: a sum"),
        (lambda even: Opinion(even * np.nan, 0), "sum to nan"),
        (
            lambda even: Opinion(even - np.eye(6470)[6469] + np.eye(6470)[6468], 0),
            "the least is -1",
        ),
        (
            lambda even: Opinion(torch.ones(6470, requires_grad=True), 0),
            "cannot be read: Can't call",
        ),
        (lambda even: Opinion(even, 10**400), "cannot be read: int too large"),
        (lambda even: Opinion(np.eye(1, 6470, 6469)[0], 0), "gives 'decline' a probab"),
    ],
)
def test_what_is_no_opinion_is_refused(answer: Any, wrong: str) -> None:
    with pytest.raises(AnswerError, match=f"^Judging: .*{wrong}"):
        best_turns(HURL, Judging(lambda here: answer(evenly(here).probabilities)))


def test_probabilities_may_be_rounded_as_networks_round_them() -> None:
    def rounded(position: Position) -> Opinion:
        scores = torch.where(torch.from_numpy(position.action_mask() > 0), 0.0, -torch.inf)
        scores += torch.linspace(0, 3, 6470)
        return Opinion(scores.bfloat16().softmax(0).double().numpy(), 0.0)

    assert rounded(HURL).probabilities.sum() != pytest.approx(1, abs=1e-4)
    assert best_turns(HURL, Judging(rounded), 1)


def test_what_cannot_be_ranked_is_refused() -> None:
    with pytest.raises(ThudError, match="'greedy' cannot say what a position is worth: a search"):
        best_turns(HURL, "greedy")
    mute = Judging(evenly)
    mute.judge = None  # type: ignore[method-assign, assignment]
    with pytest.raises(ThudError, match="cannot say what a position is worth: a search"):
        best_turns(HURL, mute)
    with pytest.raises(AssertionError):  # asked for its turn, in place of an opinion
        finding_of_judge(mute, HURL)
    with pytest.raises(ThudError, match="was trained for classic, not koom-valley"):
        best_turns(Position.start("koom-valley"), "policy:pretrained/classic")
    with pytest.raises(ThudError, match="holds no policy for the trolls"):
        best_turns(HURL, "policy:pretrained/classic/dwarfs")
    with pytest.raises(ThudError, match="the battle is over: nothing to analyse in"):
        best_turns(Position.start(max_turns=1).play("dF1-F2"))
    with pytest.raises(ThudError, match="count must be 1 or more, not 0"):
        best_turns(HURL, count=0)
    with pytest.raises(TypeError, match="a str is no position"):
        best_turns(HURL.text)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a string such as 'greedy', or 'python:MODULE:CLASS' for"):
        best_turns(HURL, 2)  # type: ignore[arg-type]


# -- the command ---------------------------------------------------------------------------


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main([*words]) == 0
    return capsys.readouterr().out


def test_the_command_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "--position", HURL.text, "--best", "3")
    standing, heading, *lines = out.splitlines()
    assert standing == "Turn 1, the dwarfs to move: 5 dwarfs, 2 trolls, the trolls lead by 3."
    assert heading == "turn       margin  line"
    best = best_turns(HURL, "alphabeta:depth=2", 3)
    assert [line.split() for line in lines] == [
        [one.turn, f"{one.margin:+.2f}", *one.line] for one in best
    ]
    assert lines[0].startswith("dF9-J6xJ6   +")
    assert {len(line.partition(".")[0]) for line in lines} == {len("dF9-J6xJ6   +0")}


def test_the_page_shows_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    section = page.partition("<!-- printed by: agents.analyse -->\n```\n")
    *_, command = re.findall(r"-m agents\.analyse (.*)", section[0])
    assert printed(capsys, *shlex.split(command)) == section[2].partition("```")[0]


def test_the_command_says_which_turns_end_the_battle(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--agreement", "--position", OFFERED, "--agent", "alphabeta:depth=1")
    standing, _, accept, decline = printed(capsys, *words).splitlines()
    assert standing.startswith("An offer to end the battle: the dwarfs accept or decline")
    assert accept == "accept    +5.00  the battle ends"
    assert decline.startswith("decline   +")


@EACH_RULESET
def test_the_command_prints_json(rules: str, capsys: pytest.CaptureFixture[str]) -> None:
    *_, position = small_positions(rules, 2, 16, 6000)
    words = ("--rules", rules, "--position", position.text, "--agent", "alphabeta:depth=1")
    told = json.loads(printed(capsys, *words, "--best", "2", "--json"))
    turns = told.pop("turns")
    assert told == {
        "rules": rules,
        "position": position.text,
        "to_move": position.to_move,
        "margin": position.margin,
        "agent": "alphabeta:depth=1",
    }
    found = [RankedTurn(**{**turn, "line": tuple(turn["line"])}) for turn in turns]
    assert found == best_turns(position, "alphabeta:depth=1", 2)


def test_the_command_begins_at_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "--rules", "koom-valley-football", "--agent", "greedy2", "--best", "1")
    standing, _, line = out.splitlines()
    start = Position.start("koom-valley-football")
    assert standing == "Turn 1, the dwarfs to move: 16 dwarfs, 8 trolls."
    assert line.split()[0] in start.turns()


def test_the_ruleset_is_that_of_the_policy_that_judges(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "--agent", "policy:pretrained/koom-valley-football", "--best", "1")
    assert out.startswith("Turn 1, the dwarfs to move: 16 dwarfs, 8 trolls.\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rules", "chess"], "--rules: unknown ruleset 'chess': there are classic,"),
        (["--position", "dd"], "position 'dd' has 1 fields: board, side, "),
        (["--rules", "classic-all", "--position", MID_TURN], "pending 'G6:any': classic-all never"),
        (["--position", OFFERED], "pending 'offer', but the battle is played with agreement=False"),
        (["--agent", "alphabta"], "unknown agent 'alphabta': did you mean 'alphabeta'?"),
        (["--agent", "random"], "agent 'random' cannot say what a position is worth: a search"),
        (["--best", "0"], "--best: '0': a whole number, 1 or more, would be right"),
        (["--deep"], "unknown option --deep: "),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"analyse: {said}")
