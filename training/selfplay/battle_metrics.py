"""How the battles of a rollout went, as metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thud_env.outcome import SIDES
from thud_env.rules.row import DWARFS, TROLLS
from thud_env.rulesets import Ruleset
from training.arena.strikes import strike_names, strikes_of
from training.selfplay.rollout import MIRROR, Rollout

if TYPE_CHECKING:  # imports torch, for which curves need not wait
    from training.process.ranks import Ranks

AGAINST = "margin_against_"
"""Begins the name of a role's margin; the opponent's name follows."""
IN_TRAINING = "margin_in_training_against_"
"""Begins that of the battles that are learnt from."""


def battle_metrics(
    rollout: Rollout, ruleset: Ruleset, ranks: Ranks, names: Sequence[str]
) -> dict[str, float]:
    """How the battles of all processes went: the mirror ones, and those of each role against
    opponents, all of them and each by itself.

    Args:
        rollout: of this process.
        ruleset: that was played.
        ranks: the processes.
        names: of the opponents, as ``names_met`` has them.
    """
    margins, turns = rollout.final_margins, rollout.final_turns
    seats = rollout.opponent_sides[rollout.final_games]
    over = [seats == whose for whose in (MIRROR, TROLLS, DWARFS)]  # whom dwarfs met, then trolls
    met = rollout.final_opponents
    over += [one & (met == number) for one in over[1:] for number in range(len(names))]
    sums = [[mine.sum(), margins[mine].sum(), turns[mine].sum()] for mine in over]
    mirror, *against = ranks.total(np.array(sums)).tolist()
    strikes = strikes_in(rollout, ruleset)
    struck = ranks.total(strikes[:, rollout.opponent_sides == MIRROR].sum(axis=1))
    finished, margin, turn = mirror
    metrics: dict[str, float] = {"battles/finished": int(finished)}
    if finished:
        metrics["battles/margin"] = margin / finished
        metrics["battles/turns"] = turn / finished
        for striker, name in strike_names(ruleset).items():
            metrics[f"battles/{name}"] = float(struck[SIDES.index(striker)] / finished)
    whose = [(role, f"{AGAINST}opponents") for role in SIDES]
    whose += [(role, f"{IN_TRAINING}{name}") for role in SIDES for name in names]
    for (finished, margin, _), (role, metric) in zip(against, whose, strict=True):
        if finished:
            metrics[f"{role}/{metric}"] = (margin if role == SIDES[0] else -margin) / finished
    return metrics


def strikes_in(rollout: Rollout, ruleset: Ruleset) -> NDArray[np.int64]:
    """[2, B] the strikes of the dwarfs and the trolls: see ``arena.strikes.strike_names``."""
    after = np.concatenate((rollout.rows[1:], rollout.last_rows[np.newaxis]))
    # Battle by battle, and each one's ends as they came.
    in_order = np.argsort(rollout.final_games, kind="stable")
    after.swapaxes(0, 1)[rollout.ended.T] = rollout.final_rows[in_order]
    steps = zip(rollout.rows, rollout.actions, after, strict=True)
    struck = [strikes_of(*step, ruleset) for step in steps]
    return np.sum(struck, axis=0, dtype=np.int64)
