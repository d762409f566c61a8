"""Playing in the terminal: what a person may type, the battle, and the command."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

import agents
from agents import play
from agents.play import main, seats
from agents.policy import PolicyAgent
from agents.simple import RandomAgent
from agents.terminal.session import HELP, MOST_SHOWN, Table, columns
from agents.terminal.typed_turns import read_turn, turns_beginning
from agents.words import standing, verdict
from thud_env import RULESETS, IllegalMove, Position, Record, read_record

ROOT = Path(__file__).parents[1]
START = Position.start("classic")
VALLEY = "policy:pretrained/koom-valley"
TROLL_AMONG_DWARFS = "5/7/9/11/4ddd6/15/6T8/6TR7/15/15/13/11/9/7/5 t - 0 0"
MID_TURN = "5/7/9/11/4ddd6/6T8/15/6TR7/15/15/13/11/9/7/5 t G6:any 0 0"
TRAMPLE = "5/7/9/5d5/5d7/15/6T8/7R7/15/15/13/11/9/7/5 t - 0 0"
QUIET = f"{START.text.split()[0]} d - 20 20"


def answers(*lines: str) -> Callable[[str], str]:
    """A person who types these lines and then Ctrl-D."""
    left = iter(lines)

    def ask(_: str) -> str:
        try:
            return next(left)
        except StopIteration:
            raise EOFError from None

    return ask


def table(start: Position, *lines: str, dwarfs: str = "", trolls: str = "") -> Table:
    """A battle that has been played; a side without an agent is typed."""
    players = {"dwarfs": dwarfs and agents.make(dwarfs), "trolls": trolls and agents.make(trolls)}
    seated = Table(
        start, {side: player or None for side, player in players.items()}, ask=answers(*lines)
    )
    seated.play()
    return seated


# -- what was typed ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["dF1-F5", "f1-f5", "F1F5", " f1 f5 ", "d f1-f5", "DF1-F5", "df1 - f5"]
)
def test_a_turn_may_be_typed_carelessly(text: str) -> None:
    assert read_turn(START, text) == ["dF1-F5"]


def test_the_column_d_is_not_a_piece() -> None:
    assert read_turn(START, "d3-d4") == read_turn(START, "dd3d4") == ["dD3-D4"]


def test_captures_are_asked_for_unless_they_were_typed() -> None:
    position = Position.from_text(TROLL_AMONG_DWARFS, "classic-any")
    all_sizes = read_turn(position, "g7-g6")
    assert len(all_sizes) == 8
    assert {turn.partition("x")[0] for turn in all_sizes} == {"TG7-G6"}
    assert read_turn(position, "TG7-G6") == ["TG7-G6"]
    assert read_turn(position, "g7g6xh5xf5") == ["TG7-G6xF5xH5"]


def test_captures_that_the_rules_force_are_found() -> None:
    position = Position.from_text(TROLL_AMONG_DWARFS, "classic-all")
    assert read_turn(position, "g7-g6xf5") == ["TG7-G6xF5xG5xH5"]
    assert read_turn(position, "TG7-G6xG5xH5xF5") == ["TG7-G6xF5xG5xH5"]


def test_a_path_stands_for_those_that_go_on_from_it() -> None:
    position = Position.from_text(TRAMPLE, "koom-valley")
    meant = read_turn(position, "g7-f6")
    assert "TG7-F6" in meant
    assert meant == [turn for turn in position.turns() if turn.startswith("TG7-F6")]


@pytest.mark.parametrize("rules", RULESETS)
def test_every_legal_turn_stands_for_itself(rules: str) -> None:
    random = Random(0)
    position = Position.start(rules)
    for _ in range(6):
        for turn in random.sample(position.turns(), 20):
            assert read_turn(position, turn) == [turn]
            assert turn in read_turn(position, turn[1:].lower())
        position = position.play(random.choice(position.turns()))


def test_offers_and_answers_are_words() -> None:
    position = Position.from_text(QUIET, "classic", agreement=True)
    assert read_turn(position, "Offer") == ["offer"]
    assert read_turn(position.play("offer"), "ACCEPT") == ["accept"]
    with pytest.raises(IllegalMove, match=r"no legal turn\. Nearest: (accept|decline), "):
        read_turn(position.play("offer"), "g7-g6")


def test_the_rest_of_a_turn_is_read_too() -> None:
    position = Position.from_text(MID_TURN, "classic-any")
    assert read_turn(position, "TG6") == ["TG6"]
    assert read_turn(position, "g6xf5") == ["TG6xF5"]


def test_an_offer_that_is_not_legal_yet_says_when_it_will_be() -> None:
    start = Position.start(agreement=True)
    with pytest.raises(IllegalMove) as caught:
        read_turn(start.play("dF1-F2"), "offer")
    said = "'offer' is not legal now: 20 quiet turns come first, 19 more"
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("dF1-G9", "That is not one of the 21 legal turns of the dwarf on F1. Nearest: dF1-"),
        ("f3-f4", "The dwarfs are to move, and nothing stands on F3. Nearest: d"),
        ("tf1-f5", "The dwarfs are to move, and on F1 stands a dwarf. Nearest: dF1-F5, "),
        ("TG7-F6", "The dwarfs are to move, and the troll on G7 is not theirs. Nearest: d"),
        ("h8-h7", "The stone on H8 has no legal turn. Nearest: d"),
        ("accept", "'accept' is not legal now: this battle cannot end by agreement; one with"),
    ],
)
def test_a_turn_that_is_not_legal_says_why_and_what_is_near(text: str, said: str) -> None:
    with pytest.raises(IllegalMove) as caught:
        read_turn(START, text)
    assert str(caught.value).startswith(said)
    _, _, near = str(caught.value).partition("Nearest: ")
    assert all(turn in START.turns() for turn in near.rstrip(".").split(", ") if turn)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("attack!", "'attack!' is not a turn: dF1-F5, TG7-F6xE5 or RH8-H7 would be"),
        ("f1-i5", "'f1-i5' names I5, which is not a square of the board"),
        ("f1", "F1 is a square, not a turn: 'moves F1' lists its turns"),
    ],
)
def test_the_error_for_a_text_that_is_not_a_turn_says_so(text: str, said: str) -> None:
    with pytest.raises(ValueError, match="^" + said.replace("!", "\\!")):
        read_turn(START, text)


def test_in_the_middle_of_a_turn_a_square_is_one() -> None:
    text = "5/7/9/11/4ddd6/5T9/15/7R7/15/15/13/11/9/7/5 t F6:any 0 1"
    middle = Position.from_text(text, "classic-any")
    assert read_turn(middle, "TF6") == ["TF6"]
    assert read_turn(middle, "tf6") == read_turn(middle, "f6") == sorted(middle.turns())
    assert read_turn(middle, "f6xg5") == ["TF6xG5"]
    with pytest.raises(IllegalMove, match="The trolls are to move, and"):
        read_turn(middle, "e5")


def test_turns_beginning_with_a_square() -> None:
    of_f1 = [turn for turn in START.turns() if turn.startswith("dF1-")]
    assert turns_beginning(START, "f1") == of_f1
    assert turns_beginning(START, "") == START.turns()
    assert turns_beginning(START, "h8") == []


# -- at the table --------------------------------------------------------------------------


@pytest.mark.parametrize("rules", RULESETS)
def test_a_person_plays_an_agent_by_all_rules(rules: str, capsys) -> None:
    start = Position.start(rules)
    first = start.turns()[0]
    # Whatever the trolls do, the dwarfs are many: one of these turns is still there.
    played = table(start, first, *start.turns()[1:300:20], trolls="random")
    assert len(played.turns) >= 4
    assert played.turns[0] == first
    assert f"1. {start.to_move} {first}\n" in capsys.readouterr().out


def test_the_person_may_be_the_trolls(capsys) -> None:
    played = table(START, "g7g6", dwarfs="random")
    assert played.turns[1].startswith("TG7-G6")
    assert len(played.turns) == 3
    assert capsys.readouterr().out.count("1. dwarfs") == 1


def test_a_board_is_shown_before_a_person_is_asked_and_not_in_between(capsys) -> None:
    table(START, "e2-e6", trolls="greedy")
    out = capsys.readouterr().out
    assert out.count("A  B  C") == 2 * 2  # the start, and after the answer; two lines each
    assert "[T]" in out
    assert "Turn 3, the dwarfs to move: 31 dwarfs, 8 trolls, the trolls lead by 1." in out
    assert "\x1b" not in out


def test_errors_leave_the_battle_alone(capsys) -> None:
    played = table(START, "", "  ", "attack", "moevs", "dF1-G9", "dF1-I9", "moves I9", "help me")
    assert played.turns == []
    lines = capsys.readouterr().out.splitlines()
    assert "'moevs' is not a turn: dF1-F5, TG7-F6xE5 or RH8-H7 would be; did you mean 'moves'?" in (
        lines
    )
    assert all(len(line) < 100 for line in lines)


def test_turns_that_may_be_meant_are_listed(capsys) -> None:
    position = Position.from_text(TROLL_AMONG_DWARFS, "classic-any")
    played = table(position, "g7g6", "g7g6xf5")
    assert played.turns == ["TG7-G6xF5"]
    out = capsys.readouterr().out
    assert "That may be any of these; type one in full:\n  TG7-G6  TG7-G6xF5  TG7-G6xF5xG5" in out


def test_moves_lists_turns_or_counts_them(capsys) -> None:
    table(START, "moves", "moves f1", "MOVES h8")
    out = capsys.readouterr().out
    assert "656 legal turns; " in out
    assert " dF1:21 " in out
    assert " dF1-F2  dF1-F3 " in out
    assert "No legal turn begins with H8." in out


def test_turns_are_listed_in_the_order_of_the_squares() -> None:
    listed = columns(["dF1-F10", "dF1-F2", "dF10-F1", "TG7-F6xE5", "TG7-F6"]).split()
    assert listed == ["TG7-F6", "TG7-F6xE5", "dF1-F2", "dF1-F10", "dF10-F1"]


def test_moves_of_what_is_no_square_says_what_would_be(capsys) -> None:
    table(START, "moves Z9")
    said = "'Z9' begins no turn: 'moves F1' would list those of F1"
    assert said in capsys.readouterr().out.splitlines()


def test_long_lists_are_cut() -> None:
    listed = columns([f"dA6-A{n}" for n in range(200)])
    assert f"A{MOST_SHOWN - 1} ... and {200 - MOST_SHOWN} more" in " ".join(listed.split())
    assert max(map(len, listed.splitlines())) < 80
    assert max(map(len, HELP.splitlines())) < 80


def test_a_hint_is_a_legal_turn_and_plays_nothing(capsys) -> None:
    position = START.play("dE2-E6").play("TG7-F6")
    assert table(position, "hint").turns == []
    assert "alphabeta:depth=2 would play dE6-F6xF6.\n" in capsys.readouterr().out


def test_undo_goes_back_to_where_the_person_was_asked(capsys) -> None:
    played = table(START, "undo", "e2-e6", "f1-f2", "undo", "g1-g2", trolls="random")
    assert len(played.turns) == len(played.positions) - 1 == 4
    assert played.turns[::2] == ["dE2-E6", "dG1-G2"]
    assert "There is no turn of yours to take back.\n" in capsys.readouterr().out


def test_two_people_take_back_one_turn_at_a_time() -> None:
    played = table(START, "e2-e6", "TG7-F6", "undo", "TG7-F7")
    assert played.turns == ["dE2-E6", "TG7-F7"]
    assert played.position == START.play("dE2-E6").play("TG7-F7")


def test_the_trolls_cannot_take_back_what_the_agent_began_with(capsys) -> None:
    assert len(table(START, "undo", dwarfs="random").turns) == 1
    assert "no turn of yours" in capsys.readouterr().out


def test_ctrl_c_ends_it_and_keeps_the_record(tmp_path: Path, capsys) -> None:
    typed = answers("e2-e6")

    def ask(prompt: str) -> str:
        try:
            return typed(prompt)
        except EOFError:
            raise KeyboardInterrupt from None

    path = tmp_path / "mine.thud"
    assert main(["--record", str(path)], ask) == 130
    assert capsys.readouterr().err == "stopped\n"
    assert read_record(path).turns[0] == "dE2-E6"


def test_quit_and_ctrl_d_end_it_politely(capsys) -> None:
    for ask in (answers("quit", "e2-e6"), answers("exit", "e2-e6"), answers()):
        seated = Table(START, {"dwarfs": None, "trolls": None}, ask=ask)
        seated.play()
        assert seated.turns == []
        assert capsys.readouterr().out.endswith("The battle was left in turn 1.\n")


def test_an_offer_ends_the_battle(capsys) -> None:
    start = Position.from_text(QUIET, "classic", agreement=True)
    played = table(start, "offer", "undo", "offer", "moves", "e2-e6", "accept")
    assert played.turns == ["offer", "accept"]
    out = capsys.readouterr().out
    assert "An offer to end the battle: the trolls accept or decline: 32 dwarfs" in out
    assert "  accept  decline\n" in out
    assert out.endswith("The sides agreed to end it: a draw.\n")


# -- in words ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "text", "turn", "said"),
    [
        (
            "classic",
            "5/7/9/11/13/6d8/6T8/7R7/15/15/13/11/9/7/5 d - 5 9",
            "dG6-G7xG7",
            "The trolls have no legal turn: the dwarfs win by 1.",
        ),
        (
            "classic",
            f"{START.text.split()[0]} d - 5 799",
            "dF1-F2",
            "800 turns have been played: a draw.",
        ),
        (
            "classic",
            f"dd1d1{START.text[5:].split()[0]} d - 199 9",
            "dF1-F2",
            "Nothing happened for 200 turns: the trolls win by 1.",
        ),
        (
            "koom-valley:name=still,stone_goes=nowhere",
            "dd3/7/9/11/13/7T7/15/7R7/6T1T6/15/13/11/9/7/5 t - 0 9",
            "TH6-H7",
            "Three trolls stand beside the Thudstone: the trolls win.",
        ),
    ],
)
def test_how_it_ended_is_said_in_words(rules: str, text: str, turn: str, said: str) -> None:
    position = Position.from_text(text, rules).play(turn)
    assert verdict(position) == said


@pytest.mark.parametrize("rules", ["koom-valley", "koom-valley-football"])
def test_the_koom_valley_games_have_a_winner_and_no_score(rules: str) -> None:
    random, endings = Random(1), set()
    for _ in range(40):
        position = Position.start(rules)
        assert standing(position) == "Turn 1, the dwarfs to move: 16 dwarfs, 8 trolls."
        while position.outcome is None:
            position = position.apply(random.choice(position.legal_actions().tolist()))
        endings.add(verdict(position))
        assert position.outcome.winner is None or verdict(position).endswith(
            f": the {position.outcome.winner} win."
        )
    stone = "Rock" if rules == "koom-valley" else "ball"
    assert f"Three trolls stand beside the {stone}: the trolls win." in endings


# -- the command ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dwarfs", "trolls", "seated"),
    [
        (None, None, ("human", "greedy")),
        (None, "human", ("greedy", "human")),
        ("human", None, ("human", "greedy")),
        (None, "mcts", ("human", "mcts")),
        ("mcts", None, ("mcts", "human")),
        ("human", "human", ("human", "human")),
        ("random", "mcts", ("random", "mcts")),
    ],
)
def test_a_seat_that_is_left_out(dwarfs: str, trolls: str, seated: tuple[str, str]) -> None:
    assert tuple(seats(dwarfs, trolls).values()) == seated


def test_a_seed_repeats_a_battle_of_two_agents_and_the_turns_are_lines(capsys) -> None:
    words = ["--dwarfs", "random", "--trolls", "greedy", "--seed", "4"]
    assert main(words) == main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    battle = lines[: len(lines) // 2]
    assert lines == battle * 2
    position = START
    for turn in battle[:-1]:
        position = position.play(turn)
    assert battle[-1] == verdict(position)


def test_a_battle_of_two_agents_is_watched_on_a_terminal(capsys) -> None:
    start = Position.from_text(f"{START.text.split()[0]} d - 0 798")
    seated = Table(
        start, {side: agents.make("random") for side in ("dwarfs", "trolls")}, color=True
    )
    seated.play()
    out = capsys.readouterr().out
    assert out.count("A  B  C") == 2 * 3
    assert "\x1b[" in out
    assert "\nAfter 800 turns: " in out
    assert out.endswith(verdict(seated.position) + "\n")


def test_the_record_leaves_out_turns_that_were_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "mine.thud"
    words = ["--trolls", "human", "--dwarfs", "human", "--record", str(path)]
    assert main(words, answers("e2-e6", "TG7-F6", "undo", "TG7-F7", "quit")) == 0
    record = read_record(path)
    assert record.turns == ("dE2-E6", "TG7-F7")
    assert record.tags == {"Rules": "classic", "Dwarfs": "human", "Trolls": "human"}


@pytest.mark.parametrize(("seconds", "kept"), [(0.0, 2), (1000.0, 1)])
def test_the_record_of_a_battle_that_goes_on_is_on_the_disk(
    seconds: float, kept: int, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(play, "KEEP_EVERY", seconds)
    path, found = tmp_path / "mine.thud", []
    typed = iter(["e2-e6", "TG7-F7"])

    def ask(_: str) -> str:
        turn = next(typed, "quit")
        if turn == "quit":
            found.append(read_record(path).turns)
        return turn

    assert main(["--trolls", "human", "--dwarfs", "human", "--record", str(path)], ask) == 0
    assert found == [("dE2-E6", "TG7-F7")[:kept]]
    assert len(read_record(path).turns) == 2


def test_a_record_may_begin_in_the_middle_of_a_turn(tmp_path: Path) -> None:
    path = tmp_path / "mine.thud"
    start = Position.from_text(MID_TURN, "classic-any")
    words = ["--rules", "classic-any", "--position", start.text, "--record", str(path)]
    assert main([*words, "--trolls", "human"], answers("TG6")) == 0
    assert read_record(path).turns[0] == "TG6"
    assert read_record(path).start == start


def test_a_file_that_exists_is_kept_and_nothing_is_played(tmp_path: Path, capsys) -> None:
    path = tmp_path / "mine.thud"
    path.write_text("kept")
    assert main(["--record", str(path)], answers("e2-e6")) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"play: {path} exists: name another file\n")
    assert path.read_text() == "kept"


def test_a_record_that_could_not_be_written_leaves_its_name_free(
    tmp_path: Path, capsys, monkeypatch
) -> None:
    def full(path: Path, record: Record) -> None:
        raise OSError(28, "No space left on device", str(path))

    path = tmp_path / "mine.thud"
    words = ["--dwarfs", "random", "--trolls", "random", "--max-turns", "2", "--record", str(path)]
    monkeypatch.setattr(play, "write_record", full)
    assert main(words) == 1
    assert capsys.readouterr().err == f"play: {path}: No space left on device\n"
    assert not path.exists()
    monkeypatch.undo()
    assert main(words) == 0
    assert len(read_record(path).turns) == 2


def test_what_was_played_is_recorded_if_an_agent_gives_up(
    tmp_path: Path, capsys, monkeypatch
) -> None:
    path = tmp_path / "mine.thud"
    # A policy for other rules, which is not asked before, says so when it has to play.
    monkeypatch.setattr(PolicyAgent, "check_plays", lambda *_: None)
    words = ["--trolls", "policy:pretrained/classic", "--rules", "koom-valley"]
    assert main([*words, "--record", str(path)], answers("rh8-g9", "quit")) == 2
    out, err = capsys.readouterr()
    assert err.splitlines()[-1].startswith("play: ")
    assert "1. dwarfs RH8-G9" in out
    assert read_record(path).turns == ("RH8-G9",)


def test_an_agent_of_ones_own_may_refuse_the_game(capsys, monkeypatch) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("this one plays by night")

    monkeypatch.setattr(RandomAgent, "check_plays", refuse)
    assert main(["--dwarfs", "random", "--trolls", "greedy"], answers()) == 2
    assert capsys.readouterr().err == "play: this one plays by night\n"


@pytest.mark.parametrize(("limit", "ended_by"), [("--max-turns", 3), ("--max-quiet-turns", 2)])
def test_a_battle_may_end_sooner_than_by_the_rules(
    limit: str, ended_by: int, tmp_path: Path, capsys
) -> None:
    path = tmp_path / "short.thud"
    words = ["--dwarfs", "random", "--trolls", "random", "--seed", "1", "--record", str(path)]
    assert main([*words, limit, str(ended_by)]) == 0
    final = read_record(path).final
    assert final.outcome is not None
    assert (
        ended_by
        == {"--max-turns": final.turn_number, "--max-quiet-turns": final.quiet_turns}[limit]
    )


@pytest.fixture(params=["record", "no record"])
def record_words(request, tmp_path: Path) -> Iterator[list[str]]:
    path = tmp_path / "mine.thud"
    yield ["--record", str(path)] if request.param == "record" else []
    assert not path.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--trolls", "grredy"], "unknown agent 'grredy': did you mean 'greedy'?"),
        (["--dwarfs", "alphabeta:depth=two"], "depth=two must be a whole number"),
        (["--trolls", "policy:nowhere"], "nowhere"),
        (["--rules", "classic", "--trolls", VALLEY], "trained for koom-valley, not classic"),
        (["--rules", "clasic"], "unknown ruleset 'clasic': did you mean 'classic'?"),
        (["--position", "dd1dd d - 0 0"], "board 'dd1dd' has 1 rows"),
        (["--seed", "-1"], "--seed: '-1': a whole number, 0 or more, would be right"),
        (["--port", "8000"], "--port is for --web"),
        (["--host", "0.0.0.0"], "--host is for --web"),
        (["--web", "--seed", "1"], "--seed is not for --web: its players always draw anew"),
        (["--web", "--max-turns", "9"], "--max-turns is not for --web: its battles end as"),
        (["--max-turns", "0"], "max_turns must be in 1 .. 32767, not 0"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    words: list[str], said: str, record_words: list[str], capsys
) -> None:
    assert main([*words, *record_words], answers()) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("play: ")
    assert said in err


def test_the_page_refuses_a_policy_of_another_game(capsys) -> None:
    pytest.importorskip("uvicorn")
    words = ["--web", "--rules", "koom-valley", "--trolls", "policy:pretrained/classic"]
    assert main(words, answers()) == 2
    assert "trained for classic, not koom-valley" in capsys.readouterr().err


def test_the_ruleset_is_that_of_the_policies_or_classic(capsys, monkeypatch) -> None:
    assert main(["--dwarfs", VALLEY, "--trolls", "greedy", "--max-turns", "2"], answers()) == 0
    turns = capsys.readouterr().out.splitlines()[:2]
    position = Position.start("koom-valley")
    for number, line in enumerate(turns, 1):
        turn = line.removeprefix(f"{number}. {position.to_move} ")
        position = position.play(turn)
    served: list[dict[str, str]] = []
    monkeypatch.setattr("agents.web.serve.serve", lambda *_, asked, **__: served.append(asked))
    assert main(["--web", "--trolls", VALLEY], answers()) == 0
    assert served[0]["rules"] == "koom-valley"
    words = ["--dwarfs", VALLEY, "--trolls", "policy:pretrained/classic"]
    assert main(words, answers()) == 2
    assert "was trained for koom-valley, not classic" in capsys.readouterr().err


def test_a_host_that_is_elsewhere_is_one_line_that_names_it(capsys) -> None:
    assert main(["--web", "--host", "192.0.2.1"], answers()) == 2  # RFC 5737
    err = capsys.readouterr().err
    assert err.startswith("play: --host 192.0.2.1: ")
    assert err.endswith(" another address of this machine would be right\n")
    assert err.count("\n") == 1


def test_a_record_needs_a_folder(tmp_path: Path, capsys) -> None:
    assert main(["--record", str(tmp_path / "no" / "mine.thud")], answers()) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.slow
def test_the_command_reads_what_is_piped_into_it() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "agents.play", "--seed", "1"],
        input="e2e6\nmoves\n",
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    assert "1. dwarfs dE2-E6\n" in done.stdout
    assert "2. trolls T" in done.stdout
    assert done.stdout.endswith("The battle was left in turn 3.\n")


def test_the_page_is_asked_for_the_battle_that_the_words_ask_for(monkeypatch) -> None:
    served: list[dict[str, str]] = []
    monkeypatch.setattr("agents.web.serve.serve", lambda *_, asked, **__: served.append(asked))
    for words in ([], ["--agreement"], ["--rules", "koom-valley"]):
        assert main(["--web", *words], answers()) == 0
    plain, agreed, valley = served
    assert plain == {}
    assert (agreed["rules"], agreed["agreement"]) == ("classic", "yes")
    assert (valley["rules"], valley["agreement"]) == ("koom-valley", "no")


def test_a_seed_of_a_battle_seeds_both_players_apart(monkeypatch, capsys) -> None:
    seeds = []
    make = play.make
    monkeypatch.setattr(play, "make", lambda spec, seed: seeds.append(seed) or make(spec, seed))
    for seed in ("1", "2"):
        words = ["--dwarfs", "random", "--trolls", "random", "--max-turns", "2", "--seed", seed]
        assert play.main(words) == 0
    assert len(set(seeds)) == 4


def test_the_page_is_asked_for_the_agents_alone(monkeypatch) -> None:
    """It seats a person where its address names no player."""
    serve = pytest.importorskip("agents.web.serve")
    called: list[dict[str, str]] = []
    monkeypatch.setattr(serve, "serve", lambda *_, asked, **__: called.append(asked))
    assert main(["--web", "--trolls", "greedy"]) == 0
    (asked,) = called
    assert "dwarfs" not in asked
    assert asked["trolls"] == "greedy"
