"""Notices that a run goes wrong, and names the last good checkpoint.

Self-play can lose what it had learnt while its own battles look as even as ever: only players that
do not change show it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from thud_env.errors import ThudError
from thud_env.outcome import SIDES
from thud_env.rulesets import get_ruleset
from training.process.state import State
from training.runs.anchors import SCORE, Best
from training.runs.checkpoints import Checkpoints

NO_ENTROPY = 0.005
"""A role with so little entropy, as a share of the uniform policy's, explores no more."""
FALLEN = 0.2
"""How far below its best a role may fall, as a share of the range of margins."""
IN_A_ROW = 2
"""Measurements that must find it fallen: one by itself may be chance."""


class Collapsed(ThudError):  # noqa: N818 (what happened, not a user's mistake)
    """A metric became NaN or infinite."""


class Alarms:
    """Watches the numbers of a run.

    Args:
        rules: the ruleset.
        checkpoints: the run's, to name them.
    """

    def __init__(self, rules: str, checkpoints: Checkpoints) -> None:
        self._range = 2 * get_ruleset(rules).largest_margin
        self._checkpoints = checkpoints
        self._fallen: dict[str, int] = dict.fromkeys(SIDES, 0)
        self._certain: set[str] = set()

    def certain(self, update: Mapping[str, float]) -> set[str]:
        """The roles that explore no more, an update later. One that rested in it, and has no
        entropy, is as it was.
        """

        def explores(role: str) -> bool:
            entropy = update.get(f"{role}/entropy")
            return role not in self._certain if entropy is None else entropy > NO_ENTROPY

        return {role for role in SIDES if not explores(role)}

    def check(
        self, decisions: int, metrics: Mapping[str, float], best: Mapping[str, Best]
    ) -> list[str]:
        """The alarms after an update, a line each.

        Args:
            decisions: how far the run is.
            metrics: the update's numbers.
            best: each role's best, this update's measurement included.

        Raises:
            Collapsed: if a number is not finite.
        """
        for name, value in metrics.items():
            if not math.isfinite(value):
                raise Collapsed(
                    f"{name} is {value} after {decisions:,} decisions; {self._checkpoints.good}"
                )
        alarms = []
        for role in SIDES:
            score = metrics.get(f"{role}/{SCORE}")
            if score is not None:
                alarms += self._fall(role, score, decisions, best[role])
        before, self._certain = self._certain, self.certain(metrics)
        return alarms + [
            self._stopped(role, metrics[f"{role}/entropy"], decisions, role in best)
            for role in sorted(self._certain - before)
        ]

    def state(self) -> State:
        """How often in a row each role has fallen, and which explore no more."""
        return State(values={"fallen": dict(self._fallen), "certain": sorted(self._certain)})

    def restore(self, state: State) -> None:
        """Go on from a state."""
        self._fallen = {role: int(state.values["fallen"][role]) for role in SIDES}
        self._certain = set(state.values["certain"])

    def _fall(self, role: str, score: float, decisions: int, best: Best) -> list[str]:
        """Alarm once each time that a role falls."""
        if best.score - score <= FALLEN * self._range:
            self._fallen[role] = 0
            return []
        self._fallen[role] += 1
        if self._fallen[role] != IN_A_ROW:
            return []
        return [
            f"after {decisions:,} decisions the {role} score {score:+z.2f} against the anchors, "
            f"{best.score:+z.2f} after {best.decisions:,}; their last good checkpoint is "
            f"{self._checkpoints.best / role}"
        ]

    def _stopped(self, role: str, entropy: float, decisions: int, measured: bool) -> str:
        """The alarm that a policy has stopped exploring."""
        return (
            f"after {decisions:,} decisions the {role} explore no more: their entropy is "
            f"{entropy:.4f} of the uniform policy's; "
        ) + (
            # If this update was measured, its checkpoint is yet to be written.
            f"their best checkpoint is {self._checkpoints.best / role}"
            if measured
            else "no checkpoint was measured"
        )
