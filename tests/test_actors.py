"""Actors of a Ray cluster that play for one learner, and what happens when some are lost."""

from __future__ import annotations

import dataclasses
import io
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from ray_cluster import three_nodes
from rich.console import Console
from small_run import SMALL_RUN

ray = pytest.importorskip("ray", reason="ray has a virtual environment of its own")

from agents.networks.inputs import Inputs  # noqa: E402 (what follows needs Ray)
from agents.networks.network import Network  # noqa: E402
from training.config import OpponentConfig  # noqa: E402
from training.errors import ConfigError, RunError  # noqa: E402
from training.options import Options  # noqa: E402
from training.process.state import State  # noqa: E402
from training.runs.loop import Stopped  # noqa: E402
from training.selfplay.actors import Actor, cluster, config_of_actors  # noqa: E402
from training.train import train  # noqa: E402
from training.trainer import Trainer, self_play_trainer  # noqa: E402

CONFIG = dataclasses.replace(SMALL_RUN, name="spread", total_decisions=3000)
UPDATES = 8


@pytest.fixture
def nodes() -> Iterator[Any]:
    with three_nodes() as found:
        yield found


def where(trainer: Trainer) -> list[tuple[int, str]]:
    """The process of each actor, and its node."""
    return ray.get([actor.process.remote() for actor in trainer.play.handles])


def test_what_suits_a_gpu_is_not_asked_of_the_cores_of_actors() -> None:
    config = dataclasses.replace(CONFIG, device="cuda", precision="bfloat16", compile=True)
    theirs = config_of_actors(config, "cuda")
    assert (theirs.device, theirs.precision, theirs.compile) == ("cpu", "auto", False)
    assert (
        config_of_actors(dataclasses.replace(config, device="cpu"), "cpu").precision == "bfloat16"
    )


def test_a_cluster_that_does_not_start_is_one_line(monkeypatch) -> None:
    def too_slow(**options: object) -> None:
        raise Exception("The current node timed out during startup. This\ncould happen")

    monkeypatch.setattr("ray.init", too_slow)
    said = r"^--actors: Ray did not start: The current node timed out during startup\. This$"
    with pytest.raises(RunError, match=said), cluster(None, 2):
        pass


def same(one: State, other: State) -> bool:
    return (
        one.values == other.values
        and one.tensors.keys() == other.tensors.keys()
        and all(torch.equal(tensor, other.tensors[name]) for name, tensor in one.tensors.items())
    )


def updated(trainer: Trainer, updates: int) -> list[dict[str, float]]:
    """The metrics without times."""
    found = [trainer.update() for _ in range(updates)]
    return [{k: v for k, v in one.items() if not k.startswith("speed/")} for one in found]


@pytest.mark.slow
def test_a_killed_actor_and_a_lost_node_are_replaced_and_change_nothing(
    nodes: Any, tmp_path: Path
) -> None:
    unbroken = self_play_trainer(CONFIG, tmp_path / "unbroken", actors=2)
    wanted = updated(unbroken, UPDATES)
    state = unbroken.state()
    unbroken.roles.close()
    del unbroken  # its actors have the cores

    trainer = self_play_trainer(CONFIG, tmp_path / "broken", actors=2)
    found = updated(trainer, 2)
    (victim, _), (_, survivors_node) = before = where(trainer)
    assert len({node for _, node in before}) == 2
    os.kill(victim, signal.SIGKILL)
    found += updated(trainer, 3)
    after = where(trainer)
    assert victim not in {process for process, _ in after}

    lost = next(node for node in nodes.worker_nodes if node.node_id == survivors_node)
    nodes.remove_node(lost)
    nodes.add_node(num_cpus=1)
    found += updated(trainer, UPDATES - 5)
    assert survivors_node not in {node for _, node in where(trainer)}

    assert found == wanted
    assert same(trainer.state(), state)
    met = {
        name
        for number in range(2)
        for name in state.part("play").part(str(number)).values["opponents"]["names"]
    }
    assert any(name.isdigit() for name in met), "snapshots must have been met"
    trainer.roles.close()


@pytest.fixture
def this_machine() -> Iterator[None]:
    with cluster(None, 2):
        yield


@pytest.mark.slow
def test_rollouts_are_one_update_old(this_machine: None, tmp_path: Path) -> None:
    config = dataclasses.replace(CONFIG, opponents=OpponentConfig())
    trainer = self_play_trainer(config, tmp_path, actors=2)

    def chances() -> np.ndarray:
        """[T, B] of what was decided, by the networks as they are."""
        found = np.zeros(rollout.actions.shape, np.float32)
        for side, network in enumerate(trainer.roles.networks):
            mine = rollout.movers == side
            inputs = Inputs.of_rows(rollout.rows[mine])
            with torch.no_grad():
                log_probs = network(inputs).log_probs
            decided = torch.from_numpy(rollout.actions[mine])
            found[mine] = log_probs.numpy()[inputs.places_of(decided)]
        return found

    for _ in range(3):
        rollout = trainer.play.collect(config.rollout_decisions)
        assert rollout.actions.shape == (config.rollout_decisions, config.num_games)
        np.testing.assert_allclose(chances(), rollout.log_probs, atol=1e-5)
        # Each game is another's, the actors' no copies of each other's.
        assert len({game.tobytes() for game in rollout.rows.swapaxes(0, 1)}) == config.num_games
    trainer.update()  # learns from what was played before it
    assert trainer.roles.clock.shares()["forward"] > 0, "all of it the actors'"
    rollout = trainer.play.collect(config.rollout_decisions)  # ordered before it, too
    assert np.abs(chances() - rollout.log_probs).max() > 1e-3
    rollout = trainer.play.collect(config.rollout_decisions)
    np.testing.assert_allclose(chances(), rollout.log_probs, atol=1e-5)
    trainer.roles.close()


def quietly(runs: Path, **named: Any) -> tuple[Path, str]:
    console = Console(file=io.StringIO(), force_terminal=False, width=200)
    folder = train(CONFIG, console, runs, Options(actors=2, **named))
    return folder.path, console.file.getvalue()  # type: ignore[attr-defined]


def contents(folder: Path) -> dict[str, bytes]:
    newest = (folder / "checkpoints" / "latest").resolve()
    return {str(path.relative_to(newest)): path.read_bytes() for path in newest.rglob("*.*")}


@pytest.mark.slow
def test_a_run_that_is_stopped_goes_on_exactly(tmp_path: Path) -> None:
    unbroken, shown = quietly(tmp_path / "unbroken")
    assert "2 actors play" in shown
    with pytest.raises(Stopped):
        quietly(tmp_path / "broken", minutes=0.002)
    broken, shown = quietly(tmp_path / "broken", resume=True)
    assert "going on from" in shown
    assert contents(broken) == contents(unbroken)
    with pytest.raises(RunError, match="trained by 2 actors: --actors 2 would be right"):
        train(CONFIG, Console(quiet=True), tmp_path / "broken", Options(resume=True))


@pytest.mark.slow
def test_actors_compile_no_trunks(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(network: Network) -> None:
        raise AssertionError("an actor plays on a processor")

    monkeypatch.setattr(Network, "compile_trunk", refuse)
    seeds = np.random.SeedSequence(1).spawn(2)
    theirs = config_of_actors(dataclasses.replace(SMALL_RUN, compile=True), "cpu")
    assert Actor(theirs, 2, None, *seeds).start().tensors


def test_actors_for_which_no_core_is_free_wait_with_a_word(
    nodes: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    ray.shutdown()  # the fixture has joined already
    with cluster(nodes.address, 2):
        pass
    assert capsys.readouterr().err == ""
    with cluster(nodes.address, 3):
        pass
    assert capsys.readouterr().err == (
        "--actors 3: 2 of the cluster's 2 cores are free: others wait\n"
    )


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1:100000", "auto", "nowhere"])
def test_a_missing_cluster_is_one_line(address: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"--cluster {address}: "):
        quietly(tmp_path, cluster=address)
    assert list(tmp_path.iterdir()) == []
