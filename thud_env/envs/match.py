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

Observations are those of `thud_env.env`, followed by two planes about the first battle
(`MATCH_PLANES`). Of these `first_margin` is seen from the agent's own side, so the two agents
see different planes in the second battle.

A player's *total* is the sum of that player's two margins. With `reward="margin"` the rewards
of a game sum to total / 32, in -2 .. 2, however the battles ended: a battle cut short by
`max_turns`, or drawn, is worth its margin like any other. With `reward="outcome"` the end of
the second battle pays the sign of the total, and nothing is paid before. The Koom Valley games
have the latter only; their margins are 1, 0 and -1.

A first battle that reaches `max_turns` ends like any other, and the second follows. The game
is *truncated* if its second battle is, and *terminated* otherwise. Where the second battle is
truncated, `reward="outcome"` pays nothing.

`infos` always holds integers: `first_termination` and `second_termination`, as `termination` in a
single battle (0 before its end); `first_margin` and `second_margin`, as they stand, 0 before a
battle begins, and their sum `total`, all three seen from the agent's own side.

### Version history

* v0: first release.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thud_env.envs.base import BoardEnv
from thud_env.position import Outcome
from thud_env.rules.match import Match, outcome_for_dwarfs, own_first_margin, standing
from thud_env.rules.play import margin
from thud_env.rules.row import TO_MOVE
from thud_env.views.match import MATCH_PLANES, show_match

PLAYERS = ("player_0", "player_1")
"""The agents' names; the first plays the dwarfs in the first battle."""


class MatchEnv(BoardEnv):
    """Two battles with the sides changed, with all the checks inside.

    The agents are ``player_0``, who plays the dwarfs first, and ``player_1``. All is as in
    ``ThudEnv``, and so are the arguments; the limits are those of each battle. Observations have
    two planes more (``MATCH_PLANES``).

    ``reset(options={"position": text})`` starts both battles from a position.

    Args:
        rules, render_mode, reward, idle_mask, illegal_action, starts: as ``ThudEnv``.
        max_quiet_turns, max_turns, offer_after, agreement: as ``ThudEnv``.

    Raises:
        ThudError: for any other value.
        TypeError: for any other keyword, naming the nearest there is.
    """

    metadata: ClassVar[dict[str, Any]] = {**BoardEnv.metadata, "name": "thud_match_v0"}

    _first_seats = PLAYERS
    _shown_planes = MATCH_PLANES
    _state_parts: ClassVar[dict[str, Any]] = {**BoardEnv._state_parts, "battles": tuple}

    battles: tuple[Outcome, ...] = ()
    """How the battles that are over ended, margins from the view of their dwarfs."""

    def _new_game(self) -> None:
        self.battles = ()

    def _battle_ended(self) -> bool:
        outcome = self.position.outcome
        assert outcome is not None
        self.battles += (outcome,)
        if len(self.battles) == 2:
            return super()._battle_ended()
        self._row = self._start_row.copy()
        self._seats = (PLAYERS[1], PLAYERS[0])
        self.agent_selection = self._seats[self._row[TO_MOVE]]
        return True

    @property
    def _match(self) -> Match:
        """The match as the rules see it."""
        now = self._termination, int(margin(self._row))
        if not self.battles:
            return Match(False, 0, 0, *now)
        first = self.battles[0]
        return Match(True, first.termination.value, first.margin, *now)

    def _new_infos(self) -> dict[str, dict[str, Any]]:
        match = self._match
        return {agent: standing(match, self._seats.index(agent)) for agent in self.agents}

    def _paid_to_dwarfs(self, paid: float) -> float:
        return float(outcome_for_dwarfs(self._match)) if self._by_outcome else paid

    def _planes(self, agent: str) -> NDArray[np.float32]:
        planes = super()._planes(agent)
        match = self._match
        own_first = own_first_margin(match, self._seats.index(agent))
        show_match(planes, match.is_second, own_first, self._rules.largest_margin)
        return planes

    def _caption(self) -> str:
        dwarfs, _ = self._seats
        battle = min(len(self.battles) + 1, 2)
        return f"battle {battle} of 2, {dwarfs} plays the dwarfs\n{super()._caption()}"


match_env = MatchEnv
"""What makes the environment, by PettingZoo's name."""
