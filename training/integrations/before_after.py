"""Measures how a policy plays before and after training, for the table of every integration.

Both times the policy plays the same number of battles against random decisions, all at once in one
vector environment. The script fails if training shows no gain: if the 95% interval of the
difference reaches down to zero.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

import thud_env  # noqa: F401 # registers the environments
from thud_env.command import Command, bounded
from thud_env.rulesets import get_ruleset
from training.arena.intervals import Interval, mean_interval, negated

TASK: dict[str, Any] = {"rules": "classic", "side": "trolls", "max_turns": 100}
"""What the integrations learn: the trolls of Classic Thud against random decisions, 100 turns.

Trolls that capture whenever they may are far better than others. A policy learns that within some
ten thousand decisions: a minute, even for a library that steps one environment at a time.
"""

Choose = Callable[[NDArray[np.float32], NDArray[np.int8]], Any]
"""From observations, [B, C, 15, 15], and action masks, [B, 6470], to legal actions, [B]."""


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


def mean_margin(choose: Choose, battles: int, seed: int, **task: Any) -> Interval:
    """Play battles against random decisions: their mean margin, from the view of the policy's side.

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
    bounds = get_ruleset(task["rules"]).margins
    if task["side"] == "dwarfs":
        return mean_interval(margins_of_dwarfs, bounds)
    return mean_interval(-margins_of_dwarfs, negated(bounds))


def show(
    library: str, before: Interval, after: Interval, names: tuple[str, str] = ("before", "after")
) -> None:
    """Print the table of a library, whose rows have ``names``.

    Raises:
        SystemExit: with status 1, if ``after`` is not better than ``before``.
    """
    gain = after.value - before.value
    difference = Interval(
        gain,
        gain - math.hypot(after.value - after.low, before.high - before.value),
        gain + math.hypot(after.high - after.value, before.value - before.low),
    )
    print(f"\n{library}: trolls against random dwarfs")
    print(f"{'':12}  mean margin     95% interval")
    rows = zip((*names, "difference"), (before, after, difference), strict=True)
    for name, (mean, low, high) in rows:
        print(f"{name:12}  {mean:+z11.1f}   {low:+z6.1f} .. {high:+z6.1f}", flush=True)
    if difference.low <= 0:
        sys.exit(f"{library}: {names[1]} is not better than {names[0]}")
