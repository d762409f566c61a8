"""What ``torch.compile`` gives the networks: the time to play and to learn, with it and without.

::

    python tests/benchmarks/compiled.py --channels 16 --blocks 2 --minibatch 256
    python tests/benchmarks/compiled.py --kind symmetric
    python tests/benchmarks/compiled.py --channels 96 --blocks 8 --states 2048 --minibatch 8192

No run compiles its networks: this measures whether it would pay. Compiled is the trunk with its
pooling. *Compiled* takes any number of states. *Graphs*, on a GPU only, adds CUDA graphs, which
need as many states in every step, so that play would have to fill up its batches.

To play is forward, to learn is forward and backward. The networks take turns; a time is the median,
of processor time or, with a GPU, of the time until that is done. Beside it is how far the
log-probabilities are from the plain network's, which should be rounding. Compiling needs a C++
compiler, on a GPU Triton.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from statistics import median
from typing import Any

import torch
from torch import Tensor

from agents.networks.inputs import Inputs
from agents.networks.kinds import NETWORKS, make_network, network_config
from agents.networks.network import Network
from thud_env import BatchedGame
from thud_env.command import Command, bounded
from training.process.clock import Clock
from training.process.precision import Precision, device_named

WARM_UP = 3
"""The first calls compile and, of CUDA graphs, record."""


def variants(network: Network, device: str) -> dict[str, Network]:
    """The network as it is, and compiled; all have the same weights."""
    ways: dict[str, dict[str, Any]] = {"compiled": {"dynamic": True}}
    if device == "cuda":
        ways["graphs"] = {"dynamic": False, "mode": "reduce-overhead"}
    made = {"plain": network}
    for name, how in ways.items():
        made[name] = copy.deepcopy(network)
        compiled: Any = torch.compile(made[name].features, **how)
        made[name].features = compiled  # type: ignore[method-assign]
    return made


def judge(network: Network, inputs: Inputs, precision: Precision, learn: bool) -> Tensor:
    """The log-probabilities, as in a rollout or as in a gradient step of a simple loss."""
    with torch.set_grad_enabled(learn), precision.autocast():
        judged = network(inputs)
    if learn:
        network.zero_grad()
        loss: Any = judged.log_probs.mean() + judged.values.square().mean()
        loss.backward()
    return judged.log_probs.detach()


def compare(
    networks: dict[str, Network], precision: Precision, states: int, learn: bool, repeats: int
) -> None:
    """Print a line for each network."""
    clock = Clock(precision.device)
    games = BatchedGame(states, "classic", seed=5, observations=False, masks=None)
    for _ in range(30):
        games.step(games.sample_actions())
    inputs = precision.inputs(networks["plain"], games.rows)
    seconds: dict[str, list[float]] = {name: [] for name in networks}
    apart = dict.fromkeys(networks, 0.0)
    compiling = dict.fromkeys(networks, 0.0)
    for number in range(WARM_UP + repeats):
        wanted = judge(networks["plain"], inputs, precision, learn)
        for name, network in networks.items():
            begun, started = time.perf_counter(), clock.now()
            found = judge(network, inputs, precision, learn)
            if number >= WARM_UP:
                seconds[name].append(clock.now() - started)
            else:
                compiling[name] += time.perf_counter() - begun
            apart[name] = max(apart[name], float((found - wanted).abs().max()))
    plain = median(seconds["plain"])
    for name, taken in seconds.items():
        print(
            f"  {'learn' if learn else 'play'}, {states} states, {name:8} "
            f"{1000 * median(taken):8.1f} ms, {plain / median(taken):.2f} times as fast; "
            f"apart by {apart[name]:.0e}; first {WARM_UP} calls {compiling[name]:.0f} s",
            flush=True,
        )


def measure(arguments: argparse.Namespace) -> None:
    """Compare in play and in learning."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    device = device_named(arguments.device)
    precision = Precision.named("auto", device)
    sizes = {name: getattr(arguments, name) for name in ("kind", "channels", "blocks", "key_size")}
    network = make_network(network_config(sizes))
    assert isinstance(network, Network)
    with torch.no_grad():  # a new one begins with zeros
        for weights in network.parameters():
            weights.add_(torch.randn_like(weights), alpha=0.03)
    network.to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    networks = variants(network, device)
    print(f"{arguments.kind} {arguments.channels}x{arguments.blocks}, {precision.name}, {device}")
    for states, learn in ((arguments.states, False), (arguments.minibatch, True)):
        compare(networks, precision, states, learn, arguments.repeats)


def main() -> int:
    """Read the command line, and compare."""
    command = Command("tests.benchmarks.compiled", __doc__)
    add = command.add_argument
    add("--device", choices=("auto", "cpu", "cuda"), default="auto", help="where (%(default)s)")
    add("--kind", choices=NETWORKS, default="residual", help="of network (%(default)s)")
    for option, default, text in (
        ("channels", 64, "of the trunk"),
        ("blocks", 4, "of the trunk"),
        ("key-size", 32, "of the policy"),
        ("states", 64, "to play in at once"),
        ("minibatch", 128, "to learn from at once"),
        ("repeats", 15, "that count"),
    ):
        add(
            f"--{option}",
            type=bounded(int, 1),
            default=default,
            metavar="N",
            help=f"{text} ({default})",
        )
    return command.run(measure)


if __name__ == "__main__":
    sys.exit(main())
