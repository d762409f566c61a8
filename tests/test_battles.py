"""Battles and game pairs between two players, and their figures."""

from __future__ import annotations

import dataclasses
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from two_battles import LIMITS, LOST_BY_7, WON_BY_3

import agents
from thud_env import CLASSIC, RULESETS, Position, Termination, ThudError
from thud_env.actions import CAPTURE, describe_action
from thud_env.board import SQUARE_BY_NAME, SQUARE_POSITIONS
from thud_env.rules.row import TURNS
from training.arena.battles import Battles, GamePairs, distinct, play_battles, play_pairs
from training.arena.evaluation import evaluate
from training.arena.games import try_players
from training.arena.intervals import wilson
from training.arena.openings import read_openings
from training.arena.summary import BattleFigures, PairFigures, print_pairs

# -- battles -------------------------------------------------------------------------------


class Follower:
    """Plays a game that was written down, both sides of it."""

    def __init__(self, turns: list[str], rules: str, **limits: int) -> None:
        self._actions = {}
        position = Position.start(rules, **limits)
        for turn in turns:
            for action in position.decisions(turn):
                self._actions[position] = action
                position = position.apply(action)
        self.final = position

    def act_rows(self, rows: np.ndarray) -> np.ndarray:
        return np.array([self._actions[Position(row)] for row in rows], np.int32)


class Recorder:
    """Passes one battle's questions on to a player and keeps its answers."""

    def __init__(self, player: agents.Agent, log: list[tuple[Position, int]]) -> None:
        self._player, self._log = player, log

    def act_rows(self, rows: np.ndarray) -> np.ndarray:
        actions = self._player.act_rows(rows)
        self._log.append((Position(rows[0]), int(actions[0])))
        return actions


def follow(turns: list[str], rules: str = "classic", games: int = 1) -> tuple[Battles, Position]:
    follower = Follower(turns, rules, max_turns=len(turns))
    return play_battles(follower, follower, games, rules, max_turns=len(turns)), follower.final


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"max_turn": 20}, "no limit 'max_turn': did you mean 'max_turns'"),
        ({"seed": 3}, "no limit 'seed': it is the players that draw"),
        ({"mask": 3}, "no limit 'mask': the limits are max_quiet_turns, max_turns"),
        ({"masks": None}, "no limit 'masks'"),
    ],
)
def test_only_limits_are_taken(words: dict[str, Any], said: str) -> None:
    player = agents.make("random")
    for play in (play_battles, play_pairs):
        with pytest.raises(TypeError, match=said):
            play(player, player, 1, **words)


def test_a_hurl_and_a_shove_by_hand_are_counted() -> None:
    turns = ["dE2-E6", "TG7-F6", "dE6-F6xF6", "TH7-F7xF6"]
    battles, _ = follow(turns, games=3)
    assert strikes(battles) == {"dwarfs": [1] * 3, "trolls": [1] * 3}
    for name, wanted in (
        ("trolls_lost", 1),
        ("dwarfs_lost", 1),
        ("margins", 31 - 4 * 7),
        ("turns", 4),
        ("terminations", Termination.TURN_LIMIT.value),
    ):
        assert getattr(battles, name).tolist() == [wanted] * 3, name


def test_a_step_with_captures_is_no_shove_and_a_move_beside_a_troll_no_hurl() -> None:
    battles, _ = follow(["dE2-E6", "TG7-F7xE6", "dF1-F6", "TH7-G7xF6"])
    assert strikes(battles) == {"dwarfs": [0], "trolls": [0]}
    assert battles.dwarfs_lost.tolist() == [2]


def strikes(battles: Battles) -> dict[str, list[int]]:
    return {side: counts.tolist() for side, counts in battles.strikes.items()}


@pytest.mark.parametrize("rules", RULESETS)
@pytest.mark.parametrize(
    "players", [("random", "random"), ("greedy", "random"), ("random", "greedy")]
)
def test_figures_agree_with_a_replay(rules: str, players: tuple[str, str]) -> None:
    log: list[tuple[Position, int]] = []
    recorders = [Recorder(agents.make(name, seed=n), log) for n, name in enumerate(players)]
    battles = play_battles(recorders[0], recorders[1], 1, rules, max_turns=150)
    position = Position.start(rules, max_turns=150)
    by_dwarfs = by_trolls = 0
    between_turns = True
    for seen, action in log:
        assert seen == position
        after = position.apply(action)
        lost = {piece: pieces(position, piece) - pieces(after, piece) for piece in "dT"}
        by_dwarfs += lost["T"] > 0
        if position.to_move == "trolls" and between_turns and action < CAPTURE:
            by_trolls += distance(action) > 1 if rules.startswith("classic") else lost["d"]
        between_turns = after.text.split()[2] == "-"
        position = after
    assert position.outcome is not None
    start = Position.start(rules)
    assert strikes(battles) == {"dwarfs": [by_dwarfs], "trolls": [by_trolls]}
    assert battles.rules == rules
    assert battles.decisions == (tuple(action for _, action in log),)
    assert battles.starts.tolist() == [Position.start(rules, max_turns=150).row.tolist()]
    columns = {name: column for name, column in vars(battles).items() if hasattr(column, "tolist")}
    del columns["starts"]
    assert {name: column.tolist() for name, column in columns.items()} == {
        "margins": [position.outcome.margin],
        "turns": [position.turn_number],
        "terminations": [position.outcome.termination.value],
        "trolls_lost": [pieces(start, "T") - pieces(position, "T")],
        "dwarfs_lost": [pieces(start, "d") - pieces(position, "d")],
    }


def pieces(position: Position, piece: str) -> int:
    return position.text.split()[0].count(piece)


def distance(action: int) -> int:
    """Squares that a move goes, read off its words."""
    start, end = (SQUARE_POSITIONS[SQUARE_BY_NAME[n]] for n in describe_action(action).split("-"))
    return max(abs(int(a) - int(b)) for a, b in zip(start, end, strict=True))


def test_some_battles_are_chosen_by_number_or_by_a_mask() -> None:
    pairs = play_pairs(agents.make("random"), agents.make("greedy"), 3, max_turns=4)
    last = pairs.chosen(np.array([1, 2]))
    masked = pairs.chosen(np.array([False, True, True]))
    assert masked.courses == last.courses == pairs.courses[1:]
    assert masked.totals.tolist() == pairs.totals[1:].tolist()


def test_each_player_is_asked_for_its_own_side_only() -> None:
    logs: tuple[list, list] = ([], [])
    recorders = [Recorder(agents.make("random", seed=n), log) for n, log in enumerate(logs)]
    play_battles(recorders[0], recorders[1], 1, "classic", max_turns=30)
    sides = [{position.to_move for position, _ in log} for log in logs]
    assert sides == [{"dwarfs"}, {"trolls"}]


class TrollsOnly(agents.Agent):
    """Says that it does not play the dwarfs."""

    def check_plays(self, rules, side) -> None:
        if side == "dwarfs":
            raise ValueError(f"TrollsOnly has no dwarfs of {rules.name}")

    def act_rows(self, rows: np.ndarray) -> np.ndarray:
        return np.array([Position(row).legal_actions()[0] for row in rows], np.int32)


def test_a_player_that_does_not_play_a_side_is_refused_before_anything_is_played() -> None:
    choosy, log = TrollsOnly(), []
    recorder = Recorder(agents.make("greedy"), log)
    for play, players in (
        (play_battles, (choosy, recorder)),
        (play_pairs, (choosy, recorder)),
        (play_pairs, (recorder, choosy)),
    ):
        with pytest.raises(ThudError, match="TrollsOnly has no dwarfs of koom-valley"):
            play(*players, 1, "koom-valley", max_turns=6)
    assert log == []
    assert len(play_battles(recorder, choosy, 1, max_turns=6).margins) == 1


class Learnt(TrollsOnly):
    """Plays both sides, of one ruleset."""

    trained_for = "classic"
    check_plays = agents.Agent.check_plays


def test_a_player_plays_only_what_it_was_trained_for() -> None:
    greedy, own = agents.make("greedy"), CLASSIC.replace(name="mine", max_turns=6)
    assert len(play_battles(Learnt(), greedy, 1, "classic", max_turns=6).margins) == 1
    for rules in ("koom-valley", own):
        with pytest.raises(ThudError, match=r"^Learnt was trained for classic, not (koom|.*mine)"):
            play_battles(greedy, Learnt(), 1, rules)


def test_a_ladder_refuses_a_player_that_does_not_play_a_side(tmp_path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "choosy_in_ladder.py").write_text(
        "from agents.simple import GreedyAgent\n\n"
        "class Choosy(GreedyAgent):\n"
        "    def check_plays(self, rules, side):\n"
        "        if side == 'trolls':\n"
        "            raise ValueError('no trolls')\n"
    )
    with pytest.raises(ThudError, match="no trolls"):
        try_players(["greedy", "python:choosy_in_ladder:Choosy"], "classic", Console())


# -- figures -------------------------------------------------------------------------------


def test_a_summary_of_battles_by_hand() -> None:
    def column(*values: int) -> np.ndarray:
        return np.array(values, np.int64)

    ends = (Termination.QUIET_LIMIT.value, Termination.QUIET_LIMIT.value)
    figures = BattleFigures.of(
        Battles(
            rules="classic",
            margins=column(8, -4, 0, 4),
            turns=column(10, 20, 30, 40),
            terminations=column(*ends, Termination.NO_LEGAL_TURN.value, ends[0]),
            strikes={"dwarfs": column(1, 0, 0, 2), "trolls": column(0, 3, 0, 0)},
            trolls_lost=column(2, 0, 0, 2),
            dwarfs_lost=column(0, 4, 0, 4),
            starts=np.zeros((4, 432), np.int16),
            decisions=((1,), (2,), (3,), (4,)),
        )
    )
    result = figures.as_json()
    assert result["games"] == 4
    assert result["draws"] == 1
    assert result["mean_margin"] == 2
    half = 1.959964 * np.std([8, -4, 0, 4], ddof=1) / 2
    assert result["mean_margin_95"] == pytest.approx((2 - half, 2 + half), abs=1e-4)
    assert result["mean_turns"] == 25
    assert result["endings"] == {"quiet_limit": 3, "no_legal_turn": 1}
    assert result["dwarfs"] == {
        "wins": 2,
        "win_rate": 0.5,
        "win_rate_95": wilson(2, 4)[1:],
        "hurls_per_battle": 0.75,
        "captures_per_battle": 1.0,
    }
    assert result["trolls"] == {
        "wins": 1,
        "win_rate": 0.25,
        "win_rate_95": wilson(1, 4)[1:],
        "shoves_per_battle": 0.75,
        "captures_per_battle": 2.0,
    }


# -- game pairs -----------------------------------------------------------------------------


class Script:
    """Plays as in two battles that were written down, whichever side it is asked for."""

    def __init__(self, first: list[str], second: list[str]) -> None:
        self._battles = [Follower(turns, "classic", **LIMITS) for turns in (first, second)]

    def act_rows(self, rows: np.ndarray) -> np.ndarray:
        """The first battle until it has ended, then the second."""
        battle = self._battles[0]
        actions = battle.act_rows(rows)
        if Position(rows[0]).apply(int(actions[0])) == battle.final:
            self._battles.pop(0)
        return actions


def test_won_by_3_and_lost_by_7_is_lost_by_4(capsys) -> None:
    player = Script(WON_BY_3, LOST_BY_7)
    matches = play_pairs(player, player, 1, "classic", **LIMITS)
    assert matches.first.margins.tolist() == [3]
    assert matches.second.margins.tolist() == [7]
    assert matches.totals.tolist() == [-4]
    figures = PairFigures.of(matches)
    assert (figures.total.value, figures.first_battles.margin.value) == (-4, 3)
    print_pairs("us", "them", "classic", figures)
    assert (
        "us: won by 3 as dwarfs, lost by 7 as trolls: lost by 4 in all" in capsys.readouterr().out
    )


def test_the_players_change_sides_after_the_first_battle() -> None:
    logs: tuple[list, list] = ([], [])
    recorders = [Recorder(agents.make("random", seed=n), log) for n, log in enumerate(logs)]
    play_pairs(*recorders, 1, "classic", max_turns=10)
    for log, order in zip(logs, (["dwarfs", "trolls"], ["trolls", "dwarfs"]), strict=True):
        sides = [position.to_move for position, _ in log]
        assert [side for side, _ in groupby(sides)] == order


def test_figures_of_the_wrong_kind_are_refused_and_those_of_either_named() -> None:
    player = agents.make("random", seed=1)
    battles = play_battles(player, player, 1, max_turns=4)
    pairs = play_pairs(player, player, 1, max_turns=4)
    hint = "figures_of takes Battles and GamePairs"
    with pytest.raises(TypeError, match=f"a Battles is not GamePairs, which play_pairs .*{hint}"):
        PairFigures.of(battles)
    with pytest.raises(TypeError, match=f"a GamePairs is not Battles, which play_battles .*{hint}"):
        BattleFigures.of(pairs)


def battles_ending(*margins: int) -> Battles:
    zeros = np.zeros(len(margins), np.int64)
    ends = zeros + Termination.NO_LEGAL_TURN.value
    strikes = {"dwarfs": zeros, "trolls": zeros}
    rows, decisions = np.zeros((len(margins), 432), np.int16), ((1,),) * len(margins)
    return Battles(
        "classic", np.array(margins), zeros, ends, strikes, zeros, zeros, rows, decisions
    )


def test_a_summary_of_games_by_hand() -> None:
    pairs = GamePairs(battles_ending(3, 8, -5, 2), battles_ending(7, -8, -5, 1))
    result = PairFigures.of(pairs).as_json()
    totals = [-4, 16, 0, 1]
    assert result["mean_total"] == np.mean(totals)
    half = 1.959964 * np.std(totals, ddof=1) / 2
    assert result["mean_total_95"] == pytest.approx((3.25 - half, 3.25 + half), abs=1e-4)
    assert result["mean_as_dwarfs"] == 2
    half = 1.959964 * np.std([7, -8, -5, 1], ddof=1) / 2
    assert result["mean_as_trolls"] == 1.25
    assert result["mean_as_trolls_95"] == pytest.approx((1.25 - half, 1.25 + half), abs=1e-4)
    assert (result["games"], result["draws"]) == (4, 1)
    assert result["first_player"]["wins"] == 2
    assert result["second_player"]["wins"] == 1
    assert result["first_battles"]["mean_margin"] == 2
    assert result["second_battles"]["mean_margin"] == -1.25


def test_both_battles_of_a_game_begin_from_its_start_of_the_book() -> None:
    rows = read_openings("classic").rows(3, max_turns=12)
    players = [agents.make("random", seed=seed) for seed in (1, 2)]
    matches = play_pairs(*players, 3, "classic", starts=rows)
    for battles in (matches.first, matches.second):
        assert (battles.starts == rows).all()
        assert (rows[:, TURNS] + battles.turns).max() == 12


def test_turns_are_counted_from_where_a_battle_began():
    text = Position.start("classic").text.replace(" 0 0", " 0 7")
    start = Position.from_text(text, "classic", max_turns=9)
    player = agents.make("random")
    played = play_battles(player, player, 2, "classic", starts=np.stack([start.row] * 2))
    assert played.turns.tolist() == [2, 2]
    assert [len(played.turns_of(battle)) for battle in range(2)] == [2, 2]


FAR = Position.start().decisions("dE2-E6")[0]


class OpensFar:
    """Begins with a move of four squares, and goes on with the first decision that is legal."""

    def act_rows(self, rows: np.ndarray) -> np.ndarray:
        positions = [Position(row) for row in rows]
        return np.array([FAR if not p.turn_number else p.legal_actions()[0] for p in positions])


def test_a_battle_that_has_ended_counts_no_more_strikes() -> None:
    starts = np.stack([Position.start(max_turns=turns).row for turns in (1, 9)])
    played = play_battles(OpensFar(), OpensFar(), 2, starts=starts)
    assert played.turns.tolist() == [1, 9]
    assert [int(played.strikes[side][0]) for side in ("dwarfs", "trolls")] == [0, 0]


def test_pieces_are_lost_since_the_start_of_each_battle() -> None:
    start = Position.start(max_turns=3)
    after = start.play("dE2-E6").play("TG7-F7xE6")
    starts = np.stack([start.row, after.row])
    played = play_battles(OpensFar(), OpensFar(), 2, starts=starts)
    assert played.margins[1] == -1
    assert played.dwarfs_lost[1] == 0


def test_the_total_of_one_game_pair_may_be_twice_the_largest_margin() -> None:
    figures = PairFigures.of(GamePairs(battles_ending(30), battles_ending(-28)))
    assert figures.total == (58, -64, 64)
    assert figures.margins == {"dwarfs": (30, -32, 32), "trolls": (28, -32, 32)}


def test_intervals_stay_within_what_few_pieces_can_win() -> None:
    few = CLASSIC.replace(name="few", trolls="G7 H7").spec
    first, second = (dataclasses.replace(battles_ending(margin), rules=few) for margin in (-3, 20))
    assert BattleFigures.of(first).margin == (-3, -8, 32)
    figures = PairFigures.of(GamePairs(first, second))
    assert figures.total == (-23, -40, 40)
    assert figures.margins == {"dwarfs": (-3, -8, 32), "trolls": (-20, -32, 8)}


def test_battles_with_the_same_decisions_from_other_starts_are_distinct() -> None:
    played = battles_ending(1, 1, 1)
    played.starts[1, 0] = 1
    assert distinct(played).tolist() == [0, 1]


PLAYER = agents.make("greedy")


@pytest.mark.parametrize(
    ("players", "games", "words", "said"),
    [
        ((PLAYER, PLAYER), 2.0, {}, "^games must be an integer, not 2.0"),
        ((PLAYER, PLAYER), 0, {}, "^games must be 1 or more"),
        (PLAYER, 2, {}, "^players <.*: two, \\(first, second\\), would be right"),
        ((PLAYER,), 2, {}, "two, \\(first, second\\), would be right"),
        ((PLAYER, PLAYER), 2, {"match": "yes"}, "^unknown match 'yes': True or False"),
        ((PLAYER, PLAYER), 2, {"openings": "no"}, "^unknown openings 'no': True, False or None"),
        ((PLAYER, PLAYER), 2, {"seed": 1}, "^battles have no limit 'seed': it is the players"),
        ((PLAYER, PLAYER), 2, {"starts": []}, "^battles have no limit 'starts': play_battles and"),
        ((PLAYER, PLAYER), 2, {"max_turn": 9}, "^battles have no limit 'max_turn': did you mean"),
    ],
)
def test_an_evaluation_names_what_is_wrong_before_it_plays(players, games, words, said) -> None:
    with pytest.raises((TypeError, ThudError), match=said):
        evaluate(players, games, "classic", **words)


@pytest.mark.parametrize("play", [play_battles, play_pairs])
def test_battles_name_players_and_numbers_that_are_none(play) -> None:
    with pytest.raises(ThudError, match=r"^games must be an integer, not 'classic'"):
        play((PLAYER, PLAYER), 2, "classic")
    with pytest.raises(TypeError, match="its two players, one after the other, would be right"):
        play((PLAYER, PLAYER), PLAYER, 1)
