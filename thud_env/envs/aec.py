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
Both pay their last reward. `infos` then holds `termination` and `margin`.

### Version history

* v0: first release.
"""

from __future__ import annotations

import operator
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray
from pettingzoo import AECEnv

from thud_env.actions import NUM_ACTIONS
from thud_env.batch import wants_outcome
from thud_env.encoding import OBSERVATION_SHAPE, encode
from thud_env.kernels import reward_for_dwarfs
from thud_env.position import IllegalMove, Position
from thud_env.rules.legal import is_legal, legal_actions
from thud_env.rules.play import apply, margin
from thud_env.rules.row import MAX_DECISIONS_AT_ONCE, TERMINATION, TO_MOVE, TURN_LIMIT, new_row
from thud_env.rulesets import Ruleset, get_ruleset

AGENTS = ("dwarf_0", "troll_0")
"""The agents' names, by the number of their side in a row."""

Observation = dict[str, NDArray[Any]]


class ThudEnv(AECEnv[str, Observation, int]):  # type: ignore[misc] # PettingZoo is untyped
    """One battle as a PettingZoo AEC environment, with all its checks inside.

    Args:
        rules: the name of a ruleset.
        render_mode: ``"ansi"`` or None.
        reward: ``"margin"``, ``"outcome"`` or None, which is as the ruleset scores.
        idle_mask: the action mask of the agent that is not to decide, and of both agents
            once the battle is over: ``"zeros"``, as PettingZoo's own board games have it, or
            ``"ones"``, for libraries that normalise over the mask without looking.
        **limits: ``max_quiet_turns``, ``max_turns``, ``offer_after``, ``agreement``.

    Raises:
        ValueError: for an argument that is none of the above.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": ["ansi"],
        "name": "thud_v0",
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(
        self,
        rules: str | Ruleset = "classic",
        render_mode: str | None = None,
        *,
        reward: str | None = None,
        idle_mask: str = "zeros",
        **limits: Any,
    ) -> None:
        super().__init__()
        self.rules = get_ruleset(rules)
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"unknown render_mode {render_mode!r}: 'ansi' or None would be right")
        if idle_mask not in ("zeros", "ones"):
            raise ValueError(f"unknown idle_mask {idle_mask!r}: 'zeros' or 'ones' would be right")
        self.render_mode = render_mode
        self._idle_mask = 1 if idle_mask == "ones" else 0
        self._by_outcome = wants_outcome(reward, self.rules)
        self._limits = limits
        self._row = new_row(self.rules, **limits)
        self._decisions = np.empty(MAX_DECISIONS_AT_ONCE, dtype=np.int32)

        self.possible_agents = list(AGENTS)
        planes = gymnasium.spaces.Box(0.0, 1.0, OBSERVATION_SHAPE, np.float32)
        mask = gymnasium.spaces.Box(0, 1, (NUM_ACTIONS,), np.int8)
        self.observation_spaces = {
            agent: gymnasium.spaces.Dict({"observation": planes, "action_mask": mask})
            for agent in AGENTS
        }
        self.action_spaces = {agent: gymnasium.spaces.Discrete(NUM_ACTIONS) for agent in AGENTS}
        self.state_space = planes
        self.agents: list[str] = []
        self.infos: dict[str, dict[str, Any]] = {}

    def observation_space(self, agent: str) -> gymnasium.spaces.Dict:
        """The space of ``observe(agent)``, always the same object."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Discrete:
        """``Discrete(6470)``, always the same object for an agent."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a battle.

        Args:
            seed: accepted as the interface asks; nothing in the game is random.
            options: ``{"position": text}`` starts from position text or a ``Position``.

        Raises:
            ValueError: if the position is damaged, of another ruleset, or over.
        """
        start = (options or {}).get("position")
        if start is None:
            row = new_row(self.rules, **self._limits)
        else:
            row = self._read_start(start)
        self._row = row
        self.agents = list(AGENTS)
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self.infos = {agent: {} for agent in AGENTS}
        self._skip_agent_selection = None
        self.agent_selection = AGENTS[row[TO_MOVE]]

    def step(self, action: int | None) -> None:
        """Play one decision of ``agent_selection``; None if that agent's battle is over.

        Raises:
            ResetNeeded: before the first reset, and after both agents have left.
            IllegalMove: if ``action`` is not legal; the battle has not changed then.
            TypeError: if ``action`` is not an integer.
        """
        if not self.agents:
            raise ResetNeeded("call reset() before step(): no battle is being played")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            if action is not None:
                raise IllegalMove(f"the battle is over: {agent} can only step(None), not {action}")
            self._was_dead_step(None)
            return
        row = self._row
        index = self._checked(action)
        margin_before = margin(row)
        apply(row, index)
        paid = float(reward_for_dwarfs(row, margin_before, self._by_outcome))
        self.rewards["dwarf_0"], self.rewards["troll_0"] = paid, -paid
        self._cumulative_rewards[agent] = 0.0
        self._accumulate_rewards()
        self.agent_selection = AGENTS[row[TO_MOVE]]
        if row[TERMINATION]:
            self._finish()

    def observe(self, agent: str) -> Observation:
        """What ``agent`` sees: ``observation`` [13, 15, 15] float32, ``action_mask`` [6470] int8.

        The arrays are new with every call and belong to the caller.
        """
        planes = np.empty(OBSERVATION_SHAPE, dtype=np.float32)
        encode(self._row, planes)
        return {"observation": planes, "action_mask": self._mask(agent)}

    def action_masks(self) -> NDArray[np.int8]:
        """The action mask of ``agent_selection``, [6470] int8, for libraries that look here."""
        return self._mask(self.agent_selection)

    def state(self) -> NDArray[np.float32]:
        """The whole state as planes, [13, 15, 15] float32."""
        planes = np.empty(OBSERVATION_SHAPE, dtype=np.float32)
        encode(self._row, planes)
        return planes

    @property
    def position(self) -> Position:
        """The state of the battle as a ``Position``."""
        return Position(self._row)

    def get_state(self) -> dict[str, Any]:
        """Everything that ``set_state`` needs to continue exactly from here."""
        if not hasattr(self, "rewards"):
            raise ResetNeeded("call reset() before get_state()")
        return {
            "row": self._row.copy(),
            "agents": list(self.agents),
            "agent_selection": self.agent_selection,
            "skip_agent_selection": self._skip_agent_selection,
            "rewards": dict(self.rewards),
            "cumulative_rewards": dict(self._cumulative_rewards),
            "terminations": dict(self.terminations),
            "truncations": dict(self.truncations),
            "infos": {agent: dict(info) for agent, info in self.infos.items()},
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Return to a state that ``get_state`` gave; the state is left as it is."""
        self._row = state["row"].copy()
        self.agents = list(state["agents"])
        self.agent_selection = state["agent_selection"]
        self._skip_agent_selection = state["skip_agent_selection"]
        self.rewards = dict(state["rewards"])
        self._cumulative_rewards = dict(state["cumulative_rewards"])
        self.terminations = dict(state["terminations"])
        self.truncations = dict(state["truncations"])
        self.infos = {agent: dict(info) for agent, info in state["infos"].items()}

    def render(self) -> str | None:
        """The board as text, or None if the environment was made without a render mode."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() does nothing without a render_mode: pass 'ansi'")
            return None
        position = self.position
        outcome = position.outcome
        ending = f"{position.to_move} to move" if outcome is None else str(outcome)
        return f"{position}\n{ending}, turn {position.turn_number}, margin {position.margin}"

    def close(self) -> None:
        """Nothing needs closing."""

    def _mask(self, agent: str) -> NDArray[np.int8]:
        row = self._row
        if agent == AGENTS[row[TO_MOVE]] and not row[TERMINATION]:
            mask = np.zeros(NUM_ACTIONS, dtype=np.int8)
            mask[self._decisions[: legal_actions(row, self._decisions)]] = 1
            return mask
        return np.full(NUM_ACTIONS, self._idle_mask, dtype=np.int8)

    def _checked(self, action: Any) -> int:
        try:
            index = operator.index(action)
        except TypeError:
            raise TypeError(
                f"action {action!r} is not an integer: one in 0 .. {NUM_ACTIONS - 1} would be right"
            ) from None
        if not is_legal(self._row, index):
            self.position.apply(index)  # raises, and says why
        return index

    def _read_start(self, start: str | Position) -> NDArray[np.int16]:
        if not isinstance(start, Position):
            start = Position.from_text(start, self.rules, **self._limits)
        if start.rules != self.rules:
            raise ValueError(
                f"a position of {start.rules.name} cannot start a battle of {self.rules.name}"
            )
        if start.outcome is not None:
            raise ValueError(f"position {start.text!r} is over: {start.outcome}")
        return start.row.copy()

    def _finish(self) -> None:
        outcome = self.position.outcome
        assert outcome is not None
        ended = self.truncations if self._row[TERMINATION] == TURN_LIMIT else self.terminations
        for agent in AGENTS:
            ended[agent] = True
            self.infos[agent] = {
                "termination": outcome.termination.name.lower(),
                "margin": outcome.margin,
            }
        self._deads_step_first()


def env(
    rules: str | Ruleset = "classic", render_mode: str | None = None, **options: Any
) -> ThudEnv:
    """The battle of a ruleset as a PettingZoo AEC environment: see ``ThudEnv``."""
    return ThudEnv(rules, render_mode, **options)
