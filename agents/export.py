"""A policy as an ONNX file, for programs that have no torch.

::

    python -m agents.export runs/cpu/checkpoints/best/dwarfs dwarfs.onnx

The graph takes ``observations``, [N, 13, 15, 15] float32, and gives ``logits``, [N, 6470] float32,
one for every action whether it is legal or not, and ``values``, [N] float32. The policy is the
softmax of the logits over the legal actions. N may be any number.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from pathlib import Path

import torch
from torch import Tensor, nn

from agents.checkpoint import CheckpointError, load_policy
from agents.legal_policy import TABLES
from agents.network import Network
from thud_env.actions import CAPTURE_ALL
from thud_env.encoding import OBSERVATION_SHAPE


class DensePolicy(nn.Module):
    """A network that scores all 6,470 actions, by standard operations only.

    Args:
        network: what is exported.
    """

    start: Tensor
    end: Tensor
    shared: Tensor

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network
        for name, table in zip(("start", "end", "shared"), torch.from_numpy(TABLES), strict=True):
            self.register_buffer(name, table.clone())

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """[N, 13, 15, 15] to logits [N, 6470] and values [N]."""
        points, pooled = self.network.features(observations)
        queries, keys = self.network.queries_and_keys(points).chunk(2, dim=2)
        match = queries[:, self.start[:CAPTURE_ALL]] * keys[:, self.end[:CAPTURE_ALL]]
        on_squares = match.sum(2) / math.sqrt(queries.shape[2])
        scores = torch.cat((on_squares, self.network.words(pooled)), dim=1)
        logits = scores + self.network.bias[self.shared]
        return logits, self.network.value(pooled).squeeze(1)


def export(checkpoint: Path, target: Path) -> None:
    """Write one role's policy as ONNX, to a temporary name and renamed.

    Raises:
        CheckpointError: if there is no such checkpoint, or it is damaged.
        FileExistsError: if ``target`` exists; nothing is overwritten.
        ImportError: if the packages of the extra ``export`` are not installed.
    """
    dense = DensePolicy(load_policy(checkpoint).network).eval()
    if target.exists():
        raise FileExistsError(f"{target} exists: name another file")
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    batch = torch.export.Dim("N", min=1)
    try:
        torch.onnx.export(
            dense,
            (torch.zeros(2, *OBSERVATION_SHAPE),),
            str(temporary),
            input_names=["observations"],
            output_names=["logits", "values"],
            dynamic_shapes=({0: batch},),
            dynamo=True,
            external_data=False,
            verbose=False,
        )
        temporary.rename(target)
    finally:
        temporary.unlink(missing_ok=True)


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m agents.export", description="Write a policy as an ONNX file."
    )
    parser.add_argument("checkpoint", type=Path, help="one role's: runs/.../best/dwarfs")
    parser.add_argument("target", type=Path, help="the file to write")
    options = parser.parse_args(arguments)
    try:
        export(options.checkpoint, options.target)
    except (CheckpointError, OSError) as error:
        print(f"export: {error}", file=sys.stderr)
        return 2
    except ImportError as error:
        print(f'export: {error.name} is missing: pip install ".[export]"', file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
