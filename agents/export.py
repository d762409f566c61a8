"""Exports a policy as an ONNX file, for programs without torch.

::

    python -m agents.export runs/cpu/checkpoints/best/dwarfs dwarfs.onnx

The graph takes ``observations``, [N, C, 15, 15] float32, and returns ``logits``, [N, 6470] float32,
one for every action, legal or not, and ``values``, [N] float32. The policy is the softmax of the
logits over the legal actions. N may be any number. A policy trained without agreement, which never
offers or accepts to end a battle, has logits of -1e9 there.

The file says whom it is of: its metadata have the ``role``, the ``rules`` and the names of the
``planes``, and of the features of ``afterstates`` if it reads them, separated by spaces.

C is 14, or 23 for a policy trained with ``network.attack_planes``: then the environment's 14 planes
are followed by ``agents.networks.attacks.attack_planes(rows)``, [N, 432] state rows; or 27 with
``network.threat_planes`` too, by ``attack_planes(rows, threats=True)``. One that was trained with
``network.afterstates`` takes ``afterstates``, too, [N, 6470, 8] float32, 207 kB a state:
``agents.networks.afterstates.afterstate_features(rows)``. Only the entries of legal actions count.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import logging
import math
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor, nn

from agents.durable import new_file
from agents.networks.afterstates import NUM_AFTERSTATE_FEATURES
from agents.networks.checkpoint import Checkpoint, CheckpointError, load_policy, names_read
from agents.networks.legal_policy import TABLES
from agents.networks.network import Network
from thud_env.actions import ACCEPT, CAPTURE_ALL, NUM_ACTIONS, OFFER
from thud_env.board import SIZE
from thud_env.command import Command
from thud_env.errors import ThudError
from thud_env.views.encoding import NUM_PLANES


class DensePolicy(nn.Module):
    """A network that scores all 6,470 actions, with standard operations only.

    Args:
        network: the network to export.
        agreement: whether it has learnt to offer, and to accept, the end of a battle.
    """

    start: Tensor
    end: Tensor
    shared: Tensor
    unlearnt: Tensor

    def __init__(self, network: Network, agreement: bool) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("unlearnt", torch.zeros(NUM_ACTIONS))
        if not agreement:
            self.unlearnt[[OFFER, ACCEPT]] = -1e9  # finite, as infinities may become NaN
        for name, table in zip(("start", "end", "shared"), torch.from_numpy(TABLES), strict=True):
            self.register_buffer(name, table.clone())

    def forward(
        self, observations: Tensor, afterstates: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """[N, C, 15, 15], and [N, 6470, 8] for a network that reads afterstates, to logits
        [N, 6470] and values [N].
        """
        points, pooled = self.network.features(observations)
        queries, keys = self.network.queries_and_keys(points).chunk(2, dim=2)
        match = queries[:, self.start[:CAPTURE_ALL]] * keys[:, self.end[:CAPTURE_ALL]]
        on_squares = match.sum(2) / math.sqrt(queries.shape[2])
        scores = torch.cat((on_squares, self.network.words(pooled)), dim=1)
        logits = scores + self.network.bias[self.shared]
        if self.network.afterstates is not None:
            states = self.network.afterstates.state(pooled).unsqueeze(1)
            logits = logits + self.network.afterstates(afterstates, states)
        return logits + self.unlearnt, self.network.value(pooled).squeeze(1)


@contextlib.contextmanager
def _without_warnings() -> Iterator[None]:
    """Silence torch's warnings about its own deprecated names and a missing torchvision."""

    def matters(record: logging.LogRecord) -> bool:
        return "torchvision is not installed" not in record.getMessage()

    logger = logging.getLogger("torch.onnx._internal.exporter._registration")
    logger.addFilter(matters)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*LeafSpec.* is deprecated", FutureWarning)
            warnings.filterwarnings("ignore", "# The axis name: N will not be used", UserWarning)
            yield
    finally:
        logger.removeFilter(matters)


def export(checkpoint: Path, target: Path) -> dict[str, tuple[int, ...]]:
    """Write one role's policy as ONNX, under a temporary name and then renamed.

    Returns:
        the shape of each input, without N.

    Raises:
        CheckpointError: if there is no such folder, or its checkpoint is missing, damaged or of
            both roles.
        FileExistsError: if ``target`` exists; nothing is overwritten.
        FileNotFoundError: if the folder that it is to be written to does not exist.
        ImportError: if the packages of the extra ``export`` are not installed.
    """
    policy = load_policy(checkpoint)
    network = policy.network.written_out()
    if not isinstance(network, Network):
        kind = network.config.kind
        only = "residual and symmetric ones export"
        raise CheckpointError(f"{checkpoint} is a {kind} network: {only}")
    with new_file(target) as unfinished:
        return _write(policy, network, unfinished)


def _write(policy: Checkpoint, network: Network, target: Path) -> dict[str, tuple[int, ...]]:
    dense = DensePolicy(network, policy.agreement).eval()
    examples = {"observations": torch.zeros(2, dense.network.num_planes, SIZE, SIZE)}
    if network.config.afterstates:
        examples["afterstates"] = torch.zeros(2, NUM_ACTIONS, NUM_AFTERSTATE_FEATURES)
    number = torch.export.Dim("N", min=1)
    with _without_warnings():
        program = torch.onnx.export(
            dense,
            tuple(examples.values()),
            input_names=list(examples),
            output_names=["logits", "values"],
            dynamic_shapes=tuple({0: number} for _ in examples),
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    named = names_read(dataclasses.asdict(network.config))
    program.model.metadata_props.update(
        role=policy.role,
        rules=policy.rules,
        **{key: " ".join(names) for key, names in named.items()},
    )
    program.save(str(target), external_data=False)
    return {name: tuple(example.shape[1:]) for name, example in examples.items()}


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    command = Command("agents.export", __doc__)
    command.add_argument(
        "checkpoint",
        type=Path,
        help="one role's: runs/NAME/checkpoints/best/dwarfs or pretrained/classic/dwarfs",
    )
    command.add_argument("target", type=Path, help="the file to write")
    return command.run(_export, words)


def _export(arguments: argparse.Namespace) -> None:
    try:
        shapes = export(arguments.checkpoint, arguments.target)
    except ImportError as error:
        raise ThudError(f'{error.name} is missing: pip install ".[export]"') from None
    own = shapes["observations"][0] - NUM_PLANES
    and_own = f" (the last {own} are not the environment's: --help)" if own else ""
    read = [f"{name} [N, {', '.join(map(str, shape))}]" for name, shape in shapes.items()]
    read[0] += and_own
    print(
        f"{arguments.target}: {' and '.join(read)} in, "
        f"logits [N, {NUM_ACTIONS}] and values [N] out, all float32"
    )


if __name__ == "__main__":
    sys.exit(main())
