"""The two-battle game (docs/rules.md, section 6) as a PettingZoo AEC environment.

| | |
|---|---|
| Agents | `player_0`, who plays the dwarfs first, and `player_1` |
| Action space | `Discrete(6470)` for both |
| Observation space | `Dict` of `observation`: `Box(0, 1, (16, 15, 15), float32)` and \
`action_mask`: `Box(0, 1, (6470,), int8)`; with `observation="planes"` the first alone |
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
battle begins, and their sum `total`, all three seen from the agent's own side. With
`observation="planes"` each agent's also has `action_mask`, [6470] int8.

### Version history

* v0: first release.
"""

from __future__ import annotations

from typing import Any, ClassVar

from thud_env.envs.base import BoardEnv
from thud_env.envs.games import TWO_BATTLES


class MatchEnv(BoardEnv):
    """Two battles with the sides changed, with all the checks inside.

    The agents are ``player_0``, who plays the dwarfs first, and ``player_1``. All is as in
    ``ThudEnv``, and so are the arguments; the limits are those of each battle. Observations have
    two planes more (``MATCH_PLANES``).

    ``reset(options={"position": text})`` starts both battles from a position.

    Args:
        rules, render_mode, observation, reward, idle_mask, illegal_action: as ``ThudEnv``.
        starts, max_quiet_turns, max_turns, offer_after, agreement: as ``ThudEnv``.

    Raises:
        ThudError: for any other value.
        TypeError: for any other keyword, naming the nearest there is.
    """

    metadata: ClassVar[dict[str, Any]] = {**BoardEnv.metadata, "name": "thud_match_v0"}

    _game = TWO_BATTLES


match_env = MatchEnv
"""What makes the environment, by PettingZoo's name."""
