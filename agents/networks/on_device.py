"""Makes inputs and draws decisions on the device of the state rows, without copies to the host.

A state row has 864 bytes, the planes and legal decisions that follow from it 12,000. On a GPU the
rules' own kernels compute them (``thud_env/batch/cuda.py``), and decisions are drawn there. Rows on
the CPU work too, so that tests can compare with ``Inputs.of_rows`` and ``sample_decisions``.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import torch
from torch import Tensor

from agents.networks.attacks import NUM_ATTACK_PLANES, attack_planes
from agents.networks.inputs import Inputs
from agents.networks.threats import NUM_THREAT_PLANES
from thud_env import BatchedGame
from thud_env.batch.options import Device
from thud_env.board import SIZE
from thud_env.rules.row import ruleset_of

FEWEST = 256
"""The least number of states that a batch has room for."""


class _Batches(threading.local):
    """Each thread's batches, by device and ruleset: they expand rows into planes and decisions."""

    def __init__(self) -> None:
        self.kept: dict[str, BatchedGame] = {}


_batches = _Batches()


def device_of(rows: Tensor) -> Device:
    """The device of a batch that shares memory with rows."""
    return "cuda" if rows.is_cuda else "cpu"


def as_tensor(array: Any) -> Tensor:
    """A batch's array as a tensor that shares its memory."""
    if isinstance(array, np.ndarray):
        return torch.from_numpy(array)
    return torch.as_tensor(array, device="cuda")


def inputs_on_device(rows: Tensor, attacks: bool = False, threats: bool = False) -> Inputs:
    """The inputs for N states, on the device of their rows.

    Args:
        rows: [N, 432] int16 state rows of one ruleset, of battles that are not over.
        attacks: whether with the attack planes.
        threats: whether with the threat planes after those.
    """
    count = len(rows)
    batch = _batch_for(rows)
    states = rows.contiguous()
    given = states if states.is_cuda else states.numpy()
    batch.set_rows(given, np.arange(count), are_checked=True)
    planes = as_tensor(batch.observations)[:count]
    if attacks:
        planes = torch.cat((planes, _attacks_on_device(states, threats)), dim=1)
    game, decisions = as_tensor(batch.masks)[:count].nonzero(as_tuple=True)
    return Inputs(
        planes.clone(memory_format=torch.channels_last),
        decisions,
        game,
        as_tensor(batch.legal_counts)[:count].long(),
    )


def _batch_for(rows: Tensor) -> BatchedGame:
    """A batch of their ruleset, with room for as many states."""
    ruleset = ruleset_of(rows[0].cpu().numpy())
    device = device_of(rows)
    key = f"{device} {ruleset.spec}"
    kept = _batches.kept.get(key)
    if kept is None or kept.num_games < len(rows):
        room = max(FEWEST, 1 << (len(rows) - 1).bit_length())
        _batches.kept[key] = kept = BatchedGame(room, ruleset, device, num_threads=1)
    return kept


def _attacks_on_device(rows: Tensor, threats: bool) -> Tensor:
    """[N, 9, 15, 15] float32, or [N, 13, 15, 15] with threats, on the device of the rows."""
    if device_of(rows) == "cpu":
        return torch.from_numpy(attack_planes(rows.numpy(), threats))
    from agents.networks.attacks_cuda import show_attacks_of

    count = NUM_ATTACK_PLANES + NUM_THREAT_PLANES * threats
    planes = torch.empty((len(rows), count, SIZE * SIZE), device=rows.device)
    show_attacks_of(rows, planes)
    return planes.reshape(len(rows), count, SIZE, SIZE)


def draw_on_device(log_probs: Tensor, counts: Tensor, uniforms: Tensor) -> Tensor:
    """Draw a decision for each game, as ``sample_decisions`` does.

    Args:
        log_probs: [L] of all legal decisions.
        counts: [N] how many of them each game has.
        uniforms: [N] float64 numbers in [0, 1), one for each draw.

    Returns:
        [N] the index of each drawn decision among the L.
    """
    running = log_probs.double().exp().cumsum(0)
    ends = counts.cumsum(0)
    below = torch.cat((running.new_zeros(1), running))[torch.cat((ends.new_zeros(1), ends))]
    targets = below[:-1] + uniforms * below.diff()
    drawn = torch.searchsorted(running, targets, right=True)
    # Rounding in the running sum must not move a draw into a neighbouring game.
    return torch.minimum(torch.maximum(drawn, ends - counts), ends - 1)
