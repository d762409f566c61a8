"""Measures how a policy plays before and after training, for the table of every integration.

Both times the policy plays the same number of battles against random decisions, all at once in one
vector environment. The script fails if training shows no gain: if the 95% interval of the
difference reaches down to zero.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

import thud_env  # noqa: F401 # registers the environments
from thud_env.command import Command, bounded
from training.arena.intervals import Z95

TASK: dict[str, Any] = {"rules": "classic", "side": "trolls", "max_turns": 100}
"""What the integrations learn: the trolls of Classic Thud against random decisions, 100 turns.

Trolls that capture whenever they may are far better than others. A policy learns that within some
ten thousand decisions: a minute, even for a library that steps one environment at a time.
"""

Choose = Callable[[NDArray[np.float32], NDArray[np.int8]], Any]
"""From observations, [B, C, 15, 15], and action masks, [B, 6470], to legal actions, [B]."""


class Margins(NamedTuple):
    """The results of a policy, from the view of its side: a dwarf counts 1, a troll 4."""

    mean: float
    standard_error: float

    @classmethod
    def of(cls, own_margins: ArrayLike) -> Margins:
        """The results of battles with these margins, [n]."""
        values = np.asarray(own_margins, dtype=np.float64)
        return cls(float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values))))


def command(name: str, docstring: str | None, steps: int) -> Command:
    """The command line of an integration: ``--steps``, ``--battles``, ``--seed``.

    Args:
        name: the name of its module.
        docstring: the module's docstring.
        steps: the default of ``--steps``.
    """
    made = Command(f"training.integrations.{name}", docstring)
    add, count = made.add_argument, bounded(int, 2)
    add("--steps", type=count, default=steps, help="decisions to learn from (default %(default)s)")
    add("--battles", type=count, default=200, help="battles for each row of the table")
    add("--seed", type=bounded(int, 0), default=1)
    return made


def margins(choose: Choose, battles: int, seed: int, **task: Any) -> Margins:
    """Play battles against random decisions.

    Args:
        choose: the policy.
        battles: how many.
        seed: seeds the opponent, but not the policy.
        **task: arguments that differ from ``TASK``.
    """
    task = TASK | task
    envs = gymnasium.make_vec("thud/Thud-v0", num_envs=battles, **task)
    observations, infos = envs.reset(seed=seed)
    margins_of_dwarfs = np.zeros(battles)
    over = np.zeros(battles, dtype=np.bool_)
    while not over.all():
        actions = choose(observations, infos["action_mask"])
        observations, _, terminated, truncated, infos = envs.step(np.asarray(actions))
        ended = (terminated | truncated) & ~over  # of each environment, its first battle
        if ended.any():
            margins_of_dwarfs[ended] = infos["margin"][ended]
        over |= ended
    return Margins.of(margins_of_dwarfs if task["side"] == "dwarfs" else -margins_of_dwarfs)


def show(
    library: str, before: Margins, after: Margins, names: tuple[str, str] = ("before", "after")
) -> None:
    """Print the table of a library, whose rows have ``names``.

    Raises:
        SystemExit: with status 1, if ``after`` is not better than ``before``.
    """
    difference = Margins(
        after.mean - before.mean, math.hypot(before.standard_error, after.standard_error)
    )
    print(f"\n{library}: trolls against random dwarfs")
    print(f"{'':12}  mean margin     95% interval")
    rows = zip((*names, "difference"), (before, after, difference), strict=True)
    for name, (mean, error) in rows:
        low, high = mean - Z95 * error, mean + Z95 * error
        print(f"{name:12}  {mean:+z11.1f}   {low:+z6.1f} .. {high:+z6.1f}", flush=True)
    if difference.mean <= Z95 * difference.standard_error:
        sys.exit(f"{library}: {names[1]} is not better than {names[0]}")
