"""What the PettingZoo environments share: two agents, one board, and all the checks."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray
from pettingzoo import AECEnv

from thud_env.actions import NUM_ACTIONS, as_index
from thud_env.batch.game import wants_outcome
from thud_env.batch.kernels import ILLEGAL, play_if_legal, reward_for_dwarfs
from thud_env.envs.arguments import read_start
from thud_env.envs.rendering import RENDER_MODES, Renderer
from thud_env.position import SIDES, IllegalMove, Position, Side
from thud_env.rules.row import DWARFS, TERMINATION, TO_MOVE, TROLLS, new_row
from thud_env.rulesets import Ruleset, get_ruleset
from thud_env.views.encoding import NUM_POINTS, OBSERVATION_SHAPE, Plane, encode_row
from thud_env.views.masks import action_mask

Observation = dict[str, NDArray[Any]]


class BoardEnv(AECEnv[str, Observation, int]):  # type: ignore[misc] # PettingZoo is untyped
    """Two agents who decide in turn at one board.

    What is played, one battle or two, is for a subclass to say: it names the agents and
    writes ``_battle_ended``; the other methods with an underscore may be extended.

    Args:
        agents: the agents' names; the first plays the dwarfs from the start.
        planes: what the agents see: those of a battle, then any others.
        rules: the name of a ruleset.
        render_mode: ``"human"`` opens a window (which needs pygame) and shows every decision in
            it, ``"rgb_array"`` gives pixels, ``"ansi"`` coloured text, None nothing.
        reward: ``"margin"``, ``"outcome"`` or None, which is as the ruleset scores.
        idle_mask: the action mask of the agent that is not to decide, and of both agents
            once the game is over: ``"zeros"``, as PettingZoo's own board games have it, or
            ``"ones"``, for libraries that normalise over the mask without looking.
        **limits: ``max_quiet_turns``, ``max_turns``, ``offer_after``, ``agreement``.

    Raises:
        ValueError: for an argument that is none of the above.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(
        self,
        agents: tuple[str, str],
        planes: tuple[Plane, ...],
        rules: str | Ruleset,
        render_mode: str | None,
        *,
        reward: str | None = None,
        idle_mask: str = "zeros",
        **limits: Any,
    ) -> None:
        super().__init__()
        self.rules = get_ruleset(rules)
        self._renderer = Renderer(render_mode)
        if idle_mask not in ("zeros", "ones"):
            raise ValueError(f"unknown idle_mask {idle_mask!r}: 'zeros' or 'ones' would be right")
        self.render_mode = render_mode
        self._idle_mask = 1 if idle_mask == "ones" else 0
        self._by_outcome = wants_outcome(reward, self.rules)
        self._limits = limits
        self._row = self._start_row = new_row(self.rules, **limits)
        self._seats = agents
        self._observation_shape = (len(planes), *OBSERVATION_SHAPE[1:])

        self.possible_agents = list(agents)
        seen = gymnasium.spaces.Box(0.0, 1.0, self._observation_shape, np.float32)
        mask = gymnasium.spaces.Box(0, 1, (NUM_ACTIONS,), np.int8)
        self.observation_spaces = {
            agent: gymnasium.spaces.Dict({"observation": seen, "action_mask": mask})
            for agent in agents
        }
        self.action_spaces = {agent: gymnasium.spaces.Discrete(NUM_ACTIONS) for agent in agents}
        self.state_space = seen
        self.agents: list[str] = []
        self.infos: dict[str, dict[str, Any]] = {}

    def observation_space(self, agent: str) -> gymnasium.spaces.Dict:
        """The space of ``observe(agent)``, always the same object.

        Raises:
            ValueError: if there is no such agent.
        """
        self._check_agent(agent)
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Discrete:
        """``Discrete(6470)``, always the same object for an agent.

        Raises:
            ValueError: if there is no such agent.
        """
        self._check_agent(agent)
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start anew.

        Args:
            seed: accepted as the interface asks; nothing in the game is random.
            options: ``{"position": text}`` starts from position text or a ``Position``.

        Raises:
            ValueError: if the position is damaged, of another ruleset, or over.
        """
        start = (options or {}).get("position")  # PettingZoo's tests hand over options of their own
        if start is None:
            self._start_row = new_row(self.rules, **self._limits)
        else:
            self._start_row = read_start(start, self.rules, self._limits)
        self._row = self._start_row.copy()
        first, second = self.possible_agents
        self._seats = (first, second)
        self.agents = [first, second]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}
        self._skip_agent_selection = None
        self.agent_selection = self._seats[self._row[TO_MOVE]]
        self._renderer.start()
        if self.render_mode == "human":
            self.render()

    def step(self, action: int | None) -> None:
        """Play one decision of ``agent_selection``; None if that agent's game is over.

        Raises:
            ResetNeeded: before the first reset, and after both agents have left.
            IllegalMove: if ``action`` is not legal; nothing has changed then.
            TypeError: if ``action`` is not an integer.
        """
        if not self.agents:
            raise ResetNeeded("call reset() before step(): nothing is being played")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            if action is not None:
                raise IllegalMove(f"the game is over: {agent} can only step(None), not {action}")
            self._was_dead_step(None)
            return
        row = self._row
        before = None if self.render_mode is None else row.copy()
        index = as_index(action)
        in_range = 0 <= index < NUM_ACTIONS
        margin_before = play_if_legal(row, index) if in_range else ILLEGAL
        if margin_before == ILLEGAL:
            self.position.apply(index)  # raises, and says why
        if before is not None:
            self._renderer.note(before, index)
        paid = self._paid_to_dwarfs(margin_before)
        dwarfs, trolls = self._seats[DWARFS], self._seats[TROLLS]
        self.rewards[dwarfs], self.rewards[trolls] = paid, -paid
        self._cumulative_rewards[agent] = 0.0
        self._cumulative_rewards[dwarfs] += paid
        self._cumulative_rewards[trolls] -= paid
        self.agent_selection = self._seats[row[TO_MOVE]]
        if self.render_mode == "human":
            self.render()
        if row[TERMINATION]:
            self._battle_ended()
            if self._row is not row:  # another battle begins
                self._renderer.start()
                if self.render_mode == "human":
                    self.render()

    def observe(self, agent: str) -> Observation:
        """What ``agent`` sees: ``observation`` [C, 15, 15] float32, ``action_mask`` [6470] int8.

        The arrays are new with every call and belong to the caller.

        Raises:
            ValueError: if there is no such agent.
        """
        self._check_agent(agent)
        return {"observation": self._planes(agent), "action_mask": self._mask(agent)}

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """What ``agent_selection`` sees, was paid since its last decision, and is told.

        Raises:
            ResetNeeded: before the first reset.
        """
        self._check_reset("last")
        return super().last(observe)

    def action_masks(self) -> NDArray[np.int8]:
        """The action mask of ``agent_selection``, [6470] int8, for libraries that look here.

        Raises:
            ResetNeeded: before the first reset.
        """
        self._check_reset("action_masks")
        return self._mask(self.agent_selection)

    def state(self) -> NDArray[np.float32]:
        """The whole state as planes, [C, 15, 15] float32, as the first agent sees it."""
        return self._planes(self.possible_agents[0])

    def side_of(self, agent: str) -> Side:
        """The side that ``agent`` plays in the battle that is being played.

        Raises:
            ValueError: if there is no such agent.
        """
        self._check_agent(agent)
        return SIDES[self._seats.index(agent)]

    @property
    def position(self) -> Position:
        """The state of the battle that is being played as a ``Position``."""
        return Position(self._row)

    def get_state(self) -> dict[str, Any]:
        """Everything that ``set_state`` needs to continue exactly from here.

        Raises:
            ResetNeeded: before the first reset.
        """
        self._check_reset("get_state")
        return {
            "row": self._row.copy(),
            "start_row": self._start_row.copy(),
            "seats": self._seats,
            "agents": list(self.agents),
            "agent_selection": self.agent_selection,
            "skip_agent_selection": self._skip_agent_selection,
            "rewards": dict(self.rewards),
            "cumulative_rewards": dict(self._cumulative_rewards),
            "terminations": dict(self.terminations),
            "truncations": dict(self.truncations),
            "infos": {agent: dict(info) for agent, info in self.infos.items()},
            "renderer": self._renderer.get_state(),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Return to a state that ``get_state`` gave; the state is left as it is.

        Raises:
            ValueError: if it is a state of another game; nothing has changed then.
        """
        given = Position(state["row"]).rules
        if given != self.rules:
            raise ValueError(
                f"a state of {given.name} cannot be set in a battle of {self.rules.name}"
            )
        if state["seats"][0] not in self.possible_agents:
            raise ValueError(
                f"a state of {state['seats']} cannot be set where {self.possible_agents} play"
            )
        self._row = state["row"].copy()
        self._start_row = state["start_row"].copy()
        self._seats = state["seats"]
        self.agents = list(state["agents"])
        self.agent_selection = state["agent_selection"]
        self._skip_agent_selection = state["skip_agent_selection"]
        self.rewards = dict(state["rewards"])
        self._cumulative_rewards = dict(state["cumulative_rewards"])
        self.terminations = dict(state["terminations"])
        self.truncations = dict(state["truncations"])
        self.infos = {agent: dict(info) for agent, info in state["infos"].items()}
        self._renderer.set_state(state["renderer"])

    def render(self) -> Any:
        """What the render mode asks for: text, pixels [544, 544, 3] uint8, or None and a window.

        Raises:
            gymnasium.error.DependencyNotInstalled: for a window without pygame.
        """
        return self._renderer.render(self.position, self._caption(), self.metadata["render_fps"])

    def close(self) -> None:
        """Close the window, if there is one."""
        self._renderer.close()

    # -- for subclasses ------------------------------------------------------------------------

    def _battle_ended(self) -> None:
        """What follows from the end of a battle; the last decision has been paid."""
        raise NotImplementedError

    def _paid_to_dwarfs(self, margin_before: int) -> float:
        """What the decision just played pays whoever plays the dwarfs; the other is paid its
        negative.
        """
        return float(reward_for_dwarfs(self._row, margin_before, self._by_outcome))

    def _planes(self, agent: str) -> NDArray[np.float32]:
        """What ``agent`` sees, [C, 15, 15]: here the battle, the same for both."""
        planes = np.empty((self._observation_shape[0], NUM_POINTS), dtype=np.float32)
        encode_row(self._row, planes)
        return planes.reshape(self._observation_shape)

    def _caption(self) -> str:
        """What ``render`` writes below the board."""
        position = self.position
        outcome = position.outcome
        ending = f"{position.to_move} to move" if outcome is None else str(outcome)
        turn = self._renderer.last_turn
        last = f", last turn {turn}" if turn else ""
        return f"{ending}, turn {position.turn_number}, margin {position.margin}{last}"

    def _end_game(self, truncated: bool, infos: dict[str, dict[str, Any]]) -> None:
        """End the game for both agents, who may then only step(None)."""
        self.infos.update(infos)
        ended = self.truncations if truncated else self.terminations
        for agent in self.agents:
            ended[agent] = True
        self._deads_step_first()

    # -- inside --------------------------------------------------------------------------------

    def _check_reset(self, method: str) -> None:
        if not hasattr(self, "rewards"):
            raise ResetNeeded(f"call reset() before {method}(): nothing is being played")

    def _check_agent(self, agent: str) -> None:
        if agent not in self.action_spaces:
            first, second = self.possible_agents
            raise ValueError(f"unknown agent {agent!r}: {first!r} or {second!r} would be right")

    def _mask(self, agent: str) -> NDArray[np.int8]:
        row = self._row
        if agent == self._seats[row[TO_MOVE]] and not row[TERMINATION]:
            return action_mask(row)
        return np.full(NUM_ACTIONS, self._idle_mask, dtype=np.int8)
