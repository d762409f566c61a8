"""Policies on disk: saved ones are loaded and play; anything else is refused."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pickle
import shutil
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from untrained import drawn_network

import agents
from agents import durable
from agents.networks.checkpoint import (
    OWN_HASH,
    CheckpointError,
    NotFiniteError,
    load_policy,
    save_policy,
)
from agents.networks.config import CONFIG_CLASSES, NetworkConfig, config_class
from agents.networks.folders import MANIFEST, MODEL
from agents.networks.kinds import NETWORKS, make_network
from agents.networks.network import Network
from agents.policy import PolicyAgent
from thud_env import CLASSIC, BatchedGame, Position, ThudError
from thud_env.actions import describe_action
from thud_env.outcome import SIDES


def save(
    folder: Path,
    role: str = "dwarfs",
    rules: str = "classic",
    seed: int = 1,
    decisions: int = 99,
) -> Path:
    save_policy(folder, drawn_network(seed), role=role, rules=rules, decisions=decisions)
    return folder


def edit_manifest(folder: Path, **changes: object) -> None:
    """Change keys of a manifest and give it the hash that fits; None removes one."""
    path = folder / MANIFEST
    changed = {**json.loads(path.read_text()), **changes}
    manifest = {k: v for k, v in changed.items() if v is not None and k != OWN_HASH}
    hashed = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps({**manifest, OWN_HASH: hashed}))


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return save(tmp_path / "policy")


def left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*")}


# -- saving and loading --------------------------------------------------------------------


def test_what_was_saved_is_loaded(saved: Path) -> None:
    loaded, wanted = load_policy(saved), drawn_network()
    assert (loaded.role, loaded.rules, loaded.decisions) == ("dwarfs", "classic", 99)
    assert loaded.network.config == wanted.config
    assert not loaded.network.training
    for name, value in wanted.state_dict().items():
        torch.testing.assert_close(loaded.network.state_dict()[name], value, rtol=0, atol=0)


def test_a_loaded_policy_plays_as_the_network_that_was_saved(tmp_path: Path) -> None:
    pair = tmp_path / "pair"
    networks = (drawn_network(1), drawn_network(2))
    for role, network in zip(("dwarfs", "trolls"), networks, strict=True):
        save_policy(pair / role, network, role=role, rules="classic", decisions=0)
    agent, direct = PolicyAgent(pair, seed=3), PolicyAgent(pair, seed=3)
    for role, network in zip(("dwarfs", "trolls"), networks, strict=True):
        loaded = direct._pair.checkpoint(role, CLASSIC)
        direct._pair._checkpoints[role] = dataclasses.replace(loaded, network=network)
    games = BatchedGame(6, observations=False, masks=None)
    for _ in range(12):
        actions = agent.act_rows(games.rows)
        np.testing.assert_array_equal(actions, direct.act_rows(games.rows))
        games.step(actions)


def test_a_checkpoint_is_two_files_and_no_pickle(saved: Path) -> None:
    assert left_in(saved) == {MODEL, MANIFEST}
    model = (saved / MODEL).read_bytes()
    header = json.loads(model[8 : 8 + int.from_bytes(model[:8], "little")])
    described = header.pop("__metadata__")
    assert json.loads(described["network"]) == dataclasses.asdict(drawn_network().config)
    assert {entry["dtype"] for entry in header.values()} == {"F32"}
    assert json.loads((saved / MANIFEST).read_text())["format"] == "thud-policy"


def test_an_option_that_a_manifest_does_not_name_has_its_default(saved: Path) -> None:
    edit_manifest(saved, network={"channels": 4, "blocks": 1, "key_size": 2})
    assert load_policy(saved).network.config == NetworkConfig(channels=4, blocks=1, key_size=2)


def test_the_same_policy_is_the_same_bytes(tmp_path: Path) -> None:
    saved = {(save(tmp_path / str(number)) / MODEL).read_bytes() for number in range(20)}
    assert len(saved) == 1


def test_an_existing_checkpoint_is_never_overwritten(saved: Path) -> None:
    before = (saved / MODEL).read_bytes()
    with pytest.raises(FileExistsError, match=str(saved)):
        save(saved, seed=2)
    assert (saved / MODEL).read_bytes() == before
    assert left_in(saved.parent) == {"policy", MODEL, MANIFEST}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"role": "dwarf"}, "role 'dwarf'"),
        ({"rules": "clasic"}, "unknown ruleset 'clasic'"),
        ({"decisions": -1}, "decisions must be 0 or more, not -1"),
    ],
)
def test_a_policy_that_could_not_be_loaded_is_not_saved(
    words: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(ThudError, match=said):
        save(tmp_path / "policy", **words)
    assert not list(tmp_path.iterdir())


def test_a_network_of_no_known_kind_is_not_saved(tmp_path: Path) -> None:
    network = Network(NetworkConfig(kind="unheard", channels=4, blocks=1, key_size=2))
    with pytest.raises(ThudError, match="no kind of network is called 'unheard'"):
        save_policy(tmp_path / "new", network, role="dwarfs", rules="classic", decisions=0)
    assert not (tmp_path / "new").exists()


def test_only_a_policy_of_the_game_is_saved_as_one(tmp_path: Path) -> None:
    symmetric = make_network(config_class({"kind": "symmetric"})())
    with pytest.raises(ThudError, match="symmetries"):
        save_policy(tmp_path / "p", symmetric, role="dwarfs", rules="koom-valley", decisions=0)
    with pytest.raises(TypeError, match="a Linear is no policy: a PolicyNetwork would be right"):
        save_policy(
            tmp_path / "p",
            torch.nn.Linear(2, 2),  # type: ignore[arg-type]
            role="dwarfs",
            rules="classic",
            decisions=0,
        )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("failing", [1, 2])
def test_a_save_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch, failing) -> None:
    """Before the first and before the second of the two files is on disk."""
    calls = []

    def full_disk(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == failing:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(durable.os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        save(tmp_path / "policy")
    assert left_in(tmp_path) == set()
    assert save(tmp_path / "policy").is_dir(), "and the next save succeeds"


def test_what_a_killed_save_left_does_not_stop_the_next(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(durable.os, "getpid", lambda: 7)
    stale = tmp_path / ".policy.7.tmp"
    stale.mkdir()
    (stale / "half").write_text("")
    save(tmp_path / "policy")
    assert left_in(tmp_path) == {"policy", MODEL, MANIFEST}


# -- damage --------------------------------------------------------------------------------


def test_nothing_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="none is not a policy: there is no such folder"):
        load_policy(tmp_path / "none")
    with pytest.raises(
        CheckpointError, match="there is no such folder: a folder, not a spec, would"
    ):
        load_policy("policy:pretrained/classic/dwarfs")
    with pytest.raises(CheckpointError, match=r"is not a policy: it has no manifest\.json"):
        load_policy(tmp_path)


def test_a_pair_of_the_checkout_is_found_by_its_name_and_a_role_is_asked_for(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = load_policy("pretrained/koom-valley-football/trolls")
    assert (found.role, found.rules) == ("trolls", "koom-valley-football")
    with pytest.raises(CheckpointError, match=r"football is of both roles: .*dwarfs or .*trolls"):
        load_policy("pretrained/koom-valley-football")


@pytest.mark.parametrize("name", [MODEL, MANIFEST])
def test_a_missing_file_is_named(saved: Path, name: str) -> None:
    (saved / name).unlink()
    with pytest.raises(CheckpointError, match=name):
        load_policy(saved)


@pytest.mark.parametrize("length", [0, 7, 100, -1])
@pytest.mark.parametrize("name", [MODEL, MANIFEST])
def test_a_truncated_file_is_named(saved: Path, name: str, length: int) -> None:
    path = saved / name
    # The manifest ends with a line feed, whose loss is no damage.
    path.write_bytes(path.read_bytes().rstrip(b"\n")[:length])
    with pytest.raises(CheckpointError, match=f"{name} is damaged"):
        load_policy(saved)


def test_a_flipped_bit_in_the_model_is_found(saved: Path) -> None:
    path, random = saved / MODEL, Random(5)
    sound = path.read_bytes()
    for _ in range(40):
        data = bytearray(sound)
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        path.write_bytes(data)
        with pytest.raises(CheckpointError, match=f"{MODEL} is damaged"):
            load_policy(saved)


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
def test_a_damaged_manifest_is_refused_by_name_or_says_the_same(saved: Path) -> None:
    path, random = saved / MANIFEST, Random(6)
    sound = path.read_bytes()
    said = []
    for _ in range(400):
        data = bytearray(sound)
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        path.write_bytes(data)
        try:
            load_policy(saved)
        except CheckpointError as error:
            said.append(str(error))
        else:  # the damage was to the space between words
            assert json.loads(data) == json.loads(sound)
    assert all(one.startswith(str(saved)) and "\n" not in one for one in said)


def test_a_manifest_without_its_hash_is_refused(saved: Path) -> None:
    path = saved / MANIFEST
    said = json.loads(path.read_text())
    del said[OWN_HASH]
    path.write_text(json.dumps({**said, "decisions": said["decisions"] + 1}))
    with pytest.raises(CheckpointError, match=f"{OWN_HASH} is missing"):
        load_policy(saved)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_neither_saved_nor_loaded(
    tmp_path: Path, monkeypatch, value: float
) -> None:
    network = drawn_network()
    with torch.no_grad():
        network.stem.weight[0, 0, 0, 0] = value
    with pytest.raises(NotFiniteError, match=r"network of the trolls: stem\.weight"):
        save_policy(tmp_path / "a", network, role="trolls", rules="classic", decisions=1)
    assert left_in(tmp_path) == set()
    with monkeypatch.context() as patch:
        patch.setattr("agents.networks.checkpoint.check_finite", lambda *_: None)
        save_policy(tmp_path / "a", network, role="trolls", rules="classic", decisions=1)
    with pytest.raises(CheckpointError, match=r"its tensor stem\.weight has numbers"):
        load_policy(tmp_path / "a")


@pytest.mark.parametrize(
    "network",
    [
        {"channels": 9000, "blocks": 1, "key_size": 2},
        {"channels": 4, "blocks": 10**9, "key_size": 2},
        {"channels": 10**30, "blocks": 1, "key_size": 2},
        {"channels": 4, "blocks": 1, "key_size": 2.0},
    ],
)
def test_a_manifest_that_asks_for_another_size_builds_no_network(
    saved: Path, monkeypatch, network: dict[str, object]
) -> None:
    edit_manifest(saved, network=network)
    monkeypatch.setattr(Network, "load_state_dict", lambda *_: pytest.fail("the network was built"))
    with pytest.raises(CheckpointError, match=f"{MODEL} does not fit its manifest"):
        load_policy(saved)


def test_a_model_of_any_length_is_refused(saved: Path, monkeypatch) -> None:
    length = (saved / MODEL).stat().st_size
    monkeypatch.setattr("agents.networks.checkpoint._MOST_OF_MODEL", length)
    load_policy(saved)
    with (saved / MODEL).open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(CheckpointError, match=f"{MODEL} is longer than {length} bytes"):
        load_policy(saved)
    monkeypatch.setattr("agents.networks.checkpoint._MOST_OF_MODEL", length - 1)
    with pytest.raises(ThudError, match=f"takes {length} bytes: {length - 1} at most can be read"):
        save(saved.with_name("again"))
    assert not saved.with_name("again").exists()


def test_a_manifest_of_any_length_is_refused_in_a_short_line(saved: Path) -> None:
    edit_manifest(saved, planes="x" * 500_000)
    with pytest.raises(CheckpointError, match="has planes") as error:
        load_policy(saved)
    assert len(str(error.value)) < 2000
    edit_manifest(saved, planes="x" * 2_000_000)
    with pytest.raises(CheckpointError, match="is not a manifest: it is longer"):
        load_policy(saved)


@pytest.mark.parametrize("text", ["[]", "5", "{}", "null", '{"format": "other"}', "[" * 100_000])
def test_foreign_json_is_refused(saved: Path, text: str) -> None:
    (saved / MANIFEST).write_text(text)
    with pytest.raises(CheckpointError, match=MANIFEST):
        load_policy(saved)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("format_version", 2, "has format_version 2: this version of thud_env reads 1"),
        ("planes", ["dwarfs"], r"has planes \['dwarfs'\]"),
        ("actions", 19_800, "has actions 19800: this version of thud_env reads 6470"),
        ("role", "elves", "unknown role"),
        ("role", None, "role is missing"),
        ("rules", "chess", "an unknown ruleset"),
        ("decisions", "many", "decisions is missing or of the wrong kind"),
        ("sha256", None, "sha256 is missing"),
        ("sha256", "0" * 64, f"{MODEL} is damaged"),
        ("network", {"channels": 8}, "does not fit its manifest"),
        ("network", {"chanels": 4}, "does not fit its manifest"),
        ("network", {"channels": "four"}, "does not fit its manifest"),
    ],
)
def test_a_manifest_of_another_kind_is_refused(saved: Path, key, value, said) -> None:
    edit_manifest(saved, **{key: value})
    with pytest.raises(CheckpointError, match=said) as error:
        load_policy(saved)
    assert str(saved) in str(error.value)


def test_a_pickle_is_not_opened(saved: Path) -> None:
    """Even one whose hash the manifest vouches for."""

    class Exploit:
        def __reduce__(self):
            return (pytest.fail, ("the pickle was opened",))

    model = pickle.dumps(Exploit())
    (saved / MODEL).write_bytes(model)
    edit_manifest(saved, sha256=hashlib.sha256(model).hexdigest())
    with pytest.raises(CheckpointError, match=f"{MODEL} does not fit"):
        load_policy(saved)


# -- playing from a folder -----------------------------------------------------------------


def test_a_folder_of_one_role_plays_that_role_only(saved: Path) -> None:
    agent = agents.make(f"policy:{saved}")
    start = Position.start("classic")
    after = start.apply(agent.act(start))
    with pytest.raises(CheckpointError, match="holds no policy for the trolls"):
        agent.act(after)


def test_a_folder_of_both_roles_plays_both(tmp_path: Path) -> None:
    for role in ("dwarfs", "trolls"):
        save(tmp_path / role, role)
    agent = agents.make(f"policy:{tmp_path},temperature=0", seed=1)
    position = Position.start("classic", max_turns=4)
    while position.outcome is None:
        position = position.play(agent.turn(position))
    assert position.turn_number == 4


def test_a_policy_plays_the_ruleset_it_was_trained_for_only(saved: Path) -> None:
    agent = agents.make(f"policy:{saved}")
    with pytest.raises(CheckpointError, match="was trained for classic, not koom-valley"):
        agent.act(Position.start("koom-valley"))


def test_a_damaged_half_of_a_pair_is_refused_at_once(tmp_path: Path) -> None:
    for role in ("dwarfs", "trolls"):
        save(tmp_path / role, role)
    (tmp_path / "trolls" / MODEL).write_bytes(b"")
    with pytest.raises(CheckpointError, match=f"trolls/{MODEL} is damaged"):
        agents.make(f"policy:{tmp_path}")


def test_a_role_in_the_other_roles_folder_is_refused(tmp_path: Path) -> None:
    save(tmp_path / "trolls", "trolls")
    shutil.copytree(tmp_path / "trolls", tmp_path / "dwarfs")
    with pytest.raises(CheckpointError, match="dwarfs holds a policy for the trolls"):
        agents.make(f"policy:{tmp_path}")


def test_temperature_0_ignores_the_seed(saved: Path) -> None:
    start = Position.start("classic")
    makers = [f"policy:{saved},temperature={t}" for t in (0, 1)]
    cold, warm = (
        {agents.make(spec, seed=seed).act(start) for seed in range(12)} for spec in makers
    )
    assert len(cold) == 1
    assert len(warm) > 1


# -- agreement -----------------------------------------------------------------------------


def answers(folder: Path, agreement: bool) -> Counter[str]:
    """How often a policy of random weights offers, accepts and declines where it may."""
    torch.manual_seed(3)
    for role in SIDES:
        save_policy(
            folder / role,
            drawn_network(),
            role=role,
            rules="classic",
            decisions=1,
            agreement=agreement,
        )
    player = agents.make(f"policy:{folder}", seed=1)
    start = Position.start("classic", agreement=True, offer_after=1, max_turns=100)
    rows = np.tile(start.play(start.turns()[0]).row, (400, 1))
    found = Counter(describe_action(int(action)) for action in player.act_rows(rows))
    asked = Position(rows[0]).play("offer")
    for action in player.act_rows(np.tile(asked.row, (100, 1))):
        found[describe_action(int(action))] += 1
    return Counter({word: found[word] for word in ("offer", "accept", "decline")})


def test_decisions_that_were_not_trained_are_not_played(tmp_path: Path) -> None:
    assert answers(tmp_path / "without", agreement=False) == {
        "offer": 0,
        "accept": 0,
        "decline": 100,
    }
    trained = answers(tmp_path / "with", agreement=True)
    assert min(trained.values()) > 0
    assert load_policy(tmp_path / "with" / "dwarfs").agreement


# -- kinds of networks ---------------------------------------------------------------------


def test_each_kind_has_sizes_and_drawn_network() -> None:
    assert CONFIG_CLASSES.keys() == NETWORKS.keys()
    with pytest.raises(ThudError, match="no kind of network is called 'flat'"):
        make_network(NetworkConfig(kind="flat"))


def test_a_manifest_can_name_the_kinds_that_are_listed_and_no_other(saved: Path) -> None:
    said = json.loads((saved / MANIFEST).read_text())
    assert said["network"]["kind"] == "residual"
    edit_manifest(saved, network={**said["network"], "kind": "os:system"})
    with pytest.raises(CheckpointError, match="no kind of network is called 'os:system'"):
        load_policy(saved)


def test_a_pair_that_learnt_two_games_was_trained_for_none_alone(tmp_path: Path) -> None:
    network = Network(NetworkConfig(channels=4, blocks=1, key_size=2))
    for role, rules in (("dwarfs", "classic"), ("trolls", "classic-all")):
        save_policy(tmp_path / role, network, role=role, rules=rules, decisions=0)
    assert PolicyAgent(tmp_path).trained_for is None
    assert PolicyAgent(tmp_path / "trolls").trained_for == "classic-all"
