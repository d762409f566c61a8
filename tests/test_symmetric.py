"""The network whose weights are tied: a mirrored position is judged as the position is."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from by_hand import decide, place
from rich.console import Console
from small_run import SMALL_RUN
from test_checkpoint import edit_manifest

import agents
from agents.networks.checkpoint import CheckpointError, load_policy, save_policy
from agents.networks.config import NetworkConfig
from agents.networks.folders import LATEST
from agents.networks.network import Network, PolicyNetwork
from agents.networks.symmetric import SymmetricConfig, SymmetricNetwork
from thud_env import CLASSIC, Position, ThudError
from thud_env.actions import NUM_ACTIONS
from thud_env.board import SQUARE_BY_NAME, SQUARE_NAMES, SQUARE_SYMMETRY
from thud_env.symmetry import map_policy, map_position
from training.distill.muon import optimisers_of
from training.options import Options
from training.runs.loop import Stopped
from training.train import main, train


def drawn(network: PolicyNetwork) -> PolicyNetwork:
    """With every weight drawn: at the start some are zero and would hide faults."""
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.2)
    return network.eval()


def a_network(**sizes: int) -> PolicyNetwork:
    planes = {"attack_planes": True, "threat_planes": True, "afterstates": True}
    return drawn(
        SymmetricNetwork(SymmetricConfig(channels=16, blocks=2, key_size=8, **sizes, **planes))
    )


def judged(network: PolicyNetwork, position: Position) -> tuple[np.ndarray, float]:
    """[6470] log-probabilities, 0 for illegal decisions, and the value."""
    inputs = network.inputs(position.row[None])
    with torch.no_grad():
        log_probs, _, values = network(inputs)
    policy = np.zeros(NUM_ACTIONS)
    policy[inputs.decisions.numpy()] = log_probs.numpy()
    return policy, float(values[0])


POSITIONS = [
    place("classic", "G6 H6 J6 A8 B5", "H3 H2 L9", "t"),
    decide(place("classic-all", "G6 H6 J6", "H4", "t"), "H4-H5"),
    place("classic", "A8 D3 O7", "H3 K12", quiet=9, played=9, offer_after=4, agreement=True),
]


@pytest.mark.parametrize("position", POSITIONS, ids=("captures", "capturing", "offers"))
@pytest.mark.parametrize("symmetry", range(8))
def test_a_mirrored_position_is_judged_as_the_position_is(symmetry: int, position) -> None:
    network = a_network()
    policy, value = judged(network, position)
    mirrored, same = judged(network, map_position(symmetry, position))
    assert np.ptp(policy) > 0.1
    np.testing.assert_allclose(mirrored, map_policy(symmetry, policy), atol=1e-4)
    assert same == pytest.approx(value, abs=1e-4)


def images(symmetry: int, squares: str) -> str:
    numbers = [SQUARE_BY_NAME[name] for name in squares.split()]
    return " ".join(SQUARE_NAMES[SQUARE_SYMMETRY[symmetry, number]] for number in numbers)


def test_with_two_symmetries_left_and_right_alone_are_alike() -> None:
    network = a_network(symmetries=2)
    dwarfs, trolls = "H4 J5 A8", "H3 C5"
    policy, value = judged(network, place("koom-valley", dwarfs, trolls, "t"))
    alike = []
    for symmetry in range(8):
        image = place("koom-valley", images(symmetry, dwarfs), images(symmetry, trolls), "t")
        mirrored, other = judged(network, image)
        alike.append(np.allclose(mirrored, map_policy(symmetry, policy), atol=1e-4))
        assert alike[-1] == (abs(other - value) < 1e-5)
    assert alike == [True, False, False, False, True, False, False, False]


def test_an_eighth_of_the_weights_of_a_trunk_are_free() -> None:
    plain = Network(NetworkConfig(channels=16, blocks=2))
    tied = SymmetricNetwork(SymmetricConfig(channels=16, blocks=2))
    count = [sum(one.numel() for one in network.trunk.parameters()) for network in (plain, tied)]
    assert count[0] == 8 * count[1]
    assert tied.trunk[0].first.weight.shape == plain.trunk[0].first.weight.shape


def test_weights_at_the_start_are_as_large_as_a_residual_networks() -> None:
    torch.manual_seed(1)
    plain = Network(NetworkConfig(channels=16, blocks=2))
    tied = SymmetricNetwork(SymmetricConfig(channels=16, blocks=2))
    for layer in ("stem", "keys"):
        deviations = [float(getattr(one, layer).weight.detach().std()) for one in (plain, tied)]
        assert deviations[1] == pytest.approx(deviations[0], rel=0.2)


def test_written_out_it_judges_the_same() -> None:
    network = a_network()
    plain = network.written_out()
    for position in POSITIONS:
        policy, value = judged(network, position)
        same_policy, same_value = judged(plain, position)
        np.testing.assert_allclose(same_policy, policy, atol=1e-5)
        assert same_value == pytest.approx(value, abs=1e-5)
    assert type(plain) is Network
    assert sum(one.numel() for one in plain.parameters()) > 7 * sum(
        one.numel() for one in network.parameters()
    )


def test_it_is_saved_and_read(tmp_path: Path) -> None:
    network = a_network()
    save_policy(tmp_path / "dwarfs", network, role="dwarfs", rules="classic", decisions=0)
    read = load_policy(tmp_path / "dwarfs").network
    assert read.config == network.config
    assert judged(read, POSITIONS[0])[1] == judged(network, POSITIONS[0])[1]


@pytest.mark.parametrize("size", [{"channels": 9000}, {"key_size": 8 * 10**8}, {"blocks": 64}])
def test_a_manifest_that_asks_for_another_size_ties_no_weights(
    tmp_path: Path, monkeypatch, size: dict[str, int]
) -> None:
    network = a_network()
    save_policy(tmp_path / "dwarfs", network, role="dwarfs", rules="classic", decisions=0)
    edit_manifest(tmp_path / "dwarfs", network={**dataclasses.asdict(network.config), **size})
    monkeypatch.setattr("agents.networks.symmetric._tie", lambda *_: pytest.fail("it was built"))
    with pytest.raises(CheckpointError, match="it has too few weights for"):
        load_policy(tmp_path / "dwarfs")


def test_muon_trains_its_tied_convolutions() -> None:
    network = a_network()
    (group,) = optimisers_of(network, 1e-3)["muon"].param_groups
    assert [one.shape for one in group["params"]] == [(2, 16, 3, 3)] * 4


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"channels": 20}, "channels=20 must be a multiple of symmetries=8"),
        ({"key_size": 12}, "key_size=12 must be a multiple of symmetries=8"),
        ({"symmetries": 4}, "symmetries=4: 2 or 8 would be right"),
    ],
)
def test_a_size_that_has_no_symmetry_is_refused(sizes: dict[str, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        SymmetricConfig(**sizes)


def test_a_game_with_a_goal_asks_for_two_symmetries(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    smoke = str(Path(__file__).parents[1] / "configs" / "smoke.yaml")
    words = ["rules=koom-valley", "network.kind=symmetric"]
    assert main([smoke, *words]) == 2
    said = capsys.readouterr().err
    assert "network.symmetries=8: koom-valley has 2" in said
    assert not list(tmp_path.iterdir())


def test_a_game_of_another_mirror_than_left_right_is_refused() -> None:
    dwarfs = tuple(name for name in CLASSIC.dwarfs if name != "A8")
    own = CLASSIC.replace(name="off-centre", stone="A8", dwarfs=dwarfs)
    assert own.symmetries == (0, 5)
    with pytest.raises(ThudError, match="symmetries=2: off-centre has another than left-right"):
        SymmetricConfig(channels=8, key_size=8, symmetries=2).check_rules(own)


def test_it_is_trained_stopped_and_resumed_and_plays(tmp_path: Path) -> None:
    network = SymmetricConfig(channels=8, blocks=1, key_size=8, attack_planes=True)
    config = dataclasses.replace(SMALL_RUN, total_decisions=500, anchor_games=0, network=network)
    with pytest.raises(Stopped):
        train(config, Console(), tmp_path, Options(minutes=1e-9))
    latest = train(config, Console(), tmp_path, Options(resume=True)).path / LATEST
    assert isinstance(load_policy(latest / "trolls").network, SymmetricNetwork)
    assert agents.make(f"policy:{latest}").turn(Position.start()) in Position.start().turns()
