"""Self-play by the kernels, in Numba's simulator of a GPU, and on the host: are they the same?

Run as a program of its own, as the simulator must be chosen before Numba is imported::

    NUMBA_ENABLE_CUDASIM=1 NUMBA_DISABLE_JIT=1 python tests/simulated_play.py

Tensors are torch's of the CPU, which share the memory of the simulated device's arrays. Everything
else runs as on a GPU: the battles, legal decisions, planes, attack planes and frames are kernels'.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numba import cuda
from opposed import against
from simulator import run_one_by_one

from agents.networks import on_device
from agents.networks.config import NetworkConfig
from agents.networks.inputs import Inputs
from agents.networks.kinds import make_network
from thud_env import BatchedGame
from training.process.roles import Roles
from training.selfplay import device_play
from training.selfplay.battles import OngoingBattles
from training.selfplay.device_play import DeviceCollector
from training.selfplay.host_play import HostCollector
from training.selfplay.rollout import Rollout

GAMES, STEPS = 2, 5


def tensor_of(array: Any) -> torch.Tensor:
    """A tensor on the memory of a simulated device array."""
    return torch.from_numpy(np.asarray(getattr(array, "_ary", array)))


def pretend() -> None:
    """Take the simulator for a GPU."""
    for module in (on_device, device_play):
        module.as_tensor = tensor_of
        module.device_of = lambda rows: "cuda"
    cuda.as_cuda_array = lambda tensor: tensor.numpy()


def collect(kind: Any, device: str) -> Rollout:
    """A short rollout."""
    torch.manual_seed(3)
    reads = {"attack_planes": True, "threat_planes": True, "afterstates": True}
    config = NetworkConfig(channels=2, blocks=1, key_size=2, **reads)
    games = BatchedGame(
        GAMES, "classic", device, observations=False, masks=None, max_turns=3, max_quiet_turns=2
    )
    battles = OngoingBattles(
        games, against("random", GAMES), np.random.default_rng(11), symmetric_frames=True
    )
    with ThreadPoolExecutor(2) as threads:
        roles = Roles((make_network(config), make_network(config)), threads=threads)
        return kind(battles, roles).collect(STEPS)


def main() -> None:
    """Compare."""
    warnings.simplefilter("ignore")  # generators are meant to overflow; small launches are meant
    wanted = collect(HostCollector, "cpu")
    assert len(wanted.final_games), "a battle must have ended"
    valley = BatchedGame(GAMES, "koom-valley", observations=False, masks=None, seed=2)
    for _ in range(40):
        valley.step(valley.sample_actions())
    several = np.concatenate([wanted.rows[0], wanted.last_rows]), valley.rows.copy()
    reads = {"attacks": True, "threats": True, "afterstates": True}
    all_shown = [Inputs.of_rows(rows, **reads) for rows in several]
    run_one_by_one()
    pretend()
    for rows, shown in zip(several, all_shown, strict=True):
        made = on_device.inputs_on_device(torch.from_numpy(rows), **reads)
        for name in ("planes", "decisions", "game", "counts", "afterstates"):
            np.testing.assert_array_equal(getattr(made, name), getattr(shown, name), err_msg=name)
    found = collect(DeviceCollector, "cuda")
    for name, value in vars(wanted).items():
        np.testing.assert_allclose(getattr(found, name), value, atol=1e-5, err_msg=name)
    print("the same")


if __name__ == "__main__":
    main()
