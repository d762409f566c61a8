"""Rollouts: what was played between two updates; and their sources."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thud_env.batch.states import margins
from thud_env.position import SIDES
from thud_env.rules.row import TURNS
from thud_env.rulesets import Ruleset
from training.arena.battles import strike_names
from training.config import RunError
from training.process.ranks import Ranks
from training.process.state import State

MIRROR = -1
"""In place of an opponent's side where both sides are learners."""


@dataclasses.dataclass(frozen=True)
class Rollout:
    """T decisions in each of B battles."""

    rows: NDArray[np.int16]
    """[T, B, 432] the states that were decided in; these and all that follows from them as the
    battles' frames show them."""
    movers: NDArray[np.int8]
    """[T, B] who decided: 0 dwarfs, 1 trolls."""
    actions: NDArray[np.int32]
    """[T, B] what was decided."""
    log_probs: NDArray[np.float32]
    """[T, B] the log-probability it was drawn with; 0 where an opponent decided."""
    values: NDArray[np.float32]
    """[T, B] the mover's value of the state; 0 where an opponent decided."""
    rewards: NDArray[np.float32]
    """[T, B] what the decision paid the dwarfs."""
    ended: NDArray[np.bool_]
    """[T, B] whether the battle ended with it."""
    last_values: NDArray[np.float32]
    """[B] the next mover's value of the state after the last decision; 0 if an opponent is next."""
    last_movers: NDArray[np.int8]
    """[B] who decides there."""
    opponent_sides: NDArray[np.int8]
    """[B] the side of an opponent, which does not learn; ``MIRROR`` where there was none."""
    last_rows: NDArray[np.int16]
    """[B, 432] the states after the last decisions."""
    final_games: NDArray[np.int64]
    """[E] in which of the B games the E battles that ended were, as they ended."""
    final_rows: NDArray[np.int16]
    """[E, 432] their last states."""
    strikes: NDArray[np.int64]
    """[2, B] the dwarfs' and the trolls' strikes (``arena.battles.strike_names``)."""

    @property
    def final_margins(self) -> NDArray[np.int64]:
        """[E] the margins of the battles that ended."""
        return margins(self.final_rows)

    @property
    def final_turns(self) -> NDArray[np.int16]:
        """[E] the turns they took, those of an opening included."""
        return self.final_rows[:, TURNS]


BATTLES_FIRST = ("last_values", "last_movers", "opponent_sides", "last_rows", "final_rows")
"""The fields of a rollout whose first axis is the battles or, of ``final_rows``, those that ended.
``final_games`` has numbers of battles; of all others battles are the second axis."""


def joined(rollouts: Sequence[Rollout]) -> Rollout:
    """Rollouts of as many steps in other battles, side by side as one."""
    fields = {
        field.name: np.concatenate(
            [getattr(rollout, field.name) for rollout in rollouts],
            axis=0 if field.name in BATTLES_FIRST else 1,
        )
        for field in dataclasses.fields(Rollout)
        if field.name != "final_games"
    }
    before = np.cumsum([0, *(len(rollout.opponent_sides) for rollout in rollouts[:-1])])
    ended = [rollout.final_games + n for rollout, n in zip(rollouts, before, strict=True)]
    return Rollout(final_games=np.concatenate(ended), **fields)


class Play(Protocol):
    """A source of rollouts."""

    def collect(self, steps: int) -> Rollout:
        """Play ``steps`` decisions in each battle."""

    def add_snapshots(self, decisions: int) -> None:
        """Add snapshots of both roles, which have been written, to the opponents."""

    def redraw(self) -> None:
        """Draw other snapshots to be met."""

    def state(self) -> State:
        """The state that the next rollout depends on, besides the networks."""

    def restore(self, state: State) -> None:
        """Go on from a state.

        Raises:
            RunError: if it is of another number of actors.
        """


def check_actors(state: State, now: int) -> None:
    """Raise unless a state of ``Play`` is of so many actors, each a part by its number; 0: of none.

    Raises:
        RunError: if it is of others.
    """
    before = sum(name.isdecimal() for name in state.values)
    if before != now:
        right = f"--actors {before}" if before else "no --actors"
        raise RunError(f"the run was trained by {before} actors: {right} would be right")


def battle_metrics(rollout: Rollout, ruleset: Ruleset, ranks: Ranks) -> dict[str, float]:
    """How the battles of all processes went: the mirror ones, and those of each role against
    opponents.
    """
    margins, turns = rollout.final_margins, rollout.final_turns
    seats = rollout.opponent_sides[rollout.final_games]
    over = [seats == whose for whose in (MIRROR, 1, 0)]
    sums = [[mine.sum(), margins[mine].sum(), turns[mine].sum()] for mine in over]
    mirror, *against = ranks.total(np.array(sums)).tolist()
    struck = ranks.total(rollout.strikes[:, rollout.opponent_sides == MIRROR].sum(axis=1))
    metrics: dict[str, float] = {}
    finished, margin, turn = mirror
    if finished:
        metrics["battles/finished"] = int(finished)
        metrics["battles/margin"] = margin / finished
        metrics["battles/turns"] = turn / finished
        for striker, name in strike_names(ruleset).items():
            metrics[f"battles/{name}"] = float(struck[SIDES.index(striker)] / finished)
    for (finished, margin, _), role, sign in zip(against, SIDES, (1, -1), strict=True):
        if finished:
            metrics[f"{role}/margin_against_opponents"] = sign * margin / finished
    return metrics
