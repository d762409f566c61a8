"""A sixth game: a user's ruleset needs the definition below and nothing else."""

from __future__ import annotations

import dataclasses
import json
import re
import warnings
from pathlib import Path
from random import Random

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test
from positions import constructed, from_play, learn
from simulated_games import play
from small_run import SMALL_RUN
from test_batch_cuda import run
from test_rules_reference import compare

import agents
import thud_env
from agents.networks.checkpoint import save_policy
from agents.networks.config import NetworkConfig
from agents.networks.network import Network
from thud_env import BatchedGame, Position
from thud_env.render import ansi, rgb_array, svg
from thud_env.rulesets import KOOM_VALLEY
from training.config_file import load_config
from training.train import main as train

OWN = KOOM_VALLEY.replace(
    name="rock-and-shoves",
    trolls="G4 H4 J4 G3 H3 J3",
    dwarfs_capture="hurl",
    trolls_capture="beside",
    step_captures="none",
    trolls_keep_off_edge=True,
    max_quiet_turns=80,
)


def test_its_traits_are_not_those_of_one_of_the_five() -> None:
    assert OWN.traits not in {ruleset.traits for ruleset in thud_env.RULESETS.values()}
    assert thud_env.rulesets.get_ruleset(OWN.spec) == OWN


def test_it_agrees_with_the_reference() -> None:
    learn(OWN)
    random = Random(6)
    assert compare(constructed(OWN.spec, 300, random), random) == 300
    assert compare(from_play(OWN.spec, 60, random), random) == 60


def test_it_passes_the_suites_of_pettingzoo_and_gymnasium() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        api_test(thud_env.env(OWN, max_turns=60), num_cycles=300)
        seat = gymnasium.make("thud/Thud-v0", rules=OWN, side="trolls", max_turns=30)
        check_env(seat.unwrapped, skip_render_check=True)


def test_batches_play_it_on_the_cpu_and_in_the_simulator(tmp_path: Path) -> None:
    path = tmp_path / "shown.npz"
    simulator = {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    done = run("simulated_games.py", OWN.spec, "2", str(path), **simulator)
    assert done.returncode == 0, done.stderr
    with np.load(path) as simulated:
        for name, array in play("cpu", OWN.spec, 2).items():
            np.testing.assert_array_equal(simulated[name], array, err_msg=name)
    games = BatchedGame(64, OWN, seed=1)
    for _ in range(200):
        games.step(games.sample_actions())
    assert games.final_rows[:, thud_env.rules.row.TURNS].any()
    assert games.position(3).rules is OWN


@pytest.mark.parametrize("spec", ["random", "greedy", "alphabeta:depth=2", "mcts:sims=20"])
def test_agents_play_it(spec: str) -> None:
    agent = agents.make(spec, seed=1)
    position = Position.start(OWN, max_turns=8)
    while position.outcome is None:
        turn = agent.turn(position)
        assert turn in position.turns()
        position = position.play(turn)


def test_it_is_trained_and_its_policies_carry_its_definition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = dataclasses.replace(SMALL_RUN, rules=OWN.spec, anchor_games=0)
    Path("own.yaml").write_text(json.dumps(dataclasses.asdict(config)))
    assert load_config(Path("own.yaml"), type(config)) == config
    assert train(["own.yaml"]) == 0
    agent = agents.make("policy:runs/small/checkpoints/latest")
    assert agent.act(Position.start(OWN)) in Position.start(OWN).legal_actions()
    with pytest.raises(ValueError, match=re.escape(f"was trained for {OWN.spec}, not koom-valley")):
        agent.act(Position.start("koom-valley"))


def test_it_is_drawn() -> None:
    position = Position.start(OWN)
    assert svg(position).count("thud-troll") >= 6
    assert ansi(position)
    assert rgb_array(position).ndim == 3


def test_a_policy_expects_points_where_few_are_to_be_won(tmp_path: Path) -> None:
    few = thud_env.CLASSIC.replace(name="few", dwarfs="H4 A6 A7", trolls="H3 J9")
    position = Position.start(few)
    network = Network(NetworkConfig(channels=4, blocks=1, key_size=2))
    torch.nn.init.constant_(network.value[-1].bias, 3 / 32)
    torch.nn.init.zeros_(network.value[-1].weight)
    save_policy(tmp_path / "few", network, role="dwarfs", rules=few.spec, decisions=0)
    assert (few.margins, few.largest_margin, position.margin) == ((-8, 3), 8, -5)
    agent = agents.make(f"policy:{tmp_path / 'few'}")
    assert agent.judge(position).margin == pytest.approx(-5 + 3)
    assert agent.expected_margins(position.row[np.newaxis]) == pytest.approx([-5 + 3])
