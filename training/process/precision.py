"""Where networks run, and in which arithmetic."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Literal

import torch


class DeviceError(ValueError):
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


@dataclasses.dataclass(frozen=True)
class Precision:
    """float32, or bfloat16 convolutions over float32 weights, on a device."""

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

    def autocast(self) -> contextlib.AbstractContextManager[object]:
        """The context to run networks in; it concerns the calling thread only."""
        return torch.autocast(self.device, torch.bfloat16, enabled=self.bfloat16)
