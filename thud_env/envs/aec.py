"""Thud as a PettingZoo AEC environment.

| | |
|---|---|
| Agents | `dwarf_0`, `troll_0` |
| Action space | `Discrete(6470)` for both |
| Observation space | `Dict` of `observation`: `Box(0, 1, (14, 15, 15), float32)` and \
`action_mask`: `Box(0, 1, (6470,), int8)`; with `observation="planes"` the first alone |
| State space | `Box(0, 1, (14, 15, 15), float32)`, the same planes |
| Render modes | `human`, `rgb_array`, `ansi` |
| Import | `thud_env.env(rules=...)` or `pettingzoo.make("aec", "thud/thud-v0")` |

A *turn* is one or more decisions: after a troll has moved beside dwarfs, the same agent may
be asked which to capture. `agent_selection` is always the agent whose decision it is, and it
may be the same several times in a row. `docs/environment.md` shows this page with pictures.

### Observation

Planes of 15 x 15, row 1 at the top, column A at the left. Both agents see the same. "all"
means that the plane has one value everywhere.

| plane | name | shows |
|---|---|---|
| 0 | `dwarfs` | 1 where a dwarf stands |
| 1 | `trolls` | 1 where a troll stands |
| 2 | `stone` | 1 where the Thudstone, the Rock or the ball stands |
| 3 | `board` | 1 on the 165 squares, 0 on the cut corners |
| 4 | `trolls_to_move` | all 1 if the trolls decide next, all 0 if the dwarfs do |
| 5 | `deciding_troll` | 1 on the troll that may now capture or trample on |
| 6 | `one_capture` | all 1 if that troll may capture one dwarf at most |
| 7 | `capture_owed` | all 1 if that troll must still capture a dwarf |
| 8 | `has_captured` | all 1 if that troll has captured a dwarf in this turn |
| 9 | `quiet_turns` | all: turns without a capture or a move of the stone / max_quiet_turns |
| 10 | `turns` | all: turns played / max_turns |
| 11 | `offer` | all 1 if an offer to end the battle awaits its answer |
| 12 | `dwarfs_wait` | all: own turns before the dwarfs may offer again / offer_after |
| 13 | `trolls_wait` | all: own turns before the trolls may offer again / offer_after |

### Actions

| index | decision | count | in `thud_env.actions` |
|---|---|---|---|
| 0 .. 6299 | move, hurl, step, shove or trample: from a square, in a direction, by a \
distance | 6300 | |
| 6300 .. 6464 | capture the dwarf on this square | 165 | `CAPTURE + square` |
| 6465 | capture all that may be captured, and end the turn | 1 | `CAPTURE_ALL` |
| 6466 | done: end the turn | 1 | `DONE` |
| 6467 | offer to end the battle | 1 | `OFFER` |
| 6468 | accept an offer | 1 | `ACCEPT` |
| 6469 | decline an offer | 1 | `DECLINE` |

`action_mask` is 1 where an action is legal. That of the agent that is not to decide, and those
of both once the battle is over, are as `idle_mask` says: all 0 or all 1. An action that is not
legal raises `IllegalMove`, and nothing has changed; with `illegal_action="lose"` it ends the
battle, terminated, and pays that agent -1 and the other 1.

### Rewards

| rulesets | `reward` | pays |
|---|---|---|
| `classic`, `classic-any`, `classic-all` | `margin`, the default | captures as they happen: a \
dwarf 1/32 to the trolls, a troll 4/32 to the dwarfs |
| `classic`, `classic-any`, `classic-all` | `outcome` | the end: 1, 0 or -1; nothing if truncated |
| `koom-valley`, `koom-valley-football` | `outcome`, the default | the end: 1, 0 or -1 |

Rewards are zero-sum. The *margin* is the dwarfs on the board minus four times the trolls. The
dwarfs' rewards by `margin` sum to the final margin / 32, since the margin begins at 0.

### Endings

| `termination` | value | because | the battle is |
|---|---|---|---|
| `no_legal_turn` | 1 | the side to move has no legal turn | terminated |
| `agreement` | 2 | an offer to end the battle was accepted | terminated |
| `quiet_limit` | 3 | no capture and no move of the stone in `max_quiet_turns` turns | terminated |
| `turn_limit` | 4 | `max_turns` turns were played | truncated |
| `goal` | 5 | the Rock or ball is on a goal square | terminated |
| `surrounded` | 6 | three trolls are beside the Rock or ball | terminated |

### Infos

The `infos` of both agents always hold two integers: `termination`, 0 while the battle goes on, then
the value of a `thud_env.Termination`, or -1 where an illegal action has lost; and `margin`, the
score as it stands, from the dwarfs' view for both. With `observation="planes"` each also has
`action_mask`, [6470] int8, where PettingZoo's tests and wrappers look for it.

### Parameters

| name | default | meaning |
|---|---|---|
| `rules` | `'classic'` | the ruleset |
| `render_mode` | `None` | `'human'`, `'rgb_array'` or `'ansi'`: a window, pixels or text |
| `observation` | `'dict'` | a `'dict'` of `observation` and `action_mask`, or `'planes'`, with \
the mask in the infos |
| `reward` | `None` | `'margin'` or `'outcome'`; None is as the ruleset scores |
| `idle_mask` | `'zeros'` | the mask of an agent with nothing to decide: `'zeros'` or `'ones'` |
| `illegal_action` | `'raise'` | what an illegal action does: `'lose'` or `'raise'` |
| `starts` | `None` | positions or state rows that battles start from, drawn; None: the setup |
| `max_quiet_turns` | `200` | turns in a row that end a battle: no capture, no move of the stone |
| `max_turns` | `800` | turns that truncate a battle |
| `offer_after` | `20` | quiet turns before an offer, and own turns between offers |
| `agreement` | `False` | whether a battle may end by agreement |

### Version history

* v0: first release.
"""

from __future__ import annotations

from typing import Any, ClassVar

from thud_env.envs.base import BoardEnv
from thud_env.envs.games import ONE_BATTLE


class ThudEnv(BoardEnv):
    """One battle as a PettingZoo AEC environment, with all its checks inside.

    The agents are ``dwarf_0`` and ``troll_0``. ``observe(agent)`` returns a dictionary of
    ``observation``, [C, 15, 15] float32 planes in 0 .. 1, the same for both agents, and
    ``action_mask``, [6470] int8, 1 where an action is legal; or the planes alone. An action is one
    decision, an integer in 0 .. 6469. The module's docstring tables planes, actions, rewards and
    endings.

    Args:
        rules: a ruleset, or the name of one.
        render_mode: ``"human"`` opens a window (which needs pygame) and shows every decision in
            it, ``"rgb_array"`` returns pixels, ``"ansi"`` coloured text, None nothing.
        observation: ``"dict"``, of planes and action mask, or ``"planes"`` alone, an array; each
            agent's mask is in its ``infos`` then.
        reward: ``"margin"`` pays captures as they happen, in 1/32; ``"outcome"`` pays 1, 0 or -1 at
            the end; None is as the ruleset scores. Rewards are zero-sum.
        idle_mask: the action mask of the agent that is not to decide, and of both agents
            once the game is over: ``"zeros"``, as PettingZoo's own board games have it, or
            ``"ones"``, for libraries that normalise over the mask without looking.
        illegal_action: what an action that is not legal does: ``"raise"`` raises ``IllegalMove``
            and changes nothing; ``"lose"`` terminates the game and pays its agent -1, as
            PettingZoo's own board games do, and the other 1.
        starts: what battles start from: position text or a ``Position``, a list of them, or state
            rows, [S, 432] integers. Every ``reset`` draws one of several; None for the setup. A
            limit given below counts for all of them; others are the ruleset's for text, and their
            own for a ``Position`` and a row.
        max_quiet_turns: turns in a row without a capture or a move of the stone that end a battle;
            None for the ruleset's 200.
        max_turns: turns that truncate a battle; None for the ruleset's 800.
        offer_after: quiet turns before an offer to end the battle, and own turns between offers;
            None for the ruleset's 20.
        agreement: whether a battle may end by agreement; None if not, unless a start has it.

    Raises:
        ThudError: for any other value.
        TypeError: for any other keyword, naming the nearest there is.

    Examples:
        >>> env = ThudEnv("koom-valley", max_turns=200)
        >>> env.reset()
        >>> observation, reward, terminated, truncated, info = env.last()
        >>> env.agent_selection, int(observation["action_mask"].sum())
        ('dwarf_0', 388)
    """

    metadata: ClassVar[dict[str, Any]] = {**BoardEnv.metadata, "name": "thud_v0"}

    _game = ONE_BATTLE


env = ThudEnv
"""What makes the environment, by PettingZoo's name."""
