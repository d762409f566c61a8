"""The two-battle game (docs/rules.md, section 6) as a PettingZoo AEC environment.

| | |
|---|---|
| Agents | `player_0`, who plays the dwarfs first, and `player_1` |
| Action space | `Discrete(6470)` for both |
| Observation space | `Dict` of `observation`: `Box(0, 1, (16, 15, 15), float32)` and \
`action_mask`: `Box(0, 1, (6470,), int8)` |
| State space | `Box(0, 1, (16, 15, 15), float32)`, the planes as `player_0` sees them |
| Rewards | margin: captures as they happen, in 1/32; or outcome: 1, 0, -1 at the end; zero-sum |
| Import | `thud_env.match_env(rules=...)` or `pettingzoo.make("aec", "thud/thud-match-v0")` |

`player_0` plays the dwarfs in the first battle and the trolls in the second. As soon as the
first battle is over the board is set up anew, and `agent_selection` is the agent who now has
the side that begins. The action that ended the first battle is the last of one side and leads
straight to a decision of the other: there is no step in between.

Observations are those of `thud_env.env`, followed by two planes that tell of the first battle
(`MATCH_PLANES`). Of these `first_margin` is seen from the agent's own side, so the two agents
see different planes in the second battle.

A player's *total* is the sum of that player's two margins. With `reward="margin"` the rewards
of a game sum to total / 32, in -2 .. 2, however the battles ended: a battle cut short by
`max_turns`, or drawn, is worth its margin like any other. With `reward="outcome"` the end of
the second battle pays the sign of the total, and nothing is paid before. The Koom Valley games
have the latter only; their margins are 1, 0 and -1.

A first battle that reaches `max_turns` ends like any other, and the second follows. The game
is *truncated* if its second battle is, and *terminated* otherwise. From the swap on, `infos`
holds `first_termination` and `first_margin`; at the end also `second_termination`,
`second_margin` and `total`, all seen from the agent's own side.

### Version history

* v0: first release.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thud_env.envs.base import BoardEnv
from thud_env.position import Outcome, Termination
from thud_env.rules.play import margin
from thud_env.rules.row import ONGOING, TERMINATION, TO_MOVE
from thud_env.rulesets import Ruleset
from thud_env.views.encoding import NUM_PLANES, PLANES, Plane

PLAYERS = ("player_0", "player_1")
"""The agents' names; the first plays the dwarfs in the first battle."""

MATCH_PLANES = (
    *PLANES,
    Plane("second_battle", "all 1 in the second battle, in which the players have changed sides"),
    Plane("first_margin", "all: (own margin of the first battle / the largest there is + 1) / 2"),
)


class MatchEnv(BoardEnv):
    """Two battles with the sides swapped, with all the checks inside.

    Args:
        rules: the name of a ruleset, for both battles.
        render_mode: ``"human"``, ``"rgb_array"``, ``"ansi"`` or None, as ``BoardEnv`` tells.
        **options: ``reward``, ``idle_mask`` and the limits, as ``BoardEnv`` tells; the limits
            are those of each battle.

    ``reset(options={"position": text})`` starts both battles from a position.

    Raises:
        ValueError: for an argument that is none of the above.
    """

    metadata: ClassVar[dict[str, Any]] = {**BoardEnv.metadata, "name": "thud_match_v0"}

    def __init__(
        self, rules: str | Ruleset = "classic", render_mode: str | None = None, **options: Any
    ) -> None:
        super().__init__(PLAYERS, MATCH_PLANES, rules, render_mode, **options)
        self.battles: tuple[Outcome, ...] = ()
        """How the battles that are over ended, margins from the view of their dwarfs."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """See ``BoardEnv.reset``; a position given is where both battles start."""
        super().reset(seed, options)
        self.battles = ()

    def get_state(self) -> dict[str, Any]:
        """See ``BoardEnv.get_state``."""
        return {**super().get_state(), "battles": self.battles}

    def set_state(self, state: dict[str, Any]) -> None:
        """See ``BoardEnv.set_state``."""
        super().set_state(state)
        self.battles = state["battles"]

    def _battle_ended(self) -> None:
        outcome = self.position.outcome
        assert outcome is not None
        self.battles += (outcome,)
        infos = {player: self._results(player) for player in PLAYERS}
        if len(self.battles) == 2:
            self._end_game(outcome.termination is Termination.TURN_LIMIT, infos)
            return
        self.infos.update(infos)
        self._row = self._start_row.copy()
        self._seats = (PLAYERS[1], PLAYERS[0])
        self.agent_selection = self._seats[self._row[TO_MOVE]]

    def _own_margin(self, player: str, battle: int) -> int:
        """A player's margin of a battle that is over, the first or the second: 0 or 1."""
        margin_of_dwarfs = self.battles[battle].margin
        return margin_of_dwarfs if player == PLAYERS[battle] else -margin_of_dwarfs

    def _results(self, player: str) -> dict[str, Any]:
        """What ``infos`` tells a player of the battles that are over."""
        results: dict[str, Any] = {}
        for battle, outcome in enumerate(self.battles):
            name = ("first", "second")[battle]
            results[f"{name}_termination"] = outcome.termination.name.lower()
            results[f"{name}_margin"] = self._own_margin(player, battle)
        if len(self.battles) == 2:
            results["total"] = results["first_margin"] + results["second_margin"]
        return results

    def _paid_to_dwarfs(self, margin_before: int) -> float:
        if not self._by_outcome:
            return super()._paid_to_dwarfs(margin_before)
        if self._row[TERMINATION] == ONGOING or not self.battles:
            return 0.0
        dwarfs, _ = self._seats
        return float(np.sign(self._own_margin(dwarfs, 0) + margin(self._row)))

    def _planes(self, agent: str) -> NDArray[np.float32]:
        planes = super()._planes(agent)
        first = self._own_margin(agent, 0) if self.battles else 0
        planes[NUM_PLANES] = bool(self.battles)
        planes[NUM_PLANES + 1] = (first / self.rules.largest_margin + 1) / 2
        return planes

    def _caption(self) -> str:
        dwarfs, _ = self._seats
        battle = min(len(self.battles) + 1, 2)
        return f"battle {battle} of 2, {dwarfs} plays the dwarfs\n{super()._caption()}"


def match_env(
    rules: str | Ruleset = "classic", render_mode: str | None = None, **options: Any
) -> MatchEnv:
    """The two-battle game of a ruleset as a PettingZoo AEC environment: see ``MatchEnv``."""
    return MatchEnv(rules, render_mode, **options)
