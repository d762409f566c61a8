"""Policies outside of this project: as ONNX, and from one file of safetensors."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import agents
from agents.export import DensePolicy, main
from agents.networks.afterstates import AFTERSTATE_FEATURES, afterstate_features
from agents.networks.attacks import attack_planes
from agents.networks.checkpoint import load_policy, save_policy
from agents.networks.config import NetworkConfig
from agents.networks.folders import PRETRAINED
from agents.networks.kinds import make_network
from agents.networks.network import Network, PolicyNetwork
from agents.networks.symmetric import SymmetricConfig
from thud_env import BatchedGame, Position
from thud_env.actions import ACCEPT, OFFER
from thud_env.views.encoding import NUM_PLANES, encode_rows

ROOT = Path(__file__).parents[1]


SIZES = {
    "observation": NetworkConfig(channels=6, blocks=2, key_size=4),
    "attack planes": NetworkConfig(channels=6, blocks=2, key_size=4, attack_planes=True),
    "threat planes": NetworkConfig(
        channels=6, blocks=2, key_size=4, attack_planes=True, threat_planes=True
    ),
    "symmetric": SymmetricConfig(channels=8, blocks=1, key_size=8),
    "afterstates": SymmetricConfig(channels=8, blocks=1, key_size=8, afterstates=True),
}


@pytest.fixture(params=SIZES.values(), ids=SIZES)
def network(request: pytest.FixtureRequest) -> PolicyNetwork:
    torch.manual_seed(4)
    made = make_network(request.param)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.2)
    return made.eval()


@pytest.fixture
def saved(network: Network, tmp_path: Path) -> Path:
    folder = tmp_path / "dwarfs"
    save_policy(folder, network, role="dwarfs", rules="classic", decisions=1, agreement=True)
    return folder


def some_rows() -> np.ndarray:
    """Of all kinds of decisions, at all stages."""
    rows = []
    for rules in ("classic", "koom-valley"):
        games = BatchedGame(40, rules, observations=False, masks=None, seed=2, agreement=True)
        for _ in range(60):
            games.step(games.sample_actions())
        rows.append(games.rows.copy())
    return np.concatenate(rows)


def inputs_of(network: PolicyNetwork, rows: np.ndarray) -> dict[str, np.ndarray]:
    """What the exported graph reads."""
    config, planes = network.config, encode_rows(rows)
    if config.attack_planes:
        planes = np.concatenate((planes, attack_planes(rows, config.threat_planes)), axis=1)
    after = {"afterstates": afterstate_features(rows)} if config.afterstates else {}
    return {"observations": planes, **after}


def assert_parity(logits: torch.Tensor, values: torch.Tensor, network: Network) -> None:
    inputs = network.inputs(some_rows())
    with torch.no_grad():
        wanted, _, wanted_values = network(inputs)
    for game, (first, last) in enumerate(zip(inputs.starts[:-1], inputs.starts[1:], strict=True)):
        legal = inputs.decisions[first:last]
        own = logits[game, legal].log_softmax(0)
        torch.testing.assert_close(own, wanted[first:last], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(values, wanted_values, rtol=1e-4, atol=1e-5)


def test_the_dense_policy_says_what_the_network_says(network: Network) -> None:
    with torch.no_grad():
        read = inputs_of(network, some_rows())
        logits, values = DensePolicy(network, agreement=True)(*map(torch.from_numpy, read.values()))
    assert logits.shape == (80, 6470)
    assert_parity(logits, values, network)


def test_a_dense_policy_trained_without_agreement_neither_offers_nor_accepts() -> None:
    torch.manual_seed(4)
    network = make_network(SIZES["observation"]).eval()
    assert isinstance(network, Network)
    planes = torch.from_numpy(encode_rows(some_rows()))
    with torch.no_grad():
        learnt, unlearnt = (DensePolicy(network, known)(planes)[0] for known in (True, False))
    differ = (learnt != unlearnt).any(0).nonzero().flatten().tolist()
    assert differ == [OFFER, ACCEPT]
    assert unlearnt[:, differ].max() < -1e8


@pytest.mark.slow
def test_an_onnx_file_says_what_the_network_says(network: Network, saved: Path, capfd) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    target = saved.parent / "dwarfs.onnx"
    assert main([str(saved), str(target)]) == 0
    attacks = network.num_planes - NUM_PLANES
    note = f" (the last {attacks} are not the environment's: --help)" if attacks else ""
    after = " and afterstates [N, 6470, 8]" if network.config.afterstates else ""
    shape = f"{network.num_planes}, 15, 15]{note}{after}"
    said = f"observations [N, {shape} in, logits [N, 6470] and values [N] out, all float32"
    assert capfd.readouterr() == (f"{target}: {said}\n", "")
    session = runtime.InferenceSession(str(target), providers=["CPUExecutionProvider"])
    rows = some_rows()
    read = inputs_of(network, rows)
    logits, values = session.run(["logits", "values"], read)
    assert_parity(torch.from_numpy(logits), torch.from_numpy(values), network)
    metadata = session.get_modelmeta().custom_metadata_map
    assert (metadata["role"], metadata["rules"]) == ("dwarfs", "classic")
    assert len(metadata["planes"].split()) == network.num_planes
    features = [feature.name for feature in AFTERSTATE_FEATURES]
    assert metadata.get("afterstates", "").split() == features * network.config.afterstates
    said: dict[str, Any] = {}
    exec(documented("onnx").replace("PATH", str(target)), said)
    start = network.inputs(Position.start().row[None])
    with torch.no_grad():
        log_probs = network(start).log_probs
    assert said["action"] == start.decisions[log_probs.argmax()]
    one, _ = session.run(None, {name: array[:1] for name, array in read.items()})
    np.testing.assert_allclose(one[0], logits[0], rtol=1e-4, atol=1e-4)
    assert [path.name for path in saved.parent.iterdir() if path.name.startswith(".")] == []


def test_nothing_is_overwritten(saved: Path, capsys) -> None:
    target = saved.parent / "there.onnx"
    target.write_text("mine")
    assert main([str(saved), str(target)]) == 2
    assert "exists: name another file" in capsys.readouterr().err
    assert target.read_text() == "mine"


def test_what_fails_to_be_written_is_named_and_leaves_nothing(
    saved: Path, monkeypatch, capsys
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("agents.export._write", full)
    target = saved.parent / "dwarfs.onnx"
    assert main([str(saved), str(target)]) == 1
    assert capsys.readouterr().err == f"export: {target}: No space left on device\n"
    assert list(saved.parent.iterdir()) == [saved]


def test_the_error_for_a_folder_of_both_roles_names_them(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)  # the policies that come along are found from anywhere
    assert main(["pretrained/classic", "x.onnx"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    for role in ("dwarfs", "trolls"):
        assert str(PRETRAINED / "classic" / role) in said


def test_a_folder_that_is_missing_is_named_before_anything_is_exported(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch.onnx, "export", None)
    assert main(["pretrained/classic/dwarfs", "no/x.onnx"]) == 2
    assert capsys.readouterr().err == "export: there is no folder no to write x.onnx to\n"


def test_a_folder_that_is_not_a_policy_is_refused(tmp_path: Path, capsys) -> None:
    assert main([str(tmp_path), str(tmp_path / "x.onnx")]) == 2
    assert "is not a policy" in capsys.readouterr().err


def test_a_spec_is_no_folder(capsys) -> None:
    assert main(["policy:champion", "x.onnx"]) == 2
    reason = "there is no such folder: a folder, not a spec, would be right"
    said = capsys.readouterr().err
    assert said == f"export: policy:champion is not a policy: {reason}\n"


def documented(marker: str) -> str:
    """The lines in docs/training.md after a marker."""
    text = (ROOT / "docs" / "training.md").read_text()
    block = text.split(f"<!-- {marker} -->")[1].split("```py\n")[1]
    return block.split("```")[0]


def test_the_documented_lines_save_a_policy_that_has_learnt(tmp_path: Path) -> None:
    saved = tmp_path / "tuned"
    exec(documented("tune").replace("PATH", str(saved)), {})
    before, after = (
        load_policy(folder).network.state_dict()
        for folder in (PRETRAINED / "classic" / "dwarfs", saved)
    )
    assert any(not torch.equal(before[name], after[name]) for name in before)
    start = Position.start()
    assert agents.make(f"policy:{saved}").act(start) in start.legal_actions()


def test_the_documented_lines_load_a_policy_without_the_training_package(
    network: Network, saved: Path
) -> None:
    code = documented("load")
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    assert "PATH" in code
    assert "training" not in code  # nor does what it imports: test_imports.py
    said: dict[str, Any] = {}
    exec(code.replace("PATH", str(saved / "model.safetensors")), said)
    start = Position.start()
    assert said["action"] in start.legal_actions()
    with torch.no_grad():
        wanted = network(network.inputs(start.row[None])).values
    torch.testing.assert_close(said["values"].detach(), wanted, rtol=0, atol=1e-5)
