"""Several processes that train together, over gloo."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, get_ident

import numpy as np
import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as processes
import yaml
from numpy.typing import NDArray
from rich.console import Console
from small_run import SMALL_RUN

from agents.networks.config import NetworkConfig
from agents.networks.network import Network
from thud_env import CLASSIC, BatchedGame
from thud_env.outcome import SIDES
from training.config import OpponentConfig, PPOConfig
from training.errors import ConfigError, RunError
from training.learner.batches import Batch
from training.learner.ppo import Learner
from training.options import Options
from training.process import roles
from training.process.clock import Clock
from training.process.precision import Precision, use_device
from training.process.ranks import Ranks
from training.process.roles import Roles
from training.process.stopping import STOPPING, TIME, reason_of_all
from training.selfplay.battle_metrics import battle_metrics
from training.selfplay.opponents import names_met
from training.selfplay.rollout import joined
from training.train import train
from training.trainer import self_play_trainer

ROOT = Path(__file__).parents[1]
DECISIONS = (64, 40)
"""Of the dwarfs and the trolls in the doubled batch; an odd share of the latter falls to each."""


def batches() -> dict[int, Batch]:
    games = BatchedGame(512, observations=False, masks=None, seed=1)
    for _ in range(31):
        games.step(games.sample_actions())
    actions, random = games.sample_actions().astype(np.int32), np.random.default_rng(2)
    found = {}
    for side, count in enumerate(DECISIONS):
        mine = np.flatnonzero(games.to_move == side)[:count]
        assert len(mine) == count
        found[side] = Batch(
            games.rows[mine],
            actions[mine],
            (-np.log(games.legal_counts[mine])).astype(np.float32),
            *random.normal(size=(2, count)).astype(np.float32),
        )
    return found


def learn(ranks: Ranks) -> torch.Tensor:
    """Three updates of a batch in one minibatch, this process's share, and one of the dwarfs alone;
    the weights.
    """
    torch.manual_seed(3)
    config = NetworkConfig(channels=4, blocks=1, key_size=2)
    networks = [Network(config), Network(config)]
    learners = [
        Learner(
            network,
            PPOConfig(minibatch_size=1000, update_epochs=2, target_kl=1e9),
            Precision(bfloat16=False),
            np.random.default_rng(ranks.rank),
            Clock(),
            ranks.channel(),
        )
        for network in networks
    ]
    shares = {}
    for side, batch in batches().items():
        cut = int(0.3 * len(batch.actions))  # not even
        edges = [0, cut, len(batch.actions)] if ranks.size > 1 else [0, len(batch.actions)]
        shares[side] = batch[np.arange(edges[ranks.rank], edges[ranks.rank + 1])]
    for _ in range(3):
        metrics = [learner.learn(shares[side], 0.0) for side, learner in enumerate(learners)]
    measured = [one[name] for one in metrics for name in ("policy_loss", "explained_variance")]
    learners[0].learn(shares[0], 0.0)
    assert learners[1].learn(shares[1][:0], 0.0) == {}
    weights = [p.detach().flatten() for network in networks for p in network.parameters()]
    return torch.cat([*weights, torch.tensor(measured)])


def one_of_two(rank: int, port: int, folder: str) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.save(learn(Ranks(rank, 2)), Path(folder) / str(rank))
    dist.destroy_process_group()


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.slow
def test_two_processes_learn_as_one_with_the_doubled_batch(tmp_path: Path) -> None:
    alone = learn(Ranks())
    processes.spawn(one_of_two, (free_port(), str(tmp_path)), nprocs=2)
    first, second = (torch.load(tmp_path / str(rank)) for rank in (0, 1))
    assert torch.equal(first, second)
    torch.testing.assert_close(first, alone, rtol=1e-4, atol=1e-5)
    torch.manual_seed(3)
    start = Network(NetworkConfig(channels=4, blocks=1, key_size=2)).stem.weight.flatten()
    assert (first[: len(start)] - start).abs().max() > 1e-3, "something must have been learnt"


def one_that_waits_for_the_other(rank: int, port: int) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": "2"}
    ranks = Ranks.from_environment()
    ranks.wait()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    with pytest.raises(RunError, match=r"^another process of the run has ended or does not"):
        ranks.total(1)


@pytest.mark.slow
def test_a_process_that_ends_is_said_to_the_others() -> None:
    context = multiprocessing.get_context("spawn")
    port = free_port()
    both = [
        context.Process(target=one_that_waits_for_the_other, args=(rank, port)) for rank in (0, 1)
    ]
    for process in both:
        process.start()
    for process in both:
        process.join(120)
        process.kill()
    assert [process.exitcode for process in both] == [0, -signal.SIGKILL]


@pytest.mark.parametrize(
    ("size", "rank", "reason"), [("2", "", "Error init.*RANK"), ("two", "0", "invalid literal")]
)
def test_an_environment_that_is_not_of_torchrun_is_refused(
    size: str, rank: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", size)
    monkeypatch.delenv("RANK", raising=False)
    if rank:
        monkeypatch.setenv("RANK", rank)
    with pytest.raises(RunError, match=rf"^WORLD_SIZE={size} is in .*: {reason}"):
        Ranks.from_environment()


class WithAnother(Ranks):
    """A process beside another that is asked to stop."""

    def __init__(self, asked: str) -> None:
        super().__init__(1, 2)
        self._asked = asked

    def total(self, values: float | NDArray[np.float64]) -> NDArray[np.float64]:
        others = [one == self._asked for one in (*(s.name for s in STOPPING), TIME)]
        return np.asarray(values) + np.array(others)


@pytest.mark.parametrize(
    ("mine", "other", "reason"),
    [
        ([], "SIGTERM", "SIGTERM"),
        ([TIME], "SIGTERM", "SIGTERM"),
        ([], TIME, TIME),
        (["SIGINT"], "", "SIGINT"),
        ([], "", ""),
    ],
)
def test_all_processes_stop_for_the_same_reason(mine: list[str], other: str, reason: str) -> None:
    assert reason_of_all(mine, WithAnother(other)) == reason


class InThreads(Ranks):
    """One of two processes that are threads."""

    def __init__(self, rank: int, given: dict[int, NDArray[np.float64]], both: Barrier) -> None:
        super().__init__(rank, 2)
        self._given, self._both = given, both

    def total(self, values: float | NDArray[np.float64]) -> NDArray[np.float64]:
        self._both.wait()
        self._given[self.rank] = np.asarray(values, dtype=np.float64)
        self._both.wait()
        return self._given[0] + self._given[1]


def test_the_metrics_of_battles_are_of_those_of_all_processes() -> None:
    opponents = OpponentConfig(scripted=0.5)
    names = names_met(opponents)
    trainer = self_play_trainer(dataclasses.replace(SMALL_RUN, opponents=opponents))
    first, second = (trainer.play.collect(40) for _ in range(2))
    trainer.roles.close()
    none = dataclasses.replace(
        second,
        ended=np.zeros_like(second.ended),
        final_games=second.final_games[:0],
        final_rows=second.final_rows[:0],
        final_opponents=second.final_opponents[:0],
    )
    for rollouts in ((first, second), (none, first), (none, none)):
        wanted = battle_metrics(joined(rollouts), CLASSIC, Ranks(), names)
        given: dict[int, NDArray[np.float64]] = {}
        both = Barrier(2)
        ranks = [InThreads(rank, given, both) for rank in (0, 1)]
        with ThreadPoolExecutor(2) as threads:
            found = threads.map(battle_metrics, rollouts, [CLASSIC] * 2, ranks, [names] * 2)
        assert list(found) == [wanted, wanted]
        assert ("trolls/margin_against_opponents" in wanted) == (rollouts[1] is not none)
        assert wanted["battles/finished"] >= ("battles/margin" in wanted)
        against = [f"trolls/margin_in_training_against_{name}" for name in names]
        assert any(one in wanted for one in against) == (rollouts[1] is not none)


# -- whole runs ----------------------------------------------------------------------------


def torchrun(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    path = folder / "small.yaml"
    path.write_text(yaml.safe_dump(dataclasses.asdict(SMALL_RUN)))
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        "2",
        "--master-port",
        str(free_port()),
        "-m",
        "training.train",
        str(path),
        *words,
    ]
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_a_run_of_two_processes_stops_and_goes_on_exactly(tmp_path: Path) -> None:
    unbroken, broken = tmp_path / "unbroken", tmp_path / "broken"
    for folder in (unbroken, broken):
        folder.mkdir()
    done = torchrun(unbroken)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("2 processes together") == 1, "one process speaks"
    done = torchrun(broken, "--minutes", "0.001")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("the time is up; to go on: torchrun ... -m training.train") == 1
    done = torchrun(broken, "--resume")
    assert done.returncode == 0, done.stderr
    assert "going on from" in done.stdout
    files = []
    for folder in (unbroken, broken):
        run = folder / "runs" / "small"
        newest = (run / "checkpoints" / "latest").resolve()
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        files.append(
            (
                {str(p.relative_to(newest)): p.read_bytes() for p in newest.rglob("*.*")},
                [{k: v for k, v in line.items() if "speed/" not in k} for line in lines],
            )
        )
    assert files[0] == files[1]
    assert {"state.json", "state-1.json"} < set(files[0][0])
    assert files[0][1][-1]["decisions"] == 1536
    with pytest.raises(
        RunError,
        match=r"by 2 processes together, not by 1: torchrun --nproc-per-node 2 would be",
    ):
        train(SMALL_RUN, Console(quiet=True), broken / "runs", Options(resume=True))


@pytest.mark.parametrize(("local_rank", "gpu"), [("0", 0), ("3", 3), ("5", 1), (None, 0)])
def test_every_process_of_a_machine_has_the_next_gpu(
    local_rank: str | None, gpu: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[int] = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    monkeypatch.setattr(torch.cuda, "set_device", used.append)
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    if local_rank is not None:
        monkeypatch.setenv("LOCAL_RANK", local_rank)
    use_device("cpu")
    assert used == []
    use_device("cuda")
    assert used == [gpu]


def test_the_thread_of_each_role_uses_the_gpu_of_its_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a thread uses is its own, and the first GPU until it says otherwise."""
    threads: list[int] = []
    monkeypatch.setattr(roles, "use_device", lambda device: threads.append(get_ident()))
    both = Barrier(len(SIDES))

    def at_work() -> int:
        both.wait()
        return get_ident()

    made = Roles.of(SMALL_RUN)
    workers = [made.threads.submit(at_work) for _ in SIDES]
    wanted = [get_ident(), *(worker.result() for worker in workers)]
    made.close()
    assert sorted(threads) == sorted(wanted)


def test_battles_that_cannot_be_shared_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ranks, "from_environment", lambda: Ranks(0, 2))
    with pytest.raises(ConfigError, match="num_games: 2 processes cannot share 7"):
        train(dataclasses.replace(SMALL_RUN, num_games=7), Console(quiet=True), tmp_path)
    too_small = dataclasses.replace(SMALL_RUN, ppo=PPOConfig(minibatch_size=1))
    with pytest.raises(ConfigError, match=r"ppo\.minibatch_size: 2 processes cannot share 1"):
        train(too_small, Console(quiet=True), tmp_path)
    assert not list(tmp_path.iterdir())
