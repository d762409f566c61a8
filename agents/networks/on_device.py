"""Makes inputs on the device of the state rows, without copies to the host.

A state row has 864 bytes, the planes and legal decisions that follow from it 12,000. On a GPU the
rules' own kernels compute them (``thud_env/batch/cuda.py``). Rows on the CPU work too, so that
tests can compare with ``Inputs.of_rows``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from agents.networks.afterstates import NUM_AFTERSTATE_FEATURES, features_of
from agents.networks.attacks import NUM_ATTACK_PLANES, attack_planes
from agents.networks.inputs import Inputs
from agents.networks.threats import NUM_THREAT_PLANES
from thud_env.batch.one_game import View
from thud_env.batch.options import Device
from thud_env.board import SIZE
from thud_env.rules.legal import NUM_WORDS
from thud_env.rules.row import ROW_SIZE
from thud_env.views.encoding import NUM_PLANES, NUM_POINTS, OBSERVATION_SHAPE, encode_rows
from thud_env.views.masks import NUM_BYTE_WORDS, action_masks


def device_of(rows: Tensor) -> Device:
    """The device of a batch that shares memory with rows."""
    return "cuda" if rows.is_cuda else "cpu"


def as_tensor(array: Any) -> Tensor:
    """A batch's array as a tensor that shares its memory."""
    if isinstance(array, np.ndarray):
        return torch.from_numpy(array)
    return torch.as_tensor(array, device="cuda")


def inputs_on_device(
    rows: Tensor, attacks: bool = False, threats: bool = False, afterstates: bool = False
) -> Inputs:
    """The inputs for N states, on the device of their rows.

    Args:
        rows: [N, 432] int16 state rows of one ruleset, of battles that are not over.
        attacks: whether with the attack planes.
        threats: whether with the threat planes after those.
        afterstates: whether with the features of the states after each decision.
    """
    states = rows.contiguous()
    planes, masks, counts = _shown(states)
    if attacks:
        planes = torch.cat((planes, _attacks_on_device(states, threats)), dim=1)
    game, decisions = masks.nonzero(as_tuple=True)
    return Inputs(
        planes.contiguous(memory_format=torch.channels_last),
        decisions,
        game,
        counts.long(),
        _features_on_device(states, game, decisions)
        if afterstates
        else torch.empty(len(decisions), 0, device=rows.device),
    )


def _shown(rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What the players of N states see: planes [N, C, 15, 15] float32, masks [N, >= 6470] int8 and
    [N] how many decisions are legal, on the device of the rows.
    """
    if device_of(rows) == "cpu":
        masks = torch.from_numpy(action_masks(rows.numpy(), check=False))
        return torch.from_numpy(encode_rows(rows.numpy(), check=False)), masks, masks.sum(1)
    from numba import cuda

    from thud_env.batch.cuda import show_states

    make = partial(torch.empty, device=rows.device)
    planes = make((len(rows), NUM_PLANES, NUM_POINTS))
    words = make((len(rows), NUM_WORDS + 1), dtype=torch.int64)
    byte_words = make((len(rows), NUM_BYTE_WORDS), dtype=torch.int64)
    counts = make(len(rows), dtype=torch.int32)
    to_move = make(len(rows), dtype=torch.int8)
    given, *shown = map(cuda.as_cuda_array, (rows, planes, words, byte_words, counts, to_move))
    view = View(
        shown_rows=given,
        planes=shown[0],
        unit=1.0,
        words=shown[1],
        byte_words=shown[2].view(np.uint64),
        legal_counts=shown[3],
        to_move=shown[4],
    )
    show_states(given, view)
    return planes.reshape(-1, *OBSERVATION_SHAPE), byte_words.view(torch.int8), counts


def _attacks_on_device(rows: Tensor, threats: bool) -> Tensor:
    """[N, 9, 15, 15] float32, or [N, 13, 15, 15] with threats, on the device of the rows."""
    if device_of(rows) == "cpu":
        return torch.from_numpy(attack_planes(rows.numpy(), threats))
    from agents.networks.attacks_cuda import COPIES, show_attacks_of

    count = NUM_ATTACK_PLANES + NUM_THREAT_PLANES * threats
    planes = torch.empty((len(rows), count, SIZE * SIZE), device=rows.device)
    copies = torch.empty(
        (len(rows) * COPIES * threats, ROW_SIZE), dtype=rows.dtype, device=rows.device
    )
    show_attacks_of(rows, planes, copies)
    return planes.reshape(len(rows), count, SIZE, SIZE)


def _features_on_device(rows: Tensor, game: Tensor, decisions: Tensor) -> Tensor:
    """[L, 8] float32 the features of afterstates, on the device of the rows."""
    if device_of(rows) == "cpu":
        return torch.from_numpy(features_of(rows.numpy(), game.numpy(), decisions.numpy()))
    from agents.networks.afterstates_cuda import THREADS, show_afterstates_of

    features = torch.empty((len(decisions), NUM_AFTERSTATE_FEATURES), device=rows.device)
    threads = min(THREADS, len(decisions))
    copies = torch.empty((threads, ROW_SIZE), dtype=rows.dtype, device=rows.device)
    show_afterstates_of(rows, game, decisions, copies, features)
    return features
