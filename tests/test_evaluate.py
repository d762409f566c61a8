"""Head to head: battles between two players, their figures, and the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
import torch
from two_battles import LIMITS, LOST_BY_7, WON_BY_3

import agents
from agents.networks.checkpoint import MODEL, save_policy
from agents.networks.network import Network, NetworkConfig
from thud_env import RULESETS, Position, Termination
from thud_env.actions import CAPTURE, describe_action
from thud_env.board import SQUARE_BY_NAME, SQUARE_POSITIONS
from training import evaluate
from training.arena.battles import Battles, GamePairs, play_battles, play_pairs
from training.arena.intervals import wilson
from training.arena.openings import read_openings
from training.arena.summary import print_pairs, summarise, summarise_pairs
from training.evaluate import main

torch.set_num_threads(1)
ROOT = Path(__file__).parents[1]


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


def test_each_player_is_asked_for_its_own_side_only() -> None:
    logs: tuple[list, list] = ([], [])
    recorders = [Recorder(agents.make("random", seed=n), log) for n, log in enumerate(logs)]
    play_battles(recorders[0], recorders[1], 1, "classic", max_turns=30)
    sides = [{position.to_move for position, _ in log} for log in logs]
    assert sides == [{"dwarfs"}, {"trolls"}]


def test_progress_counts_the_battles_that_are_over() -> None:
    seen: list[int] = []
    players = [agents.make("random", seed=seed) for seed in (1, 2)]
    play_battles(*players, 5, "koom-valley", on_progress=seen.append, max_turns=60)
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (0, 5)


# -- figures -------------------------------------------------------------------------------


def test_a_summary_of_battles_by_hand() -> None:
    def column(*values: int) -> np.ndarray:
        return np.array(values, np.int64)

    ends = (Termination.QUIET_LIMIT.value, Termination.QUIET_LIMIT.value)
    result = summarise(
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
    result = summarise_pairs(matches)
    assert (result["mean_total"], result["first_battles"]["mean_margin"]) == (-4, 3)
    print_pairs("us", "them", "classic", result)
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


def test_a_summary_of_games_by_hand() -> None:
    def battles(*margins: int) -> Battles:
        zeros = np.zeros(len(margins), np.int64)
        ends = zeros + Termination.NO_LEGAL_TURN.value
        strikes = {"dwarfs": zeros, "trolls": zeros}
        rows, decisions = np.zeros((len(margins), 432), np.int16), ((1,),) * len(margins)
        return Battles(
            "classic", np.array(margins), zeros, ends, strikes, zeros, zeros, rows, decisions
        )

    result = summarise_pairs(GamePairs(battles(3, 8, -5, 2), battles(7, -8, -5, 1)))
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


# -- players without chance ------------------------------------------------------------------


class First(agents.Agent):
    """Plays the first legal decision, always."""

    def __init__(self, seed: int = 0) -> None:
        self.seed(seed)

    def act_rows(self, rows: np.ndarray) -> np.ndarray:
        return np.array([Position(row).legal_actions()[0] for row in rows], np.int32)


FIRST = f"python:{__name__}:First"


def test_agents_say_whether_they_draw() -> None:
    pretrained = "policy:pretrained/classic"
    specs = ["random", "greedy", "greedy2", "alphabeta:depth=1", "mcts:sims=2", pretrained]
    assert all(agents.make(spec).stochastic for spec in specs)
    assert not agents.make(f"{pretrained},temperature=0").stochastic
    assert not agents.make(FIRST).stochastic


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
    assert "only 1 of 20 battles are distinct: repeats are not counted" in err
    report = json.loads(out)
    assert report["games"] == 1
    assert report["mean_margin_95"] == [-32, 32]
    low, high = report["dwarfs"]["win_rate_95"]
    assert high - low > 0.75


def test_both_battles_of_a_game_begin_from_its_start_of_the_book() -> None:
    rows = read_openings("classic").rows(3, max_turns=12)
    players = [agents.make("random", seed=seed) for seed in (1, 2)]
    matches = play_pairs(*players, 3, "classic", starts=rows)
    for battles in (matches.first, matches.second):
        assert (battles.starts == rows).all()
        assert battles.turns.max() == 12


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


# -- the command line ----------------------------------------------------------------------

GREEDY = ("--dwarfs", "greedy", "--trolls", "random")


def test_json_for_programs(capsys) -> None:
    assert main([*GREEDY, "--games", "4", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report) == {
        "rules",
        "dwarfs_agent",
        "trolls_agent",
        "games",
        "draws",
        "mean_margin",
        "mean_margin_95",
        "mean_turns",
        "dwarfs",
        "trolls",
        "endings",
    }
    shared = {"wins", "win_rate", "win_rate_95", "captures_per_battle"}
    assert set(report["dwarfs"]) == shared | {"hurls_per_battle"}
    assert set(report["trolls"]) == shared | {"shoves_per_battle"}
    assert (report["rules"], report["dwarfs_agent"], report["trolls_agent"]) == (
        "classic",
        "greedy",
        "random",
    )
    wins = report["dwarfs"]["wins"] + report["trolls"]["wins"]
    assert wins + report["draws"] == report["games"] == sum(report["endings"].values()) == 4
    low, high = report["mean_margin_95"]
    assert low <= report["mean_margin"] <= high


def test_games_of_two_battles_from_the_command_line(capsys) -> None:
    words = ["--match", "greedy", "random", "--games", "3", "--rules", "koom-valley-football"]
    assert main([*words, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["first_agent"], report["second_agent"]) == ("greedy", "random")
    assert report["games"] == 3
    margins = [report[f"{name}_battles"]["mean_margin"] for name in ("first", "second")]
    assert report["mean_total"] == pytest.approx(margins[0] - margins[1])
    assert "strikes" not in str(report)
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "3 battles of koom-valley-football: dwarfs greedy, trolls random\n" in out
    assert "3 battles of koom-valley-football: dwarfs random, trolls greedy\n" in out
    assert "3 game pairs, first player greedy, second random\n" in out
    assert "mean total for the first player" in out


def test_several_opponents_make_a_table_of_what_each_would_show(capsys) -> None:
    words = ["--games", "3", "--rules", "koom-valley-football"]
    assert main(["--match", "greedy", "random", "greedy2", *words]) == 0
    out, err = capsys.readouterr()
    title, _, _, _, *lines = out.splitlines()
    assert title == "greedy, koom-valley-football"
    assert [line for line in err.splitlines() if line.startswith("evaluate: ")] == [
        f"evaluate: against {opponent}: too few game pairs, 3: intervals of fewer than 20 are too "
        "narrow"
        for opponent in ("random", "greedy2")
    ]
    assert main(["--match", "greedy", "random", "greedy2", *words, "--json"]) == 0
    reports = json.loads(capsys.readouterr().out)
    assert [report["second_agent"] for report in reports] == ["random", "greedy2"]
    for line, report in zip(lines, reports, strict=True):
        assert main(["--match", "greedy", report["second_agent"], *words, "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == report
        opponent, games, margin, as_dwarfs, won, *_ = (cell.strip() for cell in line[1:].split("|"))
        assert (opponent, games) == (report["second_agent"], "3")
        assert margin.startswith(f"{report['mean_total']:+.2f} (")
        assert as_dwarfs.startswith(f"{report['mean_as_dwarfs']:+.2f} (")
        assert won == f"{report['first_battles']['dwarfs']['win_rate']:.0%}"


def test_one_of_several_opponents_that_cannot_play_is_found_before_any_battle(capsys) -> None:
    assert main(["--match", "greedy", "random", "greddy", "--games", "3"]) == 2
    assert "did you mean 'greedy'" in capsys.readouterr().err


def test_limits_and_agreement_from_the_command_line(capsys) -> None:
    words = [*GREEDY, "--games", "4", "--json", "--max-turns"]
    assert main([*words, "9", "--max-quiet-turns", "5"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["mean_turns"] <= 9
    assert main([*words, "200", "--agreement", "--offer-after", "1", "--dwarfs", "random"]) == 0
    assert json.loads(capsys.readouterr().out)["endings"].get("agreement", 0) > 0


def test_one_battle_is_valid_json_too(capsys) -> None:
    """Its interval is infinite, which JSON has no number for."""

    def refuse(name: str) -> None:
        pytest.fail(f"{name} is not JSON")

    assert main([*GREEDY, "--games", "1", "--json"]) == 0
    report = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert report["mean_margin_95"] == [-32, 32]


def test_lines_for_people(capsys) -> None:
    assert main([*GREEDY, "--games", "2", "--rules", "koom-valley"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("2 battles of koom-valley: dwarfs greedy, trolls random\n")
    for word in (
        "sandwiches",
        "tramples",
        "mean margin",
        "95% interval",
        "mean length",
        "ended by",
    ):
        assert word in out


def test_a_seed_repeats_the_figures_and_another_does_not(capsys) -> None:
    figures = []
    for seed in ("1", "1", "2"):
        assert main([*GREEDY, "--games", "3", "--seed", seed, "--json"]) == 0
        figures.append(capsys.readouterr().out)
    assert figures[0] == figures[1] != figures[2]


def test_a_seed_seeds_both_players_apart(monkeypatch) -> None:
    make, seeds = agents.make, []

    def noted(spec: str, seed: int) -> agents.Agent:
        seeds.append(seed)
        return make(spec, seed)

    monkeypatch.setattr(agents, "make", noted)
    for seed in ("0", "1", "2"):
        assert main([*GREEDY, "--games", "1", "--seed", seed]) == 0
    assert len(set(seeds)) == 6


def test_the_module_runs_as_a_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "training.evaluate", "--dwarfs", "grredy", "--trolls", "random"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "'grredy': did you mean 'greedy'?" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--trolls", "randm"], "unknown agent 'randm': did you mean 'random'?"),
        (["--rules", "clasic"], "unknown ruleset 'clasic': did you mean 'classic'?"),
        (["--dwarfs", "policy:/no/such"], "/no/such is not a policy"),
        (["--dwarfs", "policy"], "agent 'policy' needs a path"),
        (["--dwarfs", "greedy:depth=2"], "has no option 'depth'"),
        (["--dwarfs", f"policy:{'x' * 300}"], "File name too long"),
        (["--games", "0"], "--games: '0': a whole number, 1 or more, would be right"),
        (["--seed", "-1"], "--seed: '-1': a whole number, 0 or more, would be right"),
        (["--max-turns", "0"], "max_turns must be in 1 .. 32767, not 0"),
        (["--match", "greedy", "random"], "--trolls, or else --match: either, not both"),
    ],
    ids=lambda value: value[1][:20] if isinstance(value, list) else "",
)
def test_bad_input_is_one_line_and_exit_code_2(words: list[str], said: str, capsys) -> None:
    assert main([*GREEDY, *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err


@pytest.mark.parametrize("words", [[], ["--dwarfs", "greedy"], ["--match", "greedy"]])
def test_two_players_are_needed(words: list[str], capsys) -> None:
    assert main(words) == 2
    assert "or else --match FIRST SECOND, are needed" in capsys.readouterr().err


def test_ctrl_c_is_one_line(monkeypatch, capsys) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluate, "play_battles", interrupted)
    assert main(GREEDY) == 130
    assert capsys.readouterr() == ("", "stopped\n")


@pytest.mark.parametrize("fault", ["damaged", "other rules", "other role"])
def test_a_checkpoint_that_cannot_play_is_one_line_and_exit_code_2(
    fault: str, tmp_path: Path, capsys
) -> None:
    torch.manual_seed(1)
    network = Network(NetworkConfig(channels=2, blocks=0, key_size=2))
    role = "trolls" if fault == "other role" else "dwarfs"
    rules = "koom-valley" if fault == "other rules" else "classic"
    folder = tmp_path / "policy"
    save_policy(folder, network, role=role, rules=rules, decisions=0)
    if fault == "damaged":
        (folder / MODEL).write_bytes((folder / MODEL).read_bytes()[:-1])
    assert main(["--dwarfs", f"policy:{folder}", "--trolls", "random", "--games", "2"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert str(folder) in err
