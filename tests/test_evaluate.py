"""The command that plays two players head to head, and what it counts."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from evaluated import FIRST, GREEDY

import agents
from agents.networks.checkpoint import save_policy
from agents.networks.config import NetworkConfig
from agents.networks.folders import MODEL
from agents.networks.network import Network
from agents.play import main as play
from thud_env import CLASSIC
from training import evaluate
from training.arena.identity import code_of_play, own_files
from training.arena.openings import read_openings
from training.commands.versions import versions
from training.evaluate import main

ROOT = Path(__file__).parents[1]
# Python 3.14 asks no further whether a path exists that cannot.
TOO_LONG = "File name too long" if sys.version_info < (3, 14) else "x is not a policy"


def saved_policy(folder: Path, seed: int = 1, rules: str = "classic") -> Path:
    """A small policy for each side."""
    torch.manual_seed(seed)
    network = Network(NetworkConfig(channels=2, blocks=0, key_size=2))
    for role in ("dwarfs", "trolls"):
        save_policy(folder / role, network, role=role, rules=rules, decisions=seed)
    return folder


def test_agents_say_whether_they_draw() -> None:
    pretrained = "policy:pretrained/classic"
    specs = ["random", "greedy", "greedy2", "alphabeta:depth=1", "mcts:sims=2", pretrained]
    assert all(agents.make(spec).stochastic for spec in specs)
    assert not agents.make(f"{pretrained},temperature=0").stochastic
    assert not agents.make(FIRST).stochastic
    searching = f"policy+mcts:{pretrained.partition(':')[2]},root=gumbel"
    assert not agents.make(searching).stochastic
    assert agents.make(f"{searching},noise=1").stochastic


@pytest.mark.parametrize("command", [main, play])
def test_small_batches_do_not_wait_for_threads(command, monkeypatch, capsys) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    torch.set_num_threads(2)
    try:
        assert command(["--dwarfs", "random", "--trolls", "random"]) == 0
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(1)


def test_json_for_programs(capsys) -> None:
    assert main([*GREEDY, "--games", "4", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report) == {
        "rules",
        "dwarfs_agent",
        "trolls_agent",
        "seed",
        "limits",
        "openings",
        "starts",
        "notes",
        "versions",
        "commit",
        "code",
        "own_code",
        "games",
        "draws",
        "mean_margin",
        "mean_margin_95",
        "mean_turns",
        "dwarfs",
        "trolls",
        "endings",
        "each",
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
    for one, mean in (("margins", "mean_margin"), ("turns", "mean_turns")):
        assert sum(report["each"][one]) / 4 == report[mean]


def test_the_json_says_how_it_was_made(tmp_path: Path, capsys) -> None:
    folder = saved_policy(tmp_path)
    words = [f"policy:{folder},temperature=0", FIRST, "--games", "2", "--json", "--seed", "5"]
    limits = ["--max-turns", "20", "--agreement"]
    reports = []
    for openings in ("--openings", "--no-openings"):
        assert main(["--match", *words, *limits, openings]) == 0
        reports.append(json.loads(capsys.readouterr().out))
    report, from_setup = reports
    assert report["seed"] == 5
    assert report["limits"] == {
        "max_quiet_turns": 200,
        "max_turns": 20,
        "offer_after": 20,
        "agreement": True,
    }
    assert report["openings"] == read_openings("classic").digest
    assert from_setup["openings"] is None
    assert [one["starts"] for one in reports] == [2, 1]
    few = "too few game pairs, {}: intervals of fewer than 20 are too narrow"
    repeated = "only 1 of 2 game pairs is distinct: repeats are not counted"
    assert report["notes"] == [few.format(2)]
    assert from_setup["notes"] == [repeated, few.format(1)]
    assert report["versions"] == versions()
    assert report["code"] == code_of_play()
    assert set(report["own_code"]) == {words[0], FIRST}


def test_the_policy_that_is_recorded_is_the_one_that_played(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    """A run that goes on may replace it before the battles are over."""
    spec = f"policy:{saved_policy(tmp_path)}"
    met = own_files([spec], "classic")

    def replace(*arguments: object, **options: object) -> object:
        for role in ("dwarfs", "trolls"):
            shutil.rmtree(tmp_path / role)
        saved_policy(tmp_path, seed=2)
        return evaluated(*arguments, **options)

    evaluated = evaluate.evaluate
    monkeypatch.setattr(evaluate, "evaluate", replace)
    words = ["--trolls", "random", "--games", "1", "--max-turns", "9", "--json"]
    assert main(["--dwarfs", spec, *words]) == 0
    assert json.loads(capsys.readouterr().out)["own_code"] == met
    assert own_files([spec], "classic") != met


@pytest.mark.parametrize(
    "players", [GREEDY, ("--match", "greedy", "random"), ("--match", "greedy", "random", "greedy")]
)
def test_limits_that_are_not_the_rulesets_stand_above_the_figures(players, capsys) -> None:
    words = [*players, "--games", "1", "--max-turns", "9"]
    assert main([*words, "--max-quiet-turns", "200"]) == 0  # the ruleset's
    assert capsys.readouterr().out.startswith("limits: max_turns=9 (not 800)\n")
    assert main([*words, "--agreement"]) == 0
    said = "limits: max_turns=9 (not 800), agreement=True (not False)\n"
    assert capsys.readouterr().out.startswith(said)


OWN_RULES = CLASSIC.replace(name="one-troll", trolls=("H7",)).spec


@pytest.mark.parametrize("rules", ["koom-valley", OWN_RULES], ids=["published", "own"])
def test_policies_are_met_in_the_game_that_they_have_learnt(
    rules: str, tmp_path: Path, capsys
) -> None:
    spec = f"policy:{saved_policy(tmp_path, rules=rules)}"
    limits = ["--games", "1", "--max-turns", "5", "--json"]
    for other in ("random", spec):
        assert main(["--match", other, spec, *limits]) == 0
        assert json.loads(capsys.readouterr().out)["rules"] == rules
    assert agents.make(spec).trained_for == rules
    assert agents.make(spec.replace(":", "+mcts:", 1)).trained_for == rules


def test_policies_of_several_games_do_not_choose_one(tmp_path: Path, capsys) -> None:
    one, other = (
        f"policy:{saved_policy(tmp_path / rules, rules=rules)}"
        for rules in ("classic-all", "koom-valley")
    )
    assert agents.make("policy:champion").trained_for is None
    assert main(["--match", one, other, "--games", "1"]) == 2
    assert "was trained for classic-all, not classic" in capsys.readouterr().err


def test_games_of_two_battles_from_the_command_line(capsys) -> None:
    words = ["--match", "greedy", "random", "--games", "3", "--rules", "koom-valley-football"]
    assert main([*words, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["first_agent"], report["second_agent"]) == ("greedy", "random")
    assert report["games"] == 3
    margins = [report[f"{name}_battles"]["mean_margin"] for name in ("first", "second")]
    assert report["mean_total"] == pytest.approx(margins[0] - margins[1])
    for seat, battles, sign in (("dwarfs", "first", 1), ("trolls", "second", -1)):
        margins, turns = (report["each"][f"{one}_as_{seat}"] for one in ("margins", "turns"))
        assert len(margins) == 3
        assert sum(margins) / 3 == sign * report[f"{battles}_battles"]["mean_margin"]
        assert sum(turns) / 3 == report[f"{battles}_battles"]["mean_turns"]
    assert "strikes" not in str(report)
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "3 battles of koom-valley-football: dwarfs greedy, trolls random\n" in out
    assert "3 battles of koom-valley-football: dwarfs random, trolls greedy\n" in out
    assert "3 game pairs, first player greedy, second random\n" in out
    assert "mean total for the first player" in out


def test_a_note_that_is_not_about_all_opponents_names_those_that_it_is_about(capsys) -> None:
    sure = "policy:pretrained/koom-valley-football,temperature=0"
    words = ["--games", "3", "--no-openings", "--max-turns", "2"]
    assert main(["--match", sure, "random", sure, *words]) == 0
    notes = [one for one in capsys.readouterr().err.splitlines() if one.startswith("evaluate: ")]
    (same,) = [note for note in notes if "distinct" in note]
    assert same.startswith(f"evaluate: against {sure}: only 1 of 3 game pairs is distinct")


def test_several_opponents_make_a_table_of_what_each_would_show(capsys) -> None:
    words = ["--games", "3", "--rules", "koom-valley-football"]
    assert main(["--match", "greedy", "random", "greedy2", *words]) == 0
    out, err = capsys.readouterr()
    starts, title, _, _, _, *lines = out.splitlines()
    assert starts == "starts: the opening book's (--no-openings: the setup)"
    assert title == "greedy, koom-valley-football"
    few = "evaluate: too few game pairs, 3: intervals of fewer than 20 are too narrow"
    assert [line for line in err.splitlines() if line.startswith("evaluate: ")] == [few]
    assert main(["--match", "greedy", "random", "greedy2", *words, "--json"]) == 0
    reports = json.loads(capsys.readouterr().out)
    assert [report["second_agent"] for report in reports] == ["random", "greedy2"]
    for line, report in zip(lines, reports, strict=True):
        assert main(["--match", "greedy", report["second_agent"], *words, "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == report
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        opponent, games, margin, as_dwarfs, won, as_trolls, won_as_trolls = cells
        assert (opponent, games) == (report["second_agent"], "3")
        assert margin.startswith(f"{report['mean_total']:+.2f} (")
        assert as_dwarfs.startswith(f"{report['mean_as_dwarfs']:+.2f} (")
        assert won == f"{report['first_battles']['dwarfs']['win_rate']:.0%}"
        assert as_trolls.startswith(f"{report['mean_as_trolls']:+.2f} (")
        assert won_as_trolls == f"{report['second_battles']['trolls']['win_rate']:.0%}"


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
    assert out.startswith(
        "starts: the opening book's (--no-openings: the setup)\n"
        "2 battles of koom-valley: dwarfs greedy, trolls random\n"
    )
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
        report = json.loads(capsys.readouterr().out)
        assert report.pop("seed") == int(seed)
        figures.append(report)
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
        (["--dwarfs", "policy:/no/such"], "/no/such is not a policy: there is no such folder"),
        (["--dwarfs", "policy"], "agent 'policy' needs a path"),
        (["--dwarfs", "greedy:depth=2"], "has no option 'depth'"),
        (["--dwarfs", f"policy:{'x' * 300}"], TOO_LONG),
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


def test_help_says_what_games_counts(capsys) -> None:
    assert main(["--help"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "battles; with --match game pairs, of two battles each" in words


def test_ctrl_c_is_one_line(monkeypatch, capsys) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluate, "evaluate", interrupted)
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
    words = ["--trolls", "random", "--games", "2", "--rules", "classic"]
    assert main(["--dwarfs", f"policy:{folder}", *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert str(folder) in err
