"""Pairs whose weights are averaged."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from untrained import drawn_network, save_untrained

import agents
from agents.networks.checkpoint import load_policy, save_policy
from thud_env import Position, ThudError
from thud_env.outcome import SIDES
from training.average import average, main


def test_each_weight_is_the_mean_of_those_of_all_pairs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for weights in (1, 2, 3):
        save_untrained(Path(f"{weights}"), weights, "koom-valley")
    assert main(["1", "2", "3", "--out", "all/three"]) == 0
    assert capsys.readouterr().out == "all/three: policy:all/three plays it\n"
    for role in SIDES:
        parts = [load_policy(f"{one}/{role}").network.state_dict() for one in (1, 2, 3)]
        policy = load_policy(f"all/three/{role}")
        assert (policy.role, policy.rules, policy.agreement) == (role, "koom-valley", False)
        for name, weight in policy.network.state_dict().items():
            mean = sum(part[name] for part in parts) / 3
            torch.testing.assert_close(weight, mean, rtol=0, atol=1e-6)
    start = Position.start("koom-valley")
    assert agents.make("policy:all/three").act(start) in start.legal_actions()


def test_a_run_is_its_newest_checkpoint_and_its_decisions_count(tmp_path):
    pairs = [tmp_path / "run", tmp_path / "other"]
    for pair, decisions in zip(pairs, (300, 40), strict=True):
        for role in SIDES:
            folder = pair / "checkpoints" / "latest" if pair.name == "run" else pair
            network = drawn_network(decisions)
            save_policy(
                folder / role,
                network,
                role=role,
                rules="classic",
                decisions=decisions,
                agreement=True,
            )
    average(pairs, tmp_path / "mean")
    policy = load_policy(tmp_path / "mean" / "trolls")
    assert (policy.decisions, policy.agreement) == (340, True)
    own = drawn_network(300).state_dict()
    assert any((policy.network.state_dict()[name] != own[name]).any() for name in own)


def of_another_kind(folder: Path, rules: str, agreement: bool, channels: int) -> Path:
    """A pair whose trolls alone are of another kind than those of ``save_untrained``."""
    for role in SIDES:
        is_other = role == "trolls"
        network = drawn_network(channels=channels if is_other else 4)
        save_policy(
            folder / role,
            network,
            role=role,
            rules=rules if is_other else "classic",
            decisions=0,
            agreement=agreement and is_other,
        )
    return folder


@pytest.mark.parametrize(
    ("rules", "agreement", "channels", "named"),
    [
        ("classic-all", False, 4, "rules='classic-all'"),
        ("classic", True, 4, "agreement=True"),
        ("classic", False, 6, "network=.* channels=6,"),
    ],
)
def test_pairs_that_are_not_alike_are_refused(tmp_path, rules, agreement, channels, named):
    save_untrained(tmp_path / "one", 1, "classic")
    other = of_another_kind(tmp_path / "other", rules, agreement, channels)
    with pytest.raises(ThudError, match=rf"other/trolls has {named}.*: one alone would be right"):
        average([tmp_path / "one", other], tmp_path / "new" / "mean")
    assert not (tmp_path / "new").exists()


def test_what_cannot_be_averaged_is_named_and_nothing_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    save_untrained(Path("one"), 1, "classic")
    save_untrained(Path("there"), 2, "classic")
    before = Path("there/dwarfs/model.safetensors").read_bytes()
    for words, said in (
        (["one", "--out", "new"], "1 to average: two or more would be right"),
        (["one", "gone", "--out", "new"], "gone/dwarfs is not a policy: there is no such folder"),
        (["one", "one", "--out", "there"], "there exists: a pair is never overwritten"),
    ):
        assert main(words) == 2
        assert capsys.readouterr().err == f"average: {said}\n"
    assert sorted(path.name for path in Path().iterdir()) == ["one", "there"]
    assert Path("there/dwarfs/model.safetensors").read_bytes() == before
