"""A whole run, seconds long: what it writes, and what it shows."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from flat_network import FlatNetwork
from rich.console import Console
from test_config import CONFIGS

import agents
from agents.networks.checkpoint import load_policy, save_policy
from agents.networks.config import CONFIG_CLASSES, NetworkConfig, config_class
from agents.networks.kinds import NETWORKS
from agents.networks.network import Network
from thud_env import RULESETS, Position
from thud_env.command import BROKEN_PIPE
from thud_env.outcome import SIDES
from training.config import PPOConfig, TrainConfig
from training.config_file import load_config
from training.errors import ConfigError
from training.learner.ppo import MEASURED
from training.learner.shaping import with_shaping
from training.options import Options
from training.process.clock import PARTS
from training.process.roles import Roles, two_networks
from training.process.start_from import start_from
from training.process.state import State
from training.runs import checkpoints as checkpoints_module
from training.runs.anchors import SCORE
from training.runs.folder import RunFolder
from training.runs.loop import Stopped
from training.train import train
from training.trainer import Trainer, self_play_trainer

TINY = TrainConfig(
    name="tiny",
    total_decisions=1000,
    num_games=8,
    rollout_decisions=32,
    checkpoint_every=1,
    keep_checkpoints=2,
    anchor_games=2,
    evaluation_games=2,
    max_turns=30,
    precision="float32",
    network=NetworkConfig(channels=8, blocks=1, key_size=4),
    ppo=PPOConfig(minibatch_size=64),
)
QUICK = dataclasses.replace(TINY, total_decisions=500, anchor_games=0, evaluation_games=0)


def plain_console() -> Console:
    return Console(file=io.StringIO(), force_terminal=False, width=200)


def shown_by(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def metrics_of(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@dataclasses.dataclass
class Finished:
    folder: Path
    shown: str


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """One whole run, that the tests below look at."""
    console = plain_console()
    runs = tmp_path_factory.mktemp("runs")
    return Finished(train(TINY, console, runs).path, shown_by(console))


# -- what a run writes ---------------------------------------------------------------------


def test_a_run_writes_these_and_nothing_else(finished: Finished) -> None:
    assert finished.folder.name == "tiny"
    assert {path.name for path in finished.folder.iterdir()} == {
        "config.yaml",
        "run.json",
        "metrics.jsonl",
        "tensorboard",
        "checkpoints",
        "lock",
        "head_to_head.json",
    }
    assert not [path for path in finished.folder.rglob("*") if path.name.endswith(".tmp")]


def test_the_configuration_is_kept_in_full(finished: Finished) -> None:
    assert load_config(finished.folder / "config.yaml", TrainConfig) == TINY


def test_every_update_is_a_line_of_metrics(finished: Finished) -> None:
    lines = metrics_of(finished.folder)
    assert [line["decisions"] for line in lines] == [256, 512, 768, 1024]
    wanted = {
        *(f"{role}/{name}" for role in SIDES for name in MEASURED),
        *(f"{role}/{name}" for role in SIDES for name in ("explained_variance", "learning_rate")),
        "speed/decisions_per_second",
        *(f"speed/{part}" for part in PARTS),
        "battles/finished",
        "battles/margin",
        "battles/turns",
        "battles/hurls",
        "battles/shoves",
        *(f"{role}/margin_against_{anchor}" for role in SIDES for anchor in ("random", "greedy")),
        *(f"{role}/{SCORE}" for role in SIDES),
    }
    assert set(lines[1]) == {"decisions", *wanted}
    assert all(isinstance(value, int | float) for line in lines for value in line.values())
    assert all(line["battles/turns"] <= 30 for line in lines if "battles/turns" in line)
    rates = [line["dwarfs/learning_rate"] for line in lines]
    played = [0, 256, 512, 768]
    assert rates == pytest.approx([TINY.ppo.learning_rate * (1 - 0.9 * n / 1000) for n in played])
    assert 0 < lines[0]["dwarfs/entropy"] <= 1.0001


def test_tensorboard_has_the_same_numbers(finished: Finished) -> None:
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = reader.EventAccumulator(str(finished.folder / "tensorboard"))
    events.Reload()
    lines = metrics_of(finished.folder)
    for name in ("dwarfs/entropy", "trolls/value_loss", "speed/decisions_per_second"):
        scalars = events.Scalars(name)
        assert [scalar.step for scalar in scalars] == [line["decisions"] for line in lines]
        assert [scalar.value for scalar in scalars] == pytest.approx([line[name] for line in lines])


def test_the_newest_checkpoints_are_kept_and_play(finished: Finished) -> None:
    checkpoints = finished.folder / "checkpoints"
    best = {(checkpoints / "best" / role).resolve().parent.name for role in SIDES}
    assert {path.name for path in checkpoints.iterdir()} == {
        "000000000768",
        "000000001024",
        "latest",
        "best",
        *best,
    }
    assert (checkpoints / "latest").resolve() == (checkpoints / "000000001024").resolve()
    for role in SIDES:
        loaded = load_policy(checkpoints / "latest" / role)
        assert (loaded.role, loaded.rules, loaded.decisions) == (role, "classic", 1024)
        assert loaded.network.config == TINY.network
    agent = agents.make(f"policy:{checkpoints / 'latest'}", seed=1)
    position = Position.start("classic", max_turns=6)
    while position.outcome is None:
        position = position.play(agent.turn(position))


def test_both_roles_have_learnt(finished: Finished) -> None:
    older, newer = (finished.folder / "checkpoints" / f"{n:012d}" for n in (768, 1024))
    for role in SIDES:
        weights = [load_policy(folder / role).network.state_dict() for folder in (older, newer)]
        assert any(not torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_the_run_ends_with_a_head_to_head(finished: Finished) -> None:
    results = json.loads((finished.folder / "head_to_head.json").read_text())
    policy = f"policy:{finished.folder / 'checkpoints' / '000000001024'}"
    met = [(result["dwarfs_agent"], result["trolls_agent"]) for result in results]
    assert met == [
        ("random", "random"),
        (policy, "random"),
        ("random", policy),
        (policy, "greedy"),
        ("greedy", policy),
        (policy, policy),
    ]
    assert all(result["games"] == 2 and "mean_margin_95" in result for result in results)
    assert all(result["limits"]["max_turns"] == TINY.max_turns for result in results)


TINY_WORDS = (
    "total_decisions=300",
    "num_games=32",  # enough for shares of a tenth
    "rollout_decisions=16",
    "evaluation_games=2",
    "anchor_games=0",
    "device=cpu",
    "compile=false",  # it asks for a C++ compiler
    "start_from=''",
    "max_turns=20",
    "agreement=true",
    "offer_after=2",
    "precision=float32",
    "network.channels=8",  # a multiple of the symmetries
    "network.blocks=1",
    "ppo.minibatch_size=64",
)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_configuration_trains(path: Path, tmp_path: Path) -> None:
    config = load_config(path, TrainConfig, list(TINY_WORDS))
    console = plain_console()
    folder = train(config, console, tmp_path).path
    assert {load_policy(folder / "checkpoints/latest" / role).rules for role in SIDES} == {
        config.rules
    }
    results = json.loads((folder / "head_to_head.json").read_text())
    # The table is played with the limits of the training.
    assert all(result["mean_turns"] <= 20 for result in results)
    by_result = config.rules.startswith("koom")
    assert ("mean result" in shown_by(console)) == by_result
    assert ("32 to +32" in shown_by(console)) != by_result


def test_both_trunks_are_compiled_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Network] = []
    monkeypatch.setattr(Network, "compile_trunk", lambda network: compiled.append(network))
    for wanted in (False, True):
        with contextlib.closing(Roles.of(dataclasses.replace(QUICK, compile=wanted))) as roles:
            assert compiled == list(roles.networks) * wanted


def test_progress_is_paid_less_and_less_until_halfway() -> None:
    config = dataclasses.replace(QUICK, rules="koom-valley", shaping=2.0)
    trainer = self_play_trainer(config)
    rollout = trainer.play.collect(4)
    rewards = [
        with_shaping(rollout, config, progress).rewards - rollout.rewards
        for progress in (0, 0.25, 0.5, 1)
    ]
    trainer.roles.close()
    assert np.abs(rewards[0]).max() > 0
    assert np.allclose(rewards[1], rewards[0] / 2)
    assert not np.any(rewards[2:])


def test_every_ruleset_has_a_configuration() -> None:
    assert {load_config(path, TrainConfig).rules for path in CONFIGS} == set(RULESETS)


# -- what a run shows ----------------------------------------------------------------------


def test_plain_lines_where_there_is_no_terminal(finished: Finished) -> None:
    assert "\x1b" not in finished.shown
    assert finished.shown.startswith("training tiny: Classic Thud")
    assert "1,024 of 1,024 decisions" in finished.shown
    assert f"dwarfs: {finished.folder / 'checkpoints' / 'latest' / 'dwarfs'}" in finished.shown
    assert "head to head, 2 battles each" in finished.shown
    assert "do better than" not in finished.shown  # two battles show nothing


def test_plain_lines_have_the_margins_against_the_anchors(finished: Finished) -> None:
    (line,) = [line for line in finished.shown.splitlines() if "1,024 of 1,024" in line]
    for role in SIDES:
        for anchor in ("random", "greedy"):
            assert f"{role} against {anchor} " in line


# -- runs of the same name, the same seed --------------------------------------------------


def test_an_earlier_run_of_the_name_is_moved_aside(tmp_path: Path) -> None:
    quick = dataclasses.replace(QUICK, total_decisions=1)
    for seed in (1, 2, 3):
        console = plain_console()
        train(dataclasses.replace(quick, seed=seed), console, tmp_path)
    assert f"an earlier run of that name is now {tmp_path / 'tiny.2'}" in shown_by(console)
    seeds = {
        path.name: yaml.safe_load((path / "config.yaml").read_text())["seed"]
        for path in tmp_path.iterdir()
    }
    assert seeds == {"tiny.1": 1, "tiny.2": 2, "tiny": 3}
    assert load_policy(tmp_path / "tiny.1" / "checkpoints" / "latest" / "dwarfs").role == "dwarfs"


def test_a_seed_repeats_a_run_and_another_does_not(tmp_path: Path) -> None:
    def numbers(name: str, seed: int) -> list[dict[str, float]]:
        config = dataclasses.replace(QUICK, name=name, seed=seed)
        lines = metrics_of(train(config, plain_console(), tmp_path).path)
        return [
            {key: value for key, value in line.items() if not key.startswith("speed/")}
            for line in lines
        ]

    first, again, other = numbers("first", 1), numbers("again", 1), numbers("other", 2)
    assert first == again
    assert len(first) == 2
    assert first != other


def test_a_rollout_in_which_one_role_decides_alone(tmp_path: Path) -> None:
    """One decision in each battle: the dwarfs', then the trolls'."""
    config = dataclasses.replace(QUICK, rollout_decisions=1, total_decisions=16)
    lines = metrics_of(train(config, plain_console(), tmp_path).path)
    assert [("dwarfs/entropy" in line, "trolls/entropy" in line) for line in lines] == [
        (True, False),
        (False, True),
    ]


@pytest.mark.parametrize("rules", ["classic-all", "koom-valley", "koom-valley-football"])
def test_other_rulesets_can_be_learnt(rules: str, tmp_path: Path) -> None:
    config = dataclasses.replace(QUICK, rules=rules, total_decisions=256)
    folder = train(config, plain_console(), tmp_path).path
    assert load_policy(folder / "checkpoints" / "latest" / "trolls").rules == rules


def test_a_network_in_bfloat16_learns_too(tmp_path: Path) -> None:
    config = dataclasses.replace(QUICK, precision="bfloat16", total_decisions=256)
    (line,) = metrics_of(train(config, plain_console(), tmp_path).path)
    assert 0 < line["dwarfs/entropy"] <= 1.01


# -- the run's folder ----------------------------------------------------------------------


def test_each_role_is_saved_as_its_own_network(tmp_path: Path) -> None:
    folder, trainer = RunFolder.begin(tmp_path / "tiny", TINY), self_play_trainer(TINY)
    folder.checkpoint(1, trainer.roles.networks, [State()], {})
    trainer.roles.close()
    folder.close()
    for role, network in zip(SIDES, trainer.roles.networks, strict=True):
        saved = load_policy(folder.checkpoints.latest / role).network.state_dict()
        assert all(torch.equal(saved[name], value) for name, value in network.state_dict().items())


def test_a_checkpoint_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch) -> None:
    folder = RunFolder.begin(tmp_path / "tiny", TINY)
    trainer = self_play_trainer(TINY)
    folder.checkpoint(1, trainer.roles.networks, [State()], {})
    save = checkpoints_module.save_role

    def full_disk(path: Path, *arguments: object, **named: object) -> None:
        if path.name == "trolls":
            raise OSError(28, "No space left on device")
        save(path, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(checkpoints_module, "save_role", full_disk)
    with pytest.raises(OSError, match="No space left"):
        folder.checkpoint(2, trainer.roles.networks, [State()], {})
    trainer.roles.close()
    folder.close()
    assert sorted(path.name for path in folder.checkpoints.path.iterdir()) == [
        "000000000001",
        "latest",
    ]
    assert folder.checkpoints.latest.resolve().name == "000000000001"


def test_a_run_that_breaks_off_keeps_what_it_has_written(tmp_path: Path, monkeypatch) -> None:
    update, updates = Trainer.update, []

    def stops(trainer: Trainer) -> dict[str, float]:
        updates.append(1)
        if len(updates) == 2:
            raise KeyboardInterrupt
        return update(trainer)

    monkeypatch.setattr(Trainer, "update", stops)
    with pytest.raises(KeyboardInterrupt):
        train(TINY, plain_console(), tmp_path)
    assert len(metrics_of(tmp_path / "tiny")) == 1
    assert load_policy(tmp_path / "tiny" / "checkpoints" / "latest" / "trolls").decisions == 256


# -- another network -----------------------------------------------------------------------


def test_a_second_architecture_is_one_file(tmp_path: Path, monkeypatch) -> None:
    """It is trained, saved, loaded, played and resumed."""
    monkeypatch.setitem(CONFIG_CLASSES, "flat", NetworkConfig)
    monkeypatch.setitem(NETWORKS, "flat", FlatNetwork)
    config = dataclasses.replace(QUICK, network=NetworkConfig(kind="flat"))
    with pytest.raises(Stopped):
        train(config, plain_console(), tmp_path, Options(minutes=1e-9))
    folder = train(config, plain_console(), tmp_path, Options(resume=True)).path
    latest = folder / "checkpoints" / "latest"
    network = load_policy(latest / "trolls").network
    assert isinstance(network, FlatNetwork)
    assert network.scores.abs().max() > 0
    assert agents.make(f"policy:{latest}").turn(Position.start()) in Position.start().turns()


# -- starting from a policy ----------------------------------------------------------------


def test_a_run_starts_from_a_policys_weights_and_goes_on_without_it(
    finished: Finished, tmp_path: Path
) -> None:
    policy = tmp_path / "policy"
    shutil.copytree(finished.folder / "checkpoints" / "latest", policy)
    config = dataclasses.replace(QUICK, start_from=str(policy))
    trainer = self_play_trainer(config)
    for role, network in zip(SIDES, trainer.roles.networks, strict=True):
        wanted = load_policy(policy / role).network.state_dict()
        assert all(torch.equal(wanted[k], v) for k, v in network.state_dict().items())
    trainer.roles.close()
    with pytest.raises(Stopped):
        train(config, plain_console(), tmp_path, Options(minutes=0.0))
    shutil.rmtree(policy)
    folder = train(config, plain_console(), tmp_path, Options(resume=True))
    assert metrics_of(folder.path)[-1]["decisions"] >= config.total_decisions


def test_a_run_says_once_that_it_starts_from_policies_for_another_ruleset(
    finished: Finished, tmp_path: Path
) -> None:
    policy = str(finished.folder / "checkpoints" / "latest")
    said = "the dwarfs begin with the weights of a policy for classic\n"
    for rules, times in (("classic:name=mine,max_turns=90", 1), ("classic", 0)):
        config = dataclasses.replace(QUICK, name=f"from-{times}", start_from=policy, rules=rules)
        console = plain_console()
        for options in (Options(minutes=0.0), Options(minutes=0.0, resume=True)):
            with pytest.raises(Stopped):
                train(config, console, tmp_path, options)
        assert shown_by(console).count(said) == times


@pytest.mark.parametrize("kind", NETWORKS)
def test_a_deeper_network_begins_by_judging_as_the_policy_it_starts_from(
    kind: str, tmp_path: Path
) -> None:
    flat, small, deep = (
        config_class({"kind": kind})(kind=kind, channels=8, blocks=blocks, key_size=8)
        for blocks in (0, 1, 3)
    )
    for role, network in zip(SIDES, two_networks(small), strict=True):
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
        save_policy(tmp_path / role, network, role=role, rules="classic", decisions=1)
    grown = two_networks(dataclasses.replace(deep, afterstates=True))
    start_from(str(tmp_path), grown, "classic")
    for role, network in zip(SIDES, grown, strict=True):
        inputs = network.inputs(Position.start().row[np.newaxis])
        with torch.no_grad():
            before, after = load_policy(tmp_path / role).network(inputs), network(inputs)
        assert before[0].std() > 0
        assert all(torch.equal(one, other) for one, other in zip(before, after, strict=True))
    with pytest.raises(ConfigError, match=r"another: network\.blocks=1 would be right"):
        start_from(str(tmp_path), two_networks(flat), "classic")
    for role, network in zip(SIDES, grown, strict=True):
        save_policy(tmp_path / "b" / role, network, role=role, rules="classic", decisions=1)
    with pytest.raises(ConfigError, match=r"another: network\.afterstates=true would be right"):
        start_from(str(tmp_path / "b"), two_networks(deep), "classic")


def test_a_reader_that_has_gone_away_ends_a_run_without_a_line(tmp_path: Path) -> None:
    path = tmp_path / "tiny.yaml"
    path.write_text(yaml.safe_dump(dataclasses.asdict(QUICK)), encoding="utf-8")
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "training.train", str(path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (BROKEN_PIPE, "")
