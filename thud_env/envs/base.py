"""What the PettingZoo environments share: two agents, one board, and all the checks."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import TYPE_CHECKING, Any, ClassVar, Never, SupportsIndex, get_args

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray
from pettingzoo import AECEnv

from thud_env.actions import NUM_ACTIONS, as_action
from thud_env.arguments import as_count, given_when_made, one_of, refuse_copy, refuse_unknown, shown
from thud_env.batch.one_game import play_if_legal
from thud_env.batch.options import read_reward
from thud_env.envs.common import (
    GIVEN_WHEN_MADE,
    HINTS,
    ILLEGAL_ACTION,
    ILLEGAL_REWARD,
    IdleMask,
    IllegalAction,
    ObservationKind,
    check_was_reset,
    idle_value,
    is_lost_by,
    observation_space,
)
from thud_env.envs.games import Game
from thud_env.envs.rendering import Picture, Renderer, RenderFrame, RenderMode, is_renderers
from thud_env.envs.reset_options import start_option
from thud_env.envs.states import (
    BOARD_PARTS,
    board_parts,
    check_generator,
    check_part,
    check_state,
    copied,
)
from thud_env.errors import IllegalMove, ThudError
from thud_env.outcome import SIDES, Outcome, Side
from thud_env.position import Position
from thud_env.rules.check import check_row
from thud_env.rules.match import Match, outcome_for_dwarfs
from thud_env.rules.play import margin
from thud_env.rules.row import DWARFS, ONGOING, TERMINATION, TO_MOVE, TROLLS, TURN_LIMIT
from thud_env.rulesets import Reward, Rules, Ruleset, get_ruleset
from thud_env.starts import Starts, limits_asked_for, read_pool, read_start
from thud_env.views.encoding import NUM_POINTS, OBSERVATION_SHAPE, encode_row
from thud_env.views.masks import mask_of
from thud_env.views.match import show_match

_STREAM_OF_STARTS = 1


class _SetByReset:
    """Stands for an attribute until ``reset`` sets it. Unlike a ``__getattr__`` of the class, it
    slows no other attribute.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, env: object, owner: type) -> Never:
        raise AttributeError(f"call reset() before reading {self._name}: nothing is being played")


@given_when_made(*GIVEN_WHEN_MADE)
class BoardEnv(AECEnv[str, Any, int]):  # type: ignore[misc] # PettingZoo is untyped
    """Two agents who decide in turn at one board.

    A subclass says what is played, one battle or two. The arguments are those of ``ThudEnv``.
    """

    _game: ClassVar[Game]
    """What is played."""

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": list(get_args(RenderMode)),
        "is_parallelizable": False,
        "render_fps": 2,
    }

    if not TYPE_CHECKING:  # type checkers know what these hold
        agent_selection, rewards, infos = _SetByReset(), _SetByReset(), _SetByReset()
        terminations, truncations = _SetByReset(), _SetByReset()

    def __init__(
        self,
        rules: Rules = "classic",
        render_mode: RenderMode | None = None,
        *,
        observation: ObservationKind = "dict",
        reward: Reward | None = None,
        idle_mask: IdleMask = "zeros",
        illegal_action: IllegalAction = "raise",
        starts: Starts | None = None,
        max_quiet_turns: int | None = None,
        max_turns: int | None = None,
        offer_after: int | None = None,
        agreement: bool | None = None,
        **unknown: Never,
    ) -> None:
        refuse_unknown(type(self), unknown, HINTS)
        super().__init__()
        # Its own: vector environments of Gymnasium 1.2 write their autoreset mode into it, and
        # wrappers append to its render modes.
        self.metadata = deepcopy(self.metadata)  # type: ignore[misc]
        self._rules = get_ruleset(rules)
        self._renderer = Renderer(render_mode)
        self.render_mode = render_mode
        self._is_dict = one_of("observation", observation, get_args(ObservationKind)) == "dict"
        self._idle_mask = idle_value(idle_mask)
        self._loses = is_lost_by(illegal_action)
        kind = read_reward(reward, self._rules)
        self._by_outcome = kind == "outcome"
        self._by_total = self._by_outcome and self._game.num_battles > 1
        self._limits = limits_asked_for(max_quiet_turns, max_turns, offer_after, agreement)
        self._made: dict[str, Any] = {
            "agents": self._game.agents,
            "rules": self._rules.spec,
            "reward": kind,
        }
        """What a state depends on of the arguments."""
        self._random = np.random.default_rng()
        """Draws the starts, if there are several."""
        self.starts = starts
        self._row = self._start_row = self._pool[0]
        agents = self._seats = self._game.agents
        self.battles: tuple[Outcome, ...] = ()
        """How the battles that are over ended, margins from the view of their dwarfs."""
        num_planes = len(self._game.planes)
        self.is_over = True
        """Whether the game is over, or has not begun."""
        self._forfeited = False
        self._observation_shape = (num_planes, *OBSERVATION_SHAPE[1:])

        self.possible_agents = list(agents)
        spaces = {agent: observation_space(num_planes) for agent in agents}
        planes = {agent: space["observation"] for agent, space in spaces.items()}
        self.observation_spaces = spaces if self._is_dict else planes
        self.action_spaces = {agent: gymnasium.spaces.Discrete(NUM_ACTIONS) for agent in agents}
        self.state_space = planes[agents[0]]
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> Any:
        """The space of ``observe(agent)``, always the same object: a ``Dict``, or a ``Box`` of the
        planes.

        Raises:
            ThudError: if there is no such agent.
        """
        self._check_agent(agent)
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Discrete:
        """``Discrete(6470)``, always the same object for an agent.

        Raises:
            ThudError: if there is no such agent.
        """
        self._check_agent(agent)
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start anew.

        Args:
            seed: seeds the draws of ``starts``, this one and later ones; nothing else is random.
            options: ``{"position": text}`` starts from position text or a ``Position``, with the
                environment's limits or, where it was given none, its own.

        Raises:
            ThudError: if the position is damaged, of another ruleset, or over; if an option is
                nearly ``"position"``; if the seed is not an integer, 0 or more.
            TypeError: if the position is neither text nor a ``Position``, or ``options`` is not a
                dictionary.
        """
        if seed is not None:
            seed = as_count("seed", seed, least=0)
        start = start_option(options)
        told = None if start is None else read_start(start, self._rules, self._limits)
        if seed is not None:
            # Another stream than that of the seed alone, from which a seat's side is drawn.
            self._random = np.random.default_rng([seed, _STREAM_OF_STARTS])
        self._start_row = self._drawn_start() if told is None else told
        self._row = self._start_row.copy()
        self._seats = self._game.agents
        self.agents = list(self._game.agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.is_over = self._forfeited = False
        self._skip_agent_selection = None
        self.agent_selection = self._seats[self._row[TO_MOVE]]
        self.battles = ()
        self.infos: dict[str, dict[str, Any]] = self._new_infos()
        self._renderer.start()
        if self.render_mode == "human":
            self.render()

    def step(self, action: SupportsIndex | None) -> None:
        """Play one decision of ``agent_selection``; None if that agent's game is over.

        Raises:
            ResetNeeded: before the first reset, and after both agents have left.
            IllegalMove: if ``action`` is not in 0 .. 6469; if it is not legal, only with
                ``illegal_action="raise"``; nothing has changed then.
            TypeError: if ``action`` is not one integer, or is a bool.
            gymnasium.error.DependencyNotInstalled: for a window without pygame; the decision has
                been played then.
        """
        if not self.agents:
            raise ResetNeeded("call reset() before step(): nothing is being played")
        agent = self.agent_selection
        if self.is_over:
            if action is not None:
                raise IllegalMove(
                    f"the game is over: {agent} can only step(None), not {shown(action)}"
                )
            self._was_dead_step(None)
            return
        index = as_action(action)
        row = self._row
        before = None if self.render_mode is None else row.copy()
        is_played, paid = play_if_legal(row, index, self._by_outcome)
        if not is_played:
            if self._loses:
                self.forfeit()
                return
            self.position.apply(index)  # raises, and says why
        if before is None:
            self._renderer.start()  # a state may have brought a last turn along
        else:
            self._renderer.note(before, index)
        self._pay(agent, self._paid_to_dwarfs(paid))
        self.agent_selection = self._seats[row.item(TO_MOVE)]
        shows = self.render_mode == "human"
        pictures = [self._picture()] if shows else []
        another_begins = row.item(TERMINATION) != ONGOING and self._battle_ended()
        self.infos = self._new_infos()
        if another_begins:
            self._renderer.start()
            if shows:
                pictures.append(self._picture())
        for picture in pictures:  # last of all: a window may fail
            self._show(picture)

    def forfeit(self) -> None:
        """End the game as an illegal action of ``agent_selection`` does with
        ``illegal_action="lose"``: that agent is paid -1 and the other 1, and the board stays.

        Raises:
            ResetNeeded: before the first reset, and after the end of a game.
        """
        if self.is_over:
            raise ResetNeeded("call reset() before forfeit(): nothing is being played")
        agent = self.agent_selection
        dwarfs, _ = self._seats
        self._forfeited = True
        self._pay(agent, ILLEGAL_REWARD if agent == dwarfs else -ILLEGAL_REWARD)
        self._end_game(truncated=False)
        self.infos = self._new_infos()
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> Any:
        """The view of ``agent``: a dictionary of ``observation``, [C, 15, 15] float32, and
        ``action_mask``, [6470] int8; with ``observation="planes"`` the first alone.

        The arrays are new with every call and belong to the caller.

        Raises:
            ThudError: if there is no such agent.
        """
        self._check_agent(agent)
        if self._is_dict:
            return {"observation": self._planes(agent), "action_mask": self._mask(agent)}
        return self._planes(agent)

    def agent_iter(self, max_iter: int = 2**63) -> Iterable[str]:
        """Iterate over the agents in the order in which they decide, as PettingZoo does.

        Raises:
            ResetNeeded: before the first reset.
        """
        check_was_reset(self, "agent_iter")
        return super().agent_iter(max_iter)

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """The observation, cumulative reward, termination, truncation and info of
        ``agent_selection``. The observation is as ``observe`` returns it, or None if it is not
        asked for.

        Raises:
            ResetNeeded: before the first reset, and after both agents have left.
        """
        if not self.agents:
            raise ResetNeeded("call reset() before last(): nothing is being played")
        return super().last(observe)

    def action_masks(self) -> NDArray[np.int8]:
        """The action mask of ``agent_selection``, [6470] int8, for libraries that look here.

        Raises:
            ResetNeeded: before the first reset.
        """
        check_was_reset(self, "action_masks")
        return self.mask(self.agent_selection)

    def mask(self, agent: str) -> NDArray[np.int8]:
        """The action mask of an agent, [6470] int8, new.

        Raises:
            ThudError: if there is no such agent.
        """
        self._check_agent(agent)
        return self._mask(agent)

    def state(self) -> NDArray[np.float32]:
        """The planes as the first agent sees them, [C, 15, 15] float32 (``views/encoding.py``)."""
        return self._planes(self._game.agents[0])

    def side_of(self, agent: str) -> Side:
        """The side that ``agent`` plays in the battle that is being played.

        Raises:
            ThudError: if there is no such agent.
        """
        self._check_agent(agent)
        return SIDES[self._seats.index(agent)]

    @property
    def rules(self) -> Ruleset:
        """The ruleset that is played."""
        return self._rules

    @property
    def starts(self) -> NDArray[np.int16]:
        """[S, 432] the state rows that battles start from, a copy. Others that are set here, of any
        kind that ``starts`` can be given, hold from the next ``reset`` on.

        Raises:
            ThudError, TypeError: for what could not be given; nothing has changed then.
        """
        return self._pool.copy()

    @starts.setter
    def starts(self, starts: Starts | None) -> None:
        self._pool = read_pool(starts, self._rules, self._limits)
        self._made["starts"] = len(self._pool)

    @property
    def position(self) -> Position:
        """The state of the battle that is being played as a ``Position``."""
        return Position.unchecked(self._row)

    def get_state(self) -> dict[str, Any]:
        """Everything that ``set_state`` needs to continue exactly from here.

        Raises:
            ResetNeeded: before the first reset.
        """
        check_was_reset(self, "get_state")
        parts = {name: copied(getattr(self, name)) for name in BOARD_PARTS}
        if not self._is_dict:  # set_state makes the masks anew
            for info in parts["infos"].values():
                info.pop("action_mask", None)
        return {
            "made": dict(self._made),
            **parts,
            "renderer": self._renderer.get_state(),
            "np_random": self._random.bit_generator.state if self._draws else None,
        }

    __copy__ = refuse_copy

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for row in (self._row, self._start_row):
            check_row(row)

    def set_state(self, state: dict[str, Any]) -> None:
        """Return to a state that ``get_state`` gave; the state is left as it is.

        Raises:
            ThudError: if it is a state of an environment with other agents, rules, rewards or
                another number of starts, or of none; nothing has changed then.
        """
        kinds = {**BOARD_PARTS, "renderer": tuple, "np_random": (dict, type(None))}
        check_state(self, state, self._made, kinds)
        if self._draws:
            check_generator(self, "np_random", self._random, state["np_random"])
        parts = board_parts(self, state, self._rules, self._game)
        check_part(self, "renderer", state["renderer"], is_renderers(state["renderer"]))
        self._renderer.set_state(state["renderer"])
        if self._draws:
            self._random.bit_generator.state = state["np_random"]
        self.__dict__.update(parts)
        if not self._is_dict:
            self.infos = self._with_masks(self.infos)

    def render(self) -> RenderFrame | None:
        """What the render mode asks for: text, pixels [544, 544, 3] uint8, or None and a window.

        Raises:
            gymnasium.error.DependencyNotInstalled: for a window without pygame.
        """
        return self._show(self._picture())

    def close(self) -> None:
        """Close the window, if there is one."""
        self._renderer.close()

    # -- inside --------------------------------------------------------------------------------

    @property
    def _draws(self) -> bool:
        """Whether there are several starts to draw from."""
        return len(self._pool) > 1

    @property
    def _match(self) -> Match:
        """The game as the rules see a match."""
        ending = ILLEGAL_ACTION if self._forfeited else self._row.item(TERMINATION)
        now = margin(self._row)
        if not self.battles or self._game.num_battles == 1:
            return Match(False, 0, 0, ending, now)
        first = self.battles[0]
        return Match(True, first.termination.value, first.margin, ending, now)

    def _battle_ended(self) -> bool:
        """End the game, or begin the next battle; the last decision has been paid.

        Returns:
            whether another battle begins.
        """
        outcome = self.position.outcome
        assert outcome is not None
        self.battles += (outcome,)
        if len(self.battles) == self._game.num_battles:
            self._end_game(truncated=self._row[TERMINATION] == TURN_LIMIT)
            return False
        self._row = self._start_row.copy()
        self._seats = self._seats[::-1]
        self.agent_selection = self._seats[self._row[TO_MOVE]]
        return True

    def _new_infos(self) -> dict[str, dict[str, Any]]:
        match, infos = self._match, self._game.infos
        first, second = self._game.agents
        side = DWARFS if first == self._seats[DWARFS] else TROLLS
        both = {first: infos(match, side), second: infos(match, 1 - side)}
        return both if self._is_dict else self._with_masks(both)

    def _with_masks(self, infos: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Infos with each agent's mask."""
        return {agent: {"action_mask": self._mask(agent), **info} for agent, info in infos.items()}

    def _paid_to_dwarfs(self, paid: float) -> float:
        """The dwarfs' reward for the decision just played; the trolls' is its negative.

        Args:
            paid: the dwarfs' reward in a single battle.
        """
        return float(outcome_for_dwarfs(self._match)) if self._by_total else paid

    def _mask(self, agent: str) -> NDArray[np.int8]:
        """The action mask of ``agent``, [6470]."""
        row = self._row
        if agent == self._seats[row.item(TO_MOVE)] and not self.is_over:
            return mask_of(row)
        return np.full(NUM_ACTIONS, self._idle_mask, dtype=np.int8)

    def _planes(self, agent: str) -> NDArray[np.float32]:
        """The planes of ``agent``, [C, 15, 15]."""
        flat = np.empty((self._observation_shape[0], NUM_POINTS), dtype=np.float32)
        encode_row(self._row, flat)
        planes = flat.reshape(self._observation_shape)
        if self._game.num_battles > 1:
            side = self._seats.index(agent)
            show_match(planes, self._match, side, self._rules.largest_margin)
        return planes

    def _caption(self) -> str:
        """The line that ``render`` writes below the board; of two battles two."""
        position = self.position
        ending = f"{position.to_move} lost by an illegal action" if self._forfeited else ""
        line = self._renderer.caption(position, ending)
        if self._game.num_battles == 1:
            return line
        number = 1 + self._match.is_second
        return f"battle {number} of 2, {self._seats[0]} plays the dwarfs\n{line}"

    def _end_game(self, truncated: bool) -> None:
        """End the game for both agents, who may then only step(None)."""
        self.is_over = True
        ended = self.truncations if truncated else self.terminations
        for agent in self.agents:
            ended[agent] = True
        self._deads_step_first()

    def _drawn_start(self) -> NDArray[np.int16]:
        drawn = self._random.integers(len(self._pool)) if self._draws else 0
        return self._pool[drawn]

    def _picture(self) -> Picture:
        return self.position, self._renderer.last_turn, self._caption()

    def _show(self, picture: Picture) -> RenderFrame | None:
        return self._renderer.render(*picture, self.metadata["render_fps"])

    def _pay(self, agent: str, paid_to_dwarfs: float) -> None:
        """Pay both sides for a decision of ``agent``."""
        dwarfs, trolls = self._seats[DWARFS], self._seats[TROLLS]
        paid_to_trolls = 0.0 - paid_to_dwarfs  # never -0.0
        self.rewards[dwarfs], self.rewards[trolls] = paid_to_dwarfs, paid_to_trolls
        self._cumulative_rewards[agent] = 0.0
        self._cumulative_rewards[dwarfs] += paid_to_dwarfs
        self._cumulative_rewards[trolls] += paid_to_trolls

    def _check_agent(self, agent: str) -> None:
        if not (isinstance(agent, str) and agent in self.action_spaces):
            first, second = self.possible_agents
            raise ThudError(f"unknown agent {shown(agent)}: {first!r} or {second!r} would be right")
