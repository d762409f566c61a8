"""The arithmetic that networks run in."""

from __future__ import annotations

import contextlib
import dataclasses

import torch


@dataclasses.dataclass(frozen=True)
class Precision:
    """float32, or bfloat16 convolutions over float32 weights."""

    bfloat16: bool

    @classmethod
    def named(cls, name: str) -> Precision:
        """``"float32"``, ``"bfloat16"``, or ``"auto"``: bfloat16 where the processor has it."""
        if name == "auto":
            return cls(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
        return cls(name == "bfloat16")

    def autocast(self) -> contextlib.AbstractContextManager[object]:
        """The context to run networks in; it concerns the calling thread only."""
        return torch.autocast("cpu", torch.bfloat16, enabled=self.bfloat16)
