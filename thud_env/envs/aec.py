"""Thud as a PettingZoo AEC environment.

| | |
|---|---|
| Agents | `dwarf_0`, `troll_0` |
| Action space | `Discrete(6470)` for both |
| Observation space | `Dict` of `observation`: `Box(0, 1, (13, 15, 15), float32)` and \
`action_mask`: `Box(0, 1, (6470,), int8)` |
| State space | `Box(0, 1, (13, 15, 15), float32)`, the same planes |
| Rewards | margin: captures as they happen, in 1/32; or outcome: 1, 0, -1 at the end; zero-sum |
| Import | `thud_env.env(rules=...)` or `pettingzoo.make("aec", "thud/thud-v0")` |

A *turn* is one or more decisions: after a troll has moved beside dwarfs, the same agent may
be asked which to capture. `agent_selection` is always the agent whose decision it is, and it
may be the same several times in a row. The actions are tabled in `thud_env.actions`, the
observation planes in `thud_env.encoding`; both agents see the same planes.

A battle that the rules end is *terminated*; one that reaches `max_turns` is *truncated*.
Both pay their last reward. `infos` then holds `termination` and `margin`, which is that of
the dwarfs for both agents.

### Version history

* v0: first release.
"""

from __future__ import annotations

from typing import Any, ClassVar

from thud_env.encoding import PLANES
from thud_env.envs.base import BoardEnv
from thud_env.position import Termination
from thud_env.rulesets import Ruleset

AGENTS = ("dwarf_0", "troll_0")
"""The agents' names, by the number of their side in a row."""


class ThudEnv(BoardEnv):
    """One battle as a PettingZoo AEC environment, with all its checks inside.

    Args:
        rules: the name of a ruleset.
        render_mode: ``"human"``, ``"rgb_array"``, ``"ansi"`` or None, as ``BoardEnv`` tells.
        **options: ``reward``, ``idle_mask`` and the limits, as ``BoardEnv`` tells.

    Raises:
        ValueError: for an argument that is none of the above.
    """

    metadata: ClassVar[dict[str, Any]] = {**BoardEnv.metadata, "name": "thud_v0"}

    def __init__(
        self, rules: str | Ruleset = "classic", render_mode: str | None = None, **options: Any
    ) -> None:
        super().__init__(AGENTS, PLANES, rules, render_mode, **options)

    def _battle_ended(self) -> None:
        outcome = self.position.outcome
        assert outcome is not None
        result = {"termination": outcome.termination.name.lower(), "margin": outcome.margin}
        self._end_game(
            truncated=outcome.termination is Termination.TURN_LIMIT,
            infos={agent: dict(result) for agent in AGENTS},
        )


def env(
    rules: str | Ruleset = "classic", render_mode: str | None = None, **options: Any
) -> ThudEnv:
    """The battle of a ruleset as a PettingZoo AEC environment: see ``ThudEnv``."""
    return ThudEnv(rules, render_mode, **options)
