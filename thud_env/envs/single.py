"""Thud as a Gymnasium environment: one seat, an opponent plays the other.

| | |
|---|---|
| Action space | `Discrete(6470)` |
| Observation space | `Box(0, 1, (14, 15, 15), float32)`, or with `observation="dict"` a `Dict` of \
that as `observation` and `action_mask`: `Box(0, 1, (6470,), int8)` |
| Rewards | the learner's: captures as they happen, in 1/32, or 1, 0, -1 at the end |
| Import | `gymnasium.make("thud/Thud-v0", side="dwarfs", opponent="random-decisions")` |

The opponent's turns are played inside `step`, and inside `reset` if the other side begins. A
reward is all that was paid between two of the learner's decisions, the opponent's captures
included; what an opening move of the opponent pays comes with the first step. So the rewards
of a battle sum exactly to what its captures were worth. A turn is one or more decisions:
several steps in a row may belong to one turn of the learner's.

`info` always has the same keys, and numbers only:

| key | holds |
|---|---|
| `action_mask` | [6470] int8, 1 where an action is legal |
| `side` | the side that the learner decides for: 0 dwarfs, 1 trolls |
| `termination` | 0 while the battle goes on, then the value of a `thud_env.Termination`; \
-1 where an illegal action has lost |
| `margin` | the score as it stands, from the dwarfs' view |

`action_masks()` returns the mask as well, where sb3-contrib looks. Once the battle is over nothing
is left to decide, and the mask is all 1: with a mask of all 0, a masked softmax over the last
observation, which learners ask for, is NaN. `idle_mask="zeros"` gives that.

| `side` | the learner plays |
|---|---|
| `dwarfs` | the dwarfs |
| `trolls` | the trolls |
| `random` | either, drawn anew by every reset from the environment's own generator |
| `both` | both sides in turn; there is no opponent, and each reward is that of the side that \
decided |

`match=True`, or `thud/ThudMatch-v0`, plays the two-battle game (`thud_env.envs.match`), whose
observations have two planes more, and whose `info` has its five keys instead of `termination` and
`margin`; `side` is then the side of the first battle.

An action that is not legal loses: the battle ends, terminated, with a reward of -1 and the
`termination` -1. Agents that use the mask never see this; the others learn from it.
`illegal_action="raise"` raises `IllegalMove` instead.

### Version history

* v0: first release.
"""

from __future__ import annotations

from copy import deepcopy
from math import isfinite
from typing import Any, Never, SupportsIndex, get_args

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from thud_env.actions import NUM_ACTIONS, as_action
from thud_env.arguments import as_count, given_when_made, one_of, refuse_copy, refuse_unknown
from thud_env.envs.aec import ThudEnv
from thud_env.envs.base import BoardEnv
from thud_env.envs.common import (
    GIVEN_WHEN_MADE,
    HINTS,
    IdleMask,
    IllegalAction,
    ObservationKind,
    Seat,
    check_was_reset,
    is_lost_by,
)
from thud_env.envs.match import MatchEnv
from thud_env.envs.opponents import Opponent, OpponentLike
from thud_env.envs.rendering import RenderFrame, RenderMode
from thud_env.envs.reset_options import read_options
from thud_env.envs.states import check_generator, check_part, check_state
from thud_env.errors import IllegalMove
from thud_env.outcome import SIDES
from thud_env.position import Position
from thud_env.rulesets import Reward, Rules, Ruleset
from thud_env.starts import Starts

_MANY_ONLY = dict.fromkeys(
    ("num_envs", "autoreset_mode"),
    "gymnasium.make_vec, which makes many, takes it, and with vectorization_mode='sync' or 'async' "
    "takes autoreset_mode in vector_kwargs",
)
_ONLY_GAME = np.zeros(1, dtype=np.int64)
"""[1] the number that an opponent is told."""
_ONLY_GAME.flags.writeable = False
_STATE = {
    "game": dict,
    "agent": str,
    "owed": float,
    "needs_reset": bool,
    "np_random": dict,
    "opponent": object,
}
"""The parts of a state, beside ``"made"``, and their types."""


_MADE_WITH = (*GIVEN_WHEN_MADE, "match")


@given_when_made(*_MADE_WITH)
class ThudSeatEnv(gymnasium.Env[Any, Any]):
    """One seat of a battle, with an opponent in the other.

    Args:
        rules: a ruleset, or the name of one.
        side: the learner's: ``"dwarfs"``, ``"trolls"``, ``"random"``, drawn anew by every reset,
            or ``"both"``, with no opponent.
        opponent: plays the other side: ``"random-decisions"``, a function from a ``Position`` to
            an action, an object with ``act(position)``, such as ``agents.make(spec)``
            (``envs/opponents.py``); None with ``side="both"``.
        match: whether to play the two-battle game; ``side`` is that of the first battle.
        render_mode: as ``ThudEnv``.
        observation: ``"planes"``, or ``"dict"`` of them and the action mask.
        illegal_action: what an illegal action of the learner does: ``"lose"`` the battle, with a
            reward of -1, or ``"raise"`` an ``IllegalMove``.
        reward: as ``ThudEnv``.
        idle_mask: the action mask once the battle is over, ``"ones"`` or ``"zeros"``.
        starts, max_quiet_turns, max_turns, offer_after, agreement: as ``ThudEnv``.

    Raises:
        ThudError: for any other value; for an opponent that refuses the game (``check_plays``).
        TypeError: for an opponent that cannot play, and for any other keyword, naming the nearest
            there is.
    """

    metadata = ThudEnv.metadata

    def __init__(
        self,
        rules: Rules = "classic",
        side: Seat = "dwarfs",
        opponent: OpponentLike = "random-decisions",
        *,
        match: bool = False,
        render_mode: RenderMode | None = None,
        observation: ObservationKind = "planes",
        illegal_action: IllegalAction = "lose",
        reward: Reward | None = None,
        idle_mask: IdleMask = "ones",
        starts: Starts | None = None,
        max_quiet_turns: int | None = None,
        max_turns: int | None = None,
        offer_after: int | None = None,
        agreement: bool | None = None,
        **unknown: Never,
    ) -> None:
        refuse_unknown(type(self), unknown, {**HINTS, **_MANY_ONLY})
        self._side: Seat = one_of("side", side, get_args(Seat))
        self._is_dict = one_of("observation", observation, get_args(ObservationKind)) == "dict"
        self._loses = is_lost_by(illegal_action)
        match = one_of("match", match, (True, False))
        game = MatchEnv if match else ThudEnv
        self._game: BoardEnv = game(
            rules,
            render_mode,
            reward=reward,
            idle_mask=idle_mask,
            starts=starts,
            max_quiet_turns=max_quiet_turns,
            max_turns=max_turns,
            offer_after=offer_after,
            agreement=agreement,
        )
        if type(self).metadata is not ThudEnv.metadata:  # a subclass's
            self._game.metadata.update(deepcopy(type(self).metadata))
        self.metadata = self._game.metadata
        self.opponent = opponent
        self.render_mode = render_mode
        self._agent = self._game.possible_agents[0]
        game_space = self._game.observation_space(self._agent)
        self.observation_space = game_space if self._is_dict else self._game.state_space
        self.action_space = gymnasium.spaces.Discrete(NUM_ACTIONS)
        self._owed = 0.0
        self._needs_reset = True
        self._made = {"side": self._side, "match": match}
        """The arguments that a state depends on, beside those of the game."""

    @property
    def opponent(self) -> Any:
        """The opponent as it was given. Another that is set here, of any kind that can be given,
        plays from its next decision on; ``reset(seed=...)`` seeds it. Of an environment of
        ``gymnasium.make`` set ``env.unwrapped.opponent``: its wrappers would keep it to themselves.

        Raises:
            ThudError, TypeError: for one that could not be given; the one before plays on.
        """
        return self._opponent.given

    @opponent.setter
    def opponent(self, opponent: OpponentLike) -> None:
        match = isinstance(self._game, MatchEnv)
        self._opponent = Opponent(opponent, self.rules, self._side, match)

    @property
    def starts(self) -> NDArray[np.int16]:
        """[S, 432] the state rows that battles start from, a copy. Others that are set here, of any
        kind that ``starts`` can be given, hold from the next ``reset`` on. Of an environment of
        ``gymnasium.make`` set ``env.unwrapped.starts``.

        Raises:
            ThudError, TypeError: for what could not be given; nothing has changed then.
        """
        return self._game.starts

    @starts.setter
    def starts(self, starts: Starts | None) -> None:
        self._game.starts = starts

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a battle, and play it up to the learner's first decision.

        Args:
            seed: seeds the draws of sides and starts, and the opponent, if it can be seeded.
            options: ``{"position": text}`` starts from position text or a ``Position``, with the
                environment's limits or, where it was given none, its own.

        Raises:
            ThudError: if the position is damaged, of another ruleset, or over, or an option is
                unknown; if the seed is not an integer, 0 or more.
            TypeError: if the position is neither text nor a ``Position``, or ``options`` is not a
                dictionary.
        """
        if seed is not None:
            seed = as_count("seed", seed, least=0)
        options = read_options(options, ("position",))
        needed, self._needs_reset = self._needs_reset, True  # until the opponent has replied
        try:
            self._game.reset(seed=seed, options=options)
        except (TypeError, ValueError):  # refused: the battle before goes on
            self._needs_reset = needed
            raise
        super().reset(seed=seed)
        if seed is not None:
            self._opponent.seed(self.np_random)
        if self._side != "both":
            drawn = self._side == "random"
            number = int(self.np_random.integers(2)) if drawn else SIDES.index(self._side)
            self._agent = self._game.possible_agents[number]
        self._owed = 0.0
        self._reply()
        self._needs_reset = False
        return self._seen()

    def step(self, action: SupportsIndex) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play one decision of the learner's, then the opponent's until the learner decides again.

        Returns:
            The observation, [C, 15, 15] float32 planes or a dictionary of them and the mask; the
            reward, all that the learner was paid since its last decision; whether the battle
            terminated, and whether it was truncated; the infos that docs/environment.md tables,
            with ``action_mask``, [6470] int8, of the decision that is now to be made.

        Raises:
            ResetNeeded: before the first reset, after the end of a game, and after an opponent or
                a window has failed: then it may still be the opponent's turn.
            TypeError: if ``action`` is not one integer, or is a bool.
            IllegalMove: if it is not in 0 .. 6469; if it is not legal, only with
                ``illegal_action="raise"``; and if the opponent's choice is not legal.
            ThudError: if the opponent's choice is not one integer.
        """
        if self._needs_reset:
            raise ResetNeeded("call reset() before step(): no battle is being played")
        index = as_action(action)
        game = self._game
        if self._side == "both":
            self._agent = game.agent_selection
        if not game.is_over:  # an opponent's opening may have ended it
            self._needs_reset = True  # until the opponent has replied
            try:
                game.step(index)
            except IllegalMove:
                if not self._loses:
                    self._needs_reset = False
                    raise
                game.forfeit()
            self._owed += game.rewards[self._agent]
            self._reply()
        reward, self._owed = self._owed, 0.0
        terminated = game.terminations[self._agent]
        truncated = game.truncations[self._agent]
        self._needs_reset = terminated or truncated
        observation, info = self._seen()
        return observation, reward, terminated, truncated, info

    def action_masks(self) -> NDArray[np.int8]:
        """The learner's action mask, [6470] int8, for libraries that look here.

        Raises:
            ResetNeeded: before the first reset.
        """
        check_was_reset(self._game, "action_masks")
        return self._game.mask(self._viewer)

    @property
    def rules(self) -> Ruleset:
        """The ruleset that is played."""
        return self._game.rules

    @property
    def side(self) -> Seat:
        """The side that the environment was made with."""
        return self._side

    @property
    def position(self) -> Position:
        """The state of the battle as a ``Position``."""
        return self._game.position

    def render(self) -> RenderFrame | None:
        """What the render mode asks for: see ``ThudEnv.render``."""
        return self._game.render()

    def close(self) -> None:
        """Close the window, if there is one."""
        self._game.close()

    def get_state(self) -> dict[str, Any]:
        """Everything that ``set_state`` needs to continue exactly from here.

        The opponent is part of it if it has ``get_state`` itself, as ``"random-decisions"`` has;
        ``copy.deepcopy`` and ``pickle`` take any opponent along.

        Raises:
            ResetNeeded: before the first reset.
        """
        return {
            "made": dict(self._made),
            "game": self._game.get_state(),
            "agent": self._agent,
            "owed": self._owed,
            "needs_reset": self._needs_reset,
            "np_random": self.np_random.bit_generator.state,
            "opponent": self._opponent.state(),
        }

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """As Gymnasium's, which would set what is given when this is made on a wrapper, where it
        changes nothing.

        Raises:
            AttributeError: for those names.
        """
        return super().set_wrapper_attr(name, value, force=force or name in _MADE_WITH)

    __copy__ = refuse_copy

    def set_state(self, state: dict[str, Any]) -> None:
        """Return to a state that ``get_state`` gave; the state is left as it is.

        Raises:
            ThudError: if it is a state of an environment with another ``side``, ``match``,
                ``rules`` or ``reward``, with an opponent's state that this environment's cannot
                take, or of none; nothing has changed then.
        """
        check_state(self, state, self._made, _STATE)
        agent = state["agent"]
        check_part(self, "agent", agent, agent in self._game.possible_agents)
        check_part(self, "owed", state["owed"], isfinite(state["owed"]))
        check_generator(self, "np_random", self.np_random, state["np_random"])
        with self._opponent.restored(state["opponent"]):
            self._game.set_state(state["game"])
        self._agent = agent
        self._owed = state["owed"]
        self._needs_reset = state["needs_reset"]
        self.np_random.bit_generator.state = state["np_random"]

    @property
    def _viewer(self) -> str:
        """The agent whose view is returned: the learner's, or of both the side's to move."""
        if self._side != "both":
            return self._agent
        first, second = self._game.possible_agents
        return first if self._game.side_of(first) == self.position.to_move else second

    def _reply(self) -> None:
        """Let the opponent decide until the learner has to or the battle is over."""
        game = self._game
        if self._side == "both":
            return
        while game.agent_selection != self._agent and not game.is_over:
            chosen = self._opponent.choices(game.position.row[np.newaxis], _ONLY_GAME)
            try:
                game.step(int(chosen[0]))
            except IllegalMove as error:
                raise IllegalMove(f"the opponent's choice: {error}") from None
            self._owed += game.rewards[self._agent]

    def _seen(self) -> tuple[Any, dict[str, Any]]:
        """The observation and the info of the agent whose view is returned."""
        viewer = self._viewer
        seen = self._game.observe(viewer)
        mask = seen["action_mask"]
        info = {
            "action_mask": mask.copy() if self._is_dict else mask,
            "side": SIDES.index(self._game.side_of(viewer)),
            **self._game.infos[viewer],
        }
        return seen if self._is_dict else seen["observation"], info
