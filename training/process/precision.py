"""Where networks run, and in which arithmetic."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from importlib.util import find_spec
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agents.networks.drawing import draw_decisions
from agents.networks.inputs import Inputs
from agents.networks.network import PolicyNetwork
from thud_env.errors import ThudError


class DeviceError(ThudError):
    """A device that is not there."""


def device_named(name: str) -> str:
    """``"cpu"``, ``"cuda"``, or ``"auto"``: a GPU if there is one.

    Raises:
        DeviceError: if there is no GPU and one was asked for.
    """
    there = torch.cuda.is_available()
    if name == "cuda" and not there:
        raise DeviceError("device: there is no GPU for torch to use: cpu or auto would be right")
    return "cuda" if there and name != "cpu" else "cpu"


def use_device(device: str) -> None:
    """Let ``"cuda"`` mean, in the thread that calls this, a GPU of this process's own: of the
    processes that ``torchrun`` starts on a machine each gets the next one.
    """
    if device == "cuda":
        local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        torch.cuda.set_device(local_rank % torch.cuda.device_count())


@dataclasses.dataclass(frozen=True)
class Precision:
    """float32, or layers in bfloat16 over float32 weights, on a device."""

    bfloat16: bool
    device: str = "cpu"

    @classmethod
    def named(cls, name: str, device: str = "cpu") -> Precision:
        """``"float32"``, ``"bfloat16"``, or ``"auto"``: bfloat16 where the processor has it."""
        if name != "auto":
            return cls(name == "bfloat16", device)
        if device == "cuda":
            return cls(torch.cuda.is_bf16_supported(), device)
        supported = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
        return cls(supported, device)

    @property
    def name(self) -> Literal["bfloat16", "float32"]:
        """As ``named`` takes it."""
        return "bfloat16" if self.bfloat16 else "float32"

    @property
    def has_kernels(self) -> bool:
        """Whether the device is a GPU for which the rules can be compiled."""
        return self.device == "cuda" and find_spec("numba_cuda") is not None

    def inputs(self, network: PolicyNetwork, rows: NDArray[np.int16] | Tensor) -> Inputs:
        """What a network reads of [N, 432] state rows, on its device. It is expanded there if the
        rules can be compiled for it, since a row is 864 bytes, and what follows from it 12,000.
        """
        if self.has_kernels and not isinstance(rows, Tensor):
            rows = torch.from_numpy(rows).to(self.device)
        return network.inputs(rows).to(self.device)

    def draw(
        self,
        network: PolicyNetwork,
        rows: NDArray[np.int16],
        uniforms: NDArray[np.float64],
        temperature: float = 1.0,
    ) -> NDArray[np.int32]:
        """Draw a decision for each of N states from a network's policy, [N].

        Args:
            network: the policy.
            rows: [N, 432] state rows.
            uniforms: [N] numbers in [0, 1), one for each draw.
            temperature: 1 draws from the policy, 0 takes its most likely decision.
        """
        inputs = self.inputs(network, rows)
        drawn_with = torch.from_numpy(uniforms).to(self.device)
        with self.autocast():
            drawn = draw_decisions(network, inputs, drawn_with, temperature)
        return drawn.actions.int().cpu().numpy()

    def autocast(self) -> contextlib.AbstractContextManager[object]:
        """The context to run networks in; it concerns the calling thread only."""
        return torch.autocast(self.device, torch.bfloat16, enabled=self.bfloat16)
