"""Average the weights of several pairs of policies into one pair.

::

    python -m training.average runs/a runs/b --out runs/ab

For runs that were tuned from the same weights, or one from the other: what chance taught each of
them averages out (Wortsman et al., "Model soups", 2022). Measure what comes out, with
``training.evaluate``; train it further with ``start_from``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from agents.durable import new_folder
from agents.networks.checkpoint import Checkpoint, load_policy, save_policy
from agents.networks.folders import policy_folder
from agents.networks.network import PolicyNetwork
from thud_env.command import Command
from thud_env.errors import ThudError
from thud_env.outcome import SIDES


def average(pairs: Sequence[str | Path], out: Path) -> None:
    """Write the mean of several pairs into a new folder, under a temporary name and then renamed.

    Args:
        pairs: two or more, each a run's folder, for its newest checkpoint, a folder with
            ``dwarfs`` and ``trolls``, or ``pretrained/RULES``.
        out: the folder to write. Its manifests have the sum of the pairs' decisions.

    Raises:
        CheckpointError: if a policy is missing or damaged.
        FileExistsError: if ``out`` exists; nothing is overwritten.
        ThudError: if there are fewer than two pairs, or they are not alike: of one game, learnt
            with or without agreement, with networks of one size.
    """
    if len(pairs) < 2:
        raise ThudError(f"{len(pairs)} to average: two or more would be right")
    if out.exists():
        raise FileExistsError(f"{out} exists: a pair is never overwritten")
    folders = [policy_folder(pair) for pair in pairs]
    by_role = {role: [load_policy(folder / role) for folder in folders] for role in SIDES}
    for role, policies in by_role.items():
        _check_alike([folder / role for folder in folders], policies)
    with new_folder(out) as unfinished:
        for role, policies in by_role.items():
            _save_mean(unfinished / role, policies)


def _check_alike(paths: list[Path], policies: list[Checkpoint]) -> None:
    """Raise a ``ThudError`` that names the first policy of another kind than the first."""
    kind, *others = map(_kind, policies)
    for path, other in zip(paths[1:], others, strict=True):
        for name, own in kind.items():
            if other[name] != own:
                both = f"{path} has {name}={other[name]!r}, {paths[0]} has {name}={own!r}"
                raise ThudError(f"{both}: one alone would be right")


def _kind(policy: Checkpoint) -> dict[str, object]:
    """What policies must have in common."""
    return {
        "role": policy.role,
        "rules": policy.rules,
        "agreement": policy.agreement,
        "network": policy.network.config,
    }


def _save_mean(folder: Path, policies: list[Checkpoint]) -> None:
    first = policies[0]
    network: PolicyNetwork = first.network
    states = [policy.network.state_dict() for policy in policies]
    network.load_state_dict({name: _mean([state[name] for state in states]) for name in states[0]})
    save_policy(
        folder,
        network,
        role=first.role,
        rules=first.rules,
        decisions=sum(policy.decisions for policy in policies),
        agreement=first.agreement,
    )


def _mean(weights: list[Tensor]) -> Tensor:
    """The mean, in the weights' own type; of integers, such as a count, the first."""
    if not weights[0].is_floating_point():
        return weights[0]
    return torch.stack(weights).double().mean(dim=0).to(weights[0].dtype)


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    command = Command("training.average", __doc__)
    command.add_argument(
        "pairs", nargs="+", metavar="PAIR", help="a run's folder, or another with dwarfs and trolls"
    )
    command.add_argument(
        "--out", type=Path, required=True, metavar="FOLDER", help="the new folder to write"
    )
    return command.run(_average, words)


def _average(arguments: argparse.Namespace) -> None:
    average(arguments.pairs, arguments.out)
    print(f"{arguments.out}: policy:{arguments.out} plays it")


if __name__ == "__main__":
    sys.exit(main())
